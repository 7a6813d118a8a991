"""Raw values in rules: their types, Python scalars among them, and the checks of type rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import AxisError, ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Shape, aval_of
from tracejit.ir.values import Value

_PYTHON = (bool, int, float, complex)
_KIND_NAMES = {
    "b": "booleans",
    "i": "integers",
    "u": "unsigned integers",
    "f": "floats",
    "c": "complex numbers",
    "m": "times",
    "M": "dates",
}


def dtype_of(x: Any) -> np.dtype:
    """The dtype of a raw value (a tracer, ndarray or NumPy scalar), Aval or Python scalar."""
    return x.aval.dtype if isinstance(x, Value) else x.dtype if hasattr(x, "dtype") else aval_of(x).dtype


def shape_of(x: Any) -> Shape:
    """The shape of a raw value."""
    return aval_of(x).shape


def ndim_of(x: Any) -> int:
    return len(aval_of(x).shape)


def lift(x: Any, like: Any) -> Any:
    """A Python scalar as a NumPy scalar of `like`'s dtype (a raw value, Aval or dtype); others unchanged."""
    if type(x) not in _PYTHON:
        return x
    return (like if isinstance(like, np.dtype) else dtype_of(like)).type(x)


def lift_all(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Python scalars among operands adopt the dtype of the first operand that is none."""
    for a in args:
        if type(a) in _PYTHON:
            like = next((b for b in args if type(b) not in _PYTHON), None)
            like = aval_of(a).dtype if like is None else dtype_of(like)
            return tuple(lift(b, like) for b in args)
    return args


def kind(d: np.dtype) -> str:
    """'b', 'i', 'u', 'f' (bfloat16 too) or 'c'."""
    return "f" if d == dtypes.bfloat16 else d.kind


# ---------------------------------------------------------------- type rules


def check_axis(name: str, axis: int, ndim: int) -> None:
    """Raises AxisError unless 0 <= axis < ndim."""
    if not 0 <= axis < ndim:
        raise AxisError(op=name, axis=axis, ndim=ndim)


def check_kind(name: str, kinds: str, *avals: Aval) -> None:
    """Raises TypeRuleError unless every dtype's kind is in `kinds` (of 'biufc')."""
    for a in avals:
        if kind(a.dtype) not in kinds:
            allowed = ", ".join(_KIND_NAMES[c] for c in kinds)
            raise TypeRuleError(op=name, problem=f"takes {allowed}, not {dtypes.short_name(a.dtype)}")


def common_shape(name: str, avals: Iterable[Aval]) -> Shape:
    """The shape of a pointwise result: operands have it or are 0-d."""
    shape: Shape = ()
    for a in avals:
        if a.shape and not shape:
            shape = a.shape
        elif a.shape and a.shape != shape:
            raise ShapeError(
                op=name, problem=f"operands of shapes {shape} and {a.shape} do not fit together."
            )
    return shape


def common_dtype(name: str, avals: tuple[Aval, ...]) -> np.dtype:
    """The dtype that all operands share."""
    for a in avals[1:]:
        if a.dtype != avals[0].dtype:
            names = " and ".join(dtypes.short_name(b.dtype) for b in (avals[0], a))
            raise TypeRuleError(op=name, problem=f"operands have different dtypes, {names}")
    return avals[0].dtype
