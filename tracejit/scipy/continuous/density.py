"""`scipy.stats.gaussian_kde` for traced values: densities from samples, differentiable in these and in points."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.scipy import special
from tracejit.scipy.hosting.likeness import Like, refuse, require
from tracejit.tracing import call_user


class StatsLike(Like):
    """The class of the classes of `scipy.stats`."""

    part = "stats"


class gaussian_kde(metaclass=StatsLike):
    """The sum of Gaussians about the columns of `dataset` (d, n), whose covariance is that of the data, times the
    square of a factor."""

    covariance_factor: Callable[[], Any]

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        self.dataset = tnp.atleast_2d(tnp.asarray(dataset))
        if not self.dataset.size > 1:
            raise ValueError("`dataset` input should have multiple elements.")
        self.d, self.n = self.dataset.shape
        if weights is None:
            self.weights = tnp.ones(self.n) / self.n
        else:
            weights = tnp.atleast_1d(weights).astype(float)
            if weights.ndim != 1:
                raise ValueError("`weights` input should be one-dimensional.")
            if weights.shape[0] != self.n:
                raise ValueError("`weights` input should be of length n")
            self.weights = weights / tnp.sum(weights)
        self.neff = (1 / tnp.sum(self.weights * self.weights))[()]
        if self.d > self.n:
            raise ValueError("Number of dimensions is greater than number of samples.")
        self.set_bandwidth(bw_method)

    def scotts_factor(self) -> Any:
        """Scott's: n ** (-1 / (d + 4))."""
        return self.neff ** (-1.0 / (self.d + 4))

    def silverman_factor(self) -> Any:
        """Silverman's: (n (d + 2) / 4) ** (-1 / (d + 4))."""
        return (self.neff * (self.d + 2.0) / 4.0) ** (-1.0 / (self.d + 4))

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Choose the factor: "scott", "silverman", a number, or a function of this object. None keeps what it is."""
        if bw_method is None:
            self.covariance_factor = getattr(self, "covariance_factor", self.scotts_factor)
        elif isinstance(bw_method, str):
            if bw_method not in ("scott", "silverman"):
                raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar or a callable.")
            self.covariance_factor = self.scotts_factor if bw_method == "scott" else self.silverman_factor
        elif callable(bw_method):
            self.covariance_factor = lambda: call_user(bw_method, self)
        elif tnp.ndim(bw_method) == 0:
            self.covariance_factor = lambda: bw_method
        else:
            raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar or a callable.")
        self.factor = self.covariance_factor()
        data = tnp.atleast_2d(tnp.cov(self.dataset, rowvar=True, bias=False, aweights=self.weights))
        require(tnp.all(tnp.isfinite(data)), "array must not contain infs or NaNs")
        self.covariance = data * self.factor**2
        self.cho_cov = tnp.linalg.cholesky(data).astype(float) * self.factor
        self.log_det = 2 * tnp.log(tnp.diag(self.cho_cov) * math.sqrt(2 * math.pi)).sum()

    @property
    def inv_cov(self) -> Any:
        """The inverse of the covariance."""
        return tnp.linalg.inv(self.covariance)

    def _energies(self, points: Any) -> tuple[Any, Any]:
        """Half the squared distances of points (rows) and samples (columns), in deviations; the result's dtype."""
        points = tnp.atleast_2d(tnp.asarray(points))
        if points.shape[0] != self.d:
            if points.shape != (1, self.d):
                raise ValueError(f"points have dimension {points.shape[0]}, dataset has dimension {self.d}")
            points = points.reshape(self.d, 1)
        kind = np.result_type(self.covariance.dtype, points.dtype, np.float16)
        data, at = (_whitened(self.cho_cov, x.astype(float)) for x in (self.dataset, points))
        apart = at[:, :, None] - data[:, None, :]
        return tnp.sum(apart * apart, axis=0) / 2, np.float32 if kind == np.float32 else np.float64

    def _norm(self) -> Any:
        """The logarithm of the density's factor."""
        return -self.d / 2 * math.log(2 * math.pi) - tnp.sum(tnp.log(tnp.diag(self.cho_cov)))

    def evaluate(self, points: Any) -> Any:
        """The density at points, the columns of a matrix (d, m), or numbers."""
        energies, kind = self._energies(points)
        return (tnp.sum(tnp.exp(-energies) * self.weights, axis=1) * tnp.exp(self._norm())).astype(kind)

    __call__ = pdf = evaluate

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density."""
        energies, kind = self._energies(x)
        terms = special.logsumexp(-energies, axis=1, b=self.weights)
        return (terms + self._norm()).astype(kind)

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability of an interval; the data are numbers."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        deviation = tnp.sqrt(self.covariance)[0, 0]
        ends = [special.ndtr((end - self.dataset[0]) / deviation) for end in (low, high)]
        return tnp.sum(self.weights * (ends[1] - ends[0]))

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times a Gaussian."""
        mean, cov = tnp.atleast_1d(tnp.squeeze(mean)), tnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        return self._overlap(self.covariance + cov, mean[:, None])[0]

    def _overlap(self, cov: Any, means: Any) -> Any:
        """The integrals of the density times Gaussians about `means`; `cov` is the sum of the covariances."""
        factor = tnp.linalg.cholesky(cov)
        apart = _whitened(factor, means)[:, :, None] - _whitened(factor, self.dataset)[:, None, :]
        terms = tnp.exp(-tnp.sum(apart * apart, axis=0) / 2) * self.weights
        return tnp.sum(terms, axis=1) / ((2 * math.pi) ** (self.d / 2) * tnp.prod(tnp.diag(factor)))

    def integrate_kde(self, other: Any) -> Any:
        """The integral of the product of two densities."""
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        return tnp.sum(other.weights * self._overlap(self.covariance + other.covariance, other.dataset))

    def marginal(self, dimensions: Any) -> Any:
        """The density of some of the coordinates, whose numbers are known while tracing."""
        chosen = np.atleast_1d(dimensions)
        if not np.issubdtype(chosen.dtype, np.integer):
            raise ValueError("Elements of `dimensions` must be integers.")
        if any(not -self.d <= n < self.d for n in chosen):
            raise ValueError(f"Dimensions are invalid for a distribution in {self.d} dimensions.")
        if len({int(n) % self.d for n in chosen}) < len(chosen):
            raise ValueError("All elements of `dimensions` must be unique.")
        return gaussian_kde(self.dataset[chosen], self.covariance_factor(), self.weights)

    def integrate_box(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: it is estimated with random numbers."""
        refuse("gaussian_kde.integrate_box", "random numbers", "call integrate_box_1d, or sum over a grid")

    def resample(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: it draws."""
        refuse("gaussian_kde.resample", "random numbers", "draw rows of the data and normal numbers")


def _whitened(factor: Any, x: Any) -> Any:
    """The inverse of a lower triangle times x, row by row."""
    rows: list[Any] = []
    for n in range(x.shape[0]):
        row = x[n]
        for k, known in enumerate(rows):
            row = row - factor[n, k] * known
        rows.append(row / factor[n, n])
    return tnp.stack(rows)
