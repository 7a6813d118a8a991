"""Functions built on the rest: differences, polynomials, statistics, parts of complex numbers, norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import ArgumentError
from tracejit.numpy.boxes import extents
from tracejit.numpy.dispatch import (
    NUMPY_TO_TRACEJIT as NP,
)
from tracejit.numpy.dispatch import (
    cast,
    dtype_of,
    implements,
    publish,
    raw,
    result_type,
)
from tracejit.numpy.functions.joining import concatenate, stack
from tracejit.numpy.functions.products import dot
from tracejit.numpy.functions.reductions import axes_of, axis_of, inexact_dtype, max_, mean, min_, sum_
from tracejit.numpy.functions.selection import where
from tracejit.numpy.functions.shaping import atleast_2d, box_of, moveaxis, reshape
from tracejit.numpy.ufuncs import TABLE
from tracejit.tracing import Box, wrap

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
    out = TABLE["arctan2"](x.imag, x.real)
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
    return imag(x) != 0


@implements(np.sinc, "sinc")
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0, differentiable everywhere."""
    y = box_of(x) * np.pi
    zero = y == 0
    safe = where(zero, 1.0, y)
    return where(zero, 1 - y * y / 6, TABLE["sin"](safe) / safe)


@implements(np.unwrap, "unwrap")
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * math.pi) -> Any:
    """Jumps of more than half a period removed."""
    x = moveaxis(box_of(p), axis, -1)
    d = x[..., 1:] - x[..., :-1]
    half = period / 2
    wrapped = TABLE["remainder"](d + half, period) - half
    wrapped = where((wrapped == -half) & (d > 0), half, wrapped)
    fix = where(TABLE["absolute"](d) < (half if discont is None else max(discont, half)), 0.0, wrapped - d)
    out = concatenate([x[..., :1], x[..., 1:] + NP[np.cumsum](fix, -1)], -1)
    return moveaxis(out, -1, axis)


# ---------------------------------------------------------------- differences and integrals


@implements(np.diff, "diff")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th difference along an axis."""
    x = box_of(a)
    k = axis_of("diff", axis, x.ndim)
    ends = [(prepend, True), (append, False)]
    for end, first in ends:
        if end is not None and end is not np._NoValue:  # type: ignore[attr-defined]
            e = box_of(end)
            e = (
                e
                if e.ndim
                else NP[np.broadcast_to](e, tuple(1 if j == k else d for j, d in enumerate(x.shape)))
            )
            x = concatenate([e, x] if first else [x, e], k)
    head = (slice(None),) * k
    for _ in range(n):
        hi, lo = x[(*head, slice(1, None))], x[(*head, slice(None, -1))]
        x = hi != lo if x.dtype.kind == "b" else hi - lo
    return x


@implements(np.ediff1d, "ediff1d")
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of the flattened array, with values around."""
    d = diff(reshape(ary, (-1,)))
    parts = (
        [reshape(p, (-1,)) for p in (to_begin,) if p is not None]
        + [d]
        + [reshape(p, (-1,)) for p in (to_end,) if p is not None]
    )
    return concatenate(parts)


@implements(np.gradient, "gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, one-sided at the ends; uniform spacing."""
    x = box_of(f)
    x = x if dtypes.is_inexact(x.dtype) else x.astype(float)
    axes = axes_of("gradient", axis, x.ndim)
    steps = varargs if len(varargs) == len(axes) else (varargs[0] if varargs else 1.0,) * len(axes)
    if edge_order != 1 or any(np.ndim(raw(h)) for h in steps):
        raise ArgumentError(
            name="gradient", problem="only uniform spacing and edge_order=1 are implemented for traced arrays"
        )
    out = [_slope(x, h, k) for h, k in zip(steps, axes, strict=True)]
    return out[0] if len(out) == 1 else tuple(out)


def _slope(x: Any, h: Any, k: int) -> Any:
    def cut(a: int | None, b: int | None) -> Any:
        return x[(slice(None),) * k + (slice(a, b),)]

    first, last = (cut(1, 2) - cut(0, 1)) / h, (cut(-1, None) - cut(-2, -1)) / h
    return concatenate([first, (cut(2, None) - cut(None, -2)) / (2.0 * h), last], k)


@implements(np.trapezoid, "trapezoid")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    y = moveaxis(y, axis, -1)
    if x is not None:
        x = box_of(x)
        dx = diff(x) if x.ndim == 1 else diff(moveaxis(x, axis, -1))
    return (dx * (y[..., 1:] + y[..., :-1]) / 2.0).sum(-1)


# ---------------------------------------------------------------- polynomials and statistics


@implements(np.polyval, "polyval")
def polyval(p: Any, x: Any) -> Any:
    """Horner's scheme, highest power first."""
    p, x = box_of(p), box_of(x)
    y = NP[np.zeros_like](x, dtype=result_type(p, x))
    for c in p:
        y = y * x + c
    return y


@implements(np.vander, "vander")
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Powers of x as columns."""
    x = box_of(x)
    n = x.shape[0] if N is None else int(N)
    powers = [NP[np.ones_like](x)]
    for _ in range(n - 1):
        powers.append(powers[-1] * x)
    return stack(powers if increasing else powers[::-1], 1)


@implements(np.cov, "cov")
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """The covariance matrix of variables in rows (without weights)."""
    if fweights is not None or aweights is not None:
        raise ArgumentError(name="cov", problem="weights are not implemented for traced arrays")
    x = atleast_2d(m)
    x = x if rowvar or box_of(m).ndim == 1 else x.T
    if y is not None:
        y = atleast_2d(y)
        x = concatenate([x, y if rowvar or y.shape[0] == 1 else y.T], 0)
    x = x if dtypes.is_inexact(x.dtype) else x.astype(float)
    x = x - mean(x, 1, keepdims=True)
    n = x.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    return NP[np.squeeze](dot(x, x.T.conj()) / n)


@implements(np.corrcoef, "corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The correlation matrix."""
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    s = TABLE["sqrt"](NP[np.diag](c).real)
    return NP[np.clip](c / s[:, None] / s[None, :], -1, 1)


@implements(np.apply_along_axis, "apply_along_axis")
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of every one-dimensional slice (unrolled: for few slices)."""
    x = moveaxis(box_of(arr), axis, -1)
    lead = x.shape[:-1]
    rows = reshape(x, (-1, x.shape[-1]))
    outs = [box_of(func1d(row, *args, **kwargs)) for row in rows]
    out = stack(outs)
    out = reshape(out, (*lead, *out.shape[1:]))
    extra = out.ndim - len(lead)
    return (
        moveaxis(out, tuple(range(len(lead), out.ndim)), tuple(range(axis % x.ndim, axis % x.ndim + extra)))
        if extra
        else out
    )


# ---------------------------------------------------------------- norms

LINALG: dict[str, Any] = {}


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Vector norms of any order; Frobenius, 1, -1, inf and -inf norms of matrices."""
    a = box_of(x)
    a = a.astype(inexact_dtype(a.dtype)) if not dtypes.is_inexact(a.dtype) else a
    if axis is None and (ord is None or a.ndim == 1 or (ord in ("f", "fro") and a.ndim == 2)):
        if ord is None or ord in ("f", "fro"):
            return _two_norm(a, None, keepdims)
    axes = axes_of("norm", axis, a.ndim)
    if len(axes) == 1:
        return _vector_norm(a, ord, axes, keepdims)
    if len(axes) != 2:
        raise ArgumentError(name="norm", problem="improper number of dimensions to norm")
    if ord is None or ord in ("f", "fro"):
        return _two_norm(a, axes, keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        rows, columns = axes if abs(ord) == 1 else axes[::-1]
        sums = sum_(TABLE["absolute"](a), rows, keepdims=True)
        best = (max_ if ord > 0 else min_)(sums, columns, keepdims=True)
        return best if keepdims else NP[np.squeeze](best, axes)
    raise ArgumentError(name="norm", problem=f"the matrix norm of order {ord!r} needs singular values")


def _two_norm(a: Any, axes: Any, keepdims: bool) -> Any:
    square = a.real * a.real + a.imag * a.imag if a.dtype.kind == "c" else a * a
    return TABLE["sqrt"](sum_(square, axes, keepdims=keepdims))


def _vector_norm(a: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    if ord is None or ord == 2:
        return _two_norm(a, axes, keepdims)
    size = TABLE["absolute"](a)
    if ord == np.inf:
        return max_(size, axes, keepdims=keepdims)
    if ord == -np.inf:
        return min_(size, axes, keepdims=keepdims)
    if ord == 0:
        return sum_((a != 0).astype(size.dtype), axes, keepdims=keepdims)
    if ord == 1:
        return sum_(size, axes, keepdims=keepdims)
    return sum_(size**ord, axes, keepdims=keepdims) ** (1.0 / ord)


publish(np.linalg.norm, norm)
LINALG["norm"] = norm


# ---------------------------------------------------------------- questions about types


@implements(np.result_type, "result_type")
def result_type_(*arrays_and_dtypes: Any) -> np.dtype:
    """The dtype that NumPy's promotion gives."""
    return np.result_type(*(_kind_example(a) for a in arrays_and_dtypes))


def _kind_example(a: Any) -> Any:
    if type(a) is not Box:
        return a
    return {"i": 0, "f": 0.0, "c": 0j}.get(a.dtype.kind, a.dtype) if a.weak else a.dtype


@implements(np.can_cast, "can_cast")
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether a cast keeps to the rule."""
    return np.can_cast(from_.dtype if type(from_) is Box else from_, to, casting)


@implements(np.min_scalar_type, "min_scalar_type")
def min_scalar_type(a: Any) -> np.dtype:
    """The dtype of a traced value."""
    return box_of(a).dtype


@implements(np.common_type, "common_type")
def common_type(*arrays: Any) -> Any:
    """The inexact scalar type common to all."""
    return inexact_dtype(result_type(*arrays)).type


@implements(np.isscalar, "isscalar")
def isscalar(element: Any) -> bool:
    """Whether it stands for a NumPy or Python scalar."""
    return element.scalar if type(element) is Box else np.isscalar(element)


def astype(x: Any, dtype: Any, copy: bool = True) -> Any:
    """The values in another dtype (complex to real: the real part)."""
    d = dtypes.canonical(dtype)
    return wrap(cast(raw(x), d))


astype = implements(np.astype, "astype")(astype)


@implements(np.spacing, "spacing")
def spacing(x: Any) -> Any:
    """The distance to the next number; needs known values."""
    value = extents.known(raw(x))
    return np.spacing(value)
