"""Boxes' operators: reflected, in place, comparisons, powers, matrix products."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentTypeError, ShapeError
from tracejit.numpy.boxes import indexing
from tracejit.numpy.boxes.masking import masked, selected
from tracejit.numpy.boxes.members import member
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, cast, check_output, filled, kind_of, shape_of
from tracejit.numpy.ufuncs import TABLE, Ufunc, loop_dtypes
from tracejit.tracing import Box, unbox, wrap

_OPERANDS = (Box, np.ndarray, np.generic, bool, int, float, complex, list, tuple)


# ---------------------------------------------------------------- operators


def _binary(name: str, ufunc: Ufunc) -> None:
    def forward(x: Box, y: Any) -> Any:
        if not isinstance(y, _OPERANDS):
            return NotImplemented
        return ufunc.operator(x, y)

    def reflected(x: Box, y: Any) -> Any:
        return ufunc.operator(y, x) if isinstance(y, _OPERANDS) else NotImplemented

    def inplace(x: Box, y: Any) -> Any:
        if not isinstance(y, _OPERANDS):
            return NotImplemented
        return forward(x, y) if x.scalar else update(x, ufunc, y)

    setattr(Box, f"__{name}__", forward)
    setattr(Box, f"__r{name}__", reflected)
    setattr(Box, f"__i{name}__", inplace)


def update(x: Box, ufunc: Ufunc, *operands: Any) -> Box:
    """x = ufunc(x, *operands) in place, with NumPy's casting and shape rules."""
    check_output(ufunc.__name__, loop_dtypes(ufunc.np, tuple(map(kind_of, (x, *operands))))[-1], x.aval.dtype)
    kept = selected.elementwise(ufunc.operator, (x, *operands)) if selected.selection(x) else None
    if kept is not None and masked.write_in_place(x, ..., kept, indexing.check_depth):
        return x
    result = ufunc.apply((x, *operands))
    if shape_of(result) != x.aval.shape:
        raise ShapeError(
            op=ufunc.__name__,
            problem=f"non-broadcastable output operand with shape {x.aval.shape} doesn't match the "
            f"broadcast shape {shape_of(result)}",
        )
    indexing.assign(x.storage, x.chain, cast(result, x.aval.dtype))
    return x


for _name, _ufunc in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift", "divmod": "divmod",
}.items():  # fmt: skip
    _binary(_name, TABLE[_ufunc])


def _repeating(multiply: Any) -> Any:
    """`multiply`, except that integers that stand for scalars repeat lists and tuples, as in Python."""

    def product(x: Box, y: Any) -> Any:
        if isinstance(y, (list, tuple)) and x.scalar and x.aval.dtype.kind in "iu":
            return y * operator.index(x)  # type: ignore[arg-type] # raises where the number is not known
        return multiply(x, y)

    return product


for _name in ("__mul__", "__rmul__"):
    setattr(Box, _name, _repeating(getattr(Box, _name)))


def _comparison(ufunc: Ufunc) -> Any:
    def compare(x: Box, y: Any) -> Any:
        if y is None and ufunc.np in (np.equal, np.not_equal):  # elementwise, as arrays compare
            return wrap(filled(ufunc.np is np.not_equal, dtypes.bool_, x.aval.shape))
        if not isinstance(y, _OPERANDS):
            return NotImplemented
        return ufunc.operator(x, y)

    return compare


for _name, _ufunc in {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}.items():  # fmt: skip
    setattr(Box, f"__{_name}__", _comparison(TABLE[_ufunc]))
for _name, _ufunc in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(Box, f"__{_name}__", lambda x, _u=TABLE[_ufunc]: _u.operator(x))


def power(x: Any, y: Any) -> Any:
    """`x ** y`: small constant exponents as products and roots, as NumPy has its fast paths."""
    if type(y) in (int, float) and type(x) is Box:
        kept = selected.elementwise(power, (x, y))
        if kept is not None:
            return kept
        fast = _small_power(x, y)
        if fast is not None:
            return fast
    return TABLE["power"].operator(x, y)


def _small_power(x: Box, y: Any) -> Any:
    d = loop_dtypes(np.power, (kind_of(x), type(y)))[-1]
    if type(y) is float and (x.aval.dtype.kind in "biu" or (y != int(y) if abs(y) < 100 else True)):
        return TABLE["sqrt"].operator(x) if y == 0.5 and dtypes.is_inexact(x.aval.dtype) else None
    n = int(y)
    if n == 2 and x.aval.dtype.kind == "b" and not x.scalar:  # int8, which np.power does not give
        return TABLE["square"].operator(x)
    if d.kind in "iu" and n < 0:
        if 0 in x.aval.shape:  # nothing to raise to a power
            return None
        raise ValueError("Integers to negative integer powers are not allowed.")
    if abs(n) > 64 or d.kind == "b":
        return None
    value = cast(x.read(), d)
    return wrap(ops.arithmetic.square(value) if n == 2 else ops.arithmetic.integer_pow(value, n=n), x.weak)


@member("__pow__")
def _pow(x: Box, y: Any, modulus: Any = None) -> Any:
    if not isinstance(y, _OPERANDS) or modulus is not None:
        return NotImplemented
    return power(x, y)


@member("__rpow__")
def _rpow(x: Box, y: Any) -> Any:
    return TABLE["power"].operator(y, x) if isinstance(y, _OPERANDS) else NotImplemented


@member("__ipow__")
def _ipow(x: Box, y: Any) -> Any:
    if x.scalar:
        return _pow(x, y)
    result = _pow(x, y)
    check_output("power", result.aval.dtype, x.aval.dtype)
    x[...] = result
    return x


@member("__matmul__")
def _matmul(x: Box, y: Any) -> Any:
    return NUMPY_TO_TRACEJIT[np.matmul](x, y) if isinstance(y, _OPERANDS) else NotImplemented


@member("__rmatmul__")
def _rmatmul(x: Box, y: Any) -> Any:
    return NUMPY_TO_TRACEJIT[np.matmul](y, x) if isinstance(y, _OPERANDS) else NotImplemented


@member("__imatmul__")
def _imatmul(x: Box, y: Any) -> Any:
    x[...] = _matmul(x, y)
    return x


@member("__round__")
def _round(x: Box, ndigits: int | None = None) -> Any:
    """`round(x)` of a NumPy scalar: an integer, or with `ndigits` a number of the same dtype."""
    if not x.scalar:
        raise ArgumentTypeError(name="round()", problem="arrays do not define __round__; use np.round")
    if ndigits is not None:
        return wrap(unbox(NUMPY_TO_TRACEJIT[np.round](x, ndigits)), x.weak)
    return wrap(cast(NUMPY_TO_TRACEJIT[np.round](x).read(), dtypes.int64), weak=True)
