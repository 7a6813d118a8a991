"""Boxes' operators: reflected, in place, comparisons, powers, matrix products."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import (
    ShapeError,
    TracerFloatError,
    TracerIntegerError,
    UnfollowedError,
    UnknownMemberError,
)
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.numpy.boxes import extents, indexing, numbers, unsure
from tracejit.numpy.boxes.conversions import (
    class_name,
    class_of,
    is_differentiated,
    known_value,
    no_attribute,
)
from tracejit.numpy.boxes.layouts import as_numpys
from tracejit.numpy.boxes.masking import masked, selected
from tracejit.numpy.boxes.members import member
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.elementwise import root_of_number
from tracejit.numpy.operands import LISTS, cast, check_output, filled, is_subclassed, kind_of, shape_of
from tracejit.numpy.ufuncs import TABLE, Ufunc, int_like, loop_dtypes
from tracejit.tracing import STATE, Box, new_array, unbox, wrap

_OPERANDS = (Box, np.ndarray, np.generic, bool, int, float, complex, *LISTS)


# ---------------------------------------------------------------- operators


def _takes(x: Box, y: Any) -> bool:
    """Whether an operator of `x` knows `y`: numbers and arrays, and lists, which Python's numbers don't know."""
    if type(y) is Box:  # which `isinstance` would take long to tell apart from lists
        return True
    if isinstance(y, LISTS):
        return x.aval.shape != () or not x.weak
    return isinstance(y, _OPERANDS) or is_elsewhere(y)


def _foreign(x: Box, y: Any) -> Any:
    """What an operator of `x` gives for an object that it does not know, so that Python asks the object: Python's
    numbers leave it to any, NumPy's arrays and numbers to those that opt out of being elements of an array of objects.

    Raises UnfollowedError."""
    cls = type(y)
    if class_of(x) in _NUMBERS or getattr(cls, "__array_ufunc__", y) is None or cls.__module__ in _OURS:
        return NotImplemented
    if not hasattr(cls, "__array_ufunc__") and getattr(cls, "__array_priority__", 0) > 0:
        return NotImplemented  # as NumPy does for classes that were written before `__array_ufunc__`
    reason = "NumPy would make an array of objects of it"
    raise UnfollowedError(
        what=f"an operator of an array and an object of class {cls.__name__}", reason=reason
    )


_NUMBERS = (bool, int, float, complex)
#: Where our own objects come from that have operators for traced values.
_OURS = frozenset({"tracejit.frontend.text.deferred", "tracejit.frontend.variants.node"})


def _to_complex(x: Any, y: Any) -> Any:
    """The operand `y` as an operator of `x` sees it. NumPy's float64 is a float, and so one of Python's complex numbers
    computes with it itself, and gives one of Python's."""
    if type(x) is not complex and not (type(x) is Box and x.scalar and x.aval.dtype == np.complex128):
        return y
    is_float = y.scalar and y.aval.dtype == np.float64 if type(y) is Box else type(y) is np.float64
    if not is_float or not numbers.is_python(x) or numbers.is_python(y):
        return y
    return wrap(y.read(), weak=True) if type(y) is Box else float(y)


def _binary(name: str, ufunc: Ufunc) -> None:
    def forward(x: Box, y: Any) -> Any:
        return ufunc.operator(x, _to_complex(x, y)) if _takes(x, y) else _foreign(x, y)

    def reflected(x: Box, y: Any) -> Any:
        return ufunc.operator(y, _to_complex(y, x)) if _takes(x, y) else _foreign(x, y)

    def inplace(x: Box, y: Any) -> Any:
        y = y._tj_box if not x.scalar and is_subclassed(y) else y  # of which the elements are added
        if not _takes(x, y):
            if not x.scalar and hasattr(cls := type(y), "tj_written"):
                cls.tj_written(y)
            return _foreign(x, y)
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
    result, shape = ufunc.apply((x, *operands)), extents.shape_here(x.aval.shape)
    if shape_of(result) != shape:
        raise ShapeError(
            op=ufunc.__name__,
            problem=f"non-broadcastable output operand with shape {shape} doesn't match the "
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
        if x.scalar and type(y) is not Box and isinstance(y, (list, tuple)):
            if x.aval.dtype.kind in "iu" or (x.weak and x.aval.dtype.kind == "b"):
                return y * operator.index(x)  # type: ignore[arg-type] # raises where the number is not known
            raise TypeError(f"can't multiply sequence by non-int of type {class_name(x)!r}")
        return multiply(x, y)

    return product


for _name in ("__mul__", "__rmul__"):
    setattr(Box, _name, _repeating(getattr(Box, _name)))


def _comparison(ufunc: Ufunc) -> Any:
    def compare(x: Box, y: Any) -> Any:
        if _takes(x, y):
            return ufunc.operator(x, _to_complex(x, y))
        if (
            isinstance(y, _NEVER_EQUAL)
            and ufunc.np in (np.equal, np.not_equal)
            and class_of(x) not in _NUMBERS
        ):
            return _unequal(x, y, ufunc.np is np.not_equal)
        return _foreign(x, y)

    return compare


#: What no number is equal to.
_NEVER_EQUAL = (type(None), str, bytes, type, type(...))


def _unequal(x: Box, y: Any, differs: bool) -> Any:
    """`x == y` or `x != y` of an array or a NumPy number: elementwise, as NumPy says."""
    if x.scalar:
        zero = x.aval.dtype.type(0)
        return zero != y if differs else zero == y
    return new_array(filled(differs, dtypes.bool_, x.aval.shape)) if x.aval.shape else np.bool_(differs)


for _name, _ufunc in {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}.items():  # fmt: skip
    setattr(Box, f"__{_name}__", _comparison(TABLE[_ufunc]))
for _name, _ufunc in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(Box, f"__{_name}__", lambda x, _u=TABLE[_ufunc]: _u.operator(x))


def power(x: Any, y: Any) -> Any:
    """`x ** y`: small constant exponents as products and roots, as NumPy has its fast paths."""
    y = _to_complex(x, y)
    if (known := unsure.powers(x, y)) is not None:
        return unsure.mark(power(known[0], y), *known[1:])
    if numbers.is_python(x) and numbers.is_python(y):
        return _python_power(int_like(x), int_like(y))
    if type(y) in (int, float) and type(x) is Box:
        kept = selected.elementwise(power, (x, y))
        if kept is not None:
            return kept
        if STATE.numbers is not None:
            STATE.numbers.check(TABLE["power"], (x, y))
        fast = _small_power(x, y)
        if fast is not None:
            return as_numpys(np.power, (x, y), {}, fast)
    return (_OF_NUMBERS if _is_number(x) and _is_number(y) else TABLE["power"]).operator(x, y)


#: Powers of numbers are those of Python's C library, where NumPy's loops may take a square root.
_OF_NUMBERS = Ufunc(np.power, ops.arithmetic.pow)


def _is_number(x: Any) -> bool:
    return x.scalar if type(x) is Box else not isinstance(x, np.ndarray)


def _python_power(x: Any, y: Any) -> Any:
    """`x ** y` of Python's numbers, in which a negative power of an integer is a float."""
    if type(y) is int and y < 0 and x.aval.dtype.kind == "i":
        x = wrap(cast(x.read(), dtypes.float64), weak=True)
    given = numbers.raws("power", (x, y))
    numbers.before("power", given)
    if type(y) is Box and y.aval.dtype.kind == "i" and kind_of(x) is int:
        y = wrap(ops.arithmetic.maximum(y.read(), np.int64(0)), weak=True)
        given = given[0], y.read()
    with np.errstate(all="ignore"):
        result = _small_power(x, y) if type(y) in (int, float) and type(x) is Box else None
    if result is None:
        return _OF_NUMBERS.operator(x, y)
    numbers.after("power", given, unbox(result))
    return result


def _small_power(x: Box, y: Any) -> Any:
    d = loop_dtypes(np.power, (kind_of(x), type(y)))[-1]
    if type(y) is float and (x.aval.dtype.kind in "biu" or (y != int(y) if abs(y) < 100 else True)):
        if y != 0.5 or not dtypes.is_inexact(x.aval.dtype):
            return None
        if x.scalar and x.aval.dtype.kind == "f":
            return wrap(root_of_number(x.read()), x.weak)
        return TABLE["sqrt"].operator(x)
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
    if modulus is not None and x.weak and x.aval.dtype.kind in "bi":
        return pow(int(known_value(x, TracerIntegerError)), y, modulus)
    if not _takes(x, y) or modulus is not None:
        return NotImplemented if modulus is not None else _foreign(x, y)
    return power(x, y)


@member("__rpow__")
def _rpow(x: Box, y: Any) -> Any:
    return power(y, x) if _takes(x, y) else _foreign(x, y)


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
    return (
        NUMPY_TO_TRACEJIT[np.matmul](x, y) if isinstance(y, _OPERANDS) or is_elsewhere(y) else _foreign(x, y)
    )


@member("__rmatmul__")
def _rmatmul(x: Box, y: Any) -> Any:
    return NUMPY_TO_TRACEJIT[np.matmul](y, x) if isinstance(y, _OPERANDS) else _foreign(x, y)


@member("__imatmul__")
def _imatmul(x: Box, y: Any) -> Any:
    if class_of(x) is np.ndarray and (not x.aval.ndim or np.ndim(y) < 2):
        raise ValueError(
            "inplace matrix multiplication requires the first operand to have at least one and the second at least two "
            "dimensions."
        )
    x[...] = _matmul(x, y)
    return x


@member("__round__")
def _round(x: Box, ndigits: int | None = None) -> Any:
    """`round(x)` of a NumPy scalar: an integer, or with `ndigits` a number of the same dtype."""
    return rounded(x, ndigits)


def rounded(x: Box, ndigits: Any = None) -> Any:
    """`round(x, ndigits)` of a number: a Python integer without `ndigits`."""
    if not hasattr(class_of(x), "__round__"):
        raise TypeError(f"type {class_name(x)} doesn't define __round__ method")
    value = x.read()
    if x.weak and x.aval.dtype.kind in "bi":
        tens = ndigits is not None and operator.index(ndigits) < 0
        return round(int(known_value(x, TracerIntegerError)), ndigits) if tens else int_like(x)
    if ndigits is None:
        return wrap(numbers.to_int(NUMPY_TO_TRACEJIT[np.round](x).read()), weak=True)
    if x.weak and x.aval.dtype == dtypes.float64:
        if is_differentiated(x):  # what it is rounded to has the derivative zero
            return round(float(known_value(x, TracerFloatError)), operator.index(ndigits))
        return wrap(numbers.rounded(value, operator.index(ndigits)), weak=True)
    return NUMPY_TO_TRACEJIT[np.round](x, ndigits)


def _is_integer(x: Box) -> Any:
    """The method `is_integer` of numbers, Python's and NumPy's."""
    if not hasattr(class_of(x), "is_integer"):
        raise AttributeError(
            f"{class_name(x)!r} object has no attribute 'is_integer'", name="is_integer", obj=x
        )

    def is_integer() -> Any:
        if x.aval.dtype.kind in "bi":
            return True
        value = x.read()
        same = ops.compare.eq(value, ops.arithmetic.floor(value))
        return wrap(ops.compare.and_(same, ops.compare.isfinite(value)), weak=True)

    return is_integer


def _fraction(part: Any) -> Any:
    """The attribute `numerator` or `denominator` of Python's integers."""

    def get(x: Box) -> Any:
        if not x.weak or x.aval.dtype.kind not in "bi":
            if hasattr(class_of(x), part.__name__):
                raise UnknownMemberError(name=part.__name__, aval=str(x.aval))
            raise no_attribute(x, part.__name__)
        return part(x)

    return property(get)


def numerator(x: Any) -> Any:
    """The integer itself."""
    return int_like(x)


def denominator(x: Any) -> int:
    """One."""
    return 1


Box.numerator = _fraction(numerator)  # type: ignore[attr-defined]
Box.denominator = _fraction(denominator)  # type: ignore[attr-defined]
Box.is_integer = property(_is_integer)
