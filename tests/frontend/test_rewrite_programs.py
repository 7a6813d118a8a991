"""Whole programs: jit gives what NumPy gives, values, dtypes and updated arguments; so do its derivatives."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from examples.programs import PROGRAMS, Program
from tracejit import tree
from tracejit.ir.jaxpr import sub_jaxprs

NAMES = sorted(PROGRAMS)
SMOOTH = [n for n in NAMES if PROGRAMS[n].wrt]


def _arguments(p: Program, seed: int = 0) -> tuple[Any, ...]:
    return p.make(np.random.default_rng(seed), p.size)


def _equal(got: Any, wanted: Any, tolerance: float) -> None:
    got, wanted = tree.leaves(got), tree.leaves(wanted)
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted, strict=True):
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", NAMES)
def test_jit_does_what_numpy_does(name):
    p = PROGRAMS[name]
    args = _arguments(p)
    plain, ours = copy.deepcopy(args), copy.deepcopy(args)
    with np.errstate(all="ignore"):
        wanted = p.f(*plain)
    jitted = tj.jit(
        p.f, static_argnums=p.static, fallback=False
    )  # so that no call is done over by Python either
    _equal(jitted(*ours), wanted, p.tolerance)
    _equal(ours, plain, p.tolerance)
    assert jitted.trace_count == 1


def _sampled(names: list[str], every: int) -> list[Any]:
    """All of them in `make test-all`, one of `every` otherwise."""
    return [
        n if k % every == 0 else pytest.param(n, marks=pytest.mark.exhaustive) for k, n in enumerate(names)
    ]


@pytest.mark.parametrize("name", SMOOTH)
def test_what_is_differentiated_is_a_number(name):
    p = PROGRAMS[name]
    with np.errstate(all="ignore"):
        assert np.ndim(p.f(*_arguments(p))) == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", _sampled(SMOOTH, 4))
def test_gradients_are_finite_differences(name):
    p = PROGRAMS[name]
    args = _arguments(p)
    got = tj.jit(tj.grad(p.f, argnums=p.wrt), static_argnums=p.static)(*copy.deepcopy(args))
    rng = np.random.default_rng(1)
    moves = [rng.normal(size=np.shape(args[n])) for n in p.wrt]
    eps = 1e-6

    def moved(sign: float) -> Any:
        new = list(copy.deepcopy(args))
        for n, m in zip(p.wrt, moves, strict=True):
            new[n] = new[n] + sign * eps * m
        return p.f(*new)

    slope = (moved(1) - moved(-1)) / (2 * eps)
    ours = sum(np.sum(g * m) for g, m in zip(got, moves, strict=True))
    np.testing.assert_allclose(ours, slope, rtol=2e-5, atol=1e-6)


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", _sampled(NAMES, 6))
def test_vmap_runs_lanes(name):
    p = PROGRAMS[name]
    lanes = [_arguments(p, seed) for seed in (0, 1, 2)]
    if any(
        len({np.shape(x) for x in c}) > 1 for c in zip(*lanes, strict=True)
    ):  # the same matrix, other values
        lanes = [tuple(_scaled(x, 1 + k / 9) for x in lanes[0]) for k in range(3)]
    axes = tuple(0 if _varies(column) else None for column in zip(*lanes, strict=True))
    if axes == (None,) * len(axes):
        pytest.skip("its arguments have one value")
    args = [np.stack(c) if _varies(c) else c[0] for c in zip(*lanes, strict=True)]
    static = [n for n in p.static if axes[n] is None]
    got = tj.jit(tj.vmap(p.f, in_axes=axes), static_argnums=static)(*copy.deepcopy(args))
    with np.errstate(all="ignore"):
        wanted = [p.f(*copy.deepcopy(lane)) for lane in lanes]
    _equal(got, tree.map(lambda *xs: np.stack(xs), *wanted), max(p.tolerance, 1e-11))


def _varies(column: tuple[Any, ...]) -> bool:
    return any(not np.array_equal(x, column[0]) for x in column)


def _scaled(x: Any, factor: float) -> Any:
    return x * factor if np.asarray(x).dtype.kind == "f" else x


#: Programs that grow with their arrays, and how much from 16 to 64: loops over Python's own integers (the levels of a
#: transform) and generator expressions run in Python.
GROWING = {"haar_wavelet": 1.8, "hamming_syndromes": 4.0}


def _equations(jaxpr: Any) -> int:
    return sum(1 + sum(map(_equations, sub_jaxprs(e.params))) for e in jaxpr.eqns)


@pytest.mark.parametrize("name", _sampled(NAMES, 6))
def test_longer_loops_are_no_larger_programs(name):
    """So that compile time does not depend on the number of steps."""
    p = PROGRAMS[name]
    small, large = (
        _equations(tj.jit(p.f, static_argnums=p.static).lower(*p.make(np.random.default_rng(0), n)).jaxpr)
        for n in (16, 64)
    )
    assert large <= GROWING.get(name, 1.15) * small


def _heat(u):
    u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])


def _cells(u):
    for i in range(1, len(u) - 1):
        if u[i] > 0:
            u[i] = 0.5 * (u[i - 1] + u[i + 1])


def _waves(u):
    w = np.sin(u)
    u += 0.01 * (w - w.mean()) * np.exp(-u * u)


@pytest.mark.parametrize("body", [_heat, _cells, _waves], ids=lambda f: f.__name__)
def test_a_sweep_of_many_steps_is_little_more_code_than_its_body(body):
    def sweep(u):
        for _ in range(1000):
            body(u)

    def instructions(f):
        text = tj.jit(f).lower(np.linspace(-1, 1, 300)).as_text("llvm")
        return sum(" = " in line and not line.lstrip().startswith(";") for line in text.splitlines())

    with tj.config.override(optimize=True):  # as it is without, differs more
        assert instructions(sweep) <= 1.5 * instructions(body)
