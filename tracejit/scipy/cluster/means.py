"""k-means: the assignments are found in loops, and the means are differentiated with these assignments held fixed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import dtypes, lax
from tracejit import numpy as tnp
from tracejit.errors import ShapeError, SolverOptionError
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.tracing import to_raw

__all__ = ["kmeans", "kmeans2", "vq"]
_EMPTY = "what k-means makes of a cluster without observations"


def _pair(name: str, obs: Any, codes: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Observations and codes of one dtype and fitting shapes, all finite."""
    obs, codes = tnp.asarray(obs), tnp.asarray(codes)
    if obs.ndim not in (1, 2) or obs.ndim != codes.ndim or obs.shape[1:] != codes.shape[1:]:
        raise ShapeError(op=name, problem=f"observations {obs.shape} and codes {codes.shape} do not fit")
    for x in (obs, codes):
        if check_finite and dtypes.is_inexact(x.dtype):
            leave_if(to_raw(~tnp.all(tnp.isfinite(x))), "an error of SciPy's about infinite numbers")
    return obs, codes


def _rows(x: Any) -> Any:
    return x[:, None] if x.ndim == 1 else x


def _nearest(obs: Any, codes: Any) -> Any:
    """The number of the nearest row of `codes` to each row of `obs`."""
    return tnp.argmin(tnp.sum((_rows(obs)[:, None] - _rows(codes)) ** 2, axis=-1), axis=1)


def _distances(obs: Any, codes: Any, labels: Any) -> Any:
    """How far each observation is from its code; the derivative is 0 where it is there."""
    squares = tnp.sum((_rows(obs) - _rows(codes)[labels]) ** 2, axis=-1)
    apart = squares > 0
    return tnp.where(apart, tnp.sqrt(tnp.where(apart, squares, 1)), 0)


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest row of `code_book` (k, n) to each row of `obs` (m, n): its number, and how far it is.

    Raises:
        ShapeError: the shapes do not fit.
    """
    obs, codes = _pair("vq", obs, code_book, check_finite)
    labels = _nearest(obs, codes)
    floats = tnp.result_type(obs, codes).kind == "f"  # SciPy has C code for these
    return labels.astype(np.int32) if floats else labels, _distances(obs, codes, labels)


def _means(obs: Any, labels: Any, k: int) -> tuple[Any, Any]:
    """The mean of the observations with each label (NaN of none), and how many there are."""
    mine = (labels[:, None] == tnp.arange(k)).astype(obs.dtype)
    count = mine.sum(axis=0)
    return mine.T @ obs / (count if obs.ndim == 1 else count[:, None]), count


def _float_pair(name: str, obs: Any, guess: Any, check_finite: bool) -> tuple[Any, Any]:
    """The same for k-means, which takes floats and a guess of more than one code."""
    if getattr(guess, "size", np.size(guess)) == 1 and not (np.ndim(guess) and name == "kmeans2"):
        problem = "a number of codes, whose first ones are drawn at random"
        raise SolverOptionError(function=name, problem=problem, remedy="give the first codes")
    obs, guess = _pair(name, obs, guess, check_finite)
    if not obs.size or not guess.size:
        raise ValueError("Empty input is not supported.")
    if obs.dtype.kind != "f" or obs.dtype.itemsize < 4 or guess.dtype != obs.dtype:
        problem = f"observations of {obs.dtype} and codes of {guess.dtype}"
        raise SolverOptionError(function=name, problem=problem, remedy="give floats of one dtype")
    return obs, guess


def kmeans(
    obs: Any,
    k_or_guess: Any,
    iter: int = 20,
    thresh: Any = 1e-5,
    check_finite: bool = True,
    *,
    rng: Any = None,
) -> tuple[Any, Any]:
    """(codes, mean distance) by k-means from the codes `k_or_guess`, until the mean distance changes by at most
    `thresh`. Derivatives are those with the last assignments held fixed. Clusters that lose all of their observations
    are left to Python, as is a number of codes, which are drawn at random then."""
    obs, guess = _float_pair("kmeans", obs, k_or_guess, check_finite)
    if iter < 1:
        raise ValueError(f"iter must be at least 1, got {iter}")
    k, still = guess.shape[0], lax.stop_gradient(obs)

    def step(state: Any) -> Any:
        _, codes, labels, _, distance, empty = state
        new = _nearest(still, codes)
        after = tnp.mean(_distances(still, codes, new))
        means, count = _means(still, new, k)
        change = tnp.abs(distance - after)
        return change, means, new, labels, after, empty | tnp.any(count == 0)

    none = tnp.zeros(obs.shape[:1], np.int64)
    far = tnp.asarray(math.inf, obs.dtype)
    start = (far, lax.stop_gradient(guess), none, none, far, tnp.asarray(False))
    found = lax.while_loop(lambda s: (s[0] > thresh) & ~s[5], step, step(step(start)))
    leave_if(to_raw(found[5] | ~(tnp.asarray(thresh) < math.inf)), _EMPTY)
    last, before = found[2], found[3]
    distance = tnp.mean(_distances(obs, _means(obs, before, k)[0], last))
    return _means(obs, last, k)[0], distance


def kmeans2(
    data: Any, k: Any, iter: int = 10, thresh: Any = 1e-5, minit: str = "random", missing: str = "warn",
    check_finite: bool = True, *, rng: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """(codes, labels) after `iter` steps of k-means from the codes `k`. Derivatives are those with the last labels held
    fixed. Clusters without observations are left to Python, which warns of them or raises an error."""
    if int(iter) < 1:
        raise ValueError(f"Invalid iter ({iter}), must be a positive integer.")
    if missing not in ("warn", "raise"):
        raise ValueError(f"Unknown missing method {missing!r}")
    if minit != "matrix":
        k = k if getattr(k, "size", np.size(k)) > 1 else 1
    data, codes = _float_pair("kmeans2", data, k, check_finite)
    count, still = codes.shape[0], lax.stop_gradient(data)

    def step(_: Any, state: Any) -> Any:
        codes, _, empty = state
        labels = _nearest(still, codes)
        codes, held = _means(still, labels, count)
        return codes, labels, empty | tnp.any(held == 0)

    start = lax.stop_gradient(codes), tnp.zeros(data.shape[:1], np.int64), tnp.asarray(False)
    _, labels, empty = lax.fori_loop(0, int(iter), step, start)
    leave_if(to_raw(empty), _EMPTY)
    return _means(data, labels, count)[0], labels.astype(np.int32)
