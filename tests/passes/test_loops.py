import numpy as np

from tests.passes.toy import B, add, agree, cond, f64, i64, lt, mul, names, neg, scan, sin, while_
from tracejit.passes.loops import loops
from tracejit.passes.simplify import simplify


def test_literals_and_repetitions_enter_a_scan():
    body = B(i64(), *[f64()] * 4)
    _, w, u, v, a = body.invars
    body = body.done(body(add, body(mul, a, w), body(mul, u, v)))
    b = B(f64())
    j = b.done(
        *b(scan, 2.0, b[0], b[0], 1.0, jaxpr=body, length=3, bound=None, consts=3, carry=1, reverse=False)
    )
    out = loops(j)
    (eqn,) = out.eqns
    assert eqn.params["consts"] == 1 and len(eqn.invars) == 2
    agree(j, out, 0.5)


def test_constant_carries_become_constants():
    body = B(i64(), *[f64()] * 4)
    _, _w, a, c, d = body.invars
    body = body.done(body(add, a, body(mul, c, d)), c, 7.0, body(sin, a))
    b = B(f64())
    outs = b(scan, 2.0, 1.0, b[0], 7.0, jaxpr=body, length=3, bound=None, consts=1, carry=3, reverse=False)
    j = b.done(*outs, b(neg, outs[1]))
    out = loops(j)
    eqn = out.eqns[0]
    assert (eqn.params["consts"], eqn.params["carry"]) == (1, 1)
    assert out.outs[1] is out.invars[0]
    agree(j, out, 0.5)


def test_carries_that_inner_loops_hand_on_become_constants():
    """In both loops, whichever of them is a while loop."""
    for outer in (True, False):
        inner = B(i64(), f64(), f64())
        inner = inner.done(inner(add, inner[1], inner[2]), inner[2])
        c = B(f64(), f64(), f64())
        test = c.done(c(lt, c[1], c[0]))
        k = B(f64(), f64())
        count = k.done(k(add, k[0], k[1]), k[1])
        loop = {"jaxpr": inner, "length": 3, "bound": None, "consts": 0, "carry": 2, "reverse": False}
        until = {"cond": test, "body": count, "cond_consts": 1, "body_consts": 0}
        if outer:
            body = B(i64(), f64(), f64())
            body = body.done(*body(while_, 5.0, body[1], body[2], **until))
            b = B(f64())
            outs = b(scan, 0.5, b[0], **{**loop, "jaxpr": body})
        else:
            body = B(f64(), f64())
            body = body.done(*body(scan, body[0], body[1], **loop))
            b = B(f64())
            outs = b(while_, 5.0, 0.5, b[0], **{**until, "body": body})
        j = b.done(*outs)
        out = loops(j)
        (eqn,) = out.eqns
        assert len(eqn.outvars) == 1 and out.outs[1] is out.invars[0]
        agree(j, out, 0.25)


def test_a_length_known_now():
    body = B(i64(), f64())
    body = body.done(body(mul, body[1], 2.0), body[1])
    b = B()
    n = b(add, np.int64(1), np.int64(2))
    outs = b(scan, n, 1.0, jaxpr=body, length=None, bound=8, consts=0, carry=1, reverse=False)
    j = b.done(outs[0], b(neg, outs[1]))
    out = loops(simplify(j))
    assert out.eqns[0].params["length"] == 3
    assert out.out_avals[1].shape == (3,)
    agree(j, out)


def test_while():
    c = B(f64(), f64(), f64())
    test = c.done(c(lt, c[1], c[0]))
    k = B(f64(), f64(), f64())
    body = k.done(k(add, k[1], k(mul, k[0], k[2])), k[2])
    b = B(f64())
    outs = b(while_, 5.0, 1.0, b[0], 2.0, cond=test, body=body, cond_consts=1, body_consts=1)
    j = b.done(*outs)
    out = loops(j)
    (eqn,) = out.eqns
    assert len(eqn.invars) == 1 and len(eqn.outvars) == 1
    agree(j, out, 0.0)


def test_cond_and_the_bodies_in_it():
    inner = B(f64(), f64())
    inner = inner.done(inner(mul, inner[0], inner[1]))
    outer = B(f64(), f64())
    outer = outer.done(*outer(cond, 0, outer[0], outer[1], branches=(inner, inner)))
    b = B(i64(), f64())
    j = b.done(*b(cond, b[0], 3.0, b[1], branches=(outer, outer)))
    out = loops(j)
    nested = out.eqns[0].params["branches"][0].eqns[0]
    assert len(out.eqns[0].invars) == 2 and len(nested.invars) == 2
    assert names(nested.params["branches"][0]) == ["mul"]
    agree(j, out, np.int64(1), 2.0)


def test_nothing_to_do_is_identity():
    body = B(i64(), f64(), f64())
    body = body.done(body(add, body[1], body[2]))
    b = B(f64(), f64())
    j = b.done(*b(scan, b[0], b[1], jaxpr=body, length=3, bound=None, consts=1, carry=1, reverse=False))
    assert loops(j) is j
