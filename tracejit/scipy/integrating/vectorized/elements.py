"""`tanhsinh` for traced values: what SciPy checks, and its report, around the levels (`tanh_sinh`)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError, SolverOptionError
from tracejit.ir.values import Value
from tracejit.scipy.integrating.vectorized import rich
from tracejit.scipy.integrating.vectorized.tanh_sinh import (
    CONVERGED,
    DEEPEST,
    EPS,
    Found,
    How,
    integrals,
    refuse_if,
)
from tracejit.scipy.solving import ask
from tracejit.tracing import to_raw, wrap


def _refuse(name: str, problem: str, remedy: str) -> None:
    raise SolverOptionError(function=name, problem=problem, remedy=remedy)


def real(name: str, x: Any) -> Any:
    """A limit or a step, in double precision."""
    x = wrap(to_raw(tnp.asarray(x)))
    if x.dtype.kind == "c":
        raise ValueError("All elements of `a` and `b` must be real numbers.")
    if x.dtype.kind == "f" and x.dtype != np.float64:
        _refuse(name, f"limits of the dtype {x.dtype}", "give limits in double precision")
    return x.astype(float)


def values(name: str, out: Any) -> Any:
    """What the integrand gave, in double precision."""
    out = tnp.asarray(out)
    if out.dtype.kind == "c":
        _refuse(name, "a complex function", "integrate its real and its imaginary part")
    return out.astype(float)


def several(args: Any) -> Sequence[Any]:
    """The arguments of a function: of an array its rows, as SciPy takes them."""
    if isinstance(args, (tuple, list)):
        return args
    return tuple(args[n] for n in range(len(args))) if tnp.ndim(args) else (args,)


def tolerance(x: Any, otherwise: float, log: bool) -> Any:
    """A tolerance, checked."""
    if x is None:
        return otherwise
    wrong = (
        "`atol` and `rtol` may not be positive infinity."
        if log
        else ("`atol` and `rtol` must be non-negative and finite.")
    )
    if isinstance(to_raw(x), Value):
        refuse_if(x == np.inf if log else (x < 0) | tnp.isinf(x), wrong)
        return lax.stop_gradient(x)
    if not isinstance(x, (float, np.floating)) and np.asarray(x).dtype.kind not in "iuf":
        raise ValueError("`atol` and `rtol` must be real numbers.")
    if x == np.inf if log else x < 0 or np.isinf(x):
        raise ValueError(wrong)
    return x


def _level(x: Any) -> int:
    if int(x) != x:
        raise ValueError("`maxfun`, `maxlevel`, and `minlevel` must be integers.")
    if x < 0:
        raise ValueError("`maxfun`, `maxlevel`, and `minlevel` must be non-negative.")
    return operator.index(int(x))


def middles(a: Any, b: Any) -> Any:
    """The point at which the function is asked for first."""
    lower, upper = tnp.isinf(a), tnp.isinf(b)
    c = (tnp.where(lower | upper, 0.0, a) + tnp.where(lower | upper, 0.0, b)) / 2
    c = tnp.where(lower, tnp.where(upper, 0.0, b) - 1.0, c)
    c = tnp.where(upper, tnp.where(lower, 0.0, a) + 1.0, c)
    return tnp.where(lower & upper, 0.0, c)


def tanhsinh(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    *,
    args: Any = (),
    log: bool = False,
    maxlevel: Any = None,
    minlevel: Any = 2,
    atol: Any = None,
    rtol: Any = None,
    preserve_shape: bool = False,
    callback: Any = None,
) -> Any:
    """The integrals of `f(x, *args)`, a function of elements, from `a` to `b`, which may be arrays and infinite.

    Raises SolverOptionError for `callback`, complex functions and other limits than those in double precision, and for
    `args` with `preserve_shape`."""
    if not callable(f):
        raise ValueError("`f` must be callable.")
    if log not in (True, False):
        raise ValueError("`log` must be True or False.")
    if preserve_shape not in (True, False):
        raise ValueError("`preserve_shape` must be True or False.")
    if callback is not None:
        _refuse("tanhsinh", "the option `callback`", "leave it away")
    args = several(args)
    if preserve_shape and len(args):
        _refuse("tanhsinh", "`args` with `preserve_shape`", "let the function close over them")
    last = 10 if maxlevel is None else _level(maxlevel)
    first = min(_level(minlevel), last)
    if last > DEEPEST:
        _refuse("tanhsinh", f"maxlevel={last}", f"give {DEEPEST} at most")
    rtol = tolerance(rtol, 0.75 * math.log(EPS) if log else EPS**0.75, bool(log))
    how = How(first, last, tolerance(atol, -np.inf if log else 0.0, bool(log)), rtol, bool(log))
    a, b = tnp.broadcast_arrays(real("tanhsinh", a), real("tanhsinh", b))
    c, *more = tnp.broadcast_arrays(middles(a, b), *map(tnp.asarray, args))
    middle = values("tanhsinh", ask(f, c, *more))
    shape = _shape_of(middle.shape, c.shape, bool(preserve_shape))
    size = math.prod(shape)
    more = [x.reshape(size, 1) for x in more]
    picked = (0,) * (len(shape) - len(c.shape))

    def of_rows(x: Any) -> Any:
        k = x.shape[1]
        if preserve_shape:
            x = x.reshape(*shape, k)[picked]
        return values("tanhsinh", ask(f, x, *more)).reshape(size, k)

    ends = [tnp.broadcast_to(x, shape).reshape(size) for x in (a, b)]
    found = integrals(of_rows, ends[0], ends[1], middle.reshape(size), how)
    return _result(found, shape)


def _shape_of(made: tuple[int, ...], given: tuple[int, ...], preserve: bool) -> tuple[int, ...]:
    """The shape of the results."""
    if preserve:
        return np.broadcast_shapes(made, given)
    if made != given:
        problem = (
            "When `preserve_shape=False`, the shape of the array returned by `func` must be the same as the "
        )
        raise ArgumentError(
            name="tanhsinh", problem=problem + "broadcasted shape of `x` and all other `args`."
        )
    return given


def _result(found: Found, shape: tuple[int, ...]) -> Any:
    def field(x: Any, dtype: Any) -> Any:
        return x.astype(dtype).reshape(shape)[()]

    return rich.result(
        status=field(found.status, np.int32),
        integral=field(found.integral, float),
        error=field(found.error, float),
        nfev=field(found.nfev, np.int32),
        success=field(found.status == CONVERGED, bool),
        maxlevel=field(found.level, np.int64),
        _order_keys=["success", "status", "integral", "error", "nit", "nfev"],
    )
