import numpy as np

from tests.passes.toy import B, add, agree, f64, library, mul, names, ranged, say, total
from tracejit.ir.jaxpr import Literal
from tracejit.passes.simplify import simplify


def test_chains_of_constants():
    b = B(f64())
    c = b(mul, b(add, 1.0, 2.0), 3.0)
    j = b.done(b(add, b[0], c), c)
    out = simplify(j)
    assert names(out) == ["add"]
    assert isinstance(out.outs[1], Literal)
    agree(j, out, 0.5)


def test_warnings_are_the_program_s_not_ours():
    b = B()
    assert names(simplify(b.done(b(mul, np.inf, 0.0)))) == []


def test_effects_and_library_calls_are_not_folded():
    b = B()
    j = b.done(b(say, 1.0), b(library, 2.0))
    assert simplify(j) is j


def test_an_operation_that_raises_stays():
    def boom(x):
        raise ValueError

    b = B()
    j = b.done(b(total, 1.0))
    object.__setattr__(total, "eval", boom)
    try:
        assert simplify(j) is j
    finally:
        object.__setattr__(total, "eval", np.sum)


def test_an_extent_that_becomes_known():
    b = B(f64())
    n = b(add, np.int64(2), np.int64(3))
    r = b(ranged, n, bound=9)
    j = b.done(b(add, r, r))
    out = simplify(j)
    assert out.out_avals[0].shape == (5,)
    agree(j, out, 0.0)
