"""Covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import ArgumentError, ArgumentTypeError
from tracejit.numpy import empties
from tracejit.numpy.boxes import extents
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import implements
from tracejit.numpy.functions.algebra.products import dot
from tracejit.numpy.functions.arrays.joining import concatenate
from tracejit.numpy.functions.arrays.shaping import atleast_2d, box_of
from tracejit.numpy.functions.statistics.reductions import average
from tracejit.numpy.operands import promote, raw, result_type
from tracejit.numpy.ufuncs import TABLE


@implements(np.cov, "cov")
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """The covariance matrix of variables in rows, observations in columns (`rowvar`), with weights.

    Weights that are not known while tracing are not checked to be whole and positive.
    """
    if ddof is not None and ddof != int(ddof):
        raise ArgumentError(name="cov", problem="ddof must be integer")
    data = [box_of(v) for v in (m, y) if v is not None]
    if any(d.ndim > 2 for d in data):
        raise ArgumentError(name="cov", problem="the data have more than 2 dimensions")
    d = dtypes.canonical(dtype) if dtype is not None else promote(result_type(*data), dtypes.float64)
    x = atleast_2d(data[0]).astype(d)
    x = x if rowvar or data[0].ndim == 1 else x.T
    if y is not None:
        other = atleast_2d(data[1]).astype(d)
        x = concatenate([x, other if rowvar or other.shape[0] == 1 else other.T], 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w = _weights(x.shape[1], fweights, aweights)
    mean, total = average(x, 1, w, returned=True)
    total = total[0]
    if w is None:
        factor: Any = x.shape[1] - ddof
    elif ddof == 0:
        factor = total
    elif aweights is None:
        factor = total - ddof
    else:
        factor = total - ddof * (w * box_of(aweights).astype(float)).sum() / total
    empties.warn_where(raw(factor <= 0), empties.NO_FREEDOM)
    factor = TABLE["maximum"](factor, 0.0)
    x = x - mean[:, None]
    out = dot(x, (x if w is None else x * w).T.conj()) * (1 / box_of(factor))
    return NP[np.squeeze](out)


def _weights(n: Any, frequencies: Any, importances: Any) -> Any:
    """The product of both kinds of weights, or None."""
    w: Any = None
    for name, given in (("fweights", frequencies), ("aweights", importances)):
        if given is None:
            continue
        v = box_of(given).astype(float)
        if v.ndim > 1 or v.shape[0] != n:
            raise ArgumentError(name="cov", problem=f"incompatible numbers of samples and {name}")
        known = extents.known(raw(v))
        if known is not None and (known < 0).any():
            raise ArgumentError(name="cov", problem=f"{name} cannot be negative")
        if known is not None and name == "fweights" and (known != np.around(known)).any():
            raise ArgumentTypeError(name="cov", problem="fweights must be integer")
        w = v if w is None else w * v
    return w


@implements(np.corrcoef, "corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The correlation matrix, in [-1, 1]."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    s = TABLE["sqrt"](NP[np.diag](c).real)
    c = c / s[:, None] / s[None, :]
    if c.dtype.kind != "c":
        return NP[np.clip](c, -1, 1)
    return NP[np.clip](c.real, -1, 1) + 1j * NP[np.clip](c.imag, -1, 1)
