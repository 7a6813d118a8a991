import numpy as np

from tests.passes import toy
from tests.passes.toy import (
    B,
    add,
    agree,
    cond,
    f64,
    i64,
    lt,
    mul,
    names,
    neg,
    ranged,
    say,
    scan,
    sin,
    while_,
)
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import Var
from tracejit.passes.dce import _Dce, dce


def test_dead_equations_go_and_effects_stay():
    b = B(f64(3), f64(3))
    b(mul, b[0], b[1])
    x = b(sin, b[1])
    b(say, x)
    j = b.done(b(add, b[0], 1.0))
    out = dce(j)
    assert names(out) == ["sin", "say", "add"]
    assert out.invars == j.invars
    agree(j, out, np.ones(3), np.ones(3))


def test_nothing_dead_is_identity():
    b = B(f64(3))
    j = b.done(b(sin, b[0]))
    assert dce(j) is j


def test_extents_are_needed():
    b = B(i64())
    n = b(add, b[0], np.int64(1))
    j = b.done(b(neg, b(ranged, n, bound=9)))
    assert dce(j) is j


def test_cond_loses_outputs_and_operands():
    one, two = B(f64(3), f64(3), f64(3)), B(f64(3), f64(3), f64(3))
    branches = (one.done(one[0], one(sin, one[1])), two.done(two(neg, two[0]), two[2]))
    b = B(i64(), f64(3))
    s = b(sin, b[1])
    first, _ = b(cond, b[0], b[1], s, s, branches=branches)
    j = b.done(first)
    out = dce(j)
    assert names(out) == ["cond"]
    assert len(out.eqns[0].invars) == 2 and names(out.eqns[0].params["branches"][0]) == []
    for i in (0, 1):
        agree(j, out, np.int64(i), np.ones(3))


def _scan(**changes):
    """consts w, u; carry a (used), c (feeds itself), d (feeds a); xs x, y; ys p, q (unused)."""
    body = B(i64(), *[f64()] * 7)
    w, u, a, c, d, x, y = body.invars[1:]
    body = body.done(
        body(add, body(mul, a, w), d), body(mul, c, u), body(sin, d), body(add, x, a), body(mul, y, c)
    )
    return {"jaxpr": body, "length": 4, "bound": None, "consts": 2, "carry": 3, "reverse": False, **changes}


def test_scan_keeps_what_feeds_the_used():
    b = B(f64(4), f64(4))
    outs = b(scan, 2.0, 3.0, 1.0, 1.0, 0.5, b[0], b[1], **_scan())
    j = b.done(outs[0], outs[3])
    out = dce(j)
    (eqn,) = out.eqns
    assert (eqn.params["consts"], eqn.params["carry"], len(eqn.invars)) == (1, 2, 4)
    assert names(eqn.params["jaxpr"]) == ["mul", "add", "sin", "add"]
    agree(j, out, np.arange(4.0), np.ones(4))


def test_scan_of_traced_length():
    b = B(i64(), f64(4), f64(4))
    outs = b(scan, b[0], 2.0, 3.0, 1.0, 1.0, 0.5, b[1], b[2], **_scan(length=None, bound=4, reverse=True))
    j = b.done(outs[1], outs[4])
    out = dce(j)
    assert out.eqns[0].params["carry"] == 1
    assert len(out.eqns[0].invars) == 1 + 1 + 1 + 1
    agree(j, out, np.int64(3), np.arange(4.0), np.ones(4))


def test_scan_with_an_effect_keeps_its_need():
    body = B(i64(), f64(), f64())
    _, a, c = body.invars
    c2 = body(say, body(mul, c, 2.0))
    body = body.done(body(add, a, 1.0), c2)
    b = B()
    outs = b(scan, 0.0, 1.0, jaxpr=body, length=3, bound=None, consts=0, carry=2, reverse=False)
    j = b.done(outs[0])
    out = dce(j)
    assert out.eqns[0].params["carry"] == 2
    toy.log.clear()
    agree(j, out)
    assert [float(x) for x in toy.log] == [2.0, 4.0, 8.0] * 2


def test_unused_scan_goes():
    b = B(f64(4), f64(4))
    b(scan, 2.0, 3.0, 1.0, 1.0, 0.5, b[0], b[1], **_scan())
    assert names(dce(b.done(b[0]))) == []


def test_while_keeps_what_its_condition_reads():
    c = B(f64(), f64(), f64(), f64())  # limit; i, a, dead
    test = c.done(c(lt, c[1], c[0]))
    k = B(f64(), f64(), f64(), f64())  # step; i, a, dead
    body = k.done(k(add, k[1], k[0]), k(mul, k[2], 2.0), k(sin, k[3]))
    b = B(f64())
    outs = b(while_, 5.0, 1.0, b[0], 1.0, 1.0, cond=test, body=body, cond_consts=1, body_consts=1)
    j = b.done(outs[1])
    out = dce(j)
    assert len(out.eqns[0].invars) == 4 and len(out.eqns[0].outvars) == 2
    agree(j, out, 0.0)


def test_unknown_params_are_left_alone():
    custom = toy.op(
        "custom",
        lambda i, x, *, branches, extra: f64(),
        None,
        toy.CondRegion(),
        multi=False,
        effects=toy._sub_effects,
    )
    one = B(f64())
    b = B(f64())
    j = b.done(b(custom, 0, b[0], branches=(one.done(1.0),), extra=1))
    assert dce(j) is j


def test_extents_of_inputs_that_are_needed_are_needed_too():
    for needed in (True, False):
        b = B(i64(), i64())
        v = Var(None, Aval((Dim(b[0], 9),), np.dtype(float)))
        b.invars += (v,)
        j = b.done(b(neg, v) if needed else b(neg, b[1]))
        _, live = _Dce().sweep(j)
        assert live == ((True, False, True) if needed else (False, True, False))
