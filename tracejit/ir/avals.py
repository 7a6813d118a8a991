"""Abstract values: a shape and a dtype, with static or bounded dynamic dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.ir.elsewhere import is_elsewhere


class Dim:
    """A dimension that is an integer of the program, with a static upper bound.

    `var` is the traced 0-d int64 value that holds the extent (a `Var` of the
    jaxpr in which the aval occurs). `bound` is the largest value it can take,
    or None when nothing bounds it (its buffers are then allocated at run time).
    Two Dims are equal when they are the same integer of the program.
    """

    __slots__ = ("bound", "var")

    def __init__(self, var: Any, bound: int | None) -> None:
        self.var = var
        self.bound = bound

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and other.var is self.var

    def __hash__(self) -> int:
        return id(self.var)

    def __repr__(self) -> str:
        return f"{self.var!r}<={'?' if self.bound is None else self.bound}"


DimSize = Any  # int | Dim, which no typechecker can follow through arithmetic
Shape = tuple[DimSize, ...]


class Aval:
    """Shape and dtype of a value. Immutable; equality is type equality.

    `shape` holds ints and `Dim`s, `dtype` is an `np.dtype`.
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Shape, dtype: np.dtype) -> None:
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements; for dynamic dimensions, of their bounds."""
        return math.prod(capacity(self.shape))

    @property
    def is_static(self) -> bool:
        # Not all(...): this is asked for every equation of an eager gradient.
        for d in self.shape:  # noqa: SIM110
            if type(d) is not int:
                return False
        return True

    def tangent(self) -> Aval:
        """The type of this value's tangents (float0 for integers and booleans)."""
        d = dtypes.tangent_dtype(self.dtype)
        return self if d is self.dtype else Aval(self.shape, d)

    def with_shape(self, shape: Shape) -> Aval:
        return Aval(shape, self.dtype)

    def with_dtype(self, dtype: np.dtype) -> Aval:
        return Aval(self.shape, dtype)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Aval) and self.dtype == other.dtype and self.shape == other.shape
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"{dtypes.short_name(self.dtype)}[{','.join(map(str, self.shape))}]"


def capacity(shape: Shape) -> tuple[int, ...]:
    """`shape` with dynamic dimensions replaced by their bounds (unbounded ones count as 1)."""
    return tuple(d if isinstance(d, int) else 1 if d.bound is None else d.bound for d in shape)


#: NumPy scalar type -> its aval, made once; eager code asks very often.
_scalars: dict[type, Aval] = {}


def aval_of(x: Any) -> Aval:
    """The aval of a raw value: a tracer's own, or an array's or Python scalar's."""
    found = _scalars.get(type(x))
    if found is not None:
        return found
    if type(x) is np.ndarray:
        return Aval(x.shape, dtypes.canonical(x.dtype))
    aval = getattr(x, "aval", None)
    if aval is not None:
        return aval
    if isinstance(x, np.generic):
        if x.dtype.kind in "mM":  # of one type, whatever their unit is
            return Aval((), dtypes.canonical(x.dtype))
        return _scalars.setdefault(type(x), Aval((), dtypes.canonical(x.dtype)))
    if isinstance(x, np.ndarray):
        return Aval(x.shape, dtypes.canonical(x.dtype))
    py = dtypes.of_python_scalar(x)
    if py is not None:
        return Aval((), py)
    a = x if is_elsewhere(x) else np.asarray(x)
    return Aval(tuple(a.shape), dtypes.canonical(a.dtype))
