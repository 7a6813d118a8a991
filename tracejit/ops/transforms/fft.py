"""Discrete Fourier transforms, through NumPy's pocketfft.

y[k] = f * sum over j of x[j] exp(∓2πi jk/n) along every axis. The factor f is that of `norm`: 'backward'
scales the inverse by 1/n, 'forward' the transform, 'ortho' both by 1/sqrt(n). A transform's matrix is
symmetric, so it is its own transpose (cotangents pair as Re(ct * t), without conjugation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import DynamicExtentError, ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.kernel import Opaque
from tracejit.ir.primitive import (
    LINEAR,
    Op,
    Rule,
)
from tracejit.ops.building.dims import check_axes
from tracejit.ops.building.helpers import plain, shift_axes
from tracejit.ops.building.values import check_kind, shape_of
from tracejit.tracing import bind

NORMS = ("backward", "ortho", "forward")

_COMPLEX = {"f4": np.complex64, "f8": np.complex128, "c8": np.complex64, "c16": np.complex128}
_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
_REAL = {"f4": np.float32, "f8": np.float64, "c8": np.float32, "c16": np.float64}


def _size(name: str, x: Aval, axis: int) -> int:
    """The length of the transform along `axis`, at least 1."""
    n = x.shape[axis]
    if isinstance(n, Dim):
        raise DynamicExtentError(op=name, problem=f"the size of axis {axis} of {x} is a traced integer")
    if n < 1:
        raise ShapeError(op=name, problem=f"axis {axis} of {x} has no elements to transform")
    return n


def _converted(name: str, x: Aval, table: dict[str, Any], kinds: str) -> np.dtype:
    check_kind(name, kinds, x)
    key = x.dtype.str[1:]
    if key not in table:
        raise TypeRuleError(op=name, problem=f"takes numbers of 4 or 8 bytes and their pairs, not {x}")
    return np.dtype(table[key])


def _record(
    name: str,
    doc: str,
    *,
    type: Rule,
    eval: Rule,
    transpose: Rule,
    batch: Rule,
    spelled: Rule,
    on_device: str = "",
) -> Op:
    return plain(
        name=name,
        doc=doc,
        type=type,
        eval=eval,
        jvp=LINEAR,
        transpose=transpose,
        batch=batch,
        kernel=Opaque(spelled=spelled, on_device=on_device),
    )


# ---------------------------------------------------------------- complex transforms


def _complex_transform(name: str, doc: str, np_function: Callable[..., Any]) -> Op:
    """Register a transform of complex or real numbers over several axes."""

    def type_rule(x: Aval, *, axes: tuple[int, ...], norm: str) -> Aval:
        check_axes(name, axes, x.ndim)
        for a in axes:
            _size(name, x, a)
        return Aval(x.shape, _converted(name, x, _COMPLEX, "fc"))

    def transpose(ct: Any, x: Any, **params: Any) -> list[Any]:
        out = bind(op, ct, **params)
        return [out if x.aval.dtype.kind == "c" else ops.complexes.real(out)]

    def batch(size: int, args: Any, dims: Any, *, axes: tuple[int, ...], norm: str) -> tuple[Any, int]:
        return bind(op, args[0], axes=shift_axes(axes, dims[0]), norm=norm), dims[0]

    def eval_rule(x: Any, *, axes: tuple[int, ...], norm: str) -> Any:
        for a in reversed(axes):  # as NumPy's fftn, which takes longer to get there
            x = np_function(x, axis=a, norm=norm)
        return x

    def spelled(*, axes: tuple[int, ...], norm: str) -> str:
        text = "{0}"
        for a in reversed(axes):
            text = f"numpy.fft.{name}({text}, axis={a}, norm={norm!r})"
        return text

    op = _record(
        name,
        doc,
        type=type_rule,
        eval=eval_rule,
        spelled=spelled,
        transpose=transpose,
        batch=batch,
        on_device=name,
    )
    return op


fft_op = _complex_transform("fft", "the discrete Fourier transform over axes", np.fft.fft)
ifft_op = _complex_transform("ifft", "the inverse discrete Fourier transform over axes", np.fft.ifft)


def fft(x: Any, *, axes: tuple[int, ...], norm: str = "backward") -> Any:
    """The Fourier transform of `x` (floats or complex numbers) over distinct `axes`: complex numbers."""
    return bind(fft_op, x, axes=tuple(axes), norm=norm)


def ifft(x: Any, *, axes: tuple[int, ...], norm: str = "backward") -> Any:
    """The inverse Fourier transform over distinct `axes`."""
    return bind(ifft_op, x, axes=tuple(axes), norm=norm)


# ---------------------------------------------------------------- transforms of real numbers


def weigh(x: Any, axis: int, places: tuple[int, ...], factor: float, others: bool = False) -> Any:
    """`x` times `factor` at some places along `axis`, or everywhere else if `others`."""
    shape = shape_of(x)
    index = ops.create.iota(shape=(shape[axis],), dtype=np.int64)
    here = ops.compare.eq(index, places[0])
    for p in places[1:]:
        here = ops.compare.or_(here, ops.compare.eq(index, p))
    here = ops.shape.expand_dims(here, tuple(a for a in range(len(shape)) if a != axis))
    here = ops.shape.broadcast_to(here, shape)
    scaled = ops.arithmetic.mul(x, factor)
    return ops.compare.select(here, x, scaled) if others else ops.compare.select(here, scaled, x)


def _alone(n: int) -> tuple[int, ...]:
    """The frequencies of `n` real numbers that stand for themselves: the others do for their conjugates too."""
    return (0,) if n % 2 else (0, n // 2)


def _rfft_type(x: Aval, *, axis: int, norm: str) -> Aval:
    check_axes("rfft", (axis,), x.ndim)
    n = _size("rfft", x, axis)
    shape = (*x.shape[:axis], n // 2 + 1, *x.shape[axis + 1 :])
    return Aval(shape, _converted("rfft", x, _COMPLEX, "f"))


def _rfft_transpose(ct: Any, x: Any, *, axis: int, norm: str) -> list[Any]:
    """Re(sum over k of ct[k] exp(-2πi jk/n)): an inverse transform of the conjugate, which counts twice
    what lies between the ends."""
    n = x.aval.shape[axis]
    half = weigh(ops.complexes.conj(ct), axis, _alone(n), 0.5, others=True)
    return [irfft(half, n=n, axis=axis, norm=_OPPOSITE[norm])]


def _rfft_batch(size: int, args: Any, dims: Any, *, axis: int, norm: str) -> tuple[Any, int]:
    (d,) = dims
    return bind(rfft_op, args[0], axis=shift_axes((axis,), d)[0], norm=norm), d


rfft_op = _record(
    "rfft",
    "the first half of the Fourier transform of real numbers along an axis",
    type=_rfft_type,
    eval=lambda x, *, axis, norm: np.fft.rfft(x, axis=axis, norm=norm),
    spelled=lambda *, axis, norm: f"numpy.fft.rfft({{0}}, axis={axis}, norm={norm!r})",
    on_device="rfft",
    transpose=_rfft_transpose,
    batch=_rfft_batch,
)


def rfft(x: Any, *, axis: int, norm: str = "backward") -> Any:
    """The n // 2 + 1 first values of the Fourier transform of floats along `axis`, of length n."""
    return bind(rfft_op, x, axis=axis, norm=norm)


def _irfft_type(x: Aval, *, n: int, axis: int, norm: str) -> Aval:
    check_axes("irfft", (axis,), x.ndim)
    if n < 1 or _size("irfft", x, axis) != n // 2 + 1:
        raise ShapeError(op="irfft", problem=f"{n} real numbers have {n // 2 + 1} frequencies, not {x}")
    shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
    return Aval(shape, _converted("irfft", x, _REAL, "c"))


def _irfft_transpose(ct: Any, x: Any, *, n: int, axis: int, norm: str) -> list[Any]:
    out = ops.complexes.conj(rfft(ct, axis=axis, norm=_OPPOSITE[norm]))
    return [weigh(out, axis, _alone(n), 2.0, others=True)]


def _irfft_batch(size: int, args: Any, dims: Any, *, n: int, axis: int, norm: str) -> tuple[Any, int]:
    (d,) = dims
    return bind(irfft_op, args[0], n=n, axis=shift_axes((axis,), d)[0], norm=norm), d


irfft_op = _record(
    "irfft",
    "the inverse of rfft: real numbers from half of a spectrum",
    type=_irfft_type,
    eval=lambda x, *, n, axis, norm: np.fft.irfft(x, n, axis=axis, norm=norm),
    spelled=lambda *, n, axis, norm: f"numpy.fft.irfft({{0}}, {n}, axis={axis}, norm={norm!r})",
    transpose=_irfft_transpose,
    batch=_irfft_batch,
)


def irfft(x: Any, *, n: int, axis: int, norm: str = "backward") -> Any:
    """`n` floats along `axis` whose transform begins with the n // 2 + 1 complex numbers there.

    The imaginary parts of the first value, and for even n of the last, are ignored.
    """
    return bind(irfft_op, x, n=n, axis=axis, norm=norm)
