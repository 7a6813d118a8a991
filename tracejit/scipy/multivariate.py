"""Distributions of vectors of scipy.stats: the multivariate normal and the Dirichlet distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.numpy.dispatch import plain
from tracejit.numpy.operands import has_box, raw
from tracejit.scipy import linalg
from tracejit.scipy import special as sp
from tracejit.scipy.distributions import Named
from tracejit.tracing import wrap


class VectorDistribution(Named):
    """A distribution of vectors with a logarithm of its density; other methods are SciPy's."""

    def __init__(self, name: str, logpdf: Callable[..., Any]) -> None:
        super().__init__(name)
        self.formula = logpdf

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        return getattr(self.theirs, method)

    def logpdf(self, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the density, for traced values too."""
        if has_box(args) or has_box(kwargs.values()):
            return self.formula(*args, **kwargs)
        return plain(self.theirs.logpdf, args, kwargs)

    def pdf(self, *args: Any, **kwargs: Any) -> Any:
        """The density, for traced values too."""
        if has_box(args) or has_box(kwargs.values()):
            return tnp.exp(self.formula(*args, **kwargs))
        return plain(self.theirs.pdf, args, kwargs)


def _normal(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """-(d log 2π + log|Σ| + |L⁻¹(x - μ)|²)/2, with Σ = L Lᵀ. `x` has the vectors along its last axis; `cov` is a
    matrix, a vector of variances or one variance. Raises LinAlgError if it is not positive definite."""
    if allow_singular:
        raise ArgumentError(name="multivariate_normal", problem="allow_singular has no traced form")
    x, cov = (wrap(raw(v)).astype(float) for v in (x, cov))
    mean = None if mean is None else wrap(raw(mean)).astype(float)
    dim = mean.size if mean is not None else cov.shape[0] if cov.ndim == 2 else 1
    if cov.ndim < 2:
        cov = tnp.diag(tnp.broadcast_to(cov, (dim,)))
    if cov.shape != (dim, dim):
        problem = f"a covariance of shape {cov.shape} for vectors of {dim} elements"
        raise ArgumentError(name="multivariate_normal", problem=problem)
    if x.ndim == 0:
        x = x.reshape(1)
    elif x.ndim == 1:
        x = x[:, None] if dim == 1 else x[None]
    away = (x if mean is None else x - mean.reshape(dim)).reshape(-1, dim)
    factor = tnp.linalg.cholesky(cov)
    scaled = linalg.solve_triangular(factor, away.T, lower=True)
    out = -0.5 * (dim * math.log(2 * math.pi) + tnp.square(scaled).sum(axis=0))
    out = (out - tnp.log(tnp.diagonal(factor)).sum()).reshape(x.shape[:-1])
    return out[0] if out.shape == (1,) else out


def _dirichlet(x: Any, alpha: Any) -> Any:
    """`x` has the components along its first axis; the last one may be left out."""
    x, alpha = (wrap(raw(v)).astype(float) for v in (x, alpha))
    if alpha.ndim != 1 or x.shape[0] not in (alpha.size, alpha.size - 1):
        problem = f"vectors of {x.shape[:1]} components for parameters of shape {alpha.shape}"
        raise ArgumentError(name="dirichlet", problem=problem)
    if x.shape[0] == alpha.size - 1:
        x = tnp.concatenate([x, 1 - x.sum(axis=0, keepdims=True)])
    powers = (alpha - 1).reshape(-1, *[1] * (x.ndim - 1))
    return sp.xlogy(powers, x).sum(axis=0) + sp.gammaln(alpha.sum()) - sp.gammaln(alpha).sum()


multivariate_normal = VectorDistribution("multivariate_normal", _normal)
dirichlet = VectorDistribution("dirichlet", _dirichlet)

__all__ = ["dirichlet", "multivariate_normal"]
