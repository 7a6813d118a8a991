"""Roots by inexact Newton steps, as native loops: Broyden's methods, mixing, and Krylov's, by `root` and by name.

Derivatives are those of the root. What has no native form is SciPy's on the host.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, lax
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.numpy.boxes.numbers import fail_if, leave_if
from tracejit.ops.elementwise import compare
from tracejit.scipy import solving
from tracejit.scipy.optimizing import watched
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.scipy.optimizing.results import complete, message_among, python
from tracejit.scipy.written.roots import krylov, secants, stepping
from tracejit.tracing import Box, call_user, caller, to_raw

#: Method -> its `jac_options` with SciPy's defaults.
JACOBIANS: dict[str, dict[str, Any]] = {
    "broyden1": {"alpha": None, "reduction_method": "restart", "max_rank": None},
    "broyden2": {"alpha": None, "reduction_method": "restart", "max_rank": None},
    "anderson": {"alpha": None, "w0": 0.01, "M": 5},
    "linearmixing": {"alpha": None},
    "diagbroyden": {"alpha": None},
    "excitingmixing": {"alpha": None, "alphamax": 1.0},
    "krylov": {
        "rdiff": None,
        "method": "lgmres",
        "inner_maxiter": 20,
        "inner_M": None,
        "outer_k": 10,
        "inner_inner_m": 30,
    },
}
#: The options of `root` for them, with SciPy's defaults.
OPTIONS: dict[str, Any] = {
    "nit": None,
    "disp": False,
    "maxiter": None,
    "ftol": None,
    "fatol": None,
    "xtol": None,
    "xatol": None,
    "tol_norm": None,
    "line_search": "armijo",
    "jac_options": None,
}
#: Broyden's matrix is held up to so many unknowns.
_MOST = 1000
_NEAR = float(np.finfo(float).eps ** (1.0 / 3))
_TEXTS = (
    "A solution was found at the specified tolerance.",
    "The maximum number of iterations allowed has been reached.",
)
_WRONG = {
    stepping.NOT_FINITE: "array must not contain infs or NaNs",
    stepping.NO_STEP: "Jacobian inversion yielded zero vector. This indicates a bug in the Jacobian approximation.",
    stepping.NO_DIFFERENCE: "Function returned non-finite results",
    stepping.TOO_LARGE: "Numerical result out of range",
    stepping.WIDER: "Steps of the line search are float64, and unknowns float32: give unknowns in float64.",
}


class Unknowns:
    """A function of an array like the first guess, and this guess, both as SciPy takes them: flat, in their own
    dtypes. `same`: there are as many values as unknowns, in one dtype."""

    def __init__(self, fun: Callable[..., Any], x0: Any) -> None:
        start = solving.guess(x0)
        self.shape = start.shape
        self.fun = fun
        self.start = _inexact(start).flatten()
        kind = self.value(self.start)
        self.same = kind.shape == self.start.shape and kind.dtype == self.start.dtype and kind.size > 0
        self.wide = self.start.dtype == np.float64 and self.same

    def value(self, x: Any) -> Any:
        out = solving.ask(self.fun, x.reshape(self.shape))
        made = tnp.stack([tnp.asarray(v) for v in out]) if isinstance(out, (list, tuple)) else out
        return _inexact(tnp.asarray(made)).reshape(-1)


def _inexact(x: Any) -> Any:
    return x if dtypes.is_inexact(x.dtype) else x.astype(float)


def _number(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating)) or (isinstance(x, Box) and not tnp.ndim(x))


def _whole(x: Any, least: int) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool) and bool(x >= least)


def _approximation(method: str, o: dict[str, Any], x: Any, most: int) -> tuple[Any, ...] | None:
    """What `stepping.found` takes, by SciPy's `jac_options`; None where there is no native form."""
    if method == "krylov":
        rdiff = o["rdiff"]
        fine = (rdiff is None or _number(rdiff)) and o["method"] == "lgmres" and o["inner_M"] is None
        if not (fine and _whole(o["outer_k"], 0) and _whole(o["inner_inner_m"], 1)):
            return None
        rdiff = float(np.finfo(x.dtype).eps) ** 0.5 if rdiff is None else rdiff
        return krylov.begin, krylov.solve, krylov.renew, (rdiff, o["inner_inner_m"], o["outer_k"])
    alpha = o["alpha"]
    if not (alpha is None or _number(alpha)):
        return None
    if method in ("broyden1", "broyden2"):
        return _broyden(method == "broyden2", alpha, o, x.size, most)
    if method == "anderson":
        if not (_number(o["w0"]) and _whole(o["M"], 1)):
            return None
        return (
            secants.anderson_begin,
            secants.anderson_solve,
            secants.anderson_renew,
            (alpha, o["w0"], o["M"]),
        )
    if method == "excitingmixing":
        if dtypes.is_complex(x.dtype) or not _number(o["alphamax"]):
            return None
        return secants.exciting_begin, secants.exciting_solve, secants.exciting_renew, (alpha, o["alphamax"])
    if method == "diagbroyden":
        return secants.diagonal_begin, secants.diagonal_solve, secants.diagonal_renew, (alpha,)
    return secants.linear_begin, secants.linear_solve, secants.linear_renew, (alpha,)


def _broyden(second: bool, alpha: Any, o: dict[str, Any], n: int, most: int) -> tuple[Any, ...] | None:
    """By a matrix where SciPy would come to one, by products of vectors elsewhere."""
    rank, given = o["max_rank"], o["reduction_method"]
    name, *more = (given,) if isinstance(given, str) else given
    rank = np.inf if rank is None else rank
    if name not in ("restart", "simple", "svd") or (more and name != "svd") or len(more) > 1:
        return None
    if rank != np.inf and not _whole(rank, 2):
        return None
    if name == "svd":  # which never keeps more of them than unknowns
        rows = min(rank - 1, n)
        left = max(0, min(more[0] if more else rank - 3, rows - 1))
    elif rank > n and n <= _MOST:
        return secants.dense_begin, secants.dense_solve, secants.dense_renew, (alpha, second)
    else:
        rows, left = min(rank, most), 0
    if rows > _MOST:
        return None
    settings = (alpha, second, rows, name, left)
    return secants.ranked_begin, secants.ranked_solve, secants.ranked_renew, settings


def _options(o: dict[str, Any], n: int) -> tuple[Any, ...] | None:
    """What `stepping.found` takes; None where there is no native form."""
    tolerances = [o[name] for name in ("fatol", "ftol", "xatol", "xtol")]
    line = {True: "armijo", False: None}.get(o["line_search"], o["line_search"])
    known = all(t is None or _number(t) for t in tolerances) and line in (None, "armijo", "wolfe")
    counts = all(o[k] is None or _whole(o[k], 0) for k in ("nit", "maxiter"))
    if not (known and counts) or o["disp"]:
        return None
    usual = _NEAR, np.inf, np.inf, np.inf
    limits = [u if t is None else t for t, u in zip(tolerances, usual, strict=True)]
    most = 100 * (n + 1) if o["nit"] is None else o["nit"] + 1
    return *limits, o["nit"], most if o["maxiter"] is None else o["maxiter"], line


Found = tuple[Any, tuple[Any, Any, Any]]


def search(unknowns: Unknowns, method: str, o: dict[str, Any], callback: Any = None) -> Found | None:
    """The root, in the shape of the guess, and (calls, tests, SciPy's status or 0 where the steps were not enough);
    None where SciPy does it on the host."""
    found = _natively(unknowns, method, o, callback)
    if found is None and (callback is not None or not unknowns.wide):
        refuse("root", f"{method} of such unknowns with these options", "give float64, and no callback")
    return found


def _natively(unknowns: Unknowns, method: str, o: dict[str, Any], callback: Any) -> Found | None:
    start = unknowns.start
    jac = JACOBIANS[method] | dict(o["jac_options"] or {})
    options = _options(o, start.size)
    if options is None or not unknowns.same or set(jac) != set(JACOBIANS[method]):
        return None
    narrow = np.finfo(start.dtype).bits == 32
    approximation = _approximation(method, jac, start, options[5])
    if approximation is None or (narrow and options[-1] == "wolfe"):
        return None
    norm = stepping.largest
    if o["tol_norm"] is not None:
        norm = functools.partial(solving.ask, o["tol_norm"])
    tell = None if callback is None else functools.partial(_told, callback)
    split, joined = _parts(start.dtype)
    followed = *(functools.partial(call_user, step) for step in approximation[:3]), approximation[3]

    def solve(f: Callable[..., Any], z: Any) -> tuple[Any, Any]:
        x, _, *told, memory = call_user(stepping.found, f, followed, joined(z), norm, options, tell)
        return split(x), (*told, memory[-1] if method == "anderson" else np.False_)

    def conditions(z: Any) -> Any:
        return split(unknowns.value(joined(z)))

    if tell is None:
        z, told = solving.root_of(
            conditions, split(start), lambda z: solve(unknowns.value, z), solving.dense_solve
        )
    else:
        own = watched.still(unknowns.value, start)
        z, told = watched.root_of(conditions, split(start), lambda z: solve(own, z))
    calls, tests, status, wrong, ill = lax.stop_gradient(told)
    if caller.does_over():
        leave_if(to_raw(ill), "a warning of SciPy's about an ill-conditioned matrix")
    for code, text in _WRONG.items():
        fail_if(compare.eq(to_raw(wrong == code), np.True_), SolverFailedError, text)
    return joined(z).reshape(unknowns.shape), (calls, tests, status)


def root(
    fun: Callable[..., Any], x0: Any, method: str, tol: Any, callback: Any, options: dict[str, Any]
) -> Any:
    """SciPy's result of `root` by one of these methods; None where there is no native form."""
    unknowns = Unknowns(fun, x0)
    loose = {} if tol is None else {"xtol": tol, "xatol": np.inf, "ftol": np.inf, "fatol": np.inf}
    if not set(options) <= set(OPTIONS):
        return None
    found = search(unknowns, method, OPTIONS | loose | options, callback)
    if found is None:
        return None
    x, (nfev, nit, status) = found
    status = tnp.where(status == 1, 1, 2)[()]
    return complete(
        x=x,
        method=method,
        nit=python(nit),
        fun=unknowns.value(x.reshape(-1)),
        status=python(status),
        success=python(status == 1),
        message=message_among(_TEXTS, status - 1),
        nfev=python(nfev),
    )


#: Names of options of the functions for one method -> those of `root`.
_NAMES = {
    "iter": "nit",
    "verbose": "disp",
    "f_tol": "fatol",
    "f_rtol": "ftol",
    "x_tol": "xatol",
    "x_rtol": "xtol",
}


def by_name(method: str, fun: Callable[..., Any], x0: Any, options: dict[str, Any]) -> Any:
    """The root that SciPy's function for one method gives; None where there is no native form."""
    given = {_NAMES.get(k, k): v for k, v in options.items()}
    callback = given.pop("callback", None)
    common = {k: given.pop(k) for k in list(given) if k in OPTIONS}
    found = search(Unknowns(fun, x0), method, OPTIONS | common | {"jac_options": given}, callback)
    if found is None:
        return None
    x, (*_, status) = found
    fail_if(compare.eq(to_raw(status), np.int64(0)), SolverFailedError, _TEXTS[1])
    return x


def _parts(kind: np.dtype) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """(complex numbers to their parts, and back), for the derivatives of functions that need not be analytic."""
    if not dtypes.is_complex(kind):
        return (lambda x: x), (lambda z: z)
    return (lambda x: tnp.concatenate([x.real, x.imag])), (
        lambda z: (z[: z.size // 2] + 1j * z[z.size // 2 :]).astype(kind)
    )


def _told(callback: Callable[..., Any], x: Any, y: Any) -> None:
    point, values = tnp.array(x), tnp.array(y)
    call_user(callback, point, values)
    if any(isinstance(v, Box) and v.storage.version for v in (point, values)):
        refuse("root", "a callback that writes into the solver's point", "let it write into a copy")
