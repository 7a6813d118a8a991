"""`least_squares` for traced values: native loops for "trf" and "lm", else SciPy's solver on the host."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops._lazy import scipy_module
from tracejit.ops.elementwise import compare
from tracejit.scipy import solving
from tracejit.scipy.optimizing import systems
from tracejit.scipy.optimizing.constraints import limits
from tracejit.scipy.optimizing.loops.reflected import Box
from tracejit.scipy.optimizing.loops.reflected import fit as between
from tracejit.scipy.optimizing.loops.trust_region import LOSSES, Robust, fit
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.scipy.optimizing.results import complete, message, partial, place_of, python
from tracejit.tracing import Box as Traced
from tracejit.tracing import caller, to_raw

_EPS = float(np.finfo(float).eps)


class _Pair(NamedTuple):
    """Bounds given as a pair."""

    lb: Any
    ub: Any


def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    ftol: Any = 1e-8,
    xtol: Any = 1e-8,
    gtol: Any = 1e-8,
    x_scale: Any = None,
    loss: Any = "linear",
    f_scale: Any = 1.0,
    diff_step: Any = None,
    tr_solver: Any = None,
    tr_options: Any = None,
    jac_sparsity: Any = None,
    max_nfev: Any = None,
    verbose: int = 0,
    args: Any = (),
    kwargs: Any = None,
    callback: Any = None,
    workers: Any = None,
) -> Any:
    """The minimum of half the sum of `loss` of the squares of `fun(x, *args, **kwargs)`, by SciPy's method, with the
    Jacobian of the compiled function, whatever `jac` says. The methods "trf" and "lm" are native loops,
    and their results have all fields that SciPy's have.

    Other results have `x`, `cost`, `fun`, `jac`, `grad`, `nfev`, `status`, `success` and `message`. The derivatives of
    `x` are those of a point at which the gradient is zero, or which lies on a bound. With `jac_sparsity` the steps are
    SciPy's for sparse Jacobians. Raises SolverOptionError for `callback`, `workers`, a `loss` of the user's, and
    `verbose`.
    """
    given = {"callback": callback, "workers": workers, "diff_step": diff_step}
    for name, option in (given | {"verbose": verbose or None}).items():
        if option is not None:
            refuse("least_squares", f"the option `{name}`")
    if loss not in LOSSES:
        refuse("least_squares", f"loss={loss!r}", f"take one of {', '.join(LOSSES)}")
    start = solving.vector(x0)
    more = kwargs or {}
    inner = solving.with_args(lambda x, *a: solving.ask(fun, x, *a, **more), tuple(args))
    problem = Problem(lambda x: solving.values(inner(x)), start, Robust(LOSSES[loss], f_scale))
    settings = {
        "ftol": ftol,
        "xtol": xtol,
        "gtol": gtol,
        "max_nfev": max_nfev,
        "method": method,
        "loss": loss,
    }
    settings |= {"f_scale": f_scale, "tr_solver": tr_solver, "tr_options": tr_options or {}}
    settings |= {} if x_scale is None else {"x_scale": x_scale}
    if jac_sparsity is None:
        return solved(problem, bounds, settings)
    if method == "lm" or tr_solver == "exact":  # which SciPy refuses
        refuse("least_squares", f"`jac_sparsity` with {method} and {tr_solver}", "leave it away")
    if tuple(jac_sparsity.shape) != (problem.value(start).size, start.size):
        raise ValueError("`jac_sparsity` has wrong shape.")
    return problem.by_scipy(_pair(bounds), settings, sparse=True)


def solved(problem: Problem, bounds: Any, settings: dict[str, Any]) -> Any:
    """The result of `least_squares` with these arguments: natively, where that is possible."""
    tolerances = [settings[k] for k in ("ftol", "xtol", "gtol")]
    plain = settings["tr_solver"] in (None, "exact") and all(t is None or t >= _EPS for t in tolerances)
    pair = _pair(bounds)
    if settings["method"] == "lm" and pair is None and settings["loss"] == "linear" and problem.determined():
        if all(t is not None and t >= _EPS for t in tolerances):
            return problem.by_minpack(settings)
    if settings["method"] != "trf" or not plain or all(t is None for t in tolerances):
        return problem.by_scipy(pair, settings)
    zeros = {k: 0.0 for k in ("ftol", "xtol", "gtol") if settings[k] is None}
    return problem.natively(pair, {"x_scale": 1.0, **settings, **zeros})


def _pair(bounds: Any) -> Any:
    """The bounds with the attributes `lb` and `ub`; None where there are none."""
    if hasattr(bounds, "lb"):
        return bounds
    bounded = any(type(b) is Traced or np.any(np.isfinite(b)) for b in bounds)
    return _Pair(*bounds) if bounded else None


class Problem:
    """The residuals, where the search begins, and the loss."""

    def __init__(self, value: Callable[[Any], Any], start: Any, robust: Robust) -> None:
        self.value = value
        self.start = start
        self.robust = robust
        self.matrix = solving.jacobian(value)
        self.slope = solving.gradient(lambda x: robust.cost(value(x)))

    def _fields(self, x: Any) -> dict[str, Any]:
        """What SciPy's result says of the point."""
        f = self.value(x)
        matrix, scaled = self.robust.scaled(self.matrix(x), f)
        return {"x": x, "cost": self.robust.cost(f), "fun": f, "jac": matrix, "grad": scaled @ matrix}

    def natively(self, bounds: Any, settings: dict[str, Any]) -> Any:
        """By the loops of `trust_region` and `reflected`."""
        if isinstance(settings["x_scale"], str) and settings["x_scale"] != "jac":
            raise ValueError("`x_scale` must be 'jac' or array_like with positive numbers.")
        if settings["max_nfev"] is not None and settings["max_nfev"] <= 0:
            raise ValueError("`max_nfev` must be None or positive integer.")
        box = None if bounds is None else Box(*limits(bounds, self.start))

        def solve(x: Any) -> tuple[Any, Any]:
            if box is None:
                found = fit(self.value, self.matrix, x, self.robust, settings)
            else:
                still = Box(*(lax.stop_gradient(e) for e in box))
                found = between(self.value, self.matrix, x, still, self.robust, settings)
            return found.x, (found.calls, found.matrices, found.status)

        if box is not None:
            _must(
                tnp.all(box.low < box.high), "Each lower bound must be strictly less than each upper bound."
            )
            _must(box.holds(self.start), "Initial guess is outside of provided bounds")
        begins = self.start if box is None else box.start(self.start)
        _must(tnp.all(tnp.isfinite(self.value(begins))), "Residuals are not finite in the initial point.")
        x, (nfev, njev, status) = solving.root_of(
            self._conditions(box), self.start, solve, solving.dense_solve
        )
        fields = self._fields(x)
        slope = fields["grad"]
        active = tnp.zeros_like(x)
        if box is not None:
            on_low, on_high = box.active(x, settings["xtol"])
            active = tnp.where(on_high, 1, tnp.where(on_low, -1, 0))
            slope = slope * box.distances(x, slope)[0]
        return complete(
            **fields,
            optimality=tnp.max(tnp.abs(slope)),
            active_mask=active,
            nfev=python(nfev),
            njev=python(njev),
            status=python(status),
            message=caller.text_of(_message, to_raw(status)),
            success=python(status > 0),
        )

    def _conditions(self, box: Box | None) -> Callable[[Any], Any]:
        """What is zero at the minimum. It is on a bound where the slope leads there, and the bound is nearer than the
        minimum that the slope and the curvature predict."""
        if box is None:
            return self.slope

        def conditions(x: Any) -> Any:
            slope = self.slope(x)
            g = lax.stop_gradient(slope)
            matrix, _ = self.robust.scaled(*lax.stop_gradient((self.matrix(x), self.value(x))))
            ahead = g / tnp.maximum(tnp.sum(matrix**2, axis=0), np.finfo(float).tiny)
            for edge, there in ((box.low, x - box.low <= ahead), (box.high, x - box.high >= ahead)):
                slope = tnp.where(lax.stop_gradient(there & tnp.isfinite(edge)), x - edge, slope)
            return slope

        return conditions

    def determined(self) -> bool:
        """Whether there are as many residuals as unknowns."""
        return self.value(self.start).size >= self.start.size

    def by_minpack(self, settings: dict[str, Any]) -> Any:
        """By Levenberg and Marquardt's loop."""
        scale, most = settings.get("x_scale"), settings["max_nfev"]
        free = scale is None or (isinstance(scale, str) and scale == "jac")
        o = {k: settings[k] for k in ("ftol", "xtol", "gtol")} | {"factor": 100.0}
        o |= {"maxiter": 100 * self.start.size if most is None else most}
        o |= {"diag": None if free else 1 / tnp.asarray(scale).astype(float)}
        system = systems.System(lambda x: self.value(x), self.start, (), None)
        _must(tnp.all(tnp.isfinite(self.value(self.start))), "Residuals are not finite in the initial point.")
        x, (nfev, njev, code) = systems.marquardt(system, o)
        status = tnp.where(code == 4, 1, tnp.where(code == 5, 0, code + 1))
        fields = self._fields(x)
        return complete(
            **fields,
            optimality=tnp.max(tnp.abs(fields["grad"])),
            active_mask=tnp.zeros(x.shape, int),
            nfev=python(nfev),
            njev=python(njev),
            status=python(status),
            message=caller.text_of(_message, to_raw(status)),
            success=python(status > 0),
        )

    def by_scipy(self, bounds: Any, settings: dict[str, Any], sparse: bool = False) -> Any:
        """By SciPy's solver, with `bounds` or without, and a Jacobian that is `sparse` to it or dense."""
        low, high = limits(bounds, self.start)

        def solve(x: Any) -> tuple[Any, Any]:
            compiled = [solving.Compiled(f, x) for f in (self.value, self.matrix)]

            def host(fs: Any, x: Any, low: Any, high: Any) -> Any:
                ends = (-np.inf, np.inf) if bounds is None else (low, high)
                rows = (lambda x: scipy_module("sparse").csr_array(fs[1](x))) if sparse else fs[1]
                r = scipy_module("optimize").least_squares(fs[0], x, jac=rows, bounds=ends, **settings)
                return r.x, r.nfev, r.status, r.success, place_of(r.message)

            types = [Aval(x.shape, np.dtype(float)), *[solving.COUNT] * 4]
            x, *rest = solving.host_call(host, compiled, types, x, low, high)
            return x, rest

        conditions = self._conditions(None if bounds is None else Box(low, high))
        x, (nfev, status, success, place) = solving.root_of(
            conditions, self.start, solve, solving.dense_solve
        )
        counts = {"nfev": python(nfev), "status": python(status), "success": python(success != 0)}
        fields = self._fields(x)
        if sparse:
            del fields["jac"]
        return partial("least_squares", **fields, **counts, message=message(place))


def _must(good: Any, text: str) -> None:
    fail_if(compare.eq(to_raw(good), np.False_), SolverFailedError, text)


def _message(status: int) -> str:
    """SciPy's message for a status."""
    scipy_module("optimize")
    theirs: Any = sys.modules["scipy.optimize._lsq.least_squares"]  # a function has its name in the package
    return theirs.TERMINATION_MESSAGES[status]
