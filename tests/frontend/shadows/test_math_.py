"""`math` in traced functions."""

from __future__ import annotations

import math
from math import hypot, sqrt

import numpy as np
import pytest

import tracejit as tj
from tracejit.frontend.shadows import math_

ARGUMENTS = {
    "acosh": (1.7,),
    "atan2": (0.3, -0.8),
    "pow": (0.7, 2.5),
    "copysign": (0.7, -1.0),
    "fmod": (7.5, -2.0),
    "hypot": (0.3, 0.4),
    "gcd": (12, 18),
    "isclose": (0.7, 0.7 + 1e-12),
    "dist": ((0.7, 2.0), (-1.0, 0.5)),
    "fsum": ((0.7, 1e3, -2.0),),
    "remainder": (7.5, -2.0),
    "nextafter": (0.7, 1.0),
    "ldexp": (0.7, 3),
    "lcm": (4, 6),
}


@pytest.mark.parametrize("other", [[0.5, 1.0], (0.5,), {}, set(), "x", b"x", None])
def test_what_is_no_number_beside_a_traced_one(other):
    for f in (lambda x: math.atan2(x, other), lambda x: math.pow(other, x), lambda x: math.fmod(other, x)):
        for call in (f, tj.jit(f, fallback=False)):
            with pytest.raises(TypeError, match=f"must be real number, not {type(other).__name__}"):
                call(0.5)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", sorted(vars(math_.namespace)))
def test_traced_numbers_give_what_math_gives(name):
    f = getattr(math, name)
    args = ARGUMENTS.get(name, (0.7,))
    got, wanted = tj.jit(lambda *xs: getattr(math, name)(*xs))(*args), f(*args)
    np.testing.assert_allclose(got, wanted, rtol=1e-14)
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(wanted), strict=True):
        assert np.result_type(g) == np.result_type(w)


def test_remainders_are_exact():
    f = tj.jit(lambda x, y: math.remainder(x, y))
    for x in (-7.0, 1.0, 2.5, 3.5, 1e17 + 64, -0.0, 5e-324):
        for y in (2.0, -3.0, 0.1, math.inf, 1e-5):
            assert repr(float(f(x, y))) == repr(math.remainder(x, y))
    close = tj.jit(
        lambda a, b: (math.isclose(a, b), math.isclose(a, b, rel_tol=0.1), math.isclose(a, b, abs_tol=9))
    )
    for a, b in ((1.0, 1.05), (math.inf, math.inf), (math.inf, 1.0), (math.nan, math.nan), (0.0, 1e-12)):
        assert close(a, b) == (
            math.isclose(a, b),
            math.isclose(a, b, rel_tol=0.1),
            math.isclose(a, b, abs_tol=9),
        )


def test_imported_names_several_arguments_and_constants():
    def f(x, y):
        return sqrt(x) + hypot(x, y, 1.0) + math.log(x, 2.0) + math.log(8.0, 2) + math.pi + math.floor(-x)

    assert tj.jit(f)(0.7, 2.0) == pytest.approx(f(0.7, 2.0), rel=1e-15)
    got = tj.grad(f)(0.7, 2.0)
    assert got == pytest.approx((f(0.7 + 1e-7, 2.0) - f(0.7 - 1e-7, 2.0)) / 2e-7, rel=1e-6)


def test_results_are_python_numbers():
    x = np.ones(3, np.float32)
    assert tj.jit(lambda x, s: x * math.exp(s))(x, np.float32(2)).dtype == np.float32


def test_known_numbers_go_to_python():
    with pytest.raises(ValueError, match="domain"):
        tj.jit(lambda x: x + math.sqrt(-1.0))(1.0)
    assert tj.jit(lambda x: x + math.factorial(5))(1.0) == 121.0


@pytest.mark.parametrize(
    "name", ["sqrt", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "acosh", "atanh"]
)
def test_domains_are_those_of_python(name):
    """At the ends of each domain, at its poles and at what is no number."""
    function = getattr(math, name)
    f = tj.jit(lambda x: function(x), fallback=False)
    ends = [e for edge in (-1.0, 0.0, 1.0) for e in (math.nextafter(edge, -9), edge, math.nextafter(edge, 9))]
    for x in (*ends, -0.0, -5.0, 5.0, 1e-320, 1e308, math.inf, -math.inf, math.nan):
        try:
            expected = function(x)
        except ValueError as e:
            with pytest.raises(ValueError, match=str(e)):
                f(x)
            continue
        assert f(x) == pytest.approx(expected, rel=1e-14, nan_ok=True)


@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_integers_beside_traced_ones(name):
    f = getattr(math, name)
    g = tj.jit(lambda n: (f(n, 12), f(18, n, 4), f(n)))
    assert g(8) == (f(8, 12), f(18, 8, 4), 8) and g(-9) == (f(-9, 12), f(18, -9, 4), 9)
    for call in (lambda x: f(x, 2.0), lambda x: f(2, x * 0.5)):
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            tj.jit(call)(8)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize("name", ["gcd", "lcm"])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (2**40 + 1, 2**41 + 3),
        (-(2**63), 0),
        (-(2**63), 1),
        (2**62, 3),
        (2**31, 2**31 - 1),
        (0, 0),
        (7, 2**70),
        (np.uint8(200), np.uint8(180)),
        (np.int32(2**30), 3),
        (np.uint64(2**63), 6),
    ],
)
def test_integers_of_any_size(name, x, y):
    """Python's, whatever the arguments are: they were of NumPy's types, and wrapped."""
    f = getattr(math, name)
    for call in (
        lambda x, y: f(x, y) * 100,
        lambda x, y: f(x) * 100,
        lambda x, y: f(x, y, 9) + max(0, f(y, 6)),
    ):
        got = tj.jit(call, fallback=True)(x, y)
        assert got == call(x, y) and type(got) is int
