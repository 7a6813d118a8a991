"""Peaks inside of compiled functions against SciPy: plateaus, numbers that are none, few elements, warnings."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.signal

import tracejit as tj
from tracejit.errors import NumberError
from tracejit.scipy.written import peaks as written

CONDITIONS: list[dict[str, Any]] = [
    {},
    {"height": 0.0},
    {"distance": 2.5},
    {"prominence": (0.2, 1.5)},
    {"width": (None, 3)},
    {"threshold": (0, 2), "plateau_size": (1, 2)},
    {"height": (None, 2), "distance": 3, "prominence": 0, "width": 0, "wlen": 7, "rel_height": 0.7},
]


def signals(seed: int, size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    holed = rng.normal(size=size)
    holed[::5] = np.nan
    return [
        rng.normal(size=size),
        np.round(rng.normal(size=size) * 1.5),
        rng.integers(0, 4, size),
        holed,
        rng.normal(size=size).astype(np.float32),
        rng.integers(0, 3, size).astype(bool),
    ]


def outcome(f: Any, *args: Any) -> tuple[Any, list[Any]]:
    """What it gives, or its error; and where it warned of what."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            out = f(*args)
        except NumberError:
            raise
        except Exception as error:
            return repr(error), []
    return out, [(w.category, str(w.message), w.filename, w.lineno) for w in told]


def same(f: Any, *args: Any) -> bool:
    """Whether native code gives what Python does; false where it leaves the choice among equal peaks to it."""
    want, warned = outcome(f, *args)
    try:
        got, told = outcome(tj.jit(f), *args)
    except NumberError:
        return False
    assert told == warned
    ours, theirs = tj.tree.leaves(got), tj.tree.leaves(want)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)
    return True


def check(condition: dict[str, Any], size: int, x: np.ndarray) -> None:
    f = lambda x: scipy.signal.find_peaks(x, **condition)
    decided = same(f, x)
    assert decided or "distance" in condition
    assert "library_call" not in tj.jit(f).lower(x).as_text("jaxpr")


CASES = [(c, n, x) for c in CONDITIONS for n in (0, 1, 2, 3, 12, 40) for x in signals(n, n)]


@pytest.mark.parametrize("case", random.Random(1).sample(range(len(CASES)), 3))
def test_some(case: int) -> None:
    check(*CASES[case])


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", range(len(CASES)))
def test_all(case: int) -> None:
    check(*CASES[case])


def test_measures_of_given_peaks() -> None:
    x = signals(3, 30)[1]
    for peaks in (np.array([0, 3, 29]), np.array([], np.intp)):
        assert same(lambda x, p: scipy.signal.peak_prominences(x, p), x, peaks)
        assert same(lambda x, p: scipy.signal.peak_widths(x, p, 0.3, wlen=6), x, peaks)
    smooth = signals(3, 30)[0]
    found = scipy.signal.find_peaks(smooth)[0]
    assert same(lambda x, p: scipy.signal.peak_widths(x, p, 0.6), smooth, found)  # ends between elements
    low, high = np.sort(np.random.default_rng(0).normal(size=(2, 30)), axis=0)
    assert same(lambda x, a, b: scipy.signal.find_peaks(x, height=(a, b)), x, low - 1, high)
    assert same(lambda x, a: scipy.signal.find_peaks(x, height=a), x, low)


def test_errors() -> None:
    x = signals(3, 30)[0]
    for f in (
        lambda x: scipy.signal.peak_prominences(x, [2, 30]),
        lambda x: scipy.signal.peak_widths(x, [2], -1.0),
        lambda x: scipy.signal.find_peaks(x, height=x[1:]),
        lambda x: scipy.signal.find_peaks(x, distance=0.5),
    ):
        with tj.config.override(fallback=True), pytest.raises(ValueError) as ours:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tj.jit(f)(x)
        with pytest.raises(ValueError) as theirs:
            f(x)
        assert str(ours.value) == str(theirs.value)


def test_equal_peaks_far_from_one_another_are_native() -> None:
    x = np.array([0.0, 2, 0, 1, 0, 0, 2, 0, 0, 2, 0])
    f = tj.jit(lambda x: scipy.signal.find_peaks(x, distance=3)[0])
    np.testing.assert_array_equal(f(x), [1, 6, 9])
    with pytest.raises(NumberError, match="same height"):
        tj.jit(lambda x: scipy.signal.find_peaks(x, distance=4)[0])(x)


@pytest.mark.parametrize("seed", range(8))
def test_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    peaks = np.unique(rng.integers(0, 60, 20))
    heights = rng.permutation(len(peaks)).astype(float)
    with_distance = scipy.signal._peak_finding._select_by_peak_distance  # type: ignore[attr-defined]
    for distance in (1, 2.5, 7, 100):
        keep, tied = written.kept_by_distance(peaks, heights, distance)
        assert not tied
        np.testing.assert_array_equal(keep, with_distance(peaks, heights, distance))


def test_slopes() -> None:
    x = signals(5, 30)[0]
    peaks = scipy.signal.find_peaks(x)[0]
    way = np.random.default_rng(1).normal(size=30)
    f = lambda x: sum(np.sum(a) for a in scipy.signal.peak_widths(x, peaks)[:3])
    g = lambda x: np.sum(scipy.signal.peak_prominences(x, peaks, 9)[0] ** 2)
    for h in (f, g):
        near = (h(x + 1e-6 * way) - h(x - 1e-6 * way)) / 2e-6
        np.testing.assert_allclose(tj.jit(tj.grad(h))(x) @ way, near, rtol=1e-6)


def test_edges_of_plateaus() -> None:
    find = lambda x: scipy.signal.find_peaks(x, plateau_size=1)
    x = np.round(np.random.default_rng(4).normal(size=90))
    (places, told), (want, wanted) = tj.jit(find)(x), find(x)
    np.testing.assert_array_equal(places, want)
    assert list(told) == list(wanted) and wanted["plateau_sizes"].max() > 1
    for key, value in wanted.items():
        np.testing.assert_array_equal(told[key], value, err_msg=key)
