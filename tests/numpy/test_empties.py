"""What NumPy warns of by values, at the same calls, as often and from the same lines, with and without Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import NumberError

nan = np.nan
X = np.arange(1.0, 5.0)
#: Masks, the first of which selects much: the program is traced for it.
MASKED = [(X, X > 2), (X, X > 9), (X, X == 2), (X, X > 0)]
ROWS = [[[1, 2, 3], [4, 5, 7]], [[nan] * 3] * 2, [[1, nan, 3], [4, nan, 7]], [[1, 2, 3], [nan] * 3]]
NANS = [(np.array(r, float),) for r in ROWS]


def _loop(x: Any, m: Any) -> Any:
    total = 0.0
    for k in range(40):
        total += np.nanmean(x[x > k / 10])
    return total


OF_MASKS: dict[str, Callable[..., Any]] = {
    "mean": lambda x, m: np.mean(x[m]),
    "method": lambda x, m: x[m].mean(),
    "var": lambda x, m: np.var(x[m]),
    "std": lambda x, m: np.std(x[m], ddof=1),
    "var of method": lambda x, m: x[m].var(ddof=1),
    "median": lambda x, m: np.median(x[m]),
    "average": lambda x, m: np.average(x[m]),
    "nanmean": lambda x, m: np.nanmean(x[m]),
    "nanstd": lambda x, m: np.nanstd(x[m]),
    "nanmedian": lambda x, m: np.nanmedian(x[m]),
    "nanquantile": lambda x, m: np.nanquantile(x[m], 0.3),
    "nanpercentile": lambda x, m: np.nanpercentile(x[m], 30),
    "where": lambda x, m: np.mean(x, where=m),
    "cov": lambda x, m: np.cov(x[m], x[m]),
    "corrcoef": lambda x, m: np.corrcoef(x[m], x[m]),
    "polyfit": lambda x, m: np.polyfit(np.where(m, x, 1.0), x, 1)[0] * 0,
    "both": lambda x, m: (x[m].mean(), x[~m].mean()),
    "loop": _loop,
}
OF_NAN: dict[str, Callable[..., Any]] = {
    "nanmean": lambda x: np.nanmean(x),
    "nanmean of columns": lambda x: np.nanmean(x, axis=0),
    "nanvar": lambda x: np.nanvar(x, axis=1),
    "nanstd": lambda x: np.nanstd(x, axis=0, ddof=1),
    "nanmax": lambda x: np.nanmax(x, axis=0),
    "nanmin": lambda x: np.nanmin(x),
    "nanmedian": lambda x: np.nanmedian(x, axis=0),
    "nanmedian of all": lambda x: np.nanmedian(x),
    "nanquantile": lambda x: np.nanquantile(x, 0.3, axis=1, keepdims=True),
    "nanpercentile": lambda x: np.nanpercentile(x, 30),
}


def told(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """What a call gives and warns, with the lines."""
    with warnings.catch_warnings(record=True) as found, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        out = f(*args)
    seen = [w for w in found if not str(w.message).startswith("invalid value")]
    return repr(np.round(out, 12)), [(w.category, str(w.message), w.filename, w.lineno) for w in seen]


@pytest.mark.sample(5)
@pytest.mark.parametrize("fallback", [True, False])
@pytest.mark.parametrize(
    ("f", "calls"),
    [(f, MASKED) for f in OF_MASKS.values()] + [(f, NANS) for f in OF_NAN.values()],
    ids=[*(f"mask: {n}" for n in OF_MASKS), *(f"nan: {n}" for n in OF_NAN)],
)
def test_is_warned_as_in_numpy(f: Callable[..., Any], calls: list[Any], fallback: bool) -> None:
    fast = tj.jit(f, fallback=fallback)
    for args in calls:
        assert told(fast, args) == told(f, args)


def test_nothing_that_numpy_does_not_say() -> None:
    assert told(tj.jit(np.var), (X,))[1] == [] and told(tj.jit(lambda x: np.cov(x, x)), (X,))[1] == []


def test_filters_hold() -> None:
    def f(x: Any, m: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.mean(x[m])

    assert told(tj.jit(f), MASKED[1])[1] == []
    strict = tj.jit(lambda x, m: np.mean(x[m]))
    strict(*MASKED[0])
    with np.errstate(all="ignore"), pytest.raises(RuntimeWarning, match="Mean of empty"):
        strict(*MASKED[1])  # warnings are errors in the tests


def test_transformed_and_given_away() -> None:
    """Lanes warn each, a gradient as the function does; C and files leave warnings out."""
    mean = tj.jit(lambda x, m: np.mean(x[m]))
    masks = np.stack([X > 9, X > 2, X < 0])
    _, seen = told(tj.vmap(mean, in_axes=(None, 0)), (X, masks))
    assert len(seen) == 2
    assert len(told(tj.grad(mean), MASKED[1])[1]) == 1
    lowered = tj.jit(lambda a, b: np.nanmax(np.array([a, b]))).lower(1.0, 2.0).compile()
    assert "debug_callback" in lowered.as_text("jaxpr")
    function = lowered.cfunc("double f(double a, double b)")
    assert function.ctypes(1.0, 3.0) == 3


def test_weights_that_leave_no_freedom() -> None:
    """The factor is 0 then, not negative."""

    def f(x: Any, w: Any) -> Any:
        return np.cov(x, fweights=w, ddof=3)

    for fallback in (True, False):
        fast = tj.jit(f, fallback=fallback)
        for w in (np.array([1, 1, 1, 1]), np.array([1, 1, 0, 0])):
            assert told(fast, (X, w)) == told(f, (X, w))


def test_quantiles_of_nothing_are_one_number() -> None:
    def f(x: Any, m: Any) -> Any:
        return np.nanquantile(x[m], [0.2, 0.5])

    fast, strict = tj.jit(f, fallback=True), tj.jit(f)
    assert all(told(fast, args) == told(f, args) for args in MASKED)
    assert told(strict, MASKED[0]) == told(f, MASKED[0])
    with pytest.raises(NumberError, match="one number"):
        strict(*MASKED[1])


ALL_NAN = np.array([[nan, nan, nan], [1.0, 2.0, nan], [nan, nan, nan]])
OF_VALUES: dict[str, Callable[..., Any]] = {
    "nanmax": lambda x: np.nanmax(x, axis=1),
    "nanmin of all": lambda x: np.nanmin(x[0]),
    "nanmean": lambda x: np.nanmean(x, axis=1),
    "nanvar": lambda x: np.nanvar(x, axis=1),
    "nanmedian": lambda x: np.nanmedian(x, axis=1),
    "nanpercentile": lambda x: np.nanpercentile(x, 30.0, axis=1),
    "mean of nothing": lambda x: np.mean(x[:0]),
    "mean of what a mask selects": lambda x: x[x > 100].mean(),
    "covariance": lambda x: np.cov(x[:, :1]),
    "polyfit": lambda x: np.polyfit(np.ones(2), np.nan_to_num(x[0, :2]), 1),
}


@pytest.mark.parametrize("name", OF_VALUES)
def test_eager_derivatives_warn_of_what_they_compute(name: str) -> None:
    f = OF_VALUES[name]

    def derived(x: Any) -> Any:
        return tj.value_and_grad(lambda t: (t, f(x * t)), has_aux=True)(1.0)[0][1]

    assert _texts(derived, ALL_NAN) == _texts(f, ALL_NAN) != []


def _texts(f: Callable[..., Any], x: Any) -> list[str]:
    """What is warned of."""
    with warnings.catch_warnings(record=True) as found, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        f(x)
    return [str(w.message) for w in found]
