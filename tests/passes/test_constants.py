"""Arrays in the bodies of loops, branches and calls become operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.interpreters.closed import holding
from tracejit.interpreters.jit import Compiled, execute
from tracejit.ir.check import check_jaxpr
from tracejit.ir.jaxpr import Jaxpr, contains
from tracejit.ir.kernel import Constant
from tracejit.passes.constants import lift

K = np.array([1.0, -2.0, 0.5])
X = np.array([3.0, 4.0, 5.0])

PROGRAMS: dict[str, Callable[..., Any]] = {
    "plain": lambda k, x: x * k,
    "scan": lambda k, x: lax.scan(lambda c, _: (c * k, c + k), x, None, length=3),
    "while": lambda k, x: lax.while_loop(lambda c: (c < k * 1e3).any(), lambda c: c + k * k, x),
    "cond": lambda k, x: lax.cond(x[0] > 0, lambda y: y * k, lambda y: y - 1.0, x),
    "jit": lambda k, x: tj.jit(lambda y: y * k)(x),
    "checkpoint": lambda k, x: tj.checkpoint(lambda y: y * k)(x),
    "nested": lambda k, x: lax.scan(
        lambda c, _: (lax.fori_loop(0, 2, lambda i, d: d + k, c), c), x, None, length=2
    ),
}


def inside(jaxpr: Jaxpr, var: Any) -> Jaxpr:
    """`jaxpr` with the array K as a constant of the regions that take `var`, its first input."""
    eqns = []
    for e in jaxpr.eqns:
        params = dict(e.params)
        at = [n for n, a in enumerate(e.invars) if a is var]
        kernel = type(e.op.kernel).__name__
        if at and kernel in ("CallRegion", "ScanRegion", "CondRegion", "WhileRegion"):
            e = _moved(e, params, at[0], kernel) if len(at) == 1 else e
        eqns.append(e)
    return holding(Jaxpr(jaxpr.invars, tuple(eqns), jaxpr.outs, jaxpr.name), {0: K})


def _moved(e: Any, params: dict[str, Any], n: int, kernel: str) -> Any:
    rest = (*e.invars[:n], *e.invars[n + 1 :])
    if kernel == "CallRegion":
        params["jaxpr"] = inside(params["jaxpr"], params["jaxpr"].invars[n]) if n == 0 else params["jaxpr"]
        return e.replace(invars=rest, params=params) if n == 0 else e
    if kernel == "ScanRegion":
        params |= {"jaxpr": holding(params["jaxpr"], {n + 1: K}), "consts": params["consts"] - 1}
    elif kernel == "CondRegion":
        params["branches"] = tuple(holding(b, {n - 1: K}) for b in params["branches"])
    elif n < params["cond_consts"]:
        params |= {"cond": holding(params["cond"], {n: K}), "cond_consts": params["cond_consts"] - 1}
    else:
        m = n - params["cond_consts"]
        params |= {"body": holding(params["body"], {m: K}), "body_consts": params["body_consts"] - 1}
    return e.replace(invars=rest, params=params)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lifted_programs_mean_the_same(name: str) -> None:
    f = PROGRAMS[name]
    closed = tj.make_jaxpr(f)(K, X)
    given = inside(closed.jaxpr, closed.jaxpr.invars[0])
    check_jaxpr(given)
    assert any(contains(e, (Constant,)) for e in given.eqns)
    new, arrays = lift(given)
    check_jaxpr(new)
    assert not any(contains(e, (Constant,)) for e in new.eqns)
    assert len(arrays) == 1
    assert arrays[0] is K
    want = tj.tree.leaves(f(K, X))
    for got in (execute(given, [X]), execute(new, [K, X])):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-15)


def test_a_program_without_constants_stays() -> None:
    jaxpr = tj.make_jaxpr(lambda x: x * 2.0)(X).jaxpr
    assert lift(jaxpr) == (jaxpr, [])


def test_compiled_constants_are_read_at_every_call() -> None:
    k = K.copy()
    jaxpr = tj.make_jaxpr(lambda k, x: x * k)(k, X).jaxpr
    given = holding(jaxpr, {0: k})
    compiled = Compiled(given, ((1,),))
    np.testing.assert_array_equal(compiled(X)[0], X * K)
    k[:] = 2.0
    np.testing.assert_array_equal(compiled(X)[0], X * 2.0)
    np.testing.assert_array_equal(execute(given, [X])[0], X * 2.0)
