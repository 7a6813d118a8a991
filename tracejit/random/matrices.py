"""Random vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import RandomArgumentError
from tracejit.random.continuous import normal
from tracejit.random.drawing import float_dtype, sampler
from tracejit.random.keys import Shape, as_shape


@sampler
def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Shape | None = None, dtype: Any = None, method: str = "cholesky"
) -> Any:
    """Normal vectors (*shape, n) with `mean` (..., n) and covariance `cov` (..., n, n).

    `method` is 'cholesky', 'eigh' or 'svd': how the root of `cov` is taken.
    """
    if method not in ("cholesky", "eigh", "svd"):
        problem = f"there is no method {method!r}, only 'cholesky', 'eigh' and 'svd'"
        raise RandomArgumentError(function="multivariate_normal", problem=problem)
    dtype = float_dtype("multivariate_normal", dtype, mean, cov)
    mean, cov = tnp.asarray(mean).astype(dtype), tnp.asarray(cov).astype(dtype)
    n = mean.shape[-1] if mean.ndim else 0
    if not n or cov.shape[-2:] != (n, n):
        problem = f"a mean of shape {mean.shape} and a covariance of shape {cov.shape} don't fit"
        raise RandomArgumentError(function="multivariate_normal", problem=problem)
    own = np.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    shape = own if shape is None else as_shape(shape)
    z = normal(key, (*shape, n), dtype)
    return mean + tnp.einsum("...ij,...j->...i", _root(cov, method), z)


def _root(cov: Any, method: str) -> Any:
    """A matrix r with r @ r.T == cov."""
    if method == "cholesky":
        return tnp.linalg.cholesky(cov)
    if method == "eigh":
        values, vectors = tnp.linalg.eigh(cov)
    else:
        vectors, values, _ = tnp.linalg.svd(cov)
    return vectors * tnp.sqrt(values)[..., None, :]


@sampler
def orthogonal(key: Any, n: int, shape: Shape = (), dtype: Any = None) -> Any:
    """Orthogonal matrices (*shape, n, n), uniform in the Haar measure (Mezzadri, 2007)."""
    dtype = float_dtype("orthogonal", dtype)
    q, r = tnp.linalg.qr(normal(key, (*as_shape(shape), n, n), dtype))
    return q * tnp.sign(tnp.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
