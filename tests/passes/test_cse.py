import numpy as np
import pytest

import tracejit as tj
from tests.passes.toy import B, add, agree, f64, i64, mul, names, op, ranged, say
from tracejit.ir.kernel import Pull
from tracejit.passes.cse import cse


def test_same_computation_once():
    b = B(f64(3))
    x, y = b(add, b[0], 1.0), b(add, b[0], 1.0)
    j = b.done(b(mul, x, y), b(mul, y, x))
    out = cse(j)
    assert names(out) == ["add", "mul"]
    assert out.outs[0] is out.outs[1]
    agree(j, out, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(("a", "b"), [(0.0, -0.0), (1.0, np.float32(1))])
def test_literals_differ_by_bits(a, b):
    k = B(f64(3))
    j = k.done(k(add, k[0], a), k(add, k[0], b))
    assert cse(j) is j


def test_nan_literals_are_equal():
    b = B(f64())
    assert names(cse(b.done(b(add, b[0], np.nan), b(add, b[0], np.nan)))) == ["add"]


def test_effects_are_not_merged():
    b = B(f64())
    j = b.done(b(say, b[0]), b(say, b[0]))
    assert cse(j) is j


def test_checks_that_have_passed():
    """The first one raises; what is checked otherwise is checked."""
    x, i = np.arange(5.0), np.array([1, -2])
    f = tj.jit(lambda x, i: x[i] * x[i] + x[:4][i])
    loops = f.lower(x, i).as_text("loops")
    assert loops.count("or fail") == 2
    np.testing.assert_array_equal(f(x, i), x[i] * x[i] + x[:4][i])
    for wrong, size in ((5, 5), (4, 4), (-5, 4)):
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0 with size {size}"):
            f(x, np.array([0, wrong]))


@pytest.mark.parametrize(("a", "b"), [(1, 1.0), (1, True), (0.0, -0.0), ((1, 2), (1, 2.0))])
def test_params_that_are_equal_but_differ(a, b):
    full = op("full", lambda *, value: f64(), lambda *, value: value, Pull(None))
    k = B()
    j = k.done(k(full, value=a), k(full, value=b))
    assert cse(j) is j


def test_unhashable_params_by_identity():
    table = op("table", lambda *, value: f64(), lambda *, value: value[0], Pull(None))
    one, two = [1.0], [1.0]
    b = B()
    j = b.done(b(table, value=one), b(table, value=two), b(table, value=one))
    assert len(cse(j).eqns) == 2


def test_extents_follow_their_variable():
    b = B(i64())
    n, m = b(add, b[0], np.int64(1)), b(add, b[0], np.int64(1))
    j = b.done(b(add, b(ranged, n, bound=9), b(ranged, n, bound=9)), b(ranged, m, bound=9))
    out = cse(j)
    assert names(out) == ["add", "ranged", "add"]
    agree(j, out, np.int64(3))
