"""What tests of `scipy.stats` share: forms of the functions under SciPy's decorators, probabilities, results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tracejit import numpy as tnp
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import special as sp
from tracejit.scipy.distributions import PART

F = TypeVar("F", bound=Callable[..., Any])


def inner(fn: F) -> F:
    """Decorator: the form of a test of samples along their last axis. SciPy's decorator of the public function, which
    is followed, sees to axes and to what is missing."""
    PART.names[f"{fn.__name__}.__wrapped__"] = fn
    return fn


def probability(z: Any, alternative: str) -> Any:
    """The probability of a normal statistic."""
    if alternative == "less":
        return sp.ndtr(z)
    if alternative == "greater":
        return sp.ndtr(-z)
    if alternative != "two-sided":
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    return 2 * sp.ndtr(-tnp.abs(z))


def correlation(r: Any, p: Any) -> Any:
    """SciPy's result, in which the statistic has a second name."""
    result = scipy_module("stats._stats_py").SignificanceResult(r, p)
    result.correlation = r
    return result


def median(values: Any, count: Any) -> Any:
    """The median of the first `count` elements along the last axis, which is sorted; NaN where there is none."""
    last = values.shape[-1] - 1
    count = tnp.asarray(count)[..., None]
    low = tnp.take_along_axis(values, tnp.clip((count - 1) // 2, 0, last), axis=-1)
    high = tnp.take_along_axis(values, tnp.clip(count // 2, 0, last), axis=-1)
    return tnp.where(count > 0, (low + high) / 2, float("nan"))[..., 0]
