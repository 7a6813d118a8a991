"""The typechecker finds each kind of corruption."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import InternalTypeError
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.check import check_jaxpr
from tracejit.ir.jaxpr import Jaxpr, Literal, Var, sub_jaxprs

X = np.ones(3)


def program() -> Jaxpr:
    return tj.make_jaxpr(lambda x: np.cos(np.sin(x)) * 2.0)(X).jaxpr


def test_a_right_program_passes() -> None:
    check_jaxpr(program())


def rejected(jaxpr: Jaxpr, problem: str) -> None:
    with pytest.raises(InternalTypeError, match=problem):
        check_jaxpr(jaxpr)


def with_eqn(n: int, change: Callable[[Any], dict[str, Any]]) -> Jaxpr:
    p = program()
    eqns = list(p.eqns)
    eqns[n] = eqns[n].replace(**change(eqns[n]))
    return Jaxpr(p.invars, tuple(eqns), p.outs, p.name)


def test_an_unbound_variable() -> None:
    stray = Var(None, aval_of(X))
    rejected(with_eqn(0, lambda e: {"invars": (stray,)}), "used before it is bound")


def test_use_before_binding() -> None:
    p = program()
    rejected(Jaxpr(p.invars, p.eqns[::-1], p.outs), "used before it is bound")


def test_an_unbound_output() -> None:
    p = program()
    rejected(Jaxpr(p.invars, p.eqns, (Var(None, aval_of(X)),)), "output .* is used before it is bound")


def test_a_wrong_type() -> None:
    wrong = Var(None, aval_of(X.astype(np.float32)))
    p = program()
    eqns = (*p.eqns[:-1], p.eqns[-1].replace(outvars=(wrong,)))
    rejected(Jaxpr(p.invars, eqns, (wrong,)), "its rule gives f64\\[3\\], the variable has f32\\[3\\]")


def test_binding_twice() -> None:
    p = program()
    rejected(with_eqn(1, lambda e: {"outvars": p.eqns[0].outvars}), "used before it is bound|bound twice")
    rejected(Jaxpr((p.invars[0], p.invars[0]), p.eqns, p.outs), "bound twice")
    again = p.eqns[1].replace(outvars=p.eqns[0].outvars)
    rejected(Jaxpr(p.invars, (p.eqns[0], again), p.eqns[0].outvars), "bound twice")


def test_wrong_effects() -> None:
    rejected(with_eqn(0, lambda e: {"effects": frozenset({"ordered"})}), "wrong effects")


def test_a_wrong_number_of_outputs() -> None:
    rejected(with_eqn(2, lambda e: {"outvars": (*e.outvars, Var(None, aval_of(X)))}), "its rule gives 1")


def test_an_extent_that_is_not_bound() -> None:
    n = Var(None, Aval((), np.dtype(np.int64)))
    x = Var(None, Aval((Dim(n, 4),), np.dtype(np.float64)))
    rejected(Jaxpr((x,), (), (x,)), "the extent of .* is not bound")
    check_jaxpr(Jaxpr((n, x), (), (x,)))


def test_corruption_inside_a_loop_is_found() -> None:
    p = tj.make_jaxpr(lambda x: lax.fori_loop(0, 3, lambda i, c: np.sin(c), x))(X).jaxpr
    (at,) = [n for n, e in enumerate(p.eqns) if any(True for _ in sub_jaxprs(e.params))]
    key, body = next((k, v) for k, v in p.eqns[at].params.items() if isinstance(v, Jaxpr) and v.eqns)
    broken = Jaxpr(body.invars, body.eqns[1:], body.outs)
    eqns = list(p.eqns)
    eqns[at] = eqns[at].replace(params={**eqns[at].params, key: broken})
    rejected(Jaxpr(p.invars, tuple(eqns), p.outs), "used before it is bound")


def test_literals_need_no_binding() -> None:
    check_jaxpr(Jaxpr((), (), (Literal(np.float64(1.0)),)))
