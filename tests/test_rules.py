"""The rule-completeness test: every primitive, every slot, checked against something independent.

eval against its type rule; jvp against finite differences; vjp against jvp; vmap against a loop;
jit against eval; all of them to second order, and in each other's company.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.cases import CASES, REVERSE_ONLY
from tests.cases.makers import Case
from tracejit import dtypes
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.ir.primitive import REGISTRY, Sentinel
from tracejit.test_util import check_grads
from tracejit.tracing import to_raw, wrap

ALL = [
    pytest.param(c, id=f"{name}-{n}") for name, cases in sorted(CASES.items()) for n, c in enumerate(cases)
]


def lifted(case: Case) -> Any:
    """The case as a user's function of arrays that returns a list."""

    def fn(*xs: Any) -> list[Any]:
        out = case.fn(*(to_raw(x) for x in xs))
        return [wrap(o) for o in (out if isinstance(out, (list, tuple)) else [out])]

    return fn


def floats(case: Case) -> tuple[Any, tuple[Any, ...]]:
    """The case as a function of its floating-point operands only, giving its floating-point results."""
    args = case.args()
    which = [dtypes.is_inexact(aval_of(a).dtype) for a in args]
    fn = lifted(case)

    def of_floats(*xs: Any) -> list[Any]:
        it = iter(xs)
        outs = fn(*(next(it) if w else a for w, a in zip(which, args, strict=True)))
        return [o for o in outs if dtypes.is_inexact(tj.eval_shape(lambda: o).dtype)]

    return of_floats, tuple(a for w, a in zip(which, args, strict=True) if w)


def close(a: Any, b: Any, rtol: float = 1e-10) -> None:
    for x, y in zip(tj.tree.leaves(a), tj.tree.leaves(b), strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


def test_every_op_has_a_case() -> None:
    seen: set[str] = {*CASES, *REVERSE_ONLY, "custom_vjp_linear"}  # the last: what custom_vjp's tape holds
    seen |= {
        "draw",
        "enter_generators",
        "make_generator",
    }  # each time another number: tests/control/generators
    for cases in CASES.values():
        for c in cases:
            jaxpr, _ = stage(lambda *xs, c=c: _listed(c.fn(*xs)), [aval_of(a) for a in c.args()])
            seen.update(e.op.name for e in jaxpr.eqns)
    assert set(REGISTRY) - seen == set()


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, (list, tuple)) else [out]


def test_no_slot_is_an_unnamed_hole() -> None:
    for op in REGISTRY.values():
        for slot in op.__dataclass_fields__:
            value = getattr(op, slot)
            assert value is not None and (value != "" or slot == "doc"), f"{op}.{slot}"
            if isinstance(value, Sentinel):
                assert value.name.isupper()


@pytest.mark.parametrize("name", sorted(CASES))
def test_eval_has_the_type_the_rule_says(name: str) -> None:
    for n, case in enumerate(CASES[name]):
        args = case.args()
        jaxpr, _ = stage(lambda *xs, c=case: _listed(c.fn(*xs)), [aval_of(a) for a in args])
        outs = _listed(case.fn(*args))
        assert [aval_of(o) for o in outs] == jaxpr.out_avals, f"case {n}"


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", ALL)
def test_jit_equals_eval(case: Case) -> None:
    fn, args = lifted(case), case.args()
    close(tj.jit(fn)(*args), fn(*args), 1e-13)


@pytest.mark.sample(5)
@pytest.mark.parametrize("case", ALL)
def test_derivatives_to_second_order(case: Case) -> None:
    fn, xs = floats(case)
    if not case.smooth or not xs or not fn(*xs):
        return
    check_grads(fn, xs, order=case.orders, atol=case.tolerance, rtol=case.tolerance)


@pytest.mark.parametrize("case", ALL)
@pytest.mark.sample(18)
def test_derivatives_under_jit(case: Case, thorough: bool) -> None:
    fn, xs = floats(case)
    if not xs or not fn(*xs) or not case.orders:
        return
    nums = tuple(range(len(xs)))

    def loss(*ys: Any) -> Any:
        return sum(np.real(o * np.cos(np.real(o))).sum() for o in fn(*ys))

    want = tj.grad(loss, nums)(*xs)
    close(tj.jit(tj.grad(loss, nums))(*xs), want, case.precision)
    if not thorough:  # test_vmap_of_grad_of_jit has the gradient of the compiled function
        return
    close(tj.grad(tj.jit(loss), nums)(*xs), want, case.precision)
    if case.orders < 2:
        return
    one = tuple(np.ones_like(x) for x in xs)
    hv = tj.jvp(tj.grad(loss, nums), xs, one)[1]
    close(tj.jit(lambda *ys: tj.jvp(tj.grad(loss, nums), ys, one)[1])(*xs), hv, 100 * case.precision)
    close(tj.grad(lambda *ys: tj.jvp(loss, ys, one)[1], nums)(*xs), hv, 100 * case.precision)


@pytest.mark.parametrize("case", ALL)
@pytest.mark.sample(12)
def test_vmap_equals_a_loop(case: Case, thorough: bool) -> None:
    fn = lifted(case)
    batches = [case.args(seed) for seed in range(3)]
    base = batches[0]
    for which in _subsets(len(base)):
        rows = [[b[n] if w else base[n] for n, w in enumerate(which)] for b in batches]
        want = [fn(*row) for row in rows]
        want = [np.stack([np.asarray(w[k]) for w in want]) for k in range(len(want[0]))]
        axes = tuple(0 if w else None for w in which)
        stacked = [np.stack([np.asarray(r[n]) for r in rows]) if w else base[n] for n, w in enumerate(which)]
        close(tj.vmap(fn, in_axes=axes)(*stacked), want, 1e-12)
        if thorough or all(which):
            close(tj.jit(tj.vmap(fn, in_axes=axes))(*stacked), want, 1e-12)
        last = [np.moveaxis(s, 0, -1) if w else s for s, w in zip(stacked, which, strict=True)]
        ends = tuple(-1 if w else None for w in which)
        close(tj.vmap(fn, in_axes=ends)(*last), want, 1e-12)


def _subsets(n: int) -> list[tuple[bool, ...]]:
    if n > 4:
        return [(True,) * n, *(tuple(m == k for m in range(n)) for k in range(n))]
    return [tuple(bool(bits >> k & 1) for k in range(n)) for bits in range(1, 2**n)]


@pytest.mark.parametrize("case", ALL)
@pytest.mark.sample(18)
def test_vmap_of_grad_of_jit(case: Case) -> None:
    fn, xs = floats(case)
    if not xs or not fn(*xs) or not case.orders:
        return
    nums = tuple(range(len(xs)))

    def loss(*ys: Any) -> Any:
        return sum(np.real(o * o).sum() for o in fn(*ys))

    batches = [floats(case)[1], tuple(x * 1.01 for x in xs)]
    want = [tj.grad(loss, nums)(*b) for b in batches]
    stacked = [np.stack([b[n] for b in batches]) for n in nums]
    got = tj.vmap(tj.grad(tj.jit(loss), nums))(*stacked)
    close(got, tuple(np.stack([w[n] for w in want]) for n in nums), 1e-9)


@pytest.mark.parametrize("case", [c for cases in REVERSE_ONLY.values() for c in cases])
def test_reverse_only(case: Case) -> None:
    fn, args = lifted(case), case.args()
    check_grads(fn, args, order=2, modes=["rev"])
    close(tj.jit(fn)(*args), fn(*args))
    fn, xs = floats(case)
    loss = lambda *ys: sum((o * o).sum() for o in fn(*ys))
    close(tj.jit(tj.grad(loss, (0, 1)))(*xs), tj.grad(tj.jit(loss), (0, 1))(*xs))
