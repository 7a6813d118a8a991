"""Dtypes: NumPy's promotion, bfloat16, and the dtype of integer tangents.

Shapes and dtypes follow NumPy 2 (NEP 50): Python scalars are weak, arrays and
NumPy scalars are not, float64 is the default.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tracejit.errors import NumberSizeError, UnfollowedError, UnknownDtypeError

bfloat16 = np.dtype(ml_dtypes.bfloat16)
# The tangent dtype of integers and booleans, as in JAX: zero bytes an element.
float0 = np.dtype([("float0", np.void, 0)])

bool_ = np.dtype(np.bool_)
int64 = np.dtype(np.int64)
float64 = np.dtype(np.float64)
complex128 = np.dtype(np.complex128)

_PYTHON = {bool: bool_, int: int64, float: float64, complex: complex128}
#: The dtypes of dates and times that were met: programs without any need not look for them.
TIMES: set[np.dtype] = set()
_SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c"}


def canonical(dtype: Any) -> np.dtype:
    """`dtype` as an `np.dtype` in native byte order.

    Raises:
        UnknownDtypeError: NumPy does not know it, or it holds neither numbers nor times of a known unit.
    """
    if isinstance(dtype, np.dtype) and dtype.isnative and dtype.kind in "biufc" and not _is_long(dtype):
        return dtype
    if isinstance(getattr(dtype, "shape", None), tuple) and not isinstance(dtype, (np.dtype, np.generic)):
        raise UnknownDtypeError(dtype=dtype)  # NumPy takes the dtype of whatever has one, but not of an array
    try:
        d = np.dtype(_PYTHON.get(dtype, dtype)) if isinstance(dtype, type) else np.dtype(dtype)
    except TypeError as e:
        raise UnknownDtypeError(dtype=dtype) from e
    if (d.kind in "biufc" and not _is_long(d)) or d in (bfloat16, float0):
        return d if d.isnative else d.newbyteorder("=")
    if d.kind in "mM" and d.isnative and unit_of(d)[0] != "generic":
        TIMES.add(d)
        return d
    raise UnknownDtypeError(dtype=dtype)


def is_time(d: np.dtype) -> bool:
    """Whether it is a dtype of dates or of times, datetime64 or timedelta64."""
    return d.kind in "mM"


def can_be_column(d: np.dtype) -> bool:
    """Whether a field of a structure holds numbers that can be traced where they lie."""
    return d.base.isnative and d.base.kind in "biufc" and d.base.char not in "gG"


def structure_of(x: Any) -> np.dtype | None:
    """The dtype of a structure that `x` names, as a list of fields does; None if it names none."""
    if isinstance(x, np.dtype):
        return x if x.names is not None and x != float0 else None
    if type(x) not in (list, dict) or not x:
        return None
    try:
        return np.dtype(x)
    except (TypeError, ValueError):
        return None


def unit_of(d: Any) -> tuple[str, int]:
    """The unit of a dtype of times, and of how many of them its elements are multiples: "generic" of one without."""
    return np.datetime_data(d)


def holds_numbers(d: np.dtype) -> bool:
    """Whether an array of this dtype holds numbers or times, or may be a structure of them."""
    return d.kind in "biufcV" or (d.kind in "mM" and unit_of(d)[0] != "generic")


def element(d: np.dtype, x: Any) -> Any:
    """A number as an element of that dtype; of times, as many units since 1970."""
    return np.asarray(x).astype(d)[()] if d.kind in "mM" else d.type(x)


def _is_long(d: np.dtype) -> bool:
    """longdouble and clongdouble where they have more bits than a double."""
    return d.char in "gG" and d.itemsize > (16 if d.char == "G" else 8)


def number(dtype: np.dtype, x: Any, what: str = "a number") -> np.generic:
    """One of Python's numbers as one of NumPy's; `what` names it. Raises NumberSizeError."""
    try:
        return dtype.type(x)
    except OverflowError:
        raise NumberSizeError(what=what, value=x if abs(x) < 10**40 else "of many digits") from None


def of_python_scalar(x: Any) -> np.dtype | None:
    """The default dtype of a Python scalar, or None for anything else."""
    return _PYTHON.get(type(x))


def is_float(d: np.dtype) -> bool:
    """Whether it is a dtype of real floating-point numbers, bfloat16 among them."""
    return d.kind == "f" or d == bfloat16


def is_complex(d: np.dtype) -> bool:
    """Whether it is a dtype of complex numbers."""
    return d.kind == "c"


def is_inexact(d: np.dtype) -> bool:
    """Whether it is a dtype of floating-point or complex numbers: what carries derivatives."""
    return d.kind in "fc" or d == bfloat16


def is_integer(d: np.dtype) -> bool:
    """Whether it is a dtype of integers, signed or not; booleans are none."""
    return d.kind in "iu"


def tangent_dtype(d: np.dtype) -> np.dtype:
    """The dtype of a tangent: the same for inexact dtypes, float0 otherwise."""
    return d if is_inexact(d) else float0


def real_part_dtype(d: np.dtype) -> np.dtype:
    """float32 for complex64, float64 for complex128, otherwise `d`."""
    return np.dtype(f"f{d.itemsize // 2}") if d.kind == "c" else d


def finfo(d: np.dtype) -> Any:
    """`np.finfo`, for bfloat16 too."""
    return ml_dtypes.finfo(d)


def short_name(d: np.dtype) -> str:
    """`f64`, `i32`, `bool`, `bf16` … as the printer writes it."""
    if d == bfloat16:
        return "bf16"
    if d == float0:
        return "float0"
    if d.kind == "b":
        return "bool"
    if d.kind in "mM":
        return d.name
    base = d.name.rstrip("0123456789")
    return f"{_SHORT.get(base, base)}{d.itemsize * 8}"


def asked(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function of NumPy's gives, which may ask objects for their arrays: it takes no traced ones from them."""
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        if "__array__ method" in str(error):
            raise UnfollowedError(what="an object's `__array__`", reason="NumPy calls it itself") from None
        raise
