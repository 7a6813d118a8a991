"""Lengths that values decide: sets, counts, ranges, joined and shrinking arrays, slices with computed ends and steps."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.programs.observe import program

A, B, C = (
    np.array([3.0, -1.0, 2.0, 5.0, 2.0, 0.0]),
    np.array([-3.0, -1.0, -2.0, -5.0, -2.0, -1.0]),
    np.array([0.5, 0.0, 4.0, -2.0, 0.0, 0.0]),
)
K = [(np.array([3, 1, 3, 0, 7, 1]),), (np.array([0, 0, 0, 0, 0, 0]),), (np.array([5, 4, 3, 2, 1, 9]),)]


@program
def sets_of_values() -> Any:
    def f(a, b):
        both = np.intersect1d(a, b)
        return (
            both,
            len(both),
            np.setdiff1d(a, b),
            np.setxor1d(a, b),
            np.union1d(a, b),
            a[np.isin(a, b[b > 2])],
        )

    return f, [(K[0][0], K[2][0]), (K[1][0], K[2][0]), (K[2][0], K[0][0])], None


@program
def mode_and_histogram() -> Any:
    def f(k):
        values, where, back, counts = np.unique(k, True, True, True)
        return values[counts == counts.max()], values[back], where, np.bincount(k), np.bincount(k, k * 0.5)

    return f, K, None


@program
def quicksort_step() -> Any:
    def f(x):
        p = x[0]
        return np.concatenate((x[x < p], x[x == p], x[x > p])), np.r_[x[x > 0], x], np.append(x[x < 0], 1.0)

    return f, [(A,), (B,), (C,)], None


@program
def runs_of_equal_elements() -> Any:
    def f(x):
        cuts = np.flatnonzero(np.diff(x) != 0) + 1
        starts = np.concatenate(([0], cuts))
        lengths = np.diff(np.concatenate((starts, [len(x)])))
        return x[starts], lengths, np.repeat(x[starts], lengths)

    return f, [(A,), (np.zeros(6),), (np.array([1.0, 1.0, 2.0, 2.0, 2.0, 1.0]),)], None


@program
def grids_of_computed_size() -> Any:
    def f(x):
        n = np.abs(x).max().astype(int)
        return (
            np.linspace(x.min(), x.max(), n),
            np.arange(n)[::-1],
            np.zeros((n, 2)),
            np.eye(n),
            np.tile(x[:n], 2),
        )

    return f, [(A,), (B,), (np.zeros(3),)], None


@program
def trimmed_and_padded() -> Any:
    def f(x):
        x = x + 0
        y = np.trim_zeros(x)
        y[:1] = 9
        return y, np.pad(x[x > 0], 1), np.insert(x[x > 0], 0, 7.0), np.delete(x, np.where(x > 2)[0]), x

    return f, [(A,), (B,), (C,)], None


@program
def sieve_of_computed_size() -> Any:
    def f(limits):
        n = limits[0]
        keep = np.ones(n + 1, bool)
        keep[:2] = False
        for p in range(2, int(n**0.5) + 1):
            if keep[p]:
                keep[p * p :: p] = False
        return np.flatnonzero(keep), keep.sum()

    return f, [(np.array([20]),), (np.array([1]),), (np.array([50]),)], None


@program
def strides_of_computed_steps() -> Any:
    def f(x, k):
        view = x[::k]
        view += 1
        x[1::k] *= 2
        return x[k::k], view.sum(), x[::-k]

    return f, [(A.copy(), np.int64(2)), (A.copy(), np.int64(-3)), (A.copy(), np.int64(0))], None


@program
def lengths_that_must_be_equal() -> Any:
    def f(x, y):
        return x[x > 0] * y[y > 0], np.sum(x[x > 0] - y[y > 0])

    return f, [(A, A[::-1].copy()), (A, B), (A, C), (A, np.array([1.0, -1, -1, -1, -1, -1]))], None


@program
def items_of_nests_as_lists() -> Any:
    def f(x):
        y = x * 2
        return (
            list(np.ndenumerate(y)),
            list(itertools.product(y, range(2))),
            list(itertools.combinations(y, 2)),
            list(np.ndindex(2, len(y))),
            dict(np.ndenumerate(y)),
            next(iter(np.ndenumerate(y))),
            [*itertools.islice(y, 1, None, 2)],
            next(itertools.permutations(y)),
            tuple(itertools.combinations_with_replacement(y, 2)),
        )

    return f, [(np.arange(n) * 1.5,) for n in (3, 3, 2, 1)], None


@program
def coordinates_of_pixels() -> Any:
    """Pixels above a threshold, as coordinates, and the columns of those that have any: views and orders are NumPy's."""

    def f(image, level):
        rows, columns = np.nonzero(image > level)
        centre = rows.mean(), columns.mean()
        used = image[:, (image > level).any(axis=0)]
        return (
            (rows, columns),
            np.argwhere(image > level) - np.round(centre),
            used,
            used.reshape(-1).sum(),
            2 * used,
        )

    return f, [(np.random.default_rng(n).random((6, 7)), 0.5 + 0.1 * n) for n in range(3)], None
