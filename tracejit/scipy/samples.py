"""scipy.stats' summaries of samples: z-scores, means, moments, entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.operands import dtype_of, raw
from tracejit.ops._lazy import scipy_module, scipy_stats
from tracejit.scipy import special as sp
from tracejit.scipy.distributions import PART
from tracejit.scipy.hosting import calls
from tracejit.scipy.hosting.following import known
from tracejit.tracing import to_raw, wrap


def _sample(name: str, a: Any, nan_policy: str) -> Any:
    """The sample in floating point."""
    if nan_policy != "propagate":
        raise ArgumentError(name=name, problem=f"nan_policy={nan_policy!r} has no traced form")
    x = wrap(raw(a))
    return x if dtypes.is_inexact(dtype_of(raw(x))) else x.astype(float)


def _centred(x: Any, axis: Any) -> Any:
    """The sample less its mean. Where all elements are nearly the same SciPy warns, so that Python does the call."""
    middle = x.mean(axis=axis, keepdims=True)
    away = x - middle
    if away.size and (x.size if axis is None else x.shape[axis]) > 1:
        close = float(np.finfo(x.dtype).eps) * 10
        lost = tnp.abs(away).max(axis=axis, keepdims=True) / tnp.abs(middle) < close
        leave_if(to_raw(tnp.any(lost)), "SciPy's warning of precision that is lost")
    return away


def _moment(x: Any, order: int, axis: Any) -> Any:
    """A central moment."""
    return (_centred(x, axis) ** order).mean(axis=axis)


def _kept(out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    if not keepdims:
        return out
    return out.reshape((1,) * x.ndim) if axis is None else tnp.expand_dims(out, axis)


@PART.function
def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """How many standard deviations each element is above the mean."""
    x = _sample("zscore", a, nan_policy)
    return _centred(x, axis) / x.std(axis=axis, ddof=ddof, keepdims=True)


@PART.function
def sem(
    a: Any, axis: Any = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Any:
    """The standard error of the mean."""
    x = _sample("sem", a, nan_policy)
    n = x.size if axis is None else x.shape[axis]
    return x.std(axis=axis, ddof=ddof, keepdims=keepdims) / n**0.5


@PART.function
def skew(
    a: Any, axis: Any = 0, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Any:
    """The third standardised moment; NaN where all elements are equal."""
    x = _sample("skew", a, nan_policy)
    n = x.size if axis is None else x.shape[axis]
    out = _moment(x, 3, axis) / _moment(x, 2, axis) ** 1.5
    out = out if bias or n < 3 else out * ((n * (n - 1)) ** 0.5 / (n - 2))
    return _kept(out, x, axis, keepdims)


@PART.function
def kurtosis(
    a: Any, axis: Any = 0, fisher: bool = True, bias: bool = True, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The fourth standardised moment, less 3 if `fisher`."""
    x = _sample("kurtosis", a, nan_policy)
    n = x.size if axis is None else x.shape[axis]
    out = _moment(x, 4, axis) / _moment(x, 2, axis) ** 2
    if not bias and n > 3:
        out = ((n * n - 1.0) * out - 3 * (n - 1.0) ** 2) / ((n - 2) * (n - 3)) + 3
    return _kept(out - 3 if fisher else out, x, axis, keepdims)


def _mean(x: Any, axis: Any, weights: Any, keepdims: bool) -> Any:
    if weights is not None:
        return tnp.average(x, axis=axis, weights=weights, keepdims=keepdims)
    return x.mean(axis=axis, keepdims=keepdims)


@PART.function
def gmean(
    a: Any, axis: Any = 0, dtype: Any = None, weights: Any = None, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The geometric mean."""
    x = _sample("gmean", a, nan_policy)
    x = x if dtype is None else x.astype(dtype)
    return tnp.exp(_mean(tnp.log(x), axis, weights, keepdims))


@PART.function
def hmean(
    a: Any, axis: Any = 0, dtype: Any = None, *, weights: Any = None, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The harmonic mean."""
    x = _sample("hmean", a, nan_policy)
    x = x if dtype is None else x.astype(dtype)
    return 1 / _mean(1 / x, axis, weights, keepdims)


@PART.function
def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """-Σ p log p of probabilities that are normalised first, or Σ p log(p/q)."""
    p = _sample("entropy", pk, nan_policy)
    p = p / p.sum(axis=axis, keepdims=True)
    if qk is None:
        terms = sp.entr(p)
    else:
        q = _sample("entropy", qk, nan_policy)
        terms = sp.rel_entr(p, q / q.sum(axis=axis, keepdims=True))
    out = terms.sum(axis=axis, keepdims=keepdims)
    return out if base is None else out / tnp.log(base)


def _trimmed(name: str) -> Any:
    """A function of SciPy's that leaves out what is beyond `limits`; with limits the program calls SciPy's."""

    def trimmed(
        a: Any, limits: Any = None, inclusive: Any = (True, True), axis: Any = 0, ddof: int = 1, **more: Any
    ) -> Any:
        if limits is not None or more:
            return calls.of(getattr(scipy_stats(), name))(a, limits, inclusive, axis, ddof, **more)
        x = _sample(name, a, "propagate")
        n = x.size if axis is None else x.shape[axis]
        _centred(x, axis)
        if name == "tvar":
            return x.var(axis=axis, ddof=ddof)
        out = x.std(axis=axis, ddof=ddof)
        return out / n**0.5 if name == "tsem" else out

    trimmed.__name__ = trimmed.__qualname__ = name
    what = {"tvar": "variance", "tstd": "standard deviation", "tsem": "standard error of the mean"}[name]
    trimmed.__doc__ = f"The {what} of what lies within `limits`."
    return PART.function(trimmed)


tvar, tstd, tsem = map(_trimmed, ("tvar", "tstd", "tsem"))


@PART.function
def zmap(scores: Any, compare: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """How many standard deviations of `compare` each score is above its mean."""
    x, y = _sample("zmap", scores, nan_policy), _sample("zmap", compare, nan_policy)
    _centred(y, axis)
    return (x - y.mean(axis=axis, keepdims=True)) / y.std(axis=axis, ddof=ddof, keepdims=True)


@PART.function
def variation(
    a: Any, axis: Any = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False
) -> Any:
    """The standard deviation by the mean."""
    x = _sample("variation", a, nan_policy)
    return x.std(axis=axis, ddof=ddof, keepdims=keepdims) / x.mean(axis=axis, keepdims=keepdims)


@PART.function
def pearsonr(x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: Any = 0) -> Any:
    """Pearson's correlation coefficient, with its probability for normal samples that do not correlate."""
    a, b = _sample("pearsonr", x, "propagate"), _sample("pearsonr", y, "propagate")
    if method is not None or axis is None or a.shape != b.shape or not a.ndim or a.shape[axis] < 3:
        return calls.of(scipy_stats().pearsonr)(x, y, alternative=alternative, method=method, axis=axis)
    if alternative not in ("two-sided", "less", "greater"):
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    if dtypes.is_complex(a.dtype) or dtypes.is_complex(b.dtype):
        raise ValueError("This function does not support complex data")
    n = a.shape[axis]
    unit = []
    for v in (a, b):
        middle = v.mean(axis=axis, keepdims=True)
        size = tnp.sqrt(((v - middle) ** 2).sum(axis=axis, keepdims=True))
        close = float(np.finfo(v.dtype).eps ** 0.75)
        leave_if(
            to_raw(tnp.any(size < close * tnp.abs(middle)) | tnp.any(size == 0)),
            "SciPy's warning of constants",
        )
        unit.append((v - middle) / size)
    r = tnp.clip((unit[0] * unit[1]).sum(axis=axis), -1.0, 1.0)
    tail = sp.betainc(n / 2 - 1, n / 2 - 1, 0.5 * (1 - (tnp.abs(r) if alternative == "two-sided" else r)))
    p = 2 * tail if alternative == "two-sided" else tail if alternative == "greater" else 1 - tail
    made = scipy_module("stats._stats_py").PearsonRResult
    return known(made(statistic=r, pvalue=p, alternative=alternative, n=n, x=x, y=y, axis=axis))


__all__ = [
    "entropy",
    "gmean",
    "hmean",
    "kurtosis",
    "pearsonr",
    "sem",
    "skew",
    "tsem",
    "tstd",
    "tvar",
    "variation",
    "zmap",
    "zscore",
]
