"""The methods of `minimize` that are native loops: their options, and what their results say."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops.elementwise import compare
from tracejit.scipy import solving
from tracejit.scipy.optimizing import watched
from tracejit.scipy.optimizing.constraints import limits
from tracejit.scipy.optimizing.results import complete, inverse, message_among, python
from tracejit.scipy.written.minima import descents, limited, points, powell, regions, reports, simplex
from tracejit.tracing import Box, call_user, to_raw

_WOLFE: dict[str, Any] = {"gtol": 1e-5, "norm": np.inf, "maxiter": None, "c1": 1e-4}
_REGION: dict[str, Any] = {
    "initial_trust_radius": 1.0,
    "max_trust_radius": 1000.0,
    "eta": 0.15,
    "gtol": 1e-4,
    "maxiter": None,
    "inexact": True,
}
_SIMPLEX = {
    "xatol": 1e-4,
    "fatol": 1e-4,
    "maxiter": None,
    "maxfev": None,
    "adaptive": False,
    "initial_simplex": None,
}
_CONJUGATE = {"xtol": 1e-4, "ftol": 1e-4, "maxiter": None, "maxfev": None}
#: The last three are for differences in place of a gradient.
_LIMITED = {
    "maxcor": 10,
    "ftol": 2.2204460492503131e-09,
    "gtol": 1e-5,
    "maxfun": 15000,
    "maxiter": 15000,
    "maxls": 20,
    "eps": 1e-8,
    "finite_diff_rel_step": None,
    "workers": None,
}
#: Method -> the options that it takes natively, with SciPy's defaults.
OPTIONS: dict[str, dict[str, Any]] = {
    "nelder-mead": _SIMPLEX,
    "powell": _CONJUGATE,
    "bfgs": _WOLFE | {"c2": 0.9, "xrtol": 0},
    "cg": _WOLFE | {"c2": 0.4},
    "newton-cg": {"xtol": 1e-5, "maxiter": None, "c1": 1e-4, "c2": 0.9, "eps": 1.4901161193847656e-08},
    "l-bfgs-b": _LIMITED,
    "trust-ncg": _REGION,
    "trust-exact": _REGION | {"subproblem_maxiter": None},
}
#: Method -> the options for which `tol` stands.
_TOLERANCES = {
    "nelder-mead": ("xatol", "fatol"),
    "powell": ("xtol", "ftol"),
    "newton-cg": ("xtol",),
    "l-bfgs-b": ("ftol", "gtol"),
}
#: Those that take bounds.
_WITH_BOUNDS = ("nelder-mead", "l-bfgs-b")
_DONE = "Optimization terminated successfully."
_MOST = "Maximum number of iterations has been exceeded."
_CALLS = "Maximum number of function evaluations has been exceeded."
_LOSS = "Desired error not necessarily achieved due to precision loss."
_NAN = "NaN result encountered."
_NEWTON = (
    _DONE,
    f"Warning: {_MOST}",
    f"Warning: {_LOSS}",
    _NAN,
    "Warning: CG iterations didn't converge. The Hessian is not positive definite.",
)
#: What L-BFGS-B says for the codes from 1 on.
LIMITED_TOLD = (
    "CONVERGENCE: NORM OF PROJECTED GRADIENT <= PGTOL",
    "CONVERGENCE: RELATIVE REDUCTION OF F <= FACTR*EPSMCH",
    "STOP: TOTAL NO. OF ITERATIONS REACHED LIMIT",
    "STOP: TOTAL NO. OF F,G EVALUATIONS EXCEEDS LIMIT",
    "ABNORMAL: ",
)
_IN_REGIONS = (
    _DONE,
    _MOST,
    "A bad approximation caused failure to predict improvement.",
    "A linalg error occurred, such as a non-psd Hessian.",
)


class Functions(NamedTuple):
    """What is minimized: the value, the gradient, both; the Hessian, and products with it, None where not given; and
    what each step is told to (`watched`), None if there is nobody."""

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    both: Callable[[Any], tuple[Any, Any]]
    bent: Callable[[Any], Any] | None
    times: Callable[[Any, Any], Any] | None
    tell: tuple[Any, ...] | None = None


Solve = Callable[[Functions, Any], tuple[Any, Any]]


def settings(method: str, options: dict[str, Any], tol: Any, bounded: bool) -> dict[str, Any] | None:
    """The options of a native method, with bounds if it is `bounded`; None where there is no native form."""
    if method not in OPTIONS or (bounded and method not in _WITH_BOUNDS):
        return None
    known = OPTIONS[method]
    given = dict(options)
    if tol is not None:
        for name in _TOLERANCES.get(method, ("gtol",)):
            given.setdefault(name, tol)
    if known is _LIMITED and not (set(given) <= set(known) and _may_be(known | given)):
        return None  # SciPy refuses them, or warns
    shown = given.pop("disp", False)
    if isinstance(shown, Box) or (shown and known is _LIMITED):
        return None
    for name, value in given.items():
        if name not in known and (bool(value) if name == "return_all" else value is not None):
            return None
    o = known | {k: v for k, v in given.items() if k in known} | {"disp": bool(shown)}
    if known is _CONJUGATE and isinstance(o["maxfev"], (int, float)) and o["maxfev"] < 1:
        return None
    wrong = "c1" in o and not 0 < o["c1"] < o["c2"] < 1
    if "eta" in o:
        wrong = not 0 <= o["eta"] < 0.25 or not 0 < o["initial_trust_radius"] < o["max_trust_radius"]
        wrong = wrong or (o.get("subproblem_maxiter") or 0) < 0
    return None if wrong else o  # SciPy refuses them


def _may_be(o: dict[str, Any]) -> bool:
    """Whether these are numbers that L-BFGS-B can begin with."""
    numbers = [o[name] for name in ("maxcor", "maxls", "ftol", "gtol", "maxfun", "maxiter")]
    plain = o["workers"] is None and all(isinstance(v, (int, float, np.number)) for v in numbers)
    whole = all(isinstance(o[name], (int, np.integer)) for name in ("maxcor", "maxls"))
    return plain and whole and o["maxcor"] >= 1 and o["maxls"] > 0 and o["ftol"] >= 0 and o["gtol"] >= 0


def _must(good: Any, text: str) -> None:
    fail_if(compare.eq(to_raw(good), np.False_), SolverFailedError, text)


def _steps(o: dict[str, Any], n: int) -> Any:
    return o["maxiter"] if o["maxiter"] is not None else 200 * n


def minimum(method: str, f: Functions, start: Any, bounds: tuple[Any, Any] | None, o: dict[str, Any]) -> Any:
    """SciPy's result of a native method with the settings `o`."""
    if f.tell is not None:
        o = watched.constants(o)
    if method in _WITH_BOUNDS:
        return (_limited if method == "l-bfgs-b" else _nelder_mead)(f, start, bounds, o)
    if method in ("trust-ncg", "trust-exact"):
        return _trusted(f, start, o, method == "trust-exact")
    return {"bfgs": _bfgs, "cg": _cg, "newton-cg": _newton, "powell": _powell}[method](f, start, o)


def _root(f: Functions, start: Any, solve: Solve, ends: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
    """The minimum that `solve(f, start)` finds, between `ends` if there are such, and what else it gives."""
    slope = solving.gradient(f.value)

    def conditions(x: Any) -> Any:
        return slope(x) if ends is None else solving.within(*ends, x, slope(x))

    if f.tell is None:
        return solving.root_of(conditions, start, lambda x: solve(f, x), solving.dense_solve)
    return watched.root_of(conditions, start, lambda x: solve(_still(f, start), x))


def _still(f: Functions, x: Any) -> Functions:
    value, both, bent = (watched.still(g, x) for g in (f.value, f.both, f.bent))
    return Functions(value, lambda x: both(x)[1], both, bent, watched.still(f.times, x, x), f.tell)


def _show(
    o: dict[str, Any], texts: tuple[str, ...], code: Any, value: Any, *counts: Any, runtime: bool = False
) -> None:
    """What SciPy prints at the end."""
    if o["disp"]:
        call_user(reports.ended, code, texts, runtime, value, tuple(python(c) for c in counts))


def _told(texts: tuple[str, ...], code: Any) -> dict[str, Any]:
    status = python(tnp.minimum(code, 3))
    return {"status": status, "success": python(code == 0), "message": message_among(texts, code)}


def _bfgs(f: Functions, start: Any, o: dict[str, Any]) -> Any:
    given = o["gtol"], o["norm"], _steps(o, start.size), o["xrtol"], o["c1"], o["c2"]

    def solve(f: Functions, x: Any) -> tuple[Any, Any]:
        x, _, _, nfev, njev, steps, status, inverse = call_user(
            descents.bfgs, f.both, x, tnp.eye(x.size), given, f.tell
        )
        return x, (inverse, nfev, njev, steps, status)

    x, (inverse, nfev, njev, steps, status) = _root(f, start, solve)
    fields = {"fun": f.value(x), "jac": f.slope(x), "hess_inv": inverse}
    texts = _DONE, _MOST, _LOSS, _NAN
    _show(o, texts, status, fields["fun"], steps, nfev, njev)
    fields |= {"nfev": python(nfev), "njev": python(njev), **_told(texts, status)}
    return complete(**fields, x=x, nit=python(steps))


def _powell(f: Functions, start: Any, o: dict[str, Any]) -> Any:
    most, calls = _limits(o, 1000 * start.size)

    def solve(f: Functions, x: Any) -> tuple[Any, Any]:
        given = o["xtol"], o["ftol"], most, calls
        x, value, *rest = call_user(powell.powell, f.value, x, tnp.eye(x.size), given, f.tell)
        return x, (value, *rest)

    x, (_, directions, steps, nfev, status) = _root(f, start, solve)
    _must(status != 4, "No valid bracket was found before the iteration limit was reached.")
    texts = _DONE, _CALLS, _MOST, _NAN
    value = f.value(x)
    _show(o, texts, status, value, steps, nfev, runtime=True)
    fields = {"fun": value, "direc": directions, "nit": python(steps), "nfev": python(nfev)}
    return complete(**fields, **_told(texts, status), x=x)


def _limits(o: dict[str, Any], usual: int) -> tuple[Any, Any]:
    """The most steps and calls: of what is not given, there are as many as usual if the other one is not a limit."""
    most, calls = o["maxiter"], o["maxfev"]
    if most is None:
        most = usual if calls is None or calls == np.inf else np.inf
    if calls is None:
        calls = usual if o["maxiter"] is None or o["maxiter"] == np.inf else np.inf
    return most, calls


def _cg(f: Functions, start: Any, o: dict[str, Any]) -> Any:
    given = o["gtol"], o["norm"], _steps(o, start.size), o["c1"], o["c2"]

    def solve(f: Functions, x: Any) -> tuple[Any, Any]:
        x, _, _, *counts = call_user(descents.conjugate, f.both, x, given, f.tell)
        return x, tuple(counts)

    x, (nfev, njev, steps, status) = _root(f, start, solve)
    fields = {"fun": f.value(x), "jac": f.slope(x), "nfev": python(nfev), "njev": python(njev)}
    _show(o, (_DONE, _MOST, _LOSS, _NAN), status, fields["fun"], steps, nfev, njev)
    return complete(**fields, **_told((_DONE, _MOST, _LOSS, _NAN), status), x=x, nit=python(steps))


def _newton(f: Functions, start: Any, o: dict[str, Any]) -> Any:
    eps = o["eps"]

    def curved(f: Functions, at: Any, x: Any, p: Any, matrix: Any) -> tuple[Any, Any, int]:
        """The Hessian, or its product with p: by the matrix, by products that were given, or by differences."""
        if f.bent is not None:
            return (at, f.bent(x), 1) if p is None else (at, matrix @ p, 0)
        if p is None:
            return at, None, 0
        if f.times is not None:
            return at, f.times(x, p), 1
        at = call_user(points.sloped, call_user(points.moved, f.both, at, x))
        here = at[2]
        at = call_user(points.sloped, call_user(points.moved, f.both, at, x + eps * p))
        return at, (at[2] - here) / eps, 0

    def solve(f: Functions, x: Any) -> tuple[Any, Any]:
        given = o["xtol"], _steps(o, x.size), o["c1"], o["c2"]
        own = functools.partial(curved, f)
        x, _, g, *counts = call_user(descents.newton, f.both, own, x, given, f.tell)
        return x, (g, *counts)

    # The gradient is that where the last step began, as SciPy has it.
    x, (before, nfev, njev, steps, status, curves) = _root(f, start, solve)
    fields = {"fun": f.value(x), "jac": before, "nfev": python(nfev), "njev": python(njev)}
    _show(o, _NEWTON, status, fields["fun"], steps, nfev, njev, curves)
    return complete(**fields, nhev=python(curves), **_told(_NEWTON, status), x=x, nit=python(steps))


def _trusted(f: Functions, start: Any, o: dict[str, Any], exact: bool) -> Any:
    products = f.bent is None

    def bent(f: Functions, x: Any) -> Any:
        return tnp.zeros(()) if f.bent is None else f.bent(x)

    def times(f: Functions, x: Any, matrix: Any, p: Any) -> tuple[Any, int]:
        return (matrix @ p, 0) if f.times is None or not products else (f.times(x, p), 1)

    def solve(f: Functions, x: Any) -> tuple[Any, Any]:
        tries = o.get("subproblem_maxiter")
        sizes = o["initial_trust_radius"], o["max_trust_radius"], o["eta"], o["gtol"], _steps(o, x.size)
        given = *sizes, exact, 25 if tries is None else tries, products
        own = functools.partial(bent, f), functools.partial(times, f)
        x, _, g, h, *counts = call_user(regions.trusted, f.both, *own, x, given, f.tell)
        return x, (g, h, *counts)

    x, (_, _, nfev, njev, nhev, steps, status) = _root(f, start, solve)
    _must(status != 4, "array must not contain infs or NaNs")
    told = _told(_IN_REGIONS, status)
    fields = {
        "x": x,
        "success": told["success"],
        "status": told["status"],
        "fun": f.value(x),
        "jac": f.slope(x),
    }
    fields |= {"nfev": python(nfev), "njev": python(njev), "nhev": python(nhev), "nit": python(steps)}
    _show(o, _IN_REGIONS, status, fields["fun"], steps, nfev, njev, nhev, runtime=True)
    more = {} if products else {"hess": bent(f, x)}
    return complete(**fields, message=told["message"], **more)


def _limited(f: Functions, start: Any, bounds: tuple[Any, Any] | None, o: dict[str, Any]) -> Any:
    low, high = bounds if bounds is not None else limits(None, start)
    if bounds is not None:
        _must(~tnp.any(low > high), "An upper bound is less than the corresponding lower bound.")
        _must(~tnp.all(low == high), "All independent variables were fixed by bounds.")
        _must(~tnp.any((low == np.inf) | (high == -np.inf)), "a bound is on the wrong side of all numbers")
        _must(~tnp.any(tnp.isnan(low) | tnp.isnan(high)), "a bound is NaN")
    sizes = [o[name] for name in ("maxcor", "ftol", "gtol", "maxiter", "maxfun", "maxls")]
    given = *sizes, bounds is not None

    def solve(f: Functions, x: Any) -> tuple[Any, Any]:
        inside = x if bounds is None else tnp.clip(x, low, high)
        x, *rest = call_user(limited.lbfgsb, f.both, inside, low, high, given, f.tell)
        return x, rest

    ends = None if bounds is None else (low, high)
    x, (last, _, nfev, njev, steps, code, *memory) = _root(f, start, solve, ends)
    over = (nfev > o["maxfun"]) | (steps >= o["maxiter"])
    status = tnp.where(code <= 2, 0, tnp.where(over, 1, 2))[()]
    return complete(
        # Where no step was found, SciPy tells of the last point that was tried.
        fun=tnp.where(code == 5, last, f.value(x))[()],
        jac=f.slope(x),
        nfev=python(nfev),
        njev=python(njev),
        nit=python(steps),
        status=python(status),
        message=message_among(LIMITED_TOLD, code - 1),
        x=x,
        success=python(status == 0),
        hess_inv=inverse(*memory),
    )


def _nelder_mead(f: Functions, start: Any, bounds: tuple[Any, Any] | None, o: dict[str, Any]) -> Any:
    n = start.size
    bounded = bounds is not None
    low, high = bounds if bounds is not None else (None, None)
    corners = None
    if o["initial_simplex"] is not None:
        corners = tnp.atleast_2d(tnp.asarray(o["initial_simplex"]).astype(float))
        if corners.ndim != 2 or corners.shape[0] != corners.shape[1] + 1:
            raise ValueError("`initial_simplex` should be an array of shape (N+1,N)")
        if corners.shape[1] != n:
            raise ValueError("Size of `initial_simplex` is not consistent with `x0`")
    if low is not None:
        text = "Nelder Mead - one of the lower bounds is greater than an upper bound."
        _must(~tnp.any(low > high), text)
        call_user(simplex.warned, start, low, high)
    most, calls = _limits(o, 200 * n)
    given = o["xatol"], o["fatol"], most, calls, bool(o["adaptive"]), bounded

    def solve(f: Functions, x: Any) -> tuple[Any, Any]:
        if corners is None:
            first = call_user(simplex.around, x, low, high, bounded)
        else:
            first = call_user(simplex.inside, corners, low, high) if bounded else corners
        found, *rest = call_user(simplex.nelder_mead, f.value, first, low, high, given, f.tell)
        return found[0], (found, *rest)

    x, (corners_, values, steps, nfev, status) = _root(f, start, solve, bounds)
    texts = _DONE, _CALLS, _MOST
    told = _told(texts, status)
    final = lax.stop_gradient((corners_, values))
    fun = f.value(x)
    if o["disp"]:
        call_user(reports.simplex, status, texts, fun, (python(steps), python(nfev)))
    return complete(fun=fun, nit=python(steps), nfev=python(nfev), **told, x=x, final_simplex=final)
