"""Programs as packages on PyPI have them: arguments that are asked for what they are, helpers for numbers and arrays."""

from __future__ import annotations

import decimal
import pathlib
from pathlib import Path
from typing import Any

import numpy as np

from tests.programs.observe import program


@program
def numbers_have_no_shape() -> Any:
    """A filter that asks for `x.ndim` raises for a Python number, as Python does."""

    def f(x, z):
        return z - x, x.ndim

    return f, [(1.0, 2.0), (2, 3), (np.ones(2), 1.0)], None


@program
def attributes_that_are_asked_for() -> Any:
    def f(x):
        shape = getattr(x, "shape", None)
        try:
            total = x.sum()
        except AttributeError as e:
            total = len(str(e))
        real = x.real + x.conjugate() - x.imag
        return shape is None, total, hasattr(x, "dtype"), hasattr(2 * x, "T"), real

    return f, [(1.5,), (3,), (True,), (2j,), (np.float64(2.0),), (np.arange(3.0),)], None


@program
def indices_of_numbers() -> Any:
    def f(x, n):
        try:
            return x[()] + 1
        except TypeError as e:
            kind = len(str(e))
        try:
            n[0] = 2
        except TypeError as e:
            return kind, len(str(e)), (x * n)[None]

    return f, [(1.5, 2), (2.5, 3), (np.float64(2.0), 3)], None


@program
def numbers_a_branch_chose() -> Any:
    def f(x, c):
        y: Any = x[0] if c > 0 else 0.0
        return y.dtype.itemsize, y + 1

    return f, [(np.ones(2), 1), (np.ones(2), 2), (np.ones(2), -1)], None


@program
def classes_of_libraries_are_asked_for() -> Any:
    """A class of a library that does more than compute may be named, as in `isinstance(x, pd.Series)`."""

    def f(x):
        if isinstance(x, (decimal.Decimal, Path, pathlib.PurePath)):
            return 1.0
        if type(x) is Path or type(x) is pathlib.Path:
            return 0.0
        return x * 2, pathlib.Path is Path

    return f, [(np.ones(2),), (1.5,), (decimal.Decimal(2),)], None


@program
def objects_that_could_be_arrays() -> Any:
    """What has `__array__` keeps its own methods and operators."""

    class Labelled:
        def __init__(self, values):
            self.values = values

        def __array__(self, dtype=None, copy=None):
            return np.array(self.values, dtype)

        def __mul__(self, other):
            return Labelled(self.values * other)

        def mean(self):
            return float(np.nanmean(self.values))

    def f(x):
        return x.mean(), isinstance(x, Labelled), x * 2, np.sum(x)

    values = np.array([1.0, np.nan, 3.0])
    return f, [(Labelled(values),), (values,), (Labelled(values + 1),)], None


@program
def polynomials_as_arguments() -> Any:
    def f(p, x):
        return p(x), p * p, p.deriv()

    return f, [(np.poly1d([1.0, 2.0]), 2.0), (np.poly1d([1.0, 3.0, 2.0]), 3.0)], None


def _shapes(given: dict[str, Any], *named: tuple[str, int]) -> int:
    """Checks arguments by their names, as a package does that is given `locals()`."""
    for name, ndim in named:
        if getattr(given[name], "ndim", 0) != ndim:
            raise ValueError(f"{name} must have {ndim} dimensions")
    return len(given)


@program
def arguments_checked_by_name() -> Any:
    def f(points, along):
        _shapes(locals(), ("points", 2), ("along", 1))
        heights = points @ along
        names = {**locals(), "names": None}
        return points[heights.argmax()], sorted(names), names["heights"] is heights

    def g(x, y, z):
        if not all(isinstance(v, (float, int)) for v in locals().values()):
            raise TypeError(f"Input values must be numbers: {list(locals())}")
        return (x * 2 / (z + 3), y * 2 / (z + 3))

    rng = np.random.default_rng(5)
    calls = [(f, (rng.normal(size=(4, 3)), rng.normal(size=3))) for _ in range(2)]
    calls += [(g, (1.0, 2, 3.5)), (g, (1.0, 2, "z")), (f, (np.ones(3), np.ones(3)))]

    def either(n, *args):
        return calls[n][0](*args)

    return either, [(n, *args) for n, (_, args) in enumerate(calls)], None
