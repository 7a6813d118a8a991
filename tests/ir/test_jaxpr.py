"""Programs as data: frozen parts, effects, sub-programs."""

from __future__ import annotations

import numpy as np

import tracejit as tj
from tracejit import lax
from tracejit.ir.jaxpr import Jaxpr, sub_jaxprs, used_vars

X = np.ones(3)


def test_captured_arrays_are_leading_inputs() -> None:
    w = np.arange(3.0)
    closed = tj.make_jaxpr(lambda x: x * w)(X)
    assert len(closed.consts) == 1 and len(closed.jaxpr.invars) == 2
    assert closed.in_avals == closed.jaxpr.in_avals[1:] and len(closed.out_avals) == 1
    np.testing.assert_array_equal(closed.consts[0], w)


def test_replace_copies() -> None:
    (eqn,) = tj.make_jaxpr(np.sin)(X).jaxpr.eqns
    other = eqn.replace(params={"a": 1})
    assert other is not eqn and other.op is eqn.op and eqn.params != other.params
    assert repr(eqn).split(" = ")[1].startswith("sin ")


def test_effects_are_the_union() -> None:
    closed = tj.make_jaxpr(lambda x, i: np.sin(x)[i])(X, 1)
    assert closed.jaxpr.effects == {"error"}  # the check of the index may raise
    assert tj.make_jaxpr(np.sin)(X).jaxpr.effects == frozenset()


def test_sub_jaxprs_directly_and_in_tuples() -> None:
    (loop,) = tj.make_jaxpr(lambda x: lax.scan(lambda c, _: (c * 2, None), x, None, length=2)[0])(
        X
    ).jaxpr.eqns
    assert len(list(sub_jaxprs(loop.params))) == 1
    cond = tj.make_jaxpr(lambda x: lax.cond(x[0] > 0, np.sin, np.cos, x))(X).jaxpr.eqns[-1]
    assert len(list(sub_jaxprs(cond.params))) == 2


def test_used_vars() -> None:
    jaxpr = tj.make_jaxpr(lambda x, y: np.sin(x))(X, X).jaxpr
    assert jaxpr.invars[0] in used_vars(jaxpr) and jaxpr.invars[1] not in used_vars(jaxpr)


def test_programs_are_compared_by_identity() -> None:
    p = tj.make_jaxpr(np.sin)(X).jaxpr
    assert p != Jaxpr(p.invars, p.eqns, p.outs) and len({p, p}) == 1
    assert "1 in, 1 eqns, 1 out" in repr(p)
