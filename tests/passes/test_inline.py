from tests.passes.toy import B, add, agree, call, cond, f64, i64, mul, names, say, scan
from tracejit.passes.inline import inline


def _twice():
    b = B(f64(3))
    return b.done(b(add, b[0], b[0]))


def test_nested_calls_become_flat():
    inner = _twice()
    mid = B(f64(3))
    mid = mid.done(*mid(call, mid[0], jaxpr=inner), mid[0])
    b = B(f64(3))
    x, y = b(call, b[0], jaxpr=mid)
    (z,) = b(call, x, jaxpr=inner)
    j = b.done(z, y)
    out = inline(j)
    assert names(out) == ["add", "add"]
    agree(j, out, [1.0, 2.0, 3.0])


def test_one_body_twice_gets_its_own_variables():
    b = B(f64(3))
    (x,) = b(call, b[0], jaxpr=_twice())
    (y,) = b(call, x, jaxpr=_twice())
    agree(b.done(x, y), inline(b.done(x, y)), [1.0, 2.0, 3.0])


def test_calls_in_bodies():
    body = B(f64(3))
    branch = body.done(*body(call, body[0], jaxpr=_twice()))
    b = B(f64(3))
    j = b.done(*b(cond, True, b[0], branches=(branch, branch)))
    out = inline(j)
    branches = out.eqns[0].params["branches"]
    assert names(branches[0]) == ["add"]
    assert branches[0] is branches[1]  # rewritten once
    agree(j, out, [1.0, 2.0, 3.0])


def test_effects_stay_in_order():
    inner = B(f64())
    inner = inner.done(inner(say, inner(mul, inner[0], 2.0)))
    b = B(f64())
    x = b(say, b[0])
    (y,) = b(call, x, jaxpr=inner)
    j = b.done(b(say, y))
    out = inline(j)
    assert names(out) == ["say", "mul", "say", "say"]
    assert out.effects == {"ordered"}


def test_literal_argument_and_output():
    inner = B(f64())
    inner = inner.done(inner(add, inner[0], 1.0), 5.0)
    b = B()
    j = b.done(*b(call, 2.0, jaxpr=inner))
    agree(j, inline(j))


def test_nothing_to_do_is_identity():
    body = B(i64(), f64())
    body = body.done(body(add, body[1], 1.0))
    b = B(f64())
    j = b.done(*b(scan, b[0], jaxpr=body, length=3, bound=None, consts=0, carry=1, reverse=False))
    assert inline(j) is j
