"""Builders of the records of special functions: SciPy evaluates them, in float64 whatever the dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import NotDifferentiableError
from tracejit.ir.kernel import Kernel, Opaque
from tracejit.ir.primitive import OpFunction, binds
from tracejit.ops._lazy import scipy_special
from tracejit.ops.building.helpers import Derivative, dtype_of, kind, pointwise
from tracejit.ops.elementwise.arithmetic import abs, add, div, mul
from tracejit.ops.elementwise.compare import lt, select
from tracejit.ops.elementwise.scale import scale

F64 = dtypes.float64
INT32 = np.dtype(np.int32)
#: From here to 0, quotients that are 0/0 at 0 come from their series.
SMALL = 0.02


def in_double(fn: Callable[..., Any], dtype: np.dtype = F64) -> Callable[..., Any]:
    """`fn` of arrays of any float (complex) dtype, computed in double precision without warnings."""

    def evaluate(*xs: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(fn(*(x.astype(dtype) for x in xs))).astype(xs[0].dtype)[()]

    return evaluate


def by_scipy(name: str) -> Callable[..., Any]:
    """`scipy.special.<name>`, in float64."""
    return in_double(lambda *xs: getattr(scipy_special(), name)(*xs))


_WORK = 200  # instructions of a function of scipy.special, roughly


def call_scipy(name: str) -> Callable[..., Any]:
    """Kernel code that calls the C function of `scipy.special.cython_special`: the bits of its ufunc."""

    def kernel(k: Any, *xs: Any) -> Any:
        target = k.external(f"special:{name}", f"f64({'f64,' * len(xs)}i32)")
        wide = [k.cast(x, F64) for x in xs]
        return k.cast(
            k.call(target, (*wide, k.const(0, INT32)), out=F64, work=_WORK, cost=_WORK), xs[0].dtype
        )

    return kernel


def by_vecmath(name: str) -> Callable[..., Any]:
    """Kernel code that calls a function of lowering.llvm.vecmath."""
    return lambda k, x: k.math(name, x)


def times(coefficient: Callable[..., Any]) -> Derivative:
    """The derivative rule `coefficient(ans, *xs) * t`, in which zero wins over infinity."""
    return lambda t, ans, *xs, **params: scale(coefficient(ans, *xs, **params), t)


def no_derivative(name: str, operand: str) -> Derivative:
    """The derivative rule of an operand by which nobody knows how to differentiate."""

    def refuse(*args: Any, **params: Any) -> Any:
        raise NotDifferentiableError(op=name, reason=f"it has no closed derivative by {operand}")

    return refuse


def special(
    name: str,
    doc: str,
    fn: str | Callable[..., Any],
    *derivatives: Derivative | None,
    kernel: Callable[..., Any] | Kernel | None = None,
    cost: int = 60,
    analytic: bool = False,
) -> OpFunction[...]:
    """Register a special function of real operands. `fn`: SciPy's name, or a function of float64 arrays;
    `kernel`: by default the call of SciPy's C function. `analytic`: of complex operands too, by SciPy's function
    and the same derivatives."""
    code = kernel
    if code is None:
        assert isinstance(fn, str)
        code = call_scipy(fn)
    evaluate = by_scipy(fn) if isinstance(fn, str) else in_double(fn)
    real = pointwise(name, doc, evaluate, kernel=code, derivatives=derivatives, kinds="f", cost=cost)
    return extended(real, of_complex(name, doc, fn, *derivatives)) if analytic else real


def of_complex(
    name: str, doc: str, fn: str | Callable[..., Any], *derivatives: Derivative | None
) -> OpFunction[...]:
    """Register a special function of complex operands, which SciPy computes in compiled programs too."""

    def evaluate(*xs: Any) -> Any:
        return getattr(scipy_special(), fn)(*xs) if isinstance(fn, str) else fn(*xs)

    return pointwise(
        f"{name}_complex",
        f"{doc}, of complex numbers",
        in_double(evaluate, np.dtype(np.complex128)),
        kernel=Opaque(),
        derivatives=derivatives,
        kinds="c",
    )


def extended(real: OpFunction[...], analytic: OpFunction[...]) -> OpFunction[...]:
    """The function that is one of real operands and another one of complex operands."""

    def function(*xs: Any) -> Any:
        some = any(isinstance(x, complex) or kind(dtype_of(x)) == "c" for x in xs)
        return analytic(*xs) if some else real(*xs)

    function.__name__ = function.__qualname__ = real.__name__
    function.__doc__ = real.__doc__
    return binds(real.op)(function)


def series(x: Any, coefficients: tuple[float, ...]) -> Any:
    """The polynomial with these coefficients, lowest power first."""
    out = mul(x, coefficients[-1])
    for c in coefficients[-2:0:-1]:
        out = mul(add(out, c), x)
    return add(out, coefficients[0])


def quotient(y: Any, x: Any, near: Any) -> Any:
    """y / x, or `near` where |x| is small: a series, so that derivatives are right at 0 too."""
    small = lt(abs(x), SMALL)
    return select(small, near, div(y, select(small, 1.0, x)))
