"""Distributions of vectors and matrices of scipy.stats."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.dispatch import plain
from tracejit.numpy.operands import has_box, raw
from tracejit.scipy import linalg
from tracejit.scipy import special as sp
from tracejit.scipy.continuous import orthants
from tracejit.scipy.distributions import Frozen, Named, variates
from tracejit.tracing import caller, is_tracing, to_raw, wrap


class VectorDistribution(Named):
    """A distribution of vectors or matrices with a logarithm of its density, or of its probability where `kind` is
    "pmf", and `others` of its methods by their names; the rest are SciPy's."""

    def __init__(
        self, name: str, log: Callable[..., Any], kind: str = "pdf", **others: Callable[..., Any]
    ) -> None:
        super().__init__(name)
        self.methods = {
            f"log{kind}": log,
            kind: lambda *args, **kwargs: tnp.exp(log(*args, **kwargs)),
            **others,
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        traced = has_box(args) or has_box(kwargs.values())
        return Frozen(self, args, kwargs) if traced else super().__call__(*args, **kwargs)

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        if method not in self.methods:
            theirs = getattr(self.theirs, method)
            return variates(theirs) if method == "rvs" and is_tracing() else theirs

        def call(*args: Any, **kwargs: Any) -> Any:
            if not (has_box(args) or has_box(kwargs.values())):
                return plain(getattr(self.theirs, method), args, kwargs)
            return self.methods[method](*args, **kwargs)

        call.__name__ = method
        call.__doc__ = f"`scipy.stats.{self.name}.{method}`, for traced values too."
        return call


class Drawn(Named):
    """A distribution of matrices or directions of which programs only draw."""

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        theirs = getattr(self.theirs, method)
        return variates(theirs) if method == "rvs" and is_tracing() else theirs


for _name in ("ortho_group", "special_ortho_group", "unitary_group", "uniform_direction"):
    Drawn(_name)


def _floats(*xs: Any) -> list[Any]:
    return [wrap(raw(x)).astype(float) for x in xs]


def _measured(name: str, x: Any, mean: Any, cov: Any) -> tuple[Any, Any, int, tuple[int, ...]]:
    """|L⁻¹(x - μ)|² and log|L| with Σ = L Lᵀ, how many elements a vector has, and the shape of the result. `x` has the
    vectors along its last axis; `cov` is a matrix, a vector of variances or one variance. Raises LinAlgError if it is
    not positive definite."""
    (x,) = _floats(x)
    mean, factor, dim = _factor(name, mean, cov)
    if x.ndim == 0:
        x = x.reshape(1)
    elif x.ndim == 1:
        x = x[:, None] if dim == 1 else x[None]
    away = (x if mean is None else x - mean.reshape(dim)).reshape(-1, dim)
    scaled = linalg.solve_triangular(factor, away.T, lower=True)
    return tnp.square(scaled).sum(axis=0), _half_log_det(factor), dim, x.shape[:-1]


def _factor(name: str, mean: Any, cov: Any) -> tuple[Any, Any, int]:
    """The mean as floats, L, and how many elements a vector has."""
    (cov,) = _floats(cov)
    mean = None if mean is None else wrap(raw(mean)).astype(float)
    dim = mean.size if mean is not None else cov.shape[0] if cov.ndim == 2 else 1
    if cov.ndim < 2:
        cov = tnp.diag(tnp.broadcast_to(cov, (dim,)))
    if cov.shape != (dim, dim):
        problem = f"a covariance of shape {cov.shape} for vectors of {dim} elements"
        raise ArgumentError(name=name, problem=problem)
    return mean, tnp.linalg.cholesky(cov), dim


#: An eigenvalue below so many times the largest one is zero for SciPy.
_SINGULAR = 1e6 * float(np.finfo(float).eps)


def _leave_singular(cov: Any) -> None:
    """Leave the call to Python where some eigenvalue of the matrix is not above zero for SciPy."""
    (cov,) = _floats(cov)
    fixed = lax.stop_gradient(cov)
    values = tnp.linalg.eigvalsh(fixed) if cov.ndim == 2 else tnp.atleast_1d(fixed)
    least = tnp.min(values) > _SINGULAR * tnp.max(tnp.abs(values))
    leave_if(to_raw(~least), "a covariance that may have no inverse")


def _half_log_det(factor: Any) -> Any:
    return tnp.log(tnp.diagonal(factor)).sum()


def _shaped(out: Any, shape: tuple[int, ...]) -> Any:
    out = out.reshape(shape)[()]
    return out[0] if out.shape == (1,) else out


def _normal(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """-(d log 2π + log|Σ| + |L⁻¹(x - μ)|²)/2. Where `allow_singular` allows a Σ without an inverse and this is one,
    Python has the result."""
    if allow_singular:
        _leave_singular(cov)
    squares, half, dim, shape = _measured("multivariate_normal", x, mean, cov)
    return _shaped(-0.5 * (dim * math.log(2 * math.pi) + squares) - half, shape)


def _normal_entropy(mean: Any = None, cov: Any = 1) -> Any:
    """(d (1 + log 2π) + log|Σ|)/2."""
    _, factor, dim = _factor("multivariate_normal", mean, cov)
    return dim * (1 + math.log(2 * math.pi)) / 2 + _half_log_det(factor)


def _normal_cdf(
    x: Any,
    mean: Any = None,
    cov: Any = 1,
    allow_singular: bool = False,
    maxpts: Any = None,
    abseps: float = 1e-5,
    releps: float = 1e-5,
    *,
    lower_limit: Any = None,
    rng: Any = None,
) -> Any:
    """The probability that all elements lie below those of `x`, and above `lower_limit`."""
    name = "multivariate_normal"
    if allow_singular:
        raise ArgumentError(name=name, problem="allow_singular has no traced form")
    mean, factor, dim = _factor(name, mean, cov)
    if dim > 2 and not isinstance(rng, int):
        problem = "SciPy draws points at random for more than two variables: give a whole number as `rng`"
        raise ArgumentError(name=name, problem=problem)
    x = wrap(raw(x)).astype(float)
    if x.ndim < 2:
        x = x.reshape(1) if not x.ndim else x[:, None] if dim == 1 else x[None]
    middle = 0.0 if mean is None else mean.reshape(dim)
    ends = [(x - middle).reshape(-1, dim)]
    sample = orthants.on_the_host({"maxpts": maxpts, "abseps": abseps, "releps": releps, "rng": rng})
    cov = factor @ factor.T
    if lower_limit is None:
        return _shaped(orthants.probability(ends[0], cov, sample), x.shape[:-1])
    if dim > 2:
        raise ArgumentError(name=name, problem="lower_limit has no traced form for more than two variables")
    low = tnp.broadcast_to(wrap(raw(lower_limit)).astype(float) - middle, x.shape).reshape(-1, dim)
    out: Any = 0.0
    for corner in itertools.product((0, 1), repeat=dim):
        at = tnp.stack([(ends[0], low)[c][:, i] for i, c in enumerate(corner)], 1)
        out = out + (-1) ** sum(corner) * orthants.probability(at, cov, sample)
    return _shaped(out, x.shape[:-1])


def _normal_logcdf(*args: Any, lower_limit: Any = None, **kwargs: Any) -> Any:
    if lower_limit is not None:
        raise ArgumentError(name="multivariate_normal", problem="lower_limit has no traced form in logcdf")
    return tnp.log(_normal_cdf(*args, **kwargs))


def _student(x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False) -> Any:
    if allow_singular:
        raise ArgumentError(name="multivariate_t", problem="allow_singular has no traced form")
    squares, half, dim, out = _measured("multivariate_t", x, loc, shape)
    known = sp.gammaln(0.5 * (df + dim)) - sp.gammaln(0.5 * df) - dim / 2 * tnp.log(df * math.pi) - half
    return _shaped(known - 0.5 * (df + dim) * tnp.log1p(squares / df), out)


# ---------------------------------------------------------------- matrices


def _matrices(name: str, x: Any, scale: Any) -> tuple[Any, Any, Any, int]:
    """The matrices x (n, p, p) and their factors, the factor of the scale, and p."""
    x, scale = _floats(x, scale)
    p = scale.shape[0] if scale.ndim == 2 else 0
    if scale.shape != (p, p) or x.ndim not in (2, 3) or x.shape[:2] != (p, p):
        problem = f"x of shape {x.shape} and a scale of shape {scale.shape}; give matrices"
        raise ArgumentError(name=name, problem=problem)
    x = x[None] if x.ndim == 2 else tnp.moveaxis(x, -1, 0)
    return x, tnp.linalg.cholesky(x), tnp.linalg.cholesky(scale), p


def _log_dets(factors: Any) -> Any:
    return 2 * tnp.log(tnp.diagonal(factors, axis1=-2, axis2=-1)).sum(axis=-1)


def _wishart(x: Any, df: Any, scale: Any) -> Any:
    """`x` has several matrices along its last axis, as in SciPy."""
    x, factors, root, p = _matrices("wishart", x, scale)
    trace = tnp.trace(tnp.linalg.solve(root @ root.T, x), axis1=-2, axis2=-1)
    out = 0.5 * (df - p - 1) * _log_dets(factors) - 0.5 * trace - df * _half_log_det(root)
    out = out - 0.5 * df * p * math.log(2) - sp.multigammaln(0.5 * tnp.asarray(df), p)
    return _shaped(out, out.shape)


def _inverse_wishart(x: Any, df: Any, scale: Any) -> Any:
    x, factors, root, p = _matrices("invwishart", x, scale)
    trace = tnp.trace(tnp.linalg.solve(x, tnp.broadcast_to(root @ root.T, x.shape)), axis1=-2, axis2=-1)
    out = df * _half_log_det(root) - 0.5 * trace - 0.5 * (df + p + 1) * _log_dets(factors)
    out = out - 0.5 * df * p * math.log(2) - sp.multigammaln(0.5 * tnp.asarray(df), p)
    return _shaped(out, out.shape)


def _matrix_normal(x: Any, mean: Any = None, rowcov: Any = 1, colcov: Any = 1) -> Any:
    x, rows, columns = _floats(x, rowcov, colcov)
    m, n = x.shape[-2:]

    def alone(k: int) -> list[tuple[int, ...]]:
        """The shapes that a covariance may have; of a number, SciPy knows the size by the mean."""
        return [(k, k), *([()] if mean is not None or k == 1 else [])]

    if rows.shape not in alone(m) or columns.shape not in alone(n):
        problem = f"covariances of shapes {rows.shape} and {columns.shape} for matrices of shape {(m, n)}"
        raise ArgumentError(name="matrix_normal", problem=problem)
    left, right = (
        tnp.linalg.cholesky(c * tnp.eye(k) if c.ndim == 0 else c) for c, k in ((rows, m), (columns, n))
    )
    away = (x if mean is None else x - mean).reshape(-1, m, n)
    half = tnp.linalg.solve(left, away)
    scaled = tnp.linalg.solve(right, tnp.swapaxes(half, -1, -2))
    known = m * n * math.log(2 * math.pi) / 2 + n * _half_log_det(left) + m * _half_log_det(right)
    out = -known - 0.5 * tnp.square(scaled).sum(axis=(-2, -1))
    return out.reshape(x.shape[:-2])[()]


# ---------------------------------------------------------------- counts


def _counted(x: Any, n: Any) -> Any:
    """Which vectors are counts of `n` things."""
    return tnp.all((x >= 0) & (x == tnp.floor(x)), axis=-1) & (x.sum(axis=-1) == n)


def _multinomial(x: Any, n: Any, p: Any) -> Any:
    """The last probability is what is left of 1, as in SciPy."""
    x, p = _floats(x, p)
    n = tnp.asarray(n).astype(float)
    left = 1 - p[..., :-1].sum(axis=-1, keepdims=True)
    off = tnp.abs(1 - p.sum(axis=-1, keepdims=True)) > 10 * math.ulp(1.0)
    if caller.does_over():  # SciPy warns
        leave_if(to_raw(tnp.any(off)), "probabilities that do not sum to 1")
    p = tnp.concatenate([p[..., :-1], tnp.where(off, left, p[..., -1:])], axis=-1)
    out = sp.gammaln(n + 1) + (sp.xlogy(x, p) - sp.gammaln(x + 1)).sum(axis=-1)
    good = tnp.all((p >= 0) & (p <= 1), axis=-1) & (n >= 0)
    return tnp.where(good, tnp.where(_counted(x, n), out, -math.inf), math.nan)


def _whole(name: str, *xs: Any) -> None:
    """Refuse what SciPy takes as counts in some cases only: floats."""
    if any(tnp.asarray(x).dtype.kind not in "iu" for x in xs):
        raise ArgumentError(name=name, problem="counts that are floats have no traced form")


def _dirichlet_multinomial(x: Any, alpha: Any, n: Any) -> Any:
    _whole("dirichlet_multinomial", x, n)
    x, alpha = _floats(x, alpha)
    n, total = tnp.asarray(n).astype(float), alpha.sum(axis=-1)
    out = sp.gammaln(total) + sp.gammaln(n + 1) - sp.gammaln(n + total)
    out = out + (sp.gammaln(x + alpha) - sp.gammaln(alpha) - sp.gammaln(x + 1)).sum(axis=-1)
    return tnp.where(_counted(x, n), out, -math.inf)[()]


def _multivariate_hypergeom(x: Any, m: Any, n: Any) -> Any:
    _whole("multivariate_hypergeom", x, m, n)
    x, m = _floats(x, m)
    n, total = tnp.asarray(n).astype(float), m.sum(axis=-1)
    inside = tnp.all(x <= m, axis=-1) & _counted(x, n)
    ways = sp.gammaln(m + 1) - sp.gammaln(x + 1) - sp.gammaln(tnp.maximum(m - x, 0.0) + 1)
    out = ways.sum(axis=-1) - sp.gammaln(total + 1) + sp.gammaln(n + 1) + sp.gammaln(total - n + 1)
    return tnp.where(inside, out, -math.inf)[()]


def _dirichlet(x: Any, alpha: Any) -> Any:
    """`x` has the components along its first axis; the last one may be left out."""
    x, alpha = _floats(x, alpha)
    if alpha.ndim != 1 or x.shape[0] not in (alpha.size, alpha.size - 1):
        problem = f"vectors of {x.shape[:1]} components for parameters of shape {alpha.shape}"
        raise ArgumentError(name="dirichlet", problem=problem)
    if x.shape[0] == alpha.size - 1:
        x = tnp.concatenate([x, 1 - x.sum(axis=0, keepdims=True)])
    powers = (alpha - 1).reshape(-1, *[1] * (x.ndim - 1))
    return sp.xlogy(powers, x).sum(axis=0) + sp.gammaln(alpha.sum()) - sp.gammaln(alpha).sum()


multivariate_normal = VectorDistribution(
    "multivariate_normal", _normal, entropy=_normal_entropy, cdf=_normal_cdf, logcdf=_normal_logcdf
)
multivariate_t = VectorDistribution("multivariate_t", _student)
dirichlet = VectorDistribution("dirichlet", _dirichlet)
wishart = VectorDistribution("wishart", _wishart)
invwishart = VectorDistribution("invwishart", _inverse_wishart)
matrix_normal = VectorDistribution("matrix_normal", _matrix_normal)
multinomial = VectorDistribution("multinomial", _multinomial, "pmf")
dirichlet_multinomial = VectorDistribution("dirichlet_multinomial", _dirichlet_multinomial, "pmf")
multivariate_hypergeom = VectorDistribution("multivariate_hypergeom", _multivariate_hypergeom, "pmf")

__all__ = [
    "dirichlet",
    "dirichlet_multinomial",
    "invwishart",
    "matrix_normal",
    "multinomial",
    "multivariate_hypergeom",
    "multivariate_normal",
    "multivariate_t",
    "wishart",
]
