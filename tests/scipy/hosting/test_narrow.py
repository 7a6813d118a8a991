"""Numbers of few bits are what SciPy takes them for; what the program computes with them has SciPy's bits and type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, signal, stats

import tracejit as tj
from tests.programs.observe import Described
from tracejit.errors import ArgumentError

RNG = np.random.default_rng(5)
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "trapezoid": lambda x, _: integrate.trapezoid(x),
    "cumulative": lambda x, _: integrate.cumulative_trapezoid(x, initial=0),
    "simpson": lambda x, _: integrate.simpson(x),
    "csd": lambda x, y: signal.csd(x, y, nperseg=8),
    "welch": lambda x, _: signal.welch(x, nperseg=8),
    "upfirdn": lambda x, y: signal.upfirdn(y[:3], x, 2),
    "filter": lambda x, y: signal.lfilter(y[:3], y[3:5], x),
    "correlate": lambda x, y: signal.correlate(x, y, method="fft"),
    "two dimensions": lambda x, _: signal.convolve2d(x.reshape(4, 6), x[:4].reshape(2, 2)),
    "zeros": lambda x, y: signal.lfilter_zi(y[:3], x[:3]),
}


def _run(f: Any, *args: Any) -> Any:
    try:
        return Described(f(*args)).found
    except Exception as e:
        return type(e), str(e)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int32, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_scipys(name: str, dtype: Any) -> None:
    x, y = (1 + RNG.integers(0, 3, (2, 24))).astype(dtype)
    f = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        assert _run(tj.jit(f, fallback=True), x, y) == _run(f, x, y)


def test_what_is_refused() -> None:
    x = np.array([True, True, False, True])
    with pytest.raises(ArgumentError, match=r"computes otherwise with bool; x\.astype\(float\)"):
        tj.jit(lambda x: integrate.trapezoid(x), fallback=False)(x)
    assert tj.jit(lambda x: integrate.trapezoid(x.astype(float)), fallback=False)(x) == 2.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: signal.welch(x, nperseg=8)[1],
        lambda x: signal.periodogram(x)[1],
        lambda x: signal.spectrogram(x, nperseg=8)[2],
        lambda x: signal.resample_poly(x, 3, 2),
        lambda x: (signal.unique_roots(x)[0], x),
    ],
)
def test_results_lie_in_memory_as_scipys(f: Any) -> None:
    x = RNG.normal(size=24)
    assert Described(tj.jit(f, fallback=False)(x)).found == Described(f(x)).found


def test_equal_elements_keep_their_order_where_scipy_says_so() -> None:
    """SciPy's own code sorts as the array API does."""
    x, y = RNG.integers(0, 4, (2, 40)).astype(float)
    f = lambda x, y: stats.chatterjeexi(x, y)
    assert Described(tj.jit(f, fallback=False)(x, y)).found == Described(f(x, y)).found


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_results_have_the_attributes_of_scipys() -> None:
    x, y = RNG.normal(size=(2, 20))
    f = lambda x, y: stats.weightedtau(x, y)
    got = tj.jit(f, fallback=True)(x, y)
    assert got.correlation == got.statistic
    assert Described(got).found == Described(f(x, y)).found


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32])
@pytest.mark.parametrize("name", ["trapezoid", "cumulative", "simpson"])
def test_large_numbers_in_later_calls_outgrow_their_type_as_scipys(name: str, dtype: Any) -> None:
    """The first call has none that would."""
    f = lambda x: FUNCTIONS[name](x, x)
    g = tj.jit(f, fallback=True)
    for high in (5, int(np.iinfo(dtype).max)):
        x = np.random.default_rng(1).integers(0, high, 24).astype(dtype)
        np.testing.assert_allclose(g(x), f(x), rtol=1e-9)
