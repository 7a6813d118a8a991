"""Options of NumPy's functions that are arguments, and what NumPy gives back that may be written with a warning."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program

A, X = np.arange(9.0).reshape(3, 3)[::-1] * 1.3, np.array([1.5, -2.0, 3.0])
SWITCHES = (True, False, 1, 0, np.True_)


@program
def axes_kept_as_asked() -> Any:
    def f(a, k):
        means = a.mean(0, keepdims=k), np.linalg.norm(a, axis=1, keepdims=k), np.ptp(a, 0, keepdims=k)
        return means, np.nanstd(a, 1, keepdims=k), np.hypot.reduce(a, keepdims=k), a.argmax(1, keepdims=k)

    return f, [(A, k) for k in SWITCHES], None


@program
def axes_of_medians_kept_as_asked() -> Any:
    def f(a, k):
        return np.median(a, 0, keepdims=k), np.quantile(a, 0.3, axis=1, keepdims=k), np.argmin(a, keepdims=k)

    return f, [(A, k) for k in (*SWITCHES, 2.5, None)], None


@program
def no_switch() -> Any:
    return (lambda a, k: a.sum(0, keepdims=k)), [(A, k) for k in (True, 1.0, "a", None)], None


@program
def copies_forbidden() -> Any:
    return (lambda x, k: np.array(x, copy=k)), [(X.copy(), k) for k in SWITCHES], None


@program
def masks_as_lists() -> Any:
    def f(a, m):
        chosen = a[m, m], a[m, 1], a[m]
        a[m, m] += 10
        a[1, m] = -1
        return chosen, a

    return f, [(A.copy(), m) for m in ([True, False, True], [False] * 3, [True] * 3)], None


@program
def rounded_to_given_places() -> Any:
    def f(a, n):
        return np.round(a, n), a.round(n), round(a[0, 0], n), round(1234.5678, n)

    return f, [(A, n) for n in (1, 0, -1, 2)], None


@program
def triangles_of_given_sizes() -> Any:
    def f(a, n):
        return np.tri(n), np.tri(2, n, -1), np.tril(a, n), np.triu(a, n)

    return f, [(A, n) for n in (3, 0, -2)], None


@program
def vandermonde_of_negative_size() -> Any:
    return (lambda x, n: np.vander(x, n)), [(X, n) for n in (2, 0, -1)], None


@program
def steps_of_nothing() -> Any:
    return (
        (lambda a, b, s: np.arange(a, b, s)),
        [(1.0, 2.0, s) for s in (0.3, 0.0, -0.1, np.inf, np.nan)],
        None,
    )


@program
def steps_of_nothing_of_numpy() -> Any:
    calls = [(np.float64(0), np.float64(b), np.float64(s)) for b, s in ((1, 0.25), (1, 0.0), (np.nan, 1.0))]
    return (lambda a, b, s: np.arange(a, b, s)), calls, None


@program
def grids_of_small_floats() -> Any:
    def f(k):
        return np.mgrid[0:k:3j], np.ogrid[0:k, 0:2:2j], np.r_[0:k:2j]

    return f, [(k,) for k in (0.5, 2, np.float32(0.25))], None


@program
def broadcast_together() -> Any:
    def f(a, b):
        u, v = np.broadcast_arrays(a, b)
        return u, v, v is b, u * v, np.meshgrid(a, b[:, 0], copy=False), np.broadcast_arrays(2.0, 3.0)

    return f, [(X.copy(), A[:, :1].copy()), (X.copy(), A.copy())], None


@program
def written_after_broadcasting() -> Any:
    def f(a, b):
        u, _ = np.broadcast_arrays(a, b)
        u[0] = 3
        return u, a

    return f, [(X.copy(), A.copy()), (X.copy(), X.copy())], None


@program
def asked_after_broadcasting() -> Any:
    return (lambda a, b: np.broadcast_arrays(a, b)[0].flags.writeable), [(X, A), (X, X)], None
