"""`scipy.stats`: tables of counts."""

from __future__ import annotations

import functools
import math
from typing import Any

from tracejit import numpy as tnp
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_module, scipy_stats
from tracejit.scipy.distributions import PART
from tracejit.scipy.hosting import calls
from tracejit.scipy.hosting.following import known
from tracejit.tracing import to_raw


@PART.function
def chi2_contingency(
    observed: Any, correction: bool = True, lambda_: Any = None, *, method: Any = None
) -> Any:
    """The test of independence of the variables in a table of counts."""
    counts = tnp.asarray(observed)
    if method is not None or not counts.size or not counts.ndim:
        return calls.of(scipy_stats().chi2_contingency)(observed, correction, lambda_, method=method)
    exact, axes = counts.astype(float), range(counts.ndim)
    margins = [tnp.sum(exact, axis=tuple(j for j in axes if j != k), keepdims=True) for k in axes]
    expected = functools.reduce(tnp.multiply, margins) / tnp.sum(exact) ** (counts.ndim - 1)
    leave_if(
        to_raw(tnp.any(counts < 0) | tnp.any(expected == 0)),
        "SciPy's error about counts that can't be expected",
    )
    freedom = counts.size - sum(counts.shape) + counts.ndim - 1
    made = scipy_module("stats.contingency").Chi2ContingencyResult
    if freedom == 0:
        return known(made(0.0, 1.0, freedom, expected))
    if freedom == 1 and correction:
        gap = expected - counts
        counts = counts + tnp.minimum(0.5, tnp.abs(gap)) * tnp.sign(gap)
    divergence = calls.of(scipy_stats().power_divergence)
    given = math.prod(counts.shape) - 1 - freedom
    found, p = divergence(counts, expected, ddof=given, axis=None, lambda_=lambda_)
    return known(made(found, p, freedom, expected))


__all__ = ["chi2_contingency"]
