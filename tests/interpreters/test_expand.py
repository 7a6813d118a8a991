"""Composite ops: their formulas take their places when a program is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.interpreters import expand as expansion
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import Aval
from tracejit.ir.kernel import Composite
from tracejit.ir.primitive import (
    FROM_JVP,
    NO_BOUNDS,
    NO_EFFECTS,
    NO_IDENTITIES,
    NO_INPLACE,
    NONLINEAR,
    REGISTRY,
    ZERO_TANGENT,
    Op,
)
from tracejit.ops.elementwise import arithmetic
from tracejit.tracing import bind, to_raw, wrap


@pytest.fixture
def cube() -> Any:
    """An op with the formula x * x * x for vectors, and none for other ranks."""

    def formula(x: Any) -> Any:
        return arithmetic.mul(x, arithmetic.mul(x, x)) if x.aval.ndim == 1 else None

    op = Op(
        name="cube_for_a_test",
        doc="x cubed",
        multi=False,
        type=lambda x: x,
        eval=lambda x: x * (x * x),
        inplace=NO_INPLACE,
        jvp=ZERO_TANGENT,
        linearize=FROM_JVP,
        transpose=NONLINEAR,
        batch=lambda size, args, dims: (bind(op, *args), dims[0]),
        simplify=NO_IDENTITIES,
        effects=NO_EFFECTS,
        bounds=NO_BOUNDS,
        kernel=Composite(formula),
    )
    yield lambda x: wrap(bind(op, to_raw(x)))
    del REGISTRY[op.name]


def ops_of(f: Any, x: Any) -> str:
    return tj.jit(f).lower(x).compile().as_text("jaxpr")


def test_the_formula_is_compiled(cube: Any) -> None:
    x = np.arange(4.0)
    assert np.array_equal(tj.jit(cube)(x), x**3)
    assert "mul" in ops_of(cube, x) and "cube" not in ops_of(cube, x)


def test_without_a_formula_the_op_runs_opaquely(cube: Any) -> None:
    x = np.arange(4.0).reshape(2, 2)
    assert np.array_equal(tj.jit(cube)(x), x**3)
    assert "cube" in ops_of(cube, x)


def test_bodies_of_loops_are_expanded(cube: Any) -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(0, 2, lambda i, y: cube(y) * 0.5, x)

    x = np.linspace(0.5, 1.5, 3)
    assert np.allclose(tj.jit(f)(x), 0.5 * (0.5 * x**3) ** 3, rtol=1e-15)
    assert "cube" not in ops_of(f, x)


def test_dynamic_extents_survive(cube: Any) -> None:
    def f(x: Any, n: Any) -> Any:
        return cube(lax.dynamic_slice_in_dim(x, n, 2)).sum()

    x = np.arange(6.0)
    assert tj.jit(f)(x, 2) == 8 + 27


def test_programs_without_composites_are_left_alone() -> None:
    jaxpr, _ = stage(lambda x: [arithmetic.neg(x)], [Aval((3,), np.dtype(float))])
    assert expansion.expand(jaxpr) is jaxpr
