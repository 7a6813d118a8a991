"""Casts of times against NumPy's: units, the calendar, NaT, and what does not fit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.interpolate
import scipy.signal

import tracejit as tj
from tests.numpy.times.checking import check, times

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "as", "3D", "15m", "7s", "2Y", "5M"]
_CALENDAR = ("Y", "M")


@pytest.mark.sample(8)
@pytest.mark.parametrize(("kind", "source", "target"), list(itertools.product("mM", UNITS, UNITS)))
def test_units_are_cast_as_numpy_casts_them(kind: str, source: str, target: str) -> None:
    mixed = source.endswith(_CALENDAR) != target.endswith(_CALENDAR)
    if kind == "m" and mixed:
        pytest.skip("months and years have no length")
    x = times(len(source) + len(target), f"{kind}8[{source}]", far=not (mixed and source.endswith(_CALENDAR)))
    check(lambda x: x.astype(f"{kind}8[{target}]"), x)


def test_every_day_of_four_centuries_has_its_month() -> None:
    days = np.arange(-(10**5), 10**5).astype("M8[D]")
    months = np.arange(-3000, 3000).astype("M8[M]")
    check(lambda d: (d.astype("M8[M]"), d.astype("M8[Y]"), d - d.astype("M8[M]")), days)
    check(lambda m: (m.astype("M8[D]"), m.astype("M8[Y]"), m.astype("M8[W]")), months)


@pytest.mark.parametrize("dtype", ["i8", "i4", "u8", "f8", "f4", "?"])
@pytest.mark.parametrize("kind", "mM")
def test_numbers_become_times_and_times_numbers(kind: str, dtype: str) -> None:
    check(lambda x: x.astype(dtype), times(1, f"{kind}8[s]"))
    with np.errstate(all="ignore"):
        numbers = times(2, "i8").astype(dtype)
    if dtype == "f8":
        numbers = np.concatenate([numbers, [np.nan, np.inf, -np.inf, 1e300, 0.7, -0.7, 2.0**63, -(2.0**63)]])
    check(lambda x: x.astype(f"{kind}8[s]"), numbers)


@pytest.mark.parametrize("kind", "mM")
def test_complex_numbers_and_times_are_numpys_to_cast(kind: str) -> None:
    for x, dtype in (
        (np.array([1.5 + 2j, -3.0]), f"{kind}8[s]"),
        (np.array([1, -3], f"{kind}8[s]"), complex),
    ):
        with pytest.raises(tj.errors.UnsupportedFunctionError, match="cast"):
            tj.jit(lambda x, dtype=dtype: x.astype(dtype), fallback=False)(x)


def test_a_year_of_which_64_bits_do_not_hold_the_days_is_pythons() -> None:
    f = tj.jit(lambda x: x.astype("M8[D]"), fallback=True)
    x = np.array([2**62, 5, -(2**63)], "M8[Y]")
    assert f(x).tobytes() == x.astype("M8[D]").tobytes()
    with pytest.raises(tj.errors.NumberError):
        tj.jit(lambda x: x.astype("M8[D]"), fallback=False)(x)


def test_what_has_no_length_is_refused() -> None:
    with pytest.raises(tj.errors.UnsupportedFunctionError):
        tj.jit(lambda x: x.astype("m8[D]"), fallback=False)(np.array([3], "m8[M]"))
    with pytest.raises(tj.errors.UnsupportedFunctionError):
        tj.jit(lambda x: x.astype("m8[D]"), fallback=False)(np.array([3], "M8[h]"))


def test_scipys_functions_take_no_times() -> None:
    x = np.arange(4).astype("M8[D]")
    for f in (scipy.signal.detrend, lambda x: scipy.interpolate.interp1d(x, x)(x)):
        with pytest.raises((TypeError, NotImplementedError)):
            tj.jit(f, fallback=False)(x)


def test_times_do_not_become_numbers_by_themselves() -> None:
    x = np.array(["2020-01-01"], "M8[D]")
    for f in (
        np.var,
        np.gradient,
        np.nanmin,
        np.isin,
        lambda x: np.hypot(x, 1.0),
        np.fft.fft,
        np.linalg.norm,
    ):
        args = (x, x) if f is np.isin else (x,)
        with pytest.raises((TypeError, NotImplementedError)):
            tj.jit(f, fallback=False)(*args)
