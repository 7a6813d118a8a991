"""How a distribution of scipy.stats becomes a traced one: location, scale and support around standard formulas.

Formulas are functions of boxes: `logpdf(z, *shapes)` and so on for the standard distribution, on arguments that
are inside its support.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import RandomStateError
from tracejit.numpy.dispatch import plain
from tracejit.numpy.operands import has_box
from tracejit.ops._lazy import scipy_stats
from tracejit.scipy.hosting.calls import stand_in
from tracejit.scipy.inverting.areas import area
from tracejit.scipy.inverting.reals import inverse
from tracejit.scipy.inverting.variates import drawn
from tracejit.scipy.inverting.whole import least, summed
from tracejit.scipy.lazily import Part
from tracejit.tracing import caller, is_tracing, to_raw, wrap

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

    def __setattr__(self, name: str, value: Any) -> None:
        if name.endswith("random_state"):
            raise _of_its_own(f"`{self.name}.random_state`")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"<tracejit distribution {self.name!r}>"

    @property
    def theirs(self) -> Any:
        """SciPy's."""
        return getattr(scipy_stats(), self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.theirs(*args, **kwargs)


#: Methods that map arrays to arrays, and draw nothing.
_METHODS = frozenset(
    [
        "pdf",
        "logpdf",
        "pmf",
        "logpmf",
        "cdf",
        "logcdf",
        "sf",
        "logsf",
        "ppf",
        "isf",
        "mean",
        "var",
        "std",
        "median",
        "entropy",
        "stats",
        "moment",
        "interval",
        "support",
        "fit",
    ]
)


_REAL = (np.random.RandomState, np.random.Generator)


def variates(theirs: Callable[..., Any], ppf: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """SciPy's `rvs`. Where it draws from the generator of `np.random`, it is given what stands for that. `ppf`: the
    quantiles of the standard distribution, for traced values."""

    @functools.wraps(theirs)
    def rvs(*args: Any, **kwargs: Any) -> Any:
        own: Any = theirs.__self__  # type: ignore[attr-defined]
        named = inspect.signature(theirs).bind_partial(*args, **kwargs).arguments
        given = {**named, **named.get("kwds", {})}.get("random_state")
        state = caller.shared(own) if given is None else given
        if (
            state is None or type(state) in _REAL or not isinstance(state, _REAL)
        ):  # a seed, or a generator itself
            return theirs(*args, **kwargs)
        if given is not None and "random_state" not in kwargs:
            return theirs(*args, **kwargs)
        kwargs.pop("random_state", None)
        found = drawn(own, ppf, args, kwargs, state)
        return theirs(*args, **kwargs, random_state=state) if found is NotImplemented else found

    return rvs


def _of_its_own(name: str) -> RandomStateError:
    return RandomStateError(function=name, problem="the distribution has it, or may have one, of its own")


class Hosted(Named):
    """A distribution whose methods are SciPy's; programs call them."""

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        theirs = getattr(self.theirs, method)
        if method == "rvs" and is_tracing():
            return variates(theirs, self._quantiles())
        return stand_in(theirs, f"scipy.stats.{self.name}.{method}") if method in _METHODS else theirs

    def _quantiles(self) -> Callable[..., Any] | None:
        """The quantiles of the standard distribution, if there is a formula."""
        return None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Frozen(self, args, kwargs) if is_tracing() else super().__call__(*args, **kwargs)


class Frozen:
    """A distribution with parameters, while something is traced."""

    def __init__(
        self,
        distribution: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        outside: bool = False,
        generator: Any = None,
    ) -> None:
        self.dist, self.args, self.kwds = distribution, args, kwargs
        self.outside = outside  # made there, perhaps with a generator of its own
        self.generator = generator  # that one, if what stands for it is known

    def __setattr__(self, name: str, value: Any) -> None:
        if name.endswith("random_state"):
            raise _of_its_own(f"`random_state` of a {self.dist.name}")
        super().__setattr__(name, value)

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        fn = getattr(self.dist, method)
        if method == "rvs":
            return self._variates
        return lambda *xs, **more: fn(*xs, *self.args, **self.kwds, **more)

    def _variates(self, size: Any = None, random_state: Any = None) -> Any:
        random_state = self.generator if random_state is None else random_state
        if self.outside and random_state is None:
            raise _of_its_own(f"`random_state` of a {self.dist.name}")
        return self.dist.rvs(*self.args, **{**self.kwds, "size": size, "random_state": random_state})


class Distribution(Hosted):
    """A distribution of numbers. Methods without a formula here, such as `fit`, are SciPy's own. The `support` is
    known, or a function of the shapes."""

    def __init__(
        self,
        name: str,
        shapes: int,
        support: tuple[float, float] | Callable[..., tuple[Any, Any]],
        valid: Formula | None = None,
        vanishes: bool = False,
        open_ends: bool = False,
        **formulas: Formula,
    ) -> None:
        super().__init__(name)
        self.shapes = shapes
        self.valid = valid or _all_positive
        self.vanishes = vanishes  # at infinity, where others' formulas say what the density is
        self.open_ends = open_ends  # where the density is 0, though the formula has none
        self.support = support
        self.formulas = formulas
        NAMES[name] = self

    def __getattr__(self, method: str) -> Any:
        hosted = super().__getattr__(method)
        general = getattr(self, f"_{method}", None) if method in ("median", "interval") else None
        if general is None and self._formula(method) is None:
            return hosted

        def call(*args: Any, **kwargs: Any) -> Any:
            if not (has_box(args) or has_box(kwargs.values())):
                return plain(getattr(self.theirs, method), args, kwargs)
            return self._compute(method, *args, **kwargs) if general is None else general(*args, **kwargs)

        call.__name__ = method
        call.__doc__ = f"`scipy.stats.{self.name}.{method}`, for traced values too."
        return call

    def _quantiles(self) -> Callable[..., Any] | None:
        return None if self._formula("ppf") is None else self.ppf

    def _median(self, *args: Any, **kwargs: Any) -> Any:
        return self.ppf(0.5, *args, **kwargs)

    def _interval(self, confidence: Any, *args: Any, **kwargs: Any) -> Any:
        """Around the median."""
        return tuple(self.ppf(q, *args, **kwargs) for q in ((1 - confidence) / 2, (1 + confidence) / 2))

    @property
    def whole(self) -> bool:
        """Whether it is of whole numbers."""
        return "pmf" in self.formulas or "logpmf" in self.formulas

    def _formula(self, method: str) -> Any:
        """The formula of a method of the standard distribution: one that is given, or follows from others; or None."""
        kind = method.removeprefix("log")
        found = self.formulas.get(method)
        if found is not None or method != kind:
            return found or self._log(kind)
        log = self.formulas.get(f"log{method}")
        if log is not None:
            return lambda *xs: tnp.exp(log(*xs))
        return self._from_other_side(method) or self._from_others(method)

    def _log(self, kind: str) -> Any:
        direct = self._formula(kind)
        other = self.formulas.get({"cdf": "sf", "sf": "cdf"}.get(kind, ""))
        return None if direct is None else lambda *xs: _log_of(direct, other, *xs)

    def _from_other_side(self, method: str) -> Any:
        """`sf` by `cdf`, and `isf` by `ppf`, where SciPy computes them so."""
        other = {"sf": "cdf", "isf": "ppf"}.get(method)
        stats = scipy_stats()
        base = getattr(stats.rv_discrete if self.whole else stats.rv_continuous, f"_{method}", None)
        if other is None or getattr(type(self.theirs), f"_{method}", None) is not base:
            return None
        fn = self._formula(other)
        if fn is None:
            return None
        return (lambda *xs: 1 - fn(*xs)) if method == "sf" else (lambda q, *xs: fn(1 - q, *xs))

    def _from_others(self, method: str) -> Any:
        """A probability as a sum of others, a quantile as an inverse."""
        if method in ("cdf", "sf"):
            if self.whole:
                return functools.partial(self.summed, method)
            density = self._formula("pdf")
            return None if density is None else functools.partial(self._area, density, method)
        known = self._formula({"ppf": "cdf", "isf": "sf"}[method]) if method in ("ppf", "isf") else None
        return None if known is None else functools.partial(self._inverse, known, method == "isf")

    def summed(self, method: str, k: Any, *shapes: Any) -> Any:
        """A probability as a sum of those of single numbers."""
        pmf = self._formula("pmf")
        (low, high), k = self._ends(*shapes), tnp.floor(k)
        of = (low, k) if method == "cdf" else (k + 1, high)
        return tnp.clip(summed(lambda at: pmf(at, *shapes), *of), 0, 1)

    def _area(self, density: Formula, method: str, z: Any, *shapes: Any) -> Any:
        low, high = self._ends(*shapes)
        return area(density, *((low, z) if method == "cdf" else (z, high)), shapes)

    def _inverse(self, tail: Formula, falls: bool, q: Any, *shapes: Any) -> Any:
        q, *shapes = tnp.broadcast_arrays(q, *shapes)  # type: ignore[assignment]
        low, high = self._ends(*shapes)
        if not self.whole:
            return inverse(lambda z: tail(z, *shapes), q, low, high, falls)
        if falls:
            return least(lambda k: tail(k, *shapes) <= q, low, high, q)
        return least(lambda k: tail(k, *shapes) >= q, low, high, q)

    def _ends(self, *shapes: Any) -> tuple[Any, Any]:
        """The support of the standard distribution."""
        return self.support(*map(tnp.asarray, shapes)) if callable(self.support) else self.support

    def _compute(self, method: str, x: Any, *args: Any, loc: Any = 0, scale: Any = 1, **named: Any) -> Any:
        shapes, rest = args[: self.shapes], args[self.shapes :]
        if len(shapes) < self.shapes:
            names = [n.strip() for n in self.theirs.shapes.split(",")]
            shapes = (*shapes, *(named.pop(n) for n in names[len(shapes) :]))
        if named:
            raise TypeError(f"{method}() got an unexpected keyword argument {next(iter(named))!r}")
        loc, scale = (*rest, *(loc, scale)[len(rest) :]) if rest else (loc, scale)
        kind, formula = method.removeprefix("log"), self._formula(method)
        if kind in ("ppf", "isf"):
            return self._quantile(formula, x, shapes, loc, scale, kind == "isf")
        z = tnp.true_divide(tnp.subtract(x, loc), scale)
        low, high = self._ends(*shapes)
        inside = tnp.logical_and(z >= low, z < high if self.whole and kind != "pmf" else z <= high)
        if self.open_ends:
            inside = inside & (z != low) & (z != high)
        elif method in ("logcdf", "logsf") and not self.whole:  # what is minus infinity at this end
            inside = inside & (z != (low if kind == "cdf" else high))
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
        below = tnp.logical_or(z < low if self.whole else z <= low, z == -np.inf)
        return tnp.where(below, zero, one) if kind == "cdf" else tnp.where(below, one, zero)

    def _quantile(self, formula: Formula, q: Any, shapes: Any, loc: Any, scale: Any, from_above: bool) -> Any:
        low, high = self._ends(*shapes)
        low = low - 1 if self.whole else low  # the number before the first has no probability below it
        at_0, at_1 = (high, low) if from_above else (low, high)
        within = tnp.logical_and(tnp.greater(q, 0), tnp.less(q, 1))
        value = formula(tnp.where(within, q, 0.5), *shapes)
        value = tnp.where(within, value, tnp.where(tnp.equal(q, 0), at_0, at_1)) * scale + loc
        inside = tnp.logical_and(tnp.greater_equal(q, 0), tnp.less_equal(q, 1))
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
