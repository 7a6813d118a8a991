"""`quad`: natively, or with a weight function or all that QUADPACK tells by SciPy's own, of the compiled function.

Of the latter the value, the error and what else there is are SciPy's. Derivatives are those of the native integral of
the product, whose singularities are substituted away.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.control.custom.convert import convert_all
from tracejit.control.custom.jvp import custom_jvp
from tracejit.errors import SolverOptionError
from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_module
from tracejit.ops.building import helpers
from tracejit.scipy import solving
from tracejit.scipy.integrating.adaptive import How
from tracejit.scipy.integrating.quadrature import MOST, integral, numbers, of_numbers
from tracejit.scipy.solving import ask
from tracejit.tracing import box, to_raw, wrap

_F64 = np.dtype(float)
_LISTS = ("alist", "blist", "rlist", "elist")
#: x is this power of the new variable near the end of an interval where the weight is singular.
_POWER = 8
_ALGEBRAIC = ("alg", "alg-loga", "alg-logb", "alg-log")


def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: Any = 0,
    epsabs: Any = 1.49e-8,
    epsrel: Any = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> tuple[Any, ...]:
    """The integral of `func(x, *args)` from `a` to `b`, and an estimate of its error, both Python's floats.

    With `weight` or `full_output` SciPy's own function is called, of finite limits or without a weight. Raises
    SolverOptionError for `wopts` and both of these together, and SolverFailedError where `limit` intervals are not
    enough, and extrapolation from them is not."""
    if not callable(func) or type(func).__name__ == "LowLevelCallable":
        raise SolverOptionError(function="quad", problem="a compiled integrand", remedy="give a function")
    if complex_func:
        return _complex(
            func, a, b, args, full_output, (epsabs, epsrel, limit, points, weight, wvar, wopts, maxp1)
        )
    if weight is None and not full_output:
        room = min(operator.index(limit), MOST)
        return numbers(*integral(of_numbers(func, args), a, b, How(epsabs, epsrel, room, True), points))
    if wopts is not None or points is not None:
        problem = "the option `wopts`, or points and full_output"
        raise SolverOptionError(function="quad", problem=problem, remedy="leave it away")
    options = {
        "epsabs": epsabs,
        "epsrel": epsrel,
        "limit": limit,
        "weight": weight,
        "wvar": wvar,
        "maxp1": maxp1,
    }
    return _by_scipy(func, a, b, args, bool(full_output), options)


def _complex(func: Any, a: Any, b: Any, args: Any, full: Any, options: Any) -> tuple[Any, ...]:
    """The real and the imaginary part one after the other, as SciPy integrates them."""
    re, im = (
        quad(functools.partial(_part, func, part), a, b, args, full, *options)
        for part in (tnp.real, tnp.imag)
    )
    both = re[0] + 1j * im[0], re[1] + 1j * im[1]
    return (*both, {"real": re[2:], "imag": im[2:]}) if full else both


def _part(func: Any, part: Callable[[Any], Any], x: Any, *args: Any) -> Any:
    return part(ask(func, x, *args))


def _by_scipy(func: Any, a: Any, b: Any, args: Any, full: bool, options: dict[str, Any]) -> tuple[Any, ...]:
    """`scipy.integrate.quad` with these `options`: `epsabs`, `epsrel`, `limit`, `weight`, `wvar`, `maxp1`. Where the
    integral does not converge, Python does the call."""
    weight, wvar = options["weight"], options["wvar"]
    if weight is not None and (full or any(_is_infinite(x) for x in (a, b))):
        problem = "a weight and full_output, or an infinite limit"
        raise SolverOptionError(function="quad", problem=problem, remedy="leave one of them away")
    if weight not in (None, "cos", "sin", "cauchy", *_ALGEBRAIC):
        raise ValueError(f"{weight} not a recognized weighting function.")
    pair = weight in _ALGEBRAIC
    places = () if weight is None else (tuple(wvar) if pair else (wvar,))
    given = [tnp.asarray(x).astype(float)[()] for x in (a, b, *places)]
    infinite = [x if _is_infinite(x) else None for x in (a, b)]
    f = of_numbers(func, args)
    converted, values = convert_all(lambda x: f(x)[0], given[0])
    limit = operator.index(options["limit"])
    results = [solving.NUMBER, solving.NUMBER, solving.COUNT]
    if full:
        results += [solving.COUNT, solving.COUNT, Aval((limit,), np.dtype(np.int32))]
        results += [Aval((limit,), _F64)] * len(_LISTS)

    def host(fs: Any, a: Any, b: Any, *more: Any) -> Any:
        held = [float(x) for x in more]
        own = options | {"wvar": tuple(held) if pair else held[0] if held else None}
        out = scipy_module("integrate").quad(
            lambda x: float(fs[0](x)), float(a), float(b), full_output=1, **own
        )
        told = out[2]
        lists = [told["neval"], told["last"], told["iord"], *(told[k] for k in _LISTS)] if full else []
        return [out[0], out[1], len(out) > 3, *lists]

    @custom_jvp
    def found(values: Any, given: Any) -> Any:
        compiled = solving.Compiled(lambda x: converted(x, *values), given[0])
        return tuple(solving.host_call(host, [compiled], results, *given))

    @found.defjvp
    def _slopes(primals: Any, tangents: Any) -> Any:
        values, given = primals

        def flat(*raw: Any) -> list[Any]:
            own, rest = list(map(wrap, raw[: len(given)])), raw[len(given) :]
            own[:2] = [x if known is None else known for x, known in zip(own, infinite, strict=False)]
            g = functools.partial(_of_values, converted, list(map(wrap, rest)))
            return [to_raw(_native(g, weight, *own, how=(options["epsabs"], options["epsrel"], limit)))]

        points = [to_raw(v) for v in (*given, *values)]
        _, (slope,) = jvp_flat(flat, points, [to_raw(t) for t in (*tangents[1], *tangents[0])])
        out = found(*primals)
        still = [tnp.zeros_like(x) for x in out[1:]]
        return out, (wrap(helpers.instantiate(slope)), *still)

    value, error, failed, *lists = found(values, given)
    leave_if(to_raw(failed != 0), "what `quad` says where an integral does not converge")
    if not full:
        return numbers(value, error)
    told = dict(zip(("neval", "last", "iord", *_LISTS), lists, strict=True))
    told |= {k: box(to_raw(told[k]), True) for k in ("neval", "last")}
    return (*numbers(value, error), told)


def _of_values(converted: Callable[..., Any], values: list[Any], x: Any) -> Any:
    return converted(x, *values)


def _is_infinite(x: Any) -> bool:
    return isinstance(x, (int, float)) and bool(np.isinf(x))


def _native(f: Callable[[Any], Any], weight: Any, a: Any, b: Any, *places: Any, how: Any) -> Any:
    """The integral of `f` times the weight as a native loop."""
    epsabs, epsrel, limit = how
    way = How(epsabs, epsrel, min(max(limit, 50), MOST), True)

    def of(g: Callable[[Any], Any], low: Any, high: Any, points: Any = None) -> Any:
        return integral(lambda x: (g(x), np.float64(0)), low, high, way, points)[0]

    if weight is None:
        return of(f, a, b)
    if weight in ("cos", "sin"):
        wave = tnp.cos if weight == "cos" else tnp.sin
        return of(lambda x: f(x) * wave(places[0] * x), a, b)
    if weight == "cauchy":
        (c,) = places
        middle = f(c)
        rest = of(lambda x: (f(x) - middle) / (x - c), a, b, [c])
        return rest + middle * tnp.log((b - c) / (c - a))
    return _algebraic(f, weight, a, b, *places, of=of)


def _algebraic(f: Any, weight: str, a: Any, b: Any, alpha: Any, beta: Any, of: Any) -> Any:
    """With the weight (x-a)**alpha (b-x)**beta, and logarithms of these distances: both halves of the interval in a
    variable whose power is the distance from the end."""
    half = 0.5 * (b - a)

    def side(near: Any, far: Any, logs: tuple[bool, bool], at: Callable[[Any], Any]) -> Any:
        def g(s: Any) -> Any:
            d = half * s**_POWER
            weights = d**near * (2 * half - d) ** far
            weights = weights * tnp.log(d) if logs[0] else weights
            weights = weights * tnp.log(2 * half - d) if logs[1] else weights
            return f(at(d)) * weights * (half * _POWER * s ** (_POWER - 1))

        return of(g, 0.0, 1.0)

    first, last = weight in ("alg-loga", "alg-log"), weight in ("alg-logb", "alg-log")
    left = side(alpha, beta, (first, last), lambda d: a + d)
    return left + side(beta, alpha, (last, first), lambda d: b - d)
