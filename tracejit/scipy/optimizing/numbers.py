"""Minima of functions of one number: `minimize_scalar`, and SciPy's functions for one method each, as native loops."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops.elementwise import compare
from tracejit.scipy import solving
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.scipy.optimizing.results import complete, message_among, python
from tracejit.scipy.written.minima import numbers
from tracejit.tracing import Box, call_user, to_raw

#: Method -> the options that it takes, with SciPy's defaults.
_OPTIONS: dict[str, dict[str, Any]] = {
    "brent": {"xtol": 1.48e-8, "maxiter": 500, "disp": 0},
    "golden": {"xtol": float(np.sqrt(np.finfo(float).eps)), "maxiter": 5000, "disp": 0},
    "bounded": {"xatol": 1e-5, "maxiter": 500, "disp": 0},
}
_NAN = "NaN result encountered."
_REACHED = "\nOptimization terminated successfully;\nThe returned value satisfies the termination criteria\n"
#: What SciPy says of points that are no bracket.
_NO_BRACKET = (
    "The algorithm terminated without finding a valid bracket. Consider trying different initial points."
)
_NO_END = (
    "No valid bracket was found before the iteration limit was reached. Consider trying different initial "
    "points or increasing `maxiter`."
)
_GIVEN = (
    "Bracketing values (xa, xb, xc) do not fulfill this requirement: (xa < xb) and (xb < xc)",
    "Bracketing values (xa, xb, xc) do not fulfill this requirement: (f(xb) < f(xa)) and (f(xb) < f(xc))",
)


def _must(good: Any, text: str) -> None:
    fail_if(compare.eq(to_raw(good), np.False_), SolverFailedError, text)


def minimize_scalar(
    fun: Callable[..., Any],
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: Any = None,
    tol: Any = None,
    options: Any = None,
) -> Any:
    """A minimum of `fun(x, *args)`, by SciPy's "brent", "bounded" or "golden", with all fields of SciPy's result.

    The derivatives of `x` are those of a point at which the slope is zero, or that lies on a bound."""
    if callable(method):
        refuse("minimize_scalar", "a method of the user's", "name one of SciPy's")
    chosen = ("brent" if bounds is None else "bounded") if method is None else method.lower()
    given = dict(options or {})
    if bounds is not None and chosen in ("brent", "golden"):
        raise ValueError(f"Use of `bounds` is incompatible with 'method={method}'.")
    if chosen not in _OPTIONS:
        raise ValueError(f"Unknown solver {method}")
    if tol is not None and chosen == "bounded" and "xatol" not in given:
        told = "Method 'bounded' does not support relative tolerance in x; defaulting to absolute tolerance."
        warnings.warn(told, RuntimeWarning, stacklevel=3)
        given["xatol"] = tol
    elif tol is not None:
        given.setdefault("xtol", tol)
    if chosen == "bounded" and bounds is None:
        raise ValueError("The `bounds` parameter is mandatory for method `bounded`.")
    return found(fun, args, chosen, bounds if chosen == "bounded" else bracket, given)


def found(
    fun: Callable[..., Any], args: Any, method: str, ends: Any, options: dict[str, Any], must: bool = False
) -> Any:
    """SciPy's result by `method`, from the bracket or the bounds `ends`. `must`: there is no result without a
    bracket."""
    settings = _OPTIONS[method] | options
    if isinstance(settings["disp"], bool):
        settings["disp"] *= 2
    for name, option in settings.items():
        if name not in _OPTIONS[method] or (name == "disp" and int(option) > (method == "bounded")):
            refuse("minimize_scalar", f"the option `{name}`")
        if isinstance(option, Box):
            refuse("minimize_scalar", f"a traced `{name}`", "give a number")
    inner = solving.with_args(fun, args)

    def value(x: Any) -> Any:
        out = inner(x)
        if tnp.ndim(out):
            refuse("minimize_scalar", "a function that gives an array", "give a number")
        return solving.scalar(out)

    if method == "bounded":
        return _bounded(value, ends, settings)
    if settings["xtol"] < 0 and method == "brent":
        raise ValueError(f"tolerance should be >= 0, got {settings['xtol']!r}")
    return _bracketed(value, method, ends, settings, must)


def _bounded(value: Callable[[Any], Any], ends: Any, settings: dict[str, Any]) -> Any:
    if len(ends) != 2:
        raise ValueError("bounds must have two elements.")
    low, high = (_number(e) for e in ends)
    _must(tnp.isfinite(low) & tnp.isfinite(high), "Optimization bounds must be finite scalars.")
    _must(low <= high, "The lower bound exceeds the upper bound.")
    tol, most = settings["xatol"], settings["maxiter"]

    def solve(_: Any) -> tuple[Any, Any]:
        x, _, calls, flag = call_user(numbers.bounded, value, low, high, tol, most)
        return tnp.asarray(x), (calls, flag)

    slope = solving.gradient(value)

    def conditions(x: Any) -> Any:
        """The minimum is on a bound to which the search came as near as it does, and which is nearer than the minimum
        that the slope and the curvature predict."""
        still = lax.stop_gradient(x)
        g, bend = lax.stop_gradient((slope(still), solving.gradient(slope)(still)))
        out = slope(x)
        for edge, sign in ((low, 1.0), (high, -1.0)):
            gap = sign * (still - lax.stop_gradient(edge))
            there = (gap <= 2 * tol + 1e-7 * tnp.abs(still)) & (sign * g >= gap * tnp.abs(bend))
            out = tnp.where(there, x - edge, out)
        return out

    x, (calls, flag) = solving.root_of(conditions, low, solve, solving.number_solve)
    if settings["disp"]:
        call_user(numbers.report, flag)
    texts = ("Solution found.", "Maximum number of function calls reached.", _NAN)
    return complete(
        fun=value(x),
        status=python(flag),
        success=python(flag == 0),
        message=message_among(texts, flag),
        x=x,
        nfev=python(calls),
        nit=python(calls),
    )


def _number(x: Any) -> Any:
    return tnp.asarray(x).astype(float)[()]


def _bracketed(
    value: Callable[[Any], Any], method: str, ends: Any, settings: dict[str, Any], must: bool
) -> Any:
    points = [_number(e) for e in (ends if ends is not None else ())]
    if len(points) not in (0, 2, 3):
        raise ValueError("Bracketing interval must be length 2 or 3 sequence.")
    tol, most = settings["xtol"], settings["maxiter"]

    def solve(_: Any) -> tuple[Any, Any]:
        if len(points) == 3:
            *three, ordered, lower = call_user(numbers.given, value, *points)
            (xa, xb, xc, fa, fb, fc), calls, right = three, np.int64(3), (ordered, lower, np.bool_(True))
        else:
            first, second = points or (0.0, 1.0)
            xa, xb, xc, fa, fb, fc, calls, enough = call_user(
                numbers.bracket, value, first, second, 110.0, 1000
            )
            right = np.bool_(True), np.bool_(True), enough
        valid = len(points) == 3 or _is_bracket(xa, xb, xc, fa, fb, fc)
        search = numbers.brent if method == "brent" else numbers.golden
        x, y, steps, more = call_user(search, value, xa, xb, xc, fb, tol, tnp.where(valid, most, -1))
        code = tnp.where(tnp.isnan(x) | tnp.isnan(y), 2, tnp.where(steps >= most, 1, 0))
        best = call_user(numbers.best, xa, xb, xc, fa, fb, fc)
        x, code = tnp.where(valid, x, best), tnp.where(valid, code, 3)
        return x, (tnp.where(valid, steps, 0), calls + tnp.where(valid, more, 0), code, right)

    x, (steps, calls, code, right) = solving.root_of(
        solving.gradient(value), tnp.asarray(0.0), solve, solving.number_solve
    )
    for good, text in zip(right, (*_GIVEN, _NO_END), strict=True):
        _must(good, text)
    if must:
        _must(code != 3, _NO_BRACKET)
    reached = f"{_REACHED}(using xtol = {settings['xtol']} )"
    texts = (reached, "\nMaximum number of iterations exceeded", _NAN, _NO_BRACKET)
    fields = {"fun": tnp.where((code == 3) & tnp.isnan(x), np.nan, value(x))[()], "x": x}
    fields |= {"nit": python(steps), "nfev": python(calls)}
    if method == "golden":
        fields = {k: fields[k] for k in ("fun", "nfev", "x", "nit")}
    return complete(**fields, success=python(code == 0), message=message_among(texts, code))


def _is_bracket(xa: Any, xb: Any, xc: Any, fa: Any, fb: Any, fc: Any) -> Any:
    lower = ((fb < fc) & (fb <= fa)) | ((fb < fa) & (fb <= fc))
    between = ((xa < xb) & (xb < xc)) | ((xc < xb) & (xb < xa))
    return lower & between & tnp.isfinite(xa) & tnp.isfinite(xb) & tnp.isfinite(xc)


def around(func: Callable[..., Any], xa: Any, xb: Any, args: Any, grow_limit: Any, maxiter: Any) -> Any:
    """What SciPy's `bracket` gives."""
    inner = solving.with_args(func, args)
    made = call_user(
        numbers.bracket, lambda x: solving.scalar(inner(x)), _number(xa), _number(xb), grow_limit, maxiter
    )
    *found, calls, enough = lax.stop_gradient(made)
    _must(enough, _NO_END)
    _must(_is_bracket(*found), _NO_BRACKET)
    return (*found, python(calls))
