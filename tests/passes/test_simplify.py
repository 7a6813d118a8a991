import numpy as np
import pytest

from tests.passes.toy import B, add, agree, broadcast, cond, f64, mul, names, neg, op, sin
from tracejit.config import config
from tracejit.errors import InternalTypeError
from tracejit.ir.kernel import Pointwise, Repeat
from tracejit.passes.simplify import simplify


def _nothing(*_: object, **__: object) -> None:
    """Code of an op that is not lowered."""


def test_identities():
    b = B(f64(3))
    x = b(add, b[0], 0.0)
    y = b(neg, b(neg, x))
    j = b.done(b(mul, y, y))
    out = simplify(j)
    assert names(out) == ["neg", "square"]  # the neg is dead now
    agree(j, out, [1.0, 2.0, 3.0])


def test_a_branch_known_now():
    one, two = B(f64()), B(f64())
    branches = (one.done(one(sin, one[0])), two.done(two(neg, two[0])))
    b = B(f64())
    (x,) = b(cond, 1, b[0], branches=branches)
    j = b.done(b(sin, x))
    out = simplify(j)
    assert names(out) == ["neg", "sin"]
    agree(j, out, 3.0)


def test_rules_that_never_settle_end():
    def flip(eqn):
        return "op", spin, eqn.invars[::-1], {}

    spin = op("spin", lambda a, b: a, lambda a, b: a + b, Pointwise(None), simplify=(flip,))
    b = B(f64(), f64())
    j = b.done(b(spin, b[0], b[1]))
    agree(j, simplify(j), 1.0, 2.0)


def test_an_identity_of_the_wrong_type():
    bad = op("bad", lambda a: a, lambda a: a, Pointwise(None), simplify=(lambda eqn: 1.0,))
    b = B(f64(3))
    j = b.done(b(bad, b[0]))
    with config.override(check_types=True), pytest.raises(InternalTypeError, match="identity"):
        simplify(j)
    with config.override(check_types=False):
        assert simplify(j) is j


def test_arrays_of_one_number_are_read_as_the_number():
    """`x + zeros` in a derivative is `x`, although zeros is a broadcast scalar."""
    b = B(f64(3), f64())
    zeros = b(broadcast, 0.0, shape=(3,))
    many = b(broadcast, b[1], shape=(3,))
    j = b.done(b(mul, b(add, b[0], zeros), many))
    out = simplify(j)
    assert "add" not in names(out)
    assert out.eqns[-1].invars == out.invars
    agree(j, out, [1.0, 2.0, 3.0], 0.5)


def test_one_operand_keeps_the_shape():
    b = B(f64())
    both = b(broadcast, b[0], shape=(3,))
    j = b.done(b(add, both, both))
    assert simplify(j) is j


def test_arrays_of_one_number_make_arrays_of_one_number():
    """The value is known, or computed once: `100 * ones` in a derivative is an array of hundreds."""
    repeat = op("repeat", lambda a, *, shape: a.with_shape(shape), np.broadcast_to, Repeat(_nothing))
    b = B(f64(3), f64())
    hundred = b(mul, 100.0, b(repeat, 1.0, shape=(3,)))
    twice = b(add, b(repeat, b[1], shape=(3,)), hundred)
    j = b.done(b(mul, b[0], twice))
    out = simplify(j)
    assert [e.outvars[0].aval.shape for e in out.eqns if e.op is not repeat] == [(), (3,)]
    assert out.eqns[-1].invars[0] is out.invars[0]
    agree(j, out, [1.0, 2.0, 3.0], 0.5)
