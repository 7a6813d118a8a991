"""What the solvers of `scipy.optimize` need: compiled functions for SciPy's own code, and derivatives of solutions.

A solver is a host function of the program. What it solves for is the user's function, compiled, with the derivatives
that the method wants. The solution is a `custom_root` of its optimality conditions: its own derivatives follow from the
implicit function theorem, whatever the method did.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import control, dtypes, lax, tree
from tracejit import numpy as tnp
from tracejit.control.callbacks.ops import pure_callback
from tracejit.control.custom.implicit import custom_root
from tracejit.control.regions.staging import stage_user
from tracejit.errors import SolverOptionError
from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.interpreters.autodiff.linearize import linearize_flat
from tracejit.interpreters.autodiff.transpose import pull_back
from tracejit.interpreters.eval import ROOT
from tracejit.ir.avals import Aval, aval_of
from tracejit.ops.building import helpers
from tracejit.tracing import Box, call_user, caller, to_raw, use_trace, wrap

Function = Callable[..., Any]
_F64 = np.dtype(np.float64)
_I64 = np.dtype(np.int64)
NUMBER = Aval((), _F64)
COUNT = Aval((), _I64)


def guess(x: Any) -> Any:
    """The first guess of a solver, as an array."""
    if isinstance(x, (list, tuple)) and x:
        return tnp.stack([tnp.asarray(v) for v in x])
    return tnp.asarray(x)


def vector(x: Any) -> Any:
    """The first guess of a solver: a vector of floats, as SciPy makes one of it."""
    return guess(x).reshape(-1).astype(float)


@contextlib.contextmanager
def unwritten(*args: Any) -> Iterator[None]:
    """Raises SolverOptionError if a function that is called meanwhile writes into its arguments."""
    before = [(x.storage, x.storage.version) for x in args if type(x) is Box]
    yield
    if any(storage.version != version for storage, version in before):
        problem, remedy = "a function that writes into its arguments", "let it write into a copy"
        raise SolverOptionError(function="a solver", problem=problem, remedy=remedy)


def ask(fun: Function, *args: Any, **kwargs: Any) -> Any:
    """The value of a function that a solver is given. It is called another number of times than by SciPy, which takes
    differences, and traced in a program of its own: raises SolverOptionError if it does anything besides, or writes
    into its arguments, which are the solver's own memory."""
    with unwritten(*args, *kwargs.values()), caller.changed(fun, (*args, *kwargs.values())) as found:
        out = call_user(fun, *args, **kwargs)
    if found:
        raise SolverOptionError(
            function="a solver",
            problem=f"a function that {found[0]} whenever it is called",
            remedy="let it only compute",
        )
    return out


def with_args(fun: Function, args: Any) -> Function:
    """`fun` of its first argument alone."""
    more = args if isinstance(args, tuple) else (args,)
    return lambda x: ask(fun, x, *more)


def scalar(out: Any) -> Any:
    """The value of a function that gives a number, or an array of one. Of several SciPy's solvers say, each in its own
    way, what they think."""
    if tnp.size(out) != 1:
        raise SolverOptionError(
            function="a solver",
            problem=f"a function whose value has the shape {tnp.shape(out)}, where it takes a number",
            remedy="sum over the values, or take the one that is meant",
        )
    return _real(tnp.asarray(out).reshape(-1)[0] if tnp.ndim(out) else tnp.asarray(out)).astype(float)[()]


def values(out: Any) -> Any:
    """The values of a function that gives several, as a vector of floats."""
    made = tnp.stack([tnp.asarray(v) for v in out]) if isinstance(out, (list, tuple)) else tnp.asarray(out)
    return _real(made).reshape(-1).astype(float)


def _real(x: Any) -> Any:
    if dtypes.is_complex(x.dtype):
        raise SolverOptionError(
            function="a solver",
            problem="a function of complex values",
            remedy="solve for real and imaginary parts",
        )
    return x


# ---------------------------------------------------------------- derivatives


def gradient(f: Function) -> Function:
    """x -> the gradient of the number f(x)."""

    def call(x: Any) -> Any:
        def flat(raw: Any) -> list[Any]:
            return [to_raw(scalar(f(wrap(raw))))]

        raw = to_raw(x)
        _, tape = linearize_flat(flat, [raw], [True])
        (slope,) = pull_back(tape, [np.float64(1)])
        return wrap(helpers.instantiate(slope))

    return call


def value_and_gradient(f: Function) -> Function:
    """x -> the number f(x), and its gradient."""

    def call(x: Any) -> tuple[Any, Any]:
        outs, tape = linearize_flat(lambda raw: [to_raw(scalar(f(wrap(raw))))], [to_raw(x)], [True])
        (slope,) = pull_back(tape, [np.float64(1)])
        return wrap(outs[0]), wrap(helpers.instantiate(slope))

    return call


def directional(f: Function) -> Function:
    """(x, d) -> the derivative of the vector or number f(x) in the direction d."""

    def call(x: Any, d: Any) -> Any:
        _, slopes = jvp_flat(lambda raw: [to_raw(f(wrap(raw)))], [to_raw(x)], [to_raw(d)])
        return wrap(helpers.instantiate(slopes[0]))

    return call


def jacobian(f: Function) -> Function:
    """x -> the matrix of derivatives of the vector f(x), one row for each value; a loop over the columns."""

    def call(x: Any) -> Any:
        slope = directional(f)
        _, columns = lax.scan(lambda c, d: (c, slope(x, d)), None, np.eye(x.size))
        return tnp.swapaxes(columns, 0, 1)

    return call


def dense_solve(g: Function, y: Any) -> Any:
    """x with g(x) = y, for a linear function of vectors: by its matrix."""
    _, columns = lax.scan(lambda c, d: (c, g(d)), None, np.eye(y.size, dtype=y.dtype))
    return tnp.linalg.solve(tnp.swapaxes(columns, 0, 1), y)


def number_solve(g: Function, y: Any) -> Any:
    """x with g(x) = y, for a linear function of a number."""
    return y / g(tnp.ones_like(y))


# ---------------------------------------------------------------- host calls


class Compiled:
    """A function of one array, as host code calls it: a jaxpr, compiled at the first call, and the values that it
    closes over, which the program hands on."""

    def __init__(self, f: Function, x: Any) -> None:
        leaf = tree.structure(0)
        self.staged = stage_user(f, [leaf], [aval_of(to_raw(x))], [False], "a solver's function")
        self.operands = [wrap(c) for c in self.staged.consts]

    def bound(self, operands: Sequence[np.ndarray]) -> Callable[[Any], Any]:
        """The function of arrays, for the values that a call of the program gave."""
        jaxpr, aval = self.staged.jaxpr, self.staged.jaxpr.invars[-1].aval

        def call(x: Any) -> Any:
            given = np.asarray(x, aval.dtype).reshape(aval.shape)
            with use_trace(ROOT):
                (out,) = control.call.op.call(jaxpr, [*operands, given])
            return out

        return call


def host_call(
    solve: Callable[..., Sequence[Any]], functions: Sequence[Compiled], results: Sequence[Aval], *args: Any
) -> list[Any]:
    """`solve(functions, *args)` on the host when the program runs; it gives arrays of the types `results`."""
    counts = [len(f.operands) for f in functions]

    def call(*given: Any) -> list[np.ndarray]:
        plain = [np.array(x) for x in given[: len(args)]]
        rest = iter(given[len(args) :])
        bound = [
            f.bound([np.asarray(next(rest)) for _ in range(n)])
            for f, n in zip(functions, counts, strict=True)
        ]
        out = solve(bound, *plain)
        return [np.asarray(x, r.dtype).reshape(r.shape) for x, r in zip(out, results, strict=True)]

    operands = [x for f in functions for x in f.operands]
    return pure_callback(call, list(results), *args, *operands, vmap_method="sequential")


def within(low: Any, high: Any, x: Any, slope: Any, close: float = 1e-9) -> Any:
    """The conditions of a minimum with bounds: the gradient `slope` is zero, or x is on a bound (to `close`) and stays
    there."""
    for edge in (low, high):
        there = tnp.isfinite(edge) & (tnp.abs(x - edge) <= close * (1 + tnp.abs(edge)))
        slope = tnp.where(lax.stop_gradient(there), x - edge, slope)
    return slope


def root_of(
    conditions: Function, guess: Any, solve: Callable[[Any], tuple[Any, Any]], tangent_solve: Function
) -> tuple[Any, Any]:
    """The solution that `solve(guess)` finds, and what else it gives: (x, aux). `conditions(x)` is zero there."""
    return custom_root(conditions, guess, lambda _, x: solve(x), tangent_solve, has_aux=True)
