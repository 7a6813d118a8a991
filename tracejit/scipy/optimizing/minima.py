"""`minimize` for traced values: native loops (`natively`), and other methods by SciPy on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.ir.avals import Aval
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.scipy.optimizing import natively
from tracejit.scipy.optimizing.constraints import CLOSE, Constraint, given, limits, multipliers, together
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.scipy.optimizing.results import message, partial, place_of, python
from tracejit.scipy.optimizing.watched import teller

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
    """A minimum of `fun(x, *args)`, by SciPy's method: BFGS, L-BFGS-B, CG, Newton-CG, Nelder-Mead, Powell, trust-ncg
    and trust-exact are native loops with SciPy's steps, others are SciPy's on the host.

    `jac` and `hess` are functions (with `jac=True`, `fun` gives its value and the gradient); where they are not given
    they are those of the compiled function, as SciPy's solvers get them outside of transformations. Results of native
    methods have all of SciPy's fields, others have `x fun jac nit nfev status success message`. The derivatives of `x`
    are those of a point at which the gradient is zero; of one that lies on `bounds` or `constraints`, those of a
    minimum there.

    Raises
    ------
    SolverOptionError
        `callback` of other methods, or one that raises an exception, `jac` and `hess` that name differences, and
        fields of the result that are SciPy's alone, have no traced form (jit leaves them to SciPy).
    """
    if callable(method):
        refuse("minimize", "a method of the user's", "name one of SciPy's")
    given_start = solving.guess(x0)
    if given_start.ndim > 1:
        raise ValueError("'x0' must only have one dimension.")  # as SciPy says
    start = solving.vector(given_start)
    rules = given(constraints, start) if constraints is not None else []
    chosen = str(method).lower() if method is not None else _default(bounds, rules)
    if rules and chosen not in _CONSTRAINED:
        refuse("minimize", f"constraints for {method}", f"use one of {', '.join(_CONSTRAINED)}")
    functions = _functions(solving.with_args(fun, args), args, jac, hess, hessp, chosen)
    problem = _Problem(functions, start, chosen, (bounds, rules), (method, tol, options))
    own = natively.settings(chosen, options or {}, tol, bounds is not None)
    if own is not None:
        if given_start.dtype.kind not in "biu" and given_start.dtype != _F64:
            # SciPy takes its steps in that precision.
            refuse("minimize", f"`x0` of {given_start.dtype}", "give `x0.astype(float)`")
        if not start.size:
            refuse("minimize", "an empty `x0`")
        ends = None if bounds is None else (problem.low, problem.high)
        functions = functions._replace(tell=teller(callback, chosen))
        return natively.minimum(chosen, functions, start, ends, own)
    if callback is not None:
        refuse("minimize", f"the option `callback` of {chosen}", f"use one of {', '.join(natively.OPTIONS)}")
    return problem.by_scipy()


def _functions(inner: Any, args: Any, jac: Any, hess: Any, hessp: Any, chosen: str) -> natively.Functions:
    """The function with its derivatives: those that were given, else its own."""
    takes = chosen in WITH_GRADIENT or chosen in WITH_HESSIAN
    for name, option in (("jac", jac), ("hess", hess), ("hessp", hessp)):
        if takes and option is not None and not callable(option) and not isinstance(option, bool):
            refuse(
                "minimize", f"{name}={option!r}", "leave it away for the derivatives of the compiled function"
            )

    def value(x: Any) -> Any:
        out = inner(x)
        return solving.scalar(out[0] if jac is True else out)

    slope, both = solving.gradient(value), solving.value_and_gradient(value)
    if jac is True or callable(jac):
        slope, both = _given_slope(inner, value, args, jac)
    bent = solving.jacobian(solving.gradient(value)) if not jac or chosen != "newton-cg" else None
    times = None
    if callable(hess):
        bent = _given_matrix(solving.with_args(hess, args))
    elif callable(hessp) and chosen in ("newton-cg", "trust-ncg"):
        bent, times = None, _given_product(hessp, _tuple(args))
    return natively.Functions(value, slope, both, bent, times)


def _given_slope(inner: Any, value: Any, args: Any, jac: Any) -> tuple[Any, Any]:
    """The gradient that was given, by `jac` or by the function itself, alone and after the value."""
    if jac is not True:
        own = solving.with_args(jac, args)

        def slope(x: Any) -> Any:
            return solving.values(own(x))

        return slope, lambda x: (value(x), slope(x))

    def both(x: Any) -> tuple[Any, Any]:
        out = inner(x)
        return solving.scalar(out[0]), solving.values(out[1])

    return lambda x: both(x)[1], both


def _given_matrix(own: Any) -> Any:
    return lambda x: tnp.asarray(own(x)).astype(float)


def _given_product(hessp: Any, args: tuple[Any, ...]) -> Any:
    return lambda x, p: solving.values(solving.ask(hessp, x, p, *args))


def _tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def _default(bounds: Any, rules: Sequence[Constraint]) -> str:
    return "slsqp" if rules else "l-bfgs-b" if bounds is not None else "bfgs"


def _nearness(chosen: str, tol: Any, options: dict[str, Any]) -> float:
    """How near to a bound a minimum lies on it. Interior points come less near; COBYLA, to which bounds are
    constraints, is off by the last radius of its search, to either side."""
    if chosen == "cobyla":
        last = options.get("tol", 1e-4 if tol is None else tol)
        return max(1e-5, 2 * float(last)) if isinstance(last, (int, float)) else 1e-4
    return 1e-5 if chosen == "trust-constr" else 1e-9


class _Problem:
    """What is minimized, from where, and how. (What is staged are functions: a bound method would be followed as one of
    an object of the user's.)"""

    def __init__(
        self, functions: natively.Functions, start: Any, chosen: str, limited: Any, settings: Any
    ) -> None:
        self.value, self.given_slope, self.bent = functions.value, functions.slope, functions.bent
        self.start = start
        self.chosen = chosen
        self.bounds, self.rules = limited
        self.method, self.tol, self.options = settings
        self.slope = solving.gradient(self.value)
        self.low, self.high = limits(self.bounds, start)
        #: What the host knows of the bounds: also of which all steps are within them.
        self.ends = self.low, self.high, tnp.asarray(getattr(self.bounds, "keep_feasible", False))
        self.close = _nearness(chosen, self.tol, self.options or {})

    def functions(self) -> list[Any]:
        """The function, and the derivatives that the method takes."""
        found = [self.value]
        if self.chosen in WITH_GRADIENT or self.chosen in WITH_HESSIAN:
            found.append(self.given_slope)
        if self.chosen in WITH_HESSIAN:
            found.append(self.bent or solving.jacobian(self.slope))
        return found

    def on_the_host(self, x: Any, ends: Any, fs: Any, rules: Any = ()) -> Any:
        """SciPy's result, on known values."""
        derivatives = dict(zip(("jac", "hess"), fs[1:], strict=False))
        theirs = scipy_module("optimize")
        more = {} if self.bounds is None else {"bounds": theirs.Bounds(*ends)}
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
            jac=self.given_slope(x),
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
        def host(fs: Any, x: Any, *ends: Any) -> Any:
            return _told(self.on_the_host(x, ends, fs))

        compiled = [solving.Compiled(f, x) for f in self.functions()]
        types = [Aval(x.shape, _F64), *[solving.COUNT] * 5]
        x, *rest = solving.host_call(host, compiled, types, x, *self.ends)
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

            def host(fs: Any, x: Any, low: Any, high: Any, within: Any, *ends: Any) -> Any:
                k = len(functions)
                rules = [
                    c.scipys(fs[k + 2 * i], fs[k + 2 * i + 1], *ends[4 * i : 4 * i + 4])
                    for i, c in enumerate(self.rules)
                ]
                r = self.on_the_host(x, (low, high, within), fs[:k], rules)
                slope, rows, active = (f(r.x) for f in fs[-3:])
                free = ~_on_bounds(r.x, low, high, self.close)
                found, *rest = _told(r)
                return np.concatenate([found, multipliers(slope, rows, active, free)]), *rest

            types = [Aval((n + m,), _F64), *[solving.COUNT] * 5]
            ends = [e for c in self.rules for e in c.numbers()]
            z, *rest = solving.host_call(host, compiled, types, x, *self.ends, *ends)
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


def _told(r: Any) -> tuple[Any, ...]:
    return r.x, r.get("nit", 0), r.nfev, r.status, r.success, place_of(str(r.message))


def _on_bounds(x: np.ndarray, low: np.ndarray, high: np.ndarray, close: float) -> np.ndarray:
    there = np.zeros(x.shape, bool)
    for edge in (low, high):
        there |= np.isfinite(edge) & (np.abs(x - edge) <= close * (1 + np.abs(edge)))
    return there
