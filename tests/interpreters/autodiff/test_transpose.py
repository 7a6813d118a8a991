"""Transposition: accumulation, aliasing, and the cost of reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.interpreters.autodiff.transpose import Accumulators, transpose_jaxpr
from tracejit.ir.avals import aval_of
from tracejit.ir.check import check_jaxpr
from tracejit.ir.jaxpr import Jaxpr, Var, sub_jaxprs
from tracejit.ir.values import Zero

X = np.array([0.1, 0.7])


def test_accumulators_add_and_never_overwrite_what_they_were_given() -> None:
    cts, v = Accumulators(), Var(None, aval_of(X))
    first, second = np.ones(2), np.ones(2)
    cts.add(v, first)
    cts.add(v, second)
    cts.add(v, second)
    np.testing.assert_array_equal(cts.pop(v, {}), 3 * np.ones(2))
    assert first.tolist() == second.tolist() == [1, 1]
    assert type(cts.pop(v, {})) is Zero


ALIASING: list[Callable[..., Any]] = [
    lambda x, y: x * y,
    lambda x, y: x + y,
    lambda x, y: (x * y, x, y),
    lambda x, y: np.stack([x, y]),
    lambda x, y: np.concatenate([x, y])[:2],
    lambda x, y: (x.reshape(2, 1) * y).sum(0),
]


@pytest.mark.parametrize("f", ALIASING)
@pytest.mark.parametrize("jitted", [False, True])
def test_cotangents_alias_nothing_of_the_callers(f: Callable[..., Any], jitted: bool) -> None:
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    out, pull = tj.vjp(tj.jit(f) if jitted else f, x, y)
    ct = tj.tree.map(lambda o: np.ones_like(o), out)
    before = tj.tree.map(np.copy, (x, y, ct))
    first = tj.tree.map(np.copy, pull(ct))
    for g in tj.tree.leaves(pull(ct)):
        assert not any(np.shares_memory(g, a) for a in tj.tree.leaves((x, y, ct)))
        g[...] = 99.0
    tj.tree.map(np.testing.assert_array_equal, (x, y, ct), before)
    tj.tree.map(np.testing.assert_array_equal, pull(ct), first)


def test_a_value_and_its_gradient_are_apart() -> None:
    x = np.array([1.0, 2.0])
    (a, b) = tj.grad(lambda x, y: (x * y).sum(), (0, 1))(x, x)
    assert a is not b and not np.shares_memory(a, b) and not np.shares_memory(a, x)


def count_ops(jaxpr: Jaxpr) -> Counter[str]:
    found: Counter[str] = Counter()
    for e in jaxpr.eqns:
        found[e.op.name] += 1
        for sub in sub_jaxprs(e.params):
            found += count_ops(sub)
    return found


def test_n_reads_add_into_one_array() -> None:
    """Not n arrays of zeros with one element each: reverse mode of n reads is O(n)."""
    n = 16
    program = tj.make_jaxpr(tj.grad(lambda x: sum(x[i] ** 2 for i in range(n))))(np.ones(n)).jaxpr
    pads = [e for e in program.eqns if e.op.name == "pad"]
    adds = [e for e in program.eqns if e.op.name == "add" and e.outvars[0].aval.shape == (n,)]
    assert not pads and not adds, program


def test_reads_in_a_loop_add_into_the_carry() -> None:
    n = 64

    def f(x: Any) -> Any:
        return lax.fori_loop(0, n, lambda i, c: c + x[i] * x[i], 0.0)

    np.testing.assert_allclose(tj.jit(tj.grad(f))(np.arange(float(n))), 2 * np.arange(n))
    ops = count_ops(tj.make_jaxpr(tj.grad(f))(np.ones(n)).jaxpr)
    assert not ops["pad"], ops


def test_the_transpose_of_a_jaxpr() -> None:
    w = np.arange(6.0).reshape(2, 3)
    jaxpr = tj.make_jaxpr(lambda w, x: w @ x)(w, np.ones(3)).jaxpr
    back, nonzero = transpose_jaxpr(jaxpr, (False, True), (True,))
    check_jaxpr(back)
    assert nonzero == (True,) and back.out_avals[0].shape == (3,)


def test_unused_inputs_have_symbolic_zeros() -> None:
    jaxpr = tj.make_jaxpr(lambda x, y: x * 2.0)(X, X).jaxpr
    assert transpose_jaxpr(jaxpr, (True, True), (True,))[1] == (True, False)


UPDATES: dict[str, Callable[..., Any]] = {
    "slice": lambda x, i: x.at[1:3].set(np.sin(x[1:3]) * x[0]),
    "add": lambda x, i: x.at[1:3].add(x[1:3] * x[0]),
    "multiply": lambda x, i: x.at[1:3].multiply(x[:2]),
    "window": lambda x, i: lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i,), (3,)) * x[0], (i,)),
    "another window": lambda x, i: lax.dynamic_update_slice(
        x, lax.dynamic_slice(x, (i + 1,), (3,)) ** 2, (i,)
    ),
    "clamped": lambda x, i: lax.dynamic_update_slice(
        x, lax.dynamic_slice(x, (i + 90,), (3,)) ** 2, (i + 80,)
    ),
    "read twice": lambda x, i: x.at[1:3].set(x[1:3] * x[1:3] * x[2:4]),
    "written twice": lambda x, i: x.at[1:3].set(x[1:3] * 2).at[1:3].add(x[:2]).at[2:5].set(x[1:4]),
    "element": lambda x, i: x.at[i].set(x[i] * x[i + 1]),
    "steps": lambda x, i: x.at[::2].set(x[::2] * x[1]),
    "nothing": lambda x, i: x.at[2:2].set(x[2:2] * 2),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", UPDATES)
def test_updates_of_a_part_by_what_is_in_it(name: str, jitted: bool) -> None:
    """The part's cotangent is overwritten rather than cleared and added to; against forward mode."""
    f, x, v = UPDATES[name], np.linspace(0.5, 2, 8), np.cos(np.arange(8.0))
    g = lambda x, i: (f(x, i) * v * x).sum()
    apply = tj.jit if jitted else lambda h: h
    want = [tj.jvp(lambda x: g(x, np.int64(2)), (x,), (e,))[1] for e in np.eye(8)]
    np.testing.assert_allclose(apply(tj.grad(g))(x, np.int64(2)), want, rtol=1e-12)
    hessian = [tj.jvp(lambda x: tj.grad(g)(x, np.int64(2)), (x,), (e,))[1] for e in np.eye(8)]
    np.testing.assert_allclose(apply(tj.jacrev(tj.grad(g)))(x, np.int64(2)), hessian, rtol=1e-11, atol=1e-12)


def test_adding_into_a_part_touches_nothing_in_reverse() -> None:
    """The cotangent of a[R] += f(a[R]) starts as that of the result: no zeros are written, and nothing is added."""

    def f(a: Any) -> Any:
        step = lambda k, a: a.at[k + 1 :, k + 1 :].add(-a[k + 1 :, k][:, None] * a[k, k + 1 :])
        return lax.fori_loop(0, 8, step, a).sum()

    lowered = tj.jit(tj.grad(f)).lower(np.eye(9) + 0.1)
    backward = lowered.as_text("jaxpr").split("reverse=True")[1]
    assert backward.count("dynamic_update_slice") == 0 and backward.count("dynamic_slice_add") == 2
