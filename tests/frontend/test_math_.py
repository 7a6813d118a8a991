"""`math` in traced functions."""

from __future__ import annotations

import math
from math import hypot, sqrt

import numpy as np
import pytest

import tracejit as tj
from tracejit.frontend import math_

ARGUMENTS = {
    "acosh": (1.7,),
    "atan2": (0.3, -0.8),
    "pow": (0.7, 2.5),
    "copysign": (0.7, -1.0),
    "fmod": (7.5, -2.0),
    "hypot": (0.3, 0.4),
    "gcd": (12, 18),
    "lcm": (4, 6),
}


@pytest.mark.parametrize("name", sorted(vars(math_.namespace)))
def test_traced_numbers_give_what_math_gives(name):
    f = getattr(math, name)
    args = ARGUMENTS.get(name, (0.7,))
    got, wanted = tj.jit(lambda *xs: getattr(math, name)(*xs))(*args), f(*args)
    np.testing.assert_allclose(got, wanted, rtol=1e-14)
    assert np.result_type(got) == np.result_type(wanted)


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
