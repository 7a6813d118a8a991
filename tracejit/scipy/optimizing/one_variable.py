"""Roots of functions of one number, natively where SciPy's method has a loop of ours, with the derivatives
of solutions by the implicit function theorem (see `solving`)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import RootBracketError, SolverFailedError, SolverOptionError
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops.elementwise import compare
from tracejit.scipy import solving
from tracejit.scipy.optimizing.loops import open_methods
from tracejit.scipy.optimizing.loops.bracketing import FINDERS
from tracejit.scipy.optimizing.results import complete, message, place_of, python
from tracejit.scipy.written.minima import brackets
from tracejit.tracing import call_user, new_array, to_raw

_F64 = np.dtype(np.float64)
#: The least relative tolerance of SciPy.
_LEAST = 4 * float(np.finfo(float).eps)
#: The most steps of Newton's method in one of Algorithm 748.
_MOST_STEPS = 100
#: Methods of `root_scalar` that look in an interval.
_BRACKETING = ("brentq", "brenth", "bisect", "ridder", "toms748")


def refuse(function: str, problem: str, remedy: str = "leave it away") -> None:
    """Raises SolverOptionError."""
    raise SolverOptionError(function=function, problem=problem, remedy=remedy)


def _must(good: Any, message: str) -> None:
    fail_if(compare.eq(to_raw(good), np.False_), SolverFailedError, message)


def _enclosed(
    inner: Callable[[Any], Any], ends: Sequence[Any], k: Any, tolerances: tuple[Any, Any, Any], must: bool
) -> tuple[Any, list[Any]]:
    """The root that Algorithm 748 finds between `ends`, and [iterations, calls, converged]."""
    xtol, rtol, most = tolerances
    if xtol <= 0:
        raise ValueError(f"xtol too small ({xtol:g} <= 0)")
    if rtol < _LEAST / 4:
        raise ValueError(f"rtol too small ({rtol:g} < {_LEAST / 4:g})")
    if operator.index(most) < 1:
        raise ValueError("maxiter must be greater than 0")
    if not k >= 1:
        raise ValueError(f"k too small ({k} < 1)")
    if k > _MOST_STEPS:
        refuse("toms748", f"k={k}", f"take {_MOST_STEPS}, as SciPy does")
    low, high = ends
    _must(tnp.isfinite(low) & tnp.isfinite(high) & (low < high), "a and b are not an interval")

    def value(x: Any) -> Any:
        return solving.scalar(inner(x))

    def solve(_: Any) -> tuple[Any, Any]:
        found = call_user(brackets.toms748, value, low, high, k, xtol, rtol, most)
        return found[0], tuple(found[1:])

    x, (steps, calls, converged, differ, finite) = solving.root_of(value, low, solve, solving.number_solve)
    _must(finite, "Invalid function value")
    opposite = compare.eq(to_raw(differ), np.False_)
    fail_if(opposite, RootBracketError, "f(a) and f(b) must have different signs")
    if must:
        _must(converged, "toms748 did not converge.")
    return x, [steps, calls, converged]


def bracketed(
    name: str,
    inner: Callable[[Any], Any],
    ends: Sequence[Any],
    tolerances: tuple[Any, Any, Any],
    must: bool = True,
) -> tuple[Any, list[Any]]:
    """The root that the native form of SciPy's `name` finds between `ends`, and [iterations, calls, converged].

    `tolerances` are (xtol, rtol, maxiter); `must`: the program fails where `maxiter` iterations are not enough."""
    xtol, rtol, most = tolerances
    if xtol <= 0:
        raise ValueError(f"xtol too small ({xtol:g} <= 0)")
    if rtol < _LEAST:
        raise ValueError(f"rtol too small ({rtol:g} < {_LEAST:g})")
    if most < 0:
        raise ValueError("maxiter must be >= 0")

    def value(x: Any) -> Any:
        return solving.scalar(inner(x))

    def solve(_: Any) -> tuple[Any, Any]:
        found = FINDERS[name](value, *ends, tolerances)
        return found.root, (found.iterations, found.calls, found.converged, found.bracketed)

    x, (iterations, calls, converged, differ) = solving.root_of(value, ends[0], solve, solving.number_solve)
    fail_if(
        compare.eq(to_raw(differ), np.False_), RootBracketError, "f(a) and f(b) must have different signs"
    )
    if must:
        _must(converged, f"{name} did not converge.")
    return x, [iterations, calls, converged]


def report(root: Any, counts: list[Any], method: str) -> Any:
    """SciPy's `RootResults` of a root that was found, or not."""
    iterations, calls, converged = map(python, counts)
    told = tnp.where(counts[2], place_of("converged"), place_of("convergence error"))
    flags = {"converged": converged, "flag": message(told), "method": method}
    return complete("RootResults", root=root, iterations=iterations, function_calls=calls, **flags)


def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: Any = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: Any = None,
    rtol: Any = None,
    maxiter: Any = None,
    options: Any = None,
) -> Any:
    """A root of `f(x, *args)`, by SciPy's method: in the interval `bracket`, or from the guess `x0`.

    The result has `root`, `iterations`, `function_calls`, `converged` and `flag`. Its derivatives are those of the
    root. Where Newton's method is given no slope, it is that of the compiled function."""
    told = 1 + (2 if fprime2 and not callable(fprime2) else 1 if fprime and not callable(fprime) else 0)
    if told > 1:  # f gives its derivatives with its value
        f, *known = (_item(f, n) for n in range(told))
        fprime, fprime2 = known[0], (known[1] if told == 3 else fprime2)
    chosen = str(method).lower() if method else None
    if chosen is None:
        chosen = (
            "brentq" if bracket is not None else ("halley" if fprime2 else "newton" if fprime else "secant")
        )
        if bracket is None and x1 is None and not fprime:
            chosen = "newton"
    settings = {k: v for k, v in (("xtol", xtol), ("rtol", rtol), ("maxiter", maxiter)) if v is not None}
    settings |= {"method": chosen, "options": options}
    inner = solving.with_args(f, args)
    slopes = [_numbers(g, args) for g in (fprime, fprime2) if g]
    if chosen == "newton" and not slopes:
        slopes = [solving.gradient(_numbers(f, args))]
    between = chosen in FINDERS or chosen in _BRACKETING
    given: Any = bracket if between else x0
    if given is None:
        lacking = "Bracket needed for {method}" if between else "x0 must not be None for {method}"
        raise ValueError(lacking.format(method=chosen))
    low = (given[0], given[1]) if between else (given, x1 if x1 is not None else x0)
    start, second = (tnp.asarray(v).astype(float)[()] for v in low)
    if chosen in FINDERS:
        own = {"xtol": 2e-12, "rtol": _LEAST, "maxiter": 100} | (options or {})
        own |= {k: v for k, v in settings.items() if k in own}
        tolerances = own["xtol"], own["rtol"], own["maxiter"]
        x, counts = bracketed(chosen, inner, (start, second), tolerances, must=False)
        return report(python(x), counts, chosen)

    if chosen in ("newton", "halley", "secant"):
        own = {"xtol": 1.48e-8, "rtol": 0.0, "maxiter": 50} | (options or {})
        own |= {k: v for k, v in settings.items() if k in own}
        near = open_methods.Tolerances(own["xtol"], own["rtol"], own["maxiter"])
        _judge_steps(near)
        used = [] if chosen == "secant" else slopes[: 1 if chosen == "newton" else 2]
        x, counts = _opened(chosen, inner, start, used, None if x1 is None else second, near)
        if told > 1:  # SciPy counts the points
            counts[1] = -(-counts[1] // (len(used) + 1))
        return report(x, counts, chosen)

    own = {"xtol": 2e-12, "rtol": _LEAST, "maxiter": 100, "k": 1} | (options or {})
    own |= {k: v for k, v in settings.items() if k in own}
    near = own["xtol"], own["rtol"], own["maxiter"]
    x, counts = _enclosed(inner, (start, second), own["k"], near, must=False)
    return report(x, counts, chosen)


def _item(f: Callable[..., Any], n: int) -> Callable[..., Any]:
    """One of the things that a function gives."""
    return lambda x, *args: solving.ask(f, x, *args)[n]


def _judge_steps(t: open_methods.Tolerances) -> None:
    if t.absolute <= 0:
        raise ValueError(f"tol too small ({t.absolute:g} <= 0)")
    if operator.index(t.steps) < 1:
        raise ValueError("maxiter must be greater than 0")


def _opened(
    name: str,
    inner: Callable[[Any], Any],
    start: Any,
    slopes: list[Any],
    second: Any,
    t: open_methods.Tolerances,
) -> tuple[Any, list[Any]]:
    """The root near `start` of a number, and [iterations, calls, converged]; the program fails where SciPy warns."""

    def value(x: Any) -> Any:
        return solving.scalar(inner(x))

    def solve(x: Any) -> tuple[Any, Any]:
        if slopes:
            found = open_methods.newton(value, slopes[0], slopes[1] if len(slopes) > 1 else None, x, t)
        else:
            found = open_methods.secant(value, x, second, t)
        return found.root, (found.iterations, found.calls, found.converged, found.regular)

    if second is not None and not slopes:
        fail_if(to_raw(second == start), SolverFailedError, "x1 and x0 must be different")
    x, (iterations, calls, converged, regular) = solving.root_of(value, start, solve, solving.number_solve)
    _must(regular, f"{name} came to two equal values, or to a slope of zero.")
    return x, [iterations, calls, converged]


def _numbers(f: Any, args: Any) -> Callable[[Any], Any]:
    inner = solving.with_args(f, args)
    return lambda x: solving.scalar(inner(x))


def newton(
    func: Callable[..., Any],
    x0: Any,
    fprime: Any = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Any = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """A root of `func(x, *args)` near `x0`, by SciPy's Newton, Halley or secant method; of an array `x0`, a root for
    each element, where each value depends on its own element alone. Derivatives are those of the root.

    Raises SolverOptionError for `full_output` and `disp=False` with an array."""
    if (full_output or not disp) and tnp.ndim(x0):
        refuse("newton", "full_output or disp=False with an array")
    if tnp.asarray(x0).dtype.kind == "c":
        refuse("newton", "a complex x0", "solve for real and imaginary parts")
    args = tuple(args)  # which SciPy takes apart, whatever it is
    inner = solving.with_args(func, args)
    start = tnp.asarray(x0).astype(float)
    near = open_methods.Tolerances(tol, rtol, maxiter)
    _judge_steps(near)

    def like(g: Any) -> Callable[[Any], Any]:
        slope = solving.with_args(g, args)
        return lambda x: tnp.broadcast_to(tnp.asarray(slope(x)).astype(float), x.shape)

    slopes = [like(g) for g in (fprime, fprime2) if g is not None] if fprime is not None else []
    if start.size == 1:
        second = None if x1 is None else tnp.asarray(x1).astype(float).reshape(())
        of_one = inner if not start.ndim else lambda x: inner(x.reshape(start.shape))
        slopes = slopes if not start.ndim else [_of_one(g, start.shape) for g in slopes]
        x, counts = _opened("newton", of_one, start.reshape(()), slopes, second, near)
        if disp:
            _must(counts[2], "newton did not converge.")
        if full_output:
            return x, report(x, counts, ("secant", "newton", "halley")[len(slopes)])
        return x.reshape(start.shape)[()]

    def values(x: Any) -> Any:
        return tnp.broadcast_to(tnp.asarray(inner(x)).astype(float), x.shape)

    def solve(x: Any) -> tuple[Any, Any]:
        if slopes:
            bend = slopes[1] if len(slopes) > 1 else None
            found = open_methods.newtons(values, slopes[0], bend, x, near)
        else:
            found = open_methods.secants(values, x, near)
        return found.root, found.converged & found.regular

    x, good = solving.root_of(values, start, solve, solving.number_solve)
    _must(good, "newton did not converge in all elements.")
    return x


def _of_one(g: Callable[[Any], Any], shape: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda x: g(x.reshape(shape)).reshape(())


def toms748(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    k: int = 1,
    xtol: float = 2e-12,
    rtol: float = 4 * float(np.finfo(float).eps),
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """A root of `f(x, *args)` between `a` and `b`, by SciPy's TOMS 748. Its derivatives are those of the root."""
    ends = [tnp.asarray(x).astype(float)[()] for x in (a, b)]
    x, counts = _enclosed(solving.with_args(f, args), ends, k, (xtol, rtol, maxiter), disp)
    return (x, report(x, counts, "toms748")) if full_output else x


def fixed_point(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
) -> Any:
    """The point with func(x, *args) = x that is found from `x0`, an array. Its derivatives are those of the point."""
    if tnp.asarray(x0).dtype.kind == "c":
        refuse("fixed_point", "a complex x0", "solve for real and imaginary parts")
    inner, start = solving.with_args(func, tuple(args)), tnp.asarray(x0).astype(float)

    def step(x: Any) -> Any:
        return tnp.broadcast_to(
            tnp.asarray(inner(x.reshape(start.shape))).astype(float), start.shape
        ).reshape(-1)

    if method not in ("del2", "iteration"):
        raise KeyError(method)

    def solve(x: Any) -> tuple[Any, Any]:
        found = open_methods.fixed(step, x, xtol, maxiter, method == "del2")
        return found.root, found.converged

    x, done = solving.root_of(lambda x: x - step(x), start.reshape(-1), solve, solving.dense_solve)
    _must(done, "fixed_point did not converge.")
    return new_array(to_raw(x.reshape(start.shape)))
