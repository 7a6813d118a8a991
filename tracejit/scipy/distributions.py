"""How a distribution of scipy.stats becomes a traced one: location, scale and support around standard formulas.

Formulas are functions of boxes: `logpdf(z, *shapes)` and so on for the standard distribution, on arguments that
are inside its support.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.numpy.dispatch import plain
from tracejit.numpy.operands import has_box
from tracejit.ops._lazy import scipy_stats
from tracejit.scipy.lazily import Part
from tracejit.tracing import to_raw, wrap

Formula = Callable[..., Any]
#: scipy.stats: the distributions, and functions of samples.
PART = Part("scipy.stats", scipy_stats)
#: Name in scipy.stats -> our distribution.
NAMES: dict[str, Distribution] = {}


class Named:
    """A distribution of scipy.stats, by its name there. Called, it is SciPy's frozen one."""

    def __init__(self, name: str) -> None:
        self.name = name
        PART.names[name] = self

    def __repr__(self) -> str:
        return f"<tracejit distribution {self.name!r}>"

    @property
    def theirs(self) -> Any:
        """SciPy's."""
        return getattr(scipy_stats(), self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.theirs(*args, **kwargs)


class Frozen:
    """A distribution with traced parameters."""

    def __init__(self, distribution: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = distribution, args, kwargs

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        fn = getattr(self.dist, method)
        return lambda *xs: fn(*xs, *self.args, **self.kwds)


class Distribution(Named):
    """A distribution of numbers. Methods without a formula here, such as `fit`, are SciPy's. The `support` is known, or
    a function of the shapes."""

    def __init__(
        self,
        name: str,
        shapes: int,
        support: tuple[float, float] | Callable[..., tuple[Any, Any]],
        valid: Formula | None = None,
        vanishes: bool = False,
        **formulas: Formula,
    ) -> None:
        super().__init__(name)
        self.shapes = shapes
        self.valid = valid or _all_positive
        self.vanishes = vanishes  # at infinity, where others' formulas say what the density is
        self.support = support
        self.formulas = formulas
        NAMES[name] = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        traced = has_box(args) or has_box(kwargs.values())
        return Frozen(self, args, kwargs) if traced else super().__call__(*args, **kwargs)

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        if self._formula(method) is None:
            return getattr(self.theirs, method)

        def call(*args: Any, **kwargs: Any) -> Any:
            if not (has_box(args) or has_box(kwargs.values())):
                return plain(getattr(self.theirs, method), args, kwargs)
            return self._compute(method, *args, **kwargs)

        call.__name__ = method
        call.__doc__ = f"`scipy.stats.{self.name}.{method}`, for traced values too."
        return call

    def _formula(self, method: str) -> Any:
        """The way to compute a method: (its kind, formula of the standard distribution), or None."""
        given = self.formulas.get(method)
        if given is not None:
            return method.removeprefix("log"), given
        log = self.formulas.get(f"log{method}")
        if log is not None:
            return method, lambda *xs: tnp.exp(log(*xs))
        direct = self.formulas.get(method.removeprefix("log"))
        if method.startswith("log") and direct is not None:
            other = self.formulas.get({"logcdf": "sf", "logsf": "cdf"}.get(method, ""))
            return method.removeprefix("log"), lambda *xs: _log_of(direct, other, *xs)
        return self._from_other_side(method)

    def _from_other_side(self, method: str) -> Any:
        """`sf` by `cdf`, and `isf` by `ppf`, where SciPy computes them so."""
        fn = self.formulas.get({"sf": "cdf", "isf": "ppf"}.get(method, ""))
        base = getattr(scipy_stats().rv_continuous, f"_{method}", None)
        if fn is None or getattr(type(self.theirs), f"_{method}", None) is not base:
            return None
        return method, (lambda *xs: 1 - fn(*xs)) if method == "sf" else (lambda q, *xs: fn(1 - q, *xs))

    def _compute(self, method: str, x: Any, *args: Any, loc: Any = 0, scale: Any = 1, **named: Any) -> Any:
        shapes, rest = args[: self.shapes], args[self.shapes :]
        if len(shapes) < self.shapes:
            names = [n.strip() for n in self.theirs.shapes.split(",")]
            shapes = (*shapes, *(named.pop(n) for n in names[len(shapes) :]))
        if named:
            raise TypeError(f"{method}() got an unexpected keyword argument {next(iter(named))!r}")
        loc, scale = (*rest, *(loc, scale)[len(rest) :]) if rest else (loc, scale)
        kind, formula = self._formula(method)
        if kind in ("ppf", "isf"):
            return self._quantile(formula, x, shapes, loc, scale)
        z = tnp.true_divide(tnp.subtract(x, loc), scale)
        low, high = self.support(*map(tnp.asarray, shapes)) if callable(self.support) else self.support
        inside = tnp.logical_and(z >= low, z <= high)
        if self.vanishes or kind in ("cdf", "sf"):
            inside = tnp.logical_and(inside, tnp.isfinite(z))
        if kind == "pmf":
            inside = tnp.logical_and(inside, z == tnp.floor(z))
        value = formula(tnp.where(inside, z, _middle(low, high)), *shapes)
        outside = self._outside(method, kind, z, low)
        if kind == "pdf":
            value = value - tnp.log(scale) if method == "logpdf" else value / scale
        out = tnp.where(inside, value, outside)
        return self._known(out, shapes, scale, tnp.logical_not(tnp.isnan(z)))

    def _known(self, out: Any, shapes: Any, scale: Any, inside: Any) -> Any:
        """NaN where the scale or the shapes are none, or not `inside`."""
        good = tnp.logical_and(inside, tnp.greater(scale, 0))
        if shapes:
            good = tnp.logical_and(good, self.valid(*[tnp.asarray(s) for s in shapes]))
        return wrap(to_raw(tnp.where(good, out, np.nan)))  # a number where there are no dimensions

    def _outside(self, method: str, kind: str, z: Any, low: Any) -> Any:
        """The value where z is not in the support: density 0, probabilities 0 or 1."""
        zero, one = (-np.inf, 0.0) if method.startswith("log") else (0.0, 1.0)
        if kind in ("pdf", "pmf"):
            return zero
        below = tnp.logical_or(z < low, z == -np.inf)
        return tnp.where(below, zero, one) if kind == "cdf" else tnp.where(below, one, zero)

    def _quantile(self, formula: Formula, q: Any, shapes: Any, loc: Any, scale: Any) -> Any:
        inside = tnp.logical_and(tnp.greater_equal(q, 0), tnp.less_equal(q, 1))
        value = formula(tnp.where(inside, q, 0.5), *shapes) * scale + loc
        return self._known(value, shapes, scale, inside)


def _all_positive(*shapes: Any) -> Any:
    """What SciPy asks of most shapes."""
    good: Any = np.True_
    for s in shapes:
        good = tnp.logical_and(good, s > 0)
    return good


def _log_of(probability: Formula, other: Formula | None, *xs: Any) -> Any:
    """Its logarithm; from the `other` tail where it is next to 1."""
    p = probability(*xs)
    if other is None:
        return tnp.log(p)
    likely = p > 0.5
    return tnp.where(
        likely, tnp.log1p(tnp.where(likely, -other(*xs), 0.0)), tnp.log(tnp.where(likely, 1.0, p))
    )


def _middle(low: Any, high: Any) -> Any:
    """A number inside the support."""
    if has_box((low, high)):
        return tnp.where(
            tnp.isfinite(low),
            tnp.where(tnp.isfinite(high), 0.5 * (low + tnp.where(tnp.isfinite(high), high, 0.0)), low + 1.0),
            tnp.where(tnp.isfinite(high), high - 1.0, 0.0),
        )
    if np.isfinite(low):
        return low + 0.5 if np.isfinite(high) else low + 1.0
    return 0.0
