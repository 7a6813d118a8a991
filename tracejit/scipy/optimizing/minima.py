"""`minimize` for traced values: BFGS as a native loop, other methods by SciPy on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.ir.avals import Aval
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.scipy.optimizing.constraints import CLOSE, Constraint, given, limits, multipliers, together
from tracejit.scipy.optimizing.loops import bfgs
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.scipy.optimizing.results import complete, message, partial, place_of, python
from tracejit.tracing import caller, to_raw

_F64 = np.dtype(float)
#: Methods of `minimize` that take gradients, and those that take second derivatives, too.
WITH_GRADIENT = ("cg", "bfgs", "l-bfgs-b", "tnc", "slsqp", "newton-cg", "trust-constr")
WITH_HESSIAN = ("newton-cg", "dogleg", "trust-ncg", "trust-exact", "trust-krylov")
_CONSTRAINED = ("slsqp", "cobyla", "cobyqa", "trust-constr")


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """A minimum of `fun(x, *args)`, by SciPy's method: BFGS as a native loop, others on the host.

    The gradient, and the Hessian for methods that take one, are those of the compiled function, whatever `jac`, `hess`
    and `hessp` say (with `jac=True`, `fun` gives its value first). The result has `x`, `fun`, `jac`, `nit`, `nfev`,
    `status`, `success` and `message`, and that of BFGS all fields. The derivatives of `x` are those of a point at which
    the gradient is zero; of one that lies on `bounds` or `constraints`, those of a minimum there.

    Raises
    ------
    SolverOptionError
        `callback`, and fields of the result that are SciPy's alone, have no traced form (jit leaves them to SciPy).
    """
    if callback is not None:
        refuse("minimize", "the option `callback`")
    if callable(method):
        refuse("minimize", "a method of the user's", "name one of SciPy's")
    start = solving.vector(x0)
    rules = given(constraints, start) if constraints is not None else []
    chosen = str(method).lower() if method is not None else _default(bounds, rules)
    if rules and chosen not in _CONSTRAINED:
        refuse("minimize", f"constraints for {method}", f"use one of {', '.join(_CONSTRAINED)}")
    inner = solving.with_args(fun, args)

    def value(x: Any) -> Any:
        out = inner(x)
        return solving.scalar(out[0] if jac is True else out)

    problem = _Problem(value, start, chosen, (bounds, rules), (method, tol, options))
    if chosen == "bfgs" and bounds is None and bfgs.takes(options or {}):
        return problem.by_bfgs()
    return problem.by_scipy()


def _default(bounds: Any, rules: Sequence[Constraint]) -> str:
    return "slsqp" if rules else "l-bfgs-b" if bounds is not None else "bfgs"


class _Problem:
    """What is minimized, from where, and how. (What is staged are functions: a bound method would be followed as one of
    an object of the user's.)"""

    def __init__(self, value: Any, start: Any, chosen: str, limited: Any, settings: Any) -> None:
        self.value = value
        self.start = start
        self.chosen = chosen
        self.bounds, self.rules = limited
        self.method, self.tol, self.options = settings
        self.slope = solving.gradient(value)
        self.low, self.high = limits(self.bounds, start)
        #: How near to a bound a minimum lies on it: interior points come less near.
        self.close = 1e-5 if chosen == "trust-constr" else 1e-9

    def functions(self) -> list[Any]:
        """The function, and the derivatives that the method takes."""
        found = [self.value]
        if self.chosen in WITH_GRADIENT or self.chosen in WITH_HESSIAN:
            found.append(self.slope)
        if self.chosen in WITH_HESSIAN:
            found.append(solving.jacobian(self.slope))
        return found

    def on_the_host(self, x: Any, low: Any, high: Any, fs: Any, rules: Any = ()) -> Any:
        """SciPy's result, on known values."""
        derivatives = dict(zip(("jac", "hess"), fs[1:], strict=False))
        theirs = scipy_module("optimize")
        more = {} if self.bounds is None else {"bounds": theirs.Bounds(low, high)}
        more |= {"constraints": list(rules)} if len(rules) else {}
        return theirs.minimize(
            lambda x: float(fs[0](x)),
            x,
            method=self.method,
            tol=self.tol,
            options=self.options,
            **more,
            **derivatives,
        )

    # ---- BFGS

    def by_bfgs(self) -> Any:
        options = dict(self.options or {})
        if self.tol is not None:
            options.setdefault("gtol", self.tol)
        both = solving.value_and_gradient(self.value)

        def solve(x: Any) -> tuple[Any, Any]:
            found = bfgs.minimum(both, x, options)
            own = found.x, found.inverse, found.iterations, found.calls, found.calls, found.status
            return lax.cond(found.found, lambda _: own, lambda x: self._again(x), x)

        x, aux = solving.root_of(self.slope, self.start, lambda x: _split(solve(x)), solving.dense_solve)
        inverse, nit, nfev, njev, status = aux
        return complete(
            fun=self.value(x),
            jac=self.slope(x),
            hess_inv=inverse,
            nfev=python(nfev),
            njev=python(njev),
            status=python(status),
            success=python(status == 0),
            message=caller.text_of(_message, to_raw(status)),
            x=x,
            nit=python(nit),
        )

    def _again(self, x: Any) -> Any:
        """By SciPy, where the first line search found no step."""
        n = self.start.size
        types = [Aval((n,), _F64), Aval((n, n), _F64), *[solving.COUNT] * 4]

        def host(fs: Any, x: Any, low: Any, high: Any) -> Any:
            r = self.on_the_host(x, low, high, fs)
            return r.x, np.asarray(r.hess_inv, float), r.nit, r.nfev, r.njev, r.status

        compiled = [solving.Compiled(f, x) for f in self.functions()]
        return tuple(solving.host_call(host, compiled, types, x, self.low, self.high))

    # ---- by SciPy

    def by_scipy(self) -> Any:
        if self.rules:
            x, counts = self._constrained()
        else:
            own = [lambda x: self._conditions(x), lambda x: self._solve(x)]
            x, counts = solving.root_of(own[0], self.start, own[1], solving.dense_solve)
        nit, nfev, status, success, place = counts
        return partial(
            "minimize",
            x=x,
            fun=self.value(x),
            jac=self.slope(x),
            nit=python(nit),
            nfev=python(nfev),
            status=python(status),
            success=python(success != 0),
            message=message(place),
        )

    def _conditions(self, x: Any) -> Any:
        slope = self.slope(x)
        return slope if self.bounds is None else solving.within(self.low, self.high, x, slope, self.close)

    def _solve(self, x: Any) -> tuple[Any, Any]:
        def host(fs: Any, x: Any, low: Any, high: Any) -> Any:
            return _told(self.on_the_host(x, low, high, fs))

        compiled = [solving.Compiled(f, x) for f in self.functions()]
        types = [Aval(x.shape, _F64), *[solving.COUNT] * 5]
        x, *rest = solving.host_call(host, compiled, types, x, self.low, self.high)
        return x, rest

    def _closeness(self) -> float:
        """How nearly a constraint holds with equality: methods without derivatives may violate it by `catol`."""
        return max(CLOSE, 2 * float((self.options or {}).get("catol", 0.0)))

    def _constrained(self) -> tuple[Any, Any]:
        """The minimum and its multipliers are the root of the conditions."""
        n = self.start.size
        all_of_them = together(self.rules, self.start, self._closeness())
        m = all_of_them.low.size
        own = [(c.value, solving.jacobian(c.value)) for c in self.rules]

        def solve(z: Any) -> tuple[Any, Any]:
            x = z[:n]
            functions = self.functions()
            fixed = [self.slope, solving.jacobian(all_of_them.value), lambda x: all_of_them.active(x)]
            compiled = [
                solving.Compiled(f, x) for f in (*functions, *(f for pair in own for f in pair), *fixed)
            ]

            def host(fs: Any, x: Any, low: Any, high: Any, *ends: Any) -> Any:
                k = len(functions)
                rules = [
                    c.scipys(fs[k + 2 * i], fs[k + 2 * i + 1], ends[2 * i], ends[2 * i + 1])
                    for i, c in enumerate(self.rules)
                ]
                r = self.on_the_host(x, low, high, fs[:k], rules)
                slope, rows, active = (f(r.x) for f in fs[-3:])
                free = ~_on_bounds(r.x, low, high, self.close)
                found, *rest = _told(r)
                return np.concatenate([found, multipliers(slope, rows, active, free)]), *rest

            types = [Aval((n + m,), _F64), *[solving.COUNT] * 5]
            ends = [e for c in self.rules for e in (tnp.asarray(c.low), tnp.asarray(c.high))]
            z, *rest = solving.host_call(host, compiled, types, x, self.low, self.high, *ends)
            return z, rest

        def conditions(z: Any) -> Any:
            x, weights = z[:n], z[n:]
            slope = solving.gradient(lambda x: self.value(x) - weights @ all_of_them.value(x))(x)
            if self.bounds is not None:
                slope = solving.within(self.low, self.high, x, slope, self.close)
            active = lax.stop_gradient(all_of_them.active(x))
            return tnp.concatenate([slope, tnp.where(active, all_of_them.gaps(x), weights)])

        start = tnp.concatenate([self.start, tnp.zeros(m)])
        z, counts = solving.root_of(conditions, start, solve, solving.dense_solve)
        return z[:n], counts


def _message(status: int) -> str:
    """SciPy's message for the status of BFGS."""
    texts = scipy_module("optimize")._optimize._status_message
    return texts[("success", "maxiter", "pr_loss", "nan")[status]]


def _split(found: Any) -> tuple[Any, Any]:
    return found[0], found[1:]


def _told(r: Any) -> tuple[Any, ...]:
    return r.x, r.get("nit", 0), r.nfev, r.status, r.success, place_of(str(r.message))


def _on_bounds(x: np.ndarray, low: np.ndarray, high: np.ndarray, close: float) -> np.ndarray:
    return (np.abs(x - low) <= close * (1 + np.abs(low))) | (np.abs(x - high) <= close * (1 + np.abs(high)))
