import numpy as np

from tests.passes.toy import B, add, agree, f64, i64, lt, mul, names, neg, say, scan, sin, total, while_
from tracejit.passes.dce import dce
from tracejit.passes.hoist import hoist


def test_dear_invariants_leave_a_scan():
    body = B(i64(), f64(3), f64())
    _, w, a = body.invars
    s = body(total, body(sin, body(neg, w)))
    body = body.done(body(add, body(mul, a, s), body(total, body(neg, w))))
    b = B(f64(3))
    args = {"length": 3, "bound": None, "consts": 1, "carry": 1, "reverse": False}
    # Twice, so that a shared body must not bind its variables twice outside.
    (x,) = b(scan, b[0], 1.0, jaxpr=body, **args)
    j = b.done(*b(scan, b[0], x, jaxpr=body, **args))
    out = hoist(j)
    assert names(out) == ["neg", "sin", "total", "total", "scan"] * 2 or len(out.eqns) == 12
    agree(j, out, np.arange(3.0))
    swept = dce(out)
    assert names(swept.eqns[-1].params["jaxpr"]) == ["mul", "add"]
    agree(j, swept, np.arange(3.0))


def test_two_levels():
    inner = B(i64(), f64(3), f64())
    inner = inner.done(inner(add, inner[2], inner(total, inner[1])))
    args = {"length": 2, "bound": None, "consts": 1, "carry": 1, "reverse": False}
    outer = B(i64(), f64(3), f64())
    outer = outer.done(*outer(scan, outer[1], outer[2], jaxpr=inner, **args))
    b = B(f64(3))
    j = b.done(*b(scan, b[0], 1.0, jaxpr=outer, **args))
    out = hoist(j)
    assert names(out) == ["total", "scan"]
    agree(j, out, np.arange(3.0))


def test_both_parts_of_a_while():
    c = B(f64(3), f64())
    test = c.done(c(lt, c[1], c(total, c[0])))
    k = B(f64(3), f64())
    body = k.done(k(add, k[1], k(total, k(sin, k[0]))))
    b = B(f64(3))
    j = b.done(*b(while_, b[0], b[0], 0.0, cond=test, body=body, cond_consts=1, body_consts=1))
    out = hoist(j)
    assert names(out.eqns[-1].params["cond"]) == ["lt"]
    assert names(out.eqns[-1].params["body"]) == ["add"]
    agree(j, out, np.arange(1.0, 4.0))


def test_effects_and_cheap_work_stay():
    body = B(i64(), f64(3), f64(3))
    _, w, a = body.invars
    body = body.done(body(add, a, body(say, body(neg, w))))
    b = B(f64(3))
    j = b.done(*b(scan, b[0], b[0], jaxpr=body, length=2, bound=None, consts=1, carry=1, reverse=False))
    assert hoist(j) is j
