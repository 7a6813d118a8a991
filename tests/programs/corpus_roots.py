"""Square roots written as powers: of Python's numbers, of NumPy's and of arrays, which differ for -0 and -inf."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.programs.observe import program

EDGES = (-0.0, 0.0, -np.inf, np.inf, 4.0, 2.0)


def _signed(f: Any) -> Any:
    """`f`, and the signs of what it gives, which equal zeros have too."""

    def g(*args):
        with np.errstate(all="ignore"):
            out = f(*args)
        return out, np.signbit(out)

    return g


@program
def of_python_numbers() -> Any:
    def f(x):
        r = x**0.5
        return r, math.copysign(1.0, r), math.pow(x, 0.5), math.copysign(1.0, math.pow(x, 0.5))

    return f, [(x,) for x in EDGES], None


@program
def of_numpy_numbers() -> Any:
    return _signed(lambda x: x**0.5), [(k(x),) for x in EDGES for k in (np.float64, np.float32)], None


@program
def of_elements() -> Any:
    return _signed(lambda x: x[0] ** 0.5), [(np.array([x]),) for x in EDGES], None


@program
def of_arrays() -> Any:
    return (
        _signed(lambda x: x**0.5),
        [(np.array(EDGES),), (np.array(EDGES, np.float32),), (np.array(-np.inf),)],
        None,
    )


@program
def by_a_traced_number() -> Any:
    x = np.array(EDGES)
    given = [(x, 0.5), (x, np.float64(0.5)), (x, np.array(0.5)), (x, 2.0), (x.reshape(2, 3), np.array([0.5]))]
    return _signed(lambda x, p: x**p), given, None


@program
def by_arrays() -> Any:
    x = np.array(EDGES)
    given = [(x, np.full(6, 0.5)), (x[2:3], np.array([0.5])), (x.reshape(2, 3), np.full((2, 1), 0.5))]
    return _signed(np.power), given, None


@program
def numbers_by_a_traced_number() -> Any:
    return _signed(lambda x, p: x**p), [(k(x), k(0.5)) for x in EDGES for k in (float, np.float64)], None


@program
def the_function_takes_roots_of_numbers() -> Any:
    return (
        _signed(lambda x, p: np.power(x, p)),
        [(k(x), 0.5) for x in EDGES for k in (float, np.float64)],
        None,
    )
