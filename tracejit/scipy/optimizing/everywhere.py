"""Minima in a whole region, by SciPy's own searches on the compiled function; and `lsq_linear`.

A search is a call that the program makes. It draws at random as SciPy's does: give a number as `rng`, and it finds the
same each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.ir.avals import Aval
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.scipy.optimizing.constraints import limits
from tracejit.scipy.optimizing.older import named, refuse_given
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.scipy.optimizing.results import message, partial, place_of, python

_F64 = np.dtype(float)
#: Name -> (counts of the result, options that have no traced form).
_SEARCHES: dict[str, tuple[str, str]] = {
    "differential_evolution": ("nit nfev", "callback constraints integrality vectorized x0"),
    "dual_annealing": ("nit nfev njev nhev status", "callback x0"),
    "shgo": ("nfev nlfev nlhev nljev", "callback constraints"),
    "direct": ("nit nfev status", "callback"),
    "basinhopping": ("nit nfev njev minimization_failures", "callback take_step accept_test"),
}
#: Methods of the local searches that take a gradient.
_WITH_GRADIENT = ("cg", "bfgs", "l-bfgs-b", "tnc", "slsqp")


#: Whose message is a list of one.
_LISTING = ("basinhopping", "dual_annealing")


def _search(name: str) -> Callable[..., Any]:
    counts, refused = (text.split() for text in _SEARCHES[name])
    region = name != "basinhopping"
    second = "bounds" if region else "x0"

    def find(func: Callable[..., Any], *more: Any, **options: Any) -> Any:
        where, *rest = more or (options.pop(second, None),)
        if where is None:
            raise TypeError(f"{name}() missing 1 required positional argument: {second!r}")
        options = named(getattr(scipy_module("optimize"), name), tuple(rest)) | options
        refuse_given(name, options, *refused)
        local = dict(options.pop("minimizer_kwargs", None) or {})
        args = options.pop("args", ()) if region else local.pop("args", ())
        if options.get("workers", 1) != 1:
            refuse(name, "the option `workers`")
        inner = solving.with_args(func, args)
        if region:
            n = len(where.lb) if hasattr(where, "lb") else len(where)
            low, high = limits(where, np.zeros(n))
            start = (low + high) / 2
        else:
            start = solving.vector(where)
            low, high = limits(None, start)

        def value(x: Any) -> Any:
            return solving.scalar(inner(x))

        slope = solving.gradient(value)

        def host(fs: Any, x: Any, low: Any, high: Any) -> Any:
            theirs = scipy_module("optimize")
            given = dict(options)
            if not region and str(local.get("method", "bfgs")).lower() in _WITH_GRADIENT:
                given["minimizer_kwargs"] = {"jac": fs[1]} | local
            elif local:
                given["minimizer_kwargs"] = local
            at = theirs.Bounds(low, high) if region else x
            r = getattr(theirs, name)(lambda x: float(fs[0](x)), at, **given)
            told = [r.get(k, 0) for k in counts]
            success = r.get("success", True)
            return r.x, *told, success, place_of(_text(r.message))

        def solve(x: Any) -> tuple[Any, Any]:
            compiled = [solving.Compiled(f, x) for f in (value, slope)]
            types = [Aval(x.shape, _F64), *[solving.COUNT] * (len(counts) + 2)]
            x, *rest = solving.host_call(host, compiled, types, x, low, high)
            return x, rest

        def conditions(x: Any) -> Any:
            return solving.within(low, high, x, slope(x), 1e-6)

        x, (*counted, success, place) = solving.root_of(conditions, start, solve, solving.dense_solve)
        fields = {k: python(v) for k, v in zip(counts, counted, strict=True)}
        told = [message(place)] if name in _LISTING else message(place)
        fields |= {"success": python(success != 0), "message": told}
        return partial(name, x=x, fun=value(x), **fields)

    find.__name__ = find.__qualname__ = name
    what = "between `bounds`" if region else "from `x0`, the first guess,"
    find.__doc__ = (
        f"The minimum of `func(x, *args)` that SciPy's `{name}` finds {what} with the same options. The result has `x "
        f"fun {' '.join(counts)} success message`. Derivatives of `x` are those of a point at which the gradient is "
        f"zero, or which lies on a bound. Raises SolverOptionError for {', '.join(refused)} and `workers`."
    )
    return find


def _text(told: Any) -> str:
    """The message, of which some methods have a list."""
    return told if isinstance(told, str) else str(told[0])


differential_evolution, dual_annealing, shgo, direct, basinhopping = map(_search, _SEARCHES)


def brute(
    func: Callable[..., Any], ranges: Any, args: Any = (), Ns: int = 20, full_output: Any = 0, finish: Any = "fmin",
    disp: Any = False, workers: Any = 1,
) -> Any:  # fmt: skip
    """The least value of `func(x, *args)` on a grid over `ranges`, from where SciPy's `finish` goes on. Derivatives are
    those of a point at which the gradient is zero; without `finish` there are none. Raises SolverOptionError for
    `full_output` and `workers`."""
    refuse_given("brute", {"full_output": full_output}, "full_output")
    if workers != 1:
        refuse("brute", "the option `workers`")
    if callable(finish) and not hasattr(scipy_module("optimize"), finish.__name__):
        refuse("brute", "a function of the user's that goes on", "name one of SciPy's")
    inner = solving.with_args(func, args)
    n = len(ranges)

    def value(x: Any) -> Any:
        return solving.scalar(inner(x))  # of a vector, also where it has one element

    known = [r if isinstance(r, slice) else tuple(map(float, r)) for r in ranges]

    def host(fs: Any, x: Any) -> Any:
        theirs = scipy_module("optimize")
        ending = getattr(theirs, finish if isinstance(finish, str) else finish.__name__) if finish else None
        found = theirs.brute(lambda x: float(fs[0](np.ravel(x))), tuple(known), (), Ns, 0, ending, disp)
        return [np.ravel(found)]

    def solve(x: Any) -> tuple[Any, Any]:
        return solving.host_call(host, [solving.Compiled(value, x)], [Aval((n,), _F64)], x)[0], None

    start = tnp.zeros(n)
    if finish is None:
        found = solve(start)[0]
        return found if n > 1 else found[0]
    return solving.root_of(solving.gradient(value), start, solve, solving.dense_solve)[0]


def lsq_linear(A: Any, b: Any, bounds: Any = (-np.inf, np.inf), **options: Any) -> Any:
    """The x between `bounds` with the least |A x - b|, by SciPy's solver. `A` is a matrix.

    The result has `x cost fun nit status success message`. Derivatives of `x` are those of a minimum, of which the
    elements on a bound stay there."""
    if not hasattr(A, "shape") or hasattr(A, "tocsr"):
        refuse("lsq_linear", "a sparse matrix or an operator", "give an array")
    A, b = tnp.asarray(A).astype(float), tnp.asarray(b).astype(float)
    if A.ndim != 2 or b.shape != A.shape[:1]:
        raise ArgumentError(name="lsq_linear", problem="Inconsistent shapes between `A` and `b`.")
    n = A.shape[1]
    ends = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else tuple(bounds)
    low, high = (tnp.broadcast_to(tnp.asarray(e).astype(float), (n,)) for e in ends)

    def host(_: Any, A: Any, b: Any, low: Any, high: Any) -> Any:
        r = scipy_module("optimize").lsq_linear(A, b, (low, high), **options)
        return r.x, r.nit, r.status, r.success, place_of(r.message)

    def solve(_: Any) -> tuple[Any, Any]:
        types = [Aval((n,), _F64), *[solving.COUNT] * 4]
        x, *rest = solving.host_call(host, [], types, A, b, low, high)
        return x, rest

    def conditions(x: Any) -> Any:
        return solving.within(low, high, x, A.T @ (A @ x - b), 1e-7)

    x, (nit, status, success, place) = solving.root_of(conditions, tnp.zeros(n), solve, solving.dense_solve)
    gap = A @ x - b
    return partial(
        "lsq_linear",
        x=x,
        cost=0.5 * (gap @ gap),
        fun=gap,
        nit=python(nit),
        status=python(status),
        success=python(success != 0),
        message=message(place),
    )
