"""Complex numbers and their parts. Transposes pair as Re(ct * t), without conjugation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import TypeRuleError
from tracejit.ir.primitive import LINEAR
from tracejit.ops.building import identities as ids
from tracejit.ops.building.helpers import each_linear, linear_in, pointwise
from tracejit.ops.kernels.scalar import real_dtype

_COMPLEX = {np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}


def _complex_dtype(d: np.dtype) -> np.dtype:
    if d not in _COMPLEX:
        raise TypeRuleError(op="complex", problem=f"takes float32 or float64, not {d}")
    return _COMPLEX[d]


def _complex_eval(x: Any, y: Any) -> Any:
    """Not x + 1j * y, which loses signed zeros and makes NaN of infinities."""
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), _COMPLEX[x.dtype])
    out.real, out.imag = x, y
    return out[()]


real = pointwise(
    "real",
    "the real part",
    lambda x: x.real,
    kinds="c",
    kernel=lambda k, x: x.re,
    derivatives=LINEAR,
    result=real_dtype,
    transpose=linear_in(0, lambda ct, x: complex(ct, 0)),
    simplify=(ids.through("complex", 0, lambda e, x: ids.if_type(e, x), 0),),
)

imag = pointwise(
    "imag",
    "the imaginary part",
    lambda x: x.imag,
    kinds="c",
    kernel=lambda k, x: x.im,
    derivatives=LINEAR,
    result=real_dtype,
    transpose=linear_in(0, lambda ct, x: complex(0, ops.arithmetic.neg(ct))),
    simplify=(ids.through("complex", 0, lambda e, y: ids.if_type(e, y), 1),),
)

conj = pointwise(
    "conj",
    "the complex conjugate",
    np.conj,
    kinds="c",
    kernel=lambda k, x: k.pair(x.re, k.neg(x.im)),
    derivatives=LINEAR,
    transpose=linear_in(0, lambda ct, x: conj(ct)),
    simplify=(ids.undoes("conj"),),
)

complex = pointwise(
    "complex",
    "x + iy",
    _complex_eval,
    kinds="f",
    kernel=lambda k, x, y: k.pair(x, y),
    derivatives=(lambda t, ans, x, y: complex(t, 0), lambda t, ans, x, y: complex(0, t)),
    result=_complex_dtype,
    transpose=each_linear(lambda ct, x, y: real(ct), lambda ct, x, y: ops.arithmetic.neg(imag(ct))),
)
