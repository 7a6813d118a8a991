"""Discrete cosine and sine transforms of types 1 to 4, through SciPy, without normalisation.

With N the length: DCT-2 is y[k] = 2 sum x[n] cos(πk(2n + 1)/2N), DCT-3 is its inverse but for a factor, DCT-1 and
DCT-4 are their own; the sine transforms are alike. The matrices of types 2 and 3 are each other's transposes,
but for the weight of one element, the first of the cosines and the last of the sines.
"""

from __future__ import annotations

from typing import Any

from tracejit.errors import DynamicExtentError, ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.kernel import Opaque
from tracejit.ir.primitive import (
    LINEAR,
    Op,
)
from tracejit.ops._lazy import scipy_fft
from tracejit.ops.building.dims import check_axes
from tracejit.ops.building.helpers import plain, shift_axes
from tracejit.ops.building.values import check_kind, shape_of
from tracejit.ops.transforms.fft import weigh
from tracejit.tracing import bind


def _transform(name: str, doc: str, cosine: bool) -> Op:
    def type_rule(x: Aval, *, type: int, axis: int) -> Aval:
        check_kind(name, "fc", x)
        check_axes(name, (axis,), x.ndim)
        if x.dtype.str[1:] not in ("f4", "f8", "c8", "c16"):
            raise TypeRuleError(op=name, problem=f"takes numbers of 4 or 8 bytes and their pairs, not {x}")
        n = x.shape[axis]
        if isinstance(n, Dim):
            raise DynamicExtentError(op=name, problem=f"the size of axis {axis} of {x} is a traced integer")
        if type not in (1, 2, 3, 4) or n < (2 if cosine and type == 1 else 1):
            raise ShapeError(op=name, problem=f"there is no transform of type {type} of {n} elements")
        return x

    def evaluate(x: Any, *, type: int, axis: int) -> Any:
        return getattr(scipy_fft(), name)(x, type, axis=axis)

    def transpose(ct: Any, x: Any, *, type: int, axis: int) -> list[Any]:
        last = shape_of(ct)[axis] - 1
        special = (0,) if cosine else (last,)
        if type == 1 and cosine:  # the matrix is symmetric but for its columns' weights, 1 at the ends and 2
            out = weigh(ct, axis, (0, last), 0.5, others=True)
            return [weigh(bind(op, out, type=1, axis=axis), axis, (0, last), 2.0, others=True)]
        if type == 2:
            return [bind(op, weigh(ct, axis, special, 2.0), type=3, axis=axis)]
        if type == 3:
            return [weigh(bind(op, ct, type=2, axis=axis), axis, special, 0.5)]
        return [bind(op, ct, type=type, axis=axis)]

    def batch(size: int, args: Any, dims: Any, *, type: int, axis: int) -> tuple[Any, int]:
        return bind(op, args[0], type=type, axis=shift_axes((axis,), dims[0])[0]), dims[0]

    op = plain(
        name=name,
        doc=doc,
        type=type_rule,
        eval=evaluate,
        jvp=LINEAR,
        transpose=transpose,
        batch=batch,
        kernel=Opaque(),
    )
    return op


dct_op = _transform("dct", "the discrete cosine transform along an axis", cosine=True)
dst_op = _transform("dst", "the discrete sine transform along an axis", cosine=False)


def dct(x: Any, *, type: int, axis: int) -> Any:
    """The cosine transform of `type` 1 to 4 along `axis`, as `scipy.fft.dct` has it with norm 'backward'."""
    return bind(dct_op, x, type=type, axis=axis)


def dst(x: Any, *, type: int, axis: int) -> Any:
    """The sine transform of `type` 1 to 4 along `axis`, as `scipy.fft.dst` has it with norm 'backward'."""
    return bind(dst_op, x, type=type, axis=axis)
