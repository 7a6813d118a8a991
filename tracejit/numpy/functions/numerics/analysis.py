"""Functions built on the rest: differences, polynomials, statistics, parts of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.numpy.dispatch import implements
from tracejit.numpy.functions.arrays.shaping import array_of, box_of
from tracejit.numpy.functions.order.selection import where
from tracejit.numpy.operands import dtype_of, inexact, raw
from tracejit.numpy.ufuncs import TABLE
from tracejit.tracing import wrap

# ---------------------------------------------------------------- complex numbers


@implements(np.real, "real")
def real(val: Any) -> Any:
    """The real part: a view of complex arrays."""
    return box_of(val).real


@implements(np.imag, "imag")
def imag(val: Any) -> Any:
    """The imaginary part: a view of complex arrays, zeros of real ones."""
    return box_of(val).imag


@implements(np.angle, "angle")
def angle(z: Any, deg: bool = False) -> Any:
    """The argument of complex numbers."""
    x = box_of(z)
    out = TABLE["arctan2"](x.imag if x.dtype.kind == "c" else 0, x.real)
    return out * (180 / np.pi) if deg else out


@implements(np.iscomplexobj, "iscomplexobj")
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return dtype_of(raw(x)).kind == "c"


@implements(np.isrealobj, "isrealobj")
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return dtype_of(raw(x)).kind != "c"


@implements(np.isreal, "isreal")
def isreal(x: Any) -> Any:
    """Where the imaginary part is zero."""
    return imag(x) == 0


@implements(np.iscomplex, "iscomplex")
def iscomplex(x: Any) -> Any:
    """Where the imaginary part is not zero."""
    return imag(array_of(x)) != 0


@implements(np.sinc, "sinc")
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0, differentiable everywhere."""
    b = box_of(x)
    if b.dtype.kind != "c":
        return wrap(ops.inverse.sinc(inexact(b)))
    y = b * np.pi
    zero = y == 0
    safe = where(zero, 1.0, y)
    out = where(zero, 1 - y * y / 6, TABLE["sin"](safe) / safe)
    return out if out.ndim else out[()]  # `where` gives an array, the quotient of these a number
