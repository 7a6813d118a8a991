"""What NumPy's linear algebra does to operands and results: promotion, stacks, named tuples."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.numpy.operands import broadcast_shapes, cast, dtype_of, raw, shape_of

_SINGLE = frozenset(np.dtype(c) for c in "fF")


def common_dtype(name: str, *xs: Any) -> np.dtype:
    """NumPy's dtype for linear algebra: integers count as float64, and two precisions give the higher one.

    Raises MatrixDtypeError for the inexact dtypes that NumPy refuses, such as float16.
    """
    ds = [dtype_of(x) for x in xs]
    for d in ds:
        if dtypes.is_inexact(d):
            ops.decompositions.common.check_dtype(name, d)
    single = all(d in _SINGLE for d in ds)
    has_complex = any(d.kind == "c" for d in ds)
    return np.dtype(
        (np.complex64 if single else np.complex128) if has_complex else np.float32 if single else np.float64
    )


def matrix(name: str, x: Any) -> Any:
    """One operand as the raw value that LAPACK takes."""
    r = raw(x)
    return cast(r, common_dtype(name, r))


def matrices(name: str, *xs: Any) -> list[Any]:
    """Several operands as raw values of their common dtype."""
    rs = [raw(x) for x in xs]
    d = common_dtype(name, *rs)
    return [cast(r, d) for r in rs]


def stacked(name: str, *xs: Any) -> list[Any]:
    """Raw stacks of matrices with their leading axes broadcast."""
    lead = broadcast_shapes(name, [shape_of(x)[:-2] for x in xs])
    return [ops.shape.broadcast_to(x, (*lead, *shape_of(x)[-2:])) for x in xs]


@functools.cache
def result_class(name: str) -> Any:
    """The named tuple that `np.linalg.<name>` gives."""
    return type(getattr(np.linalg, name)(np.eye(1)))


def check_side(UPLO: str) -> bool:
    """Whether `UPLO` names the lower triangle. Raises ValueError in NumPy's words."""
    side = UPLO.upper()
    if side not in ("U", "L"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return side == "L"


def small(d: np.dtype) -> float:
    """The spacing of floats at 1."""
    return float(np.finfo(d).eps)
