"""What NumPy warns of, and refuses, by the dtypes and sizes of its arguments."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tests.programs.observe import program

X, Y = np.array([1.5, -2.0, 3.0]), np.array([0.5, 4.0, -1.0])
C = X + 1j


@program
def crossed_in_the_plane() -> Any:
    def f(a, b):
        s = 0
        for _ in range(3):
            s = s + np.cross(a, b)
        return s

    return f, [(X[:2], Y[:2]), (Y[:2], X), (X, Y)], None


@program
def imaginary_parts_lost() -> Any:
    def f(z):
        a, b = np.zeros(3), np.zeros(3)
        a[:] = z
        b[0] = z[1]
        np.add(z, z, out=b, casting="unsafe")
        np.copyto(a, z, casting="unsafe")
        a.put([0], z[:1])
        a.fill(z[1])
        return (
            a,
            b,
            z.astype("f4"),
            z.astype(int),
            np.array(z, float),
            np.full(2, z[0], float),
            z.astype(bool),
        )

    return f, [(C,), (C * 2,)], None


@program
def imaginary_parts_lost_by_dtype() -> Any:
    def f(z):
        sums = (
            np.sum(z, dtype=float),
            np.cumsum(z, dtype=float),
            np.mean(z, dtype=float),
            np.var(z, dtype=float),
        )
        a = np.zeros(3)
        np.add.at(a, [0, 0], z[:2])
        return sums, a, np.add.reduce(z, dtype=float), np.insert(a, 1, z[0])

    return f, [(C,), (C * 2,)], None


@program
def filters_of_each_call() -> Any:
    def f(z):
        return z.astype(float)

    def before(n):
        warnings.simplefilter(("always", "error", "ignore")[n])

    return f, [(C,), (C * 2,), (C * 3,)], None, before


@program
def means_of_nothing() -> Any:
    def f(x):
        return x.mean(), np.std(x), np.median(x)

    return f, [(np.zeros(0),), (X,)], None


@program
def too_few_for_a_variance() -> Any:
    return (lambda x, d: (np.var(x, ddof=d), np.cov(x[:1]))), [(X, 1), (X, 3), (Y, 4)], None


def _refused(name: str, f: Any, dtypes: str) -> None:
    def maker() -> Any:
        return f, [(np.zeros(3, d), v) for d in dtypes.split() for v in (X, np.array([3, 1, 2]), X > 0)], None

    maker.__name__ = name
    program(maker)


_refused("placed_unsafely", lambda o, v: (np.place(o, o == 0, v), o), "f8 i8 f4 u1 ?")
_refused("put_by_masks_unsafely", lambda o, v: (np.putmask(o, o == 0, v), o), "f8 i8 f4 u1 ?")
_refused(
    "put_by_masks_a_number", lambda o, v: (np.putmask(o, v > 0, 1), np.place(o, v > 1, [2, 3]), o), "f8 i8 u1"
)
_refused("taken_into", lambda o, v: np.take(v, [0, 1, 2], out=o), "f8 i8 f4")
_refused("compressed_into", lambda o, v: np.compress([True, True, True], v, out=o), "f8 i8 f4")
_refused("dotted_into", lambda o, v: np.dot(v, v, out=o[0:1].reshape(())), "f8 i8 f4")
_refused("einsum_into", lambda o, v: np.einsum("i->i", v, out=o), "f8 i8 f4")
_refused("joined_unsafely", lambda o, v: np.stack([v, v], dtype=o.dtype), "f8 i8 f4")


def _of_odd_arguments(name: str, f: Any, *xs: Any) -> None:
    def maker() -> Any:
        return f, [(x,) for x in xs], None

    maker.__name__ = name
    program(maker)


_of_odd_arguments(
    "means_of_no_numbers", lambda x: (np.nanmean(x), np.nanstd(x), np.nanmedian(x)), np.zeros(0), X
)
_of_odd_arguments("slopes_of_truths", np.gradient, X > 0, X)
_of_odd_arguments("histograms_of_truths", lambda x: np.histogram(x, 2), X > 0, True, X)
_of_odd_arguments("roots_of_a_number", np.poly, 2.5, np.array(2), X)
_of_odd_arguments("derivative_of_a_matrix", np.polyder, np.ones((2, 2)), X)
_of_odd_arguments("shifts_of_a_number", np.fft.fftshift, 2.5, np.array(2.5), X)


EMPTY = [(np.arange(3.0), 1), (np.arange(3.0), 3), (np.arange(3.0), 0)]


@program
def means_of_parts_that_turn_out_empty():
    def f(x, n):
        return x[n:].mean(), np.average(x[n:])

    return f, EMPTY, None


@program
def spreads_of_parts_that_turn_out_empty():
    def f(x, n):
        return x[x > n].std(), np.var(x[n:], ddof=1)

    return f, EMPTY, None


@program
def means_of_what_is_never_nan():
    def f(x, n):
        return np.nanmean(x * (np.nan if n == 3 else 1.0)), np.mean(x, where=x > n)

    return f, EMPTY, None


@program
def middles_of_parts_that_turn_out_empty():
    def f(x, n):
        return np.median(x[n:]), np.median(x[x > n])

    return f, EMPTY, None


@program
def what_is_not_nan_in_rows_where_all_turn_out_to_be():
    def f(x, n):
        rows = np.stack([x, x * (np.nan if n == 3 else 1.0)])
        extremes = np.nanmax(rows[1]), np.nanmin(rows, axis=1), np.nanmin(rows)
        return extremes, np.nanmedian(rows, axis=1), np.nanpercentile(rows, 30.0, axis=1)

    return f, EMPTY, None
