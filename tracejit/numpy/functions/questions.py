"""Questions about types, memory and text; conversions by type."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import ArgumentError, ArgumentTypeError, ShapeError, UnfollowedError
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents, members
from tracejit.numpy.boxes.conversions import class_of
from tracejit.numpy.boxes.pythons import require
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import implements, publish
from tracejit.numpy.functions.arrays.shaping import box_of
from tracejit.numpy.functions.order.sorting import sort
from tracejit.numpy.functions.statistics.reductions import inexact_dtype
from tracejit.numpy.operands import broadcast_shapes as common_shape
from tracejit.numpy.operands import cast, dtype_of, promote, python_bool, raw, shape_of
from tracejit.tracing import Box, Storage, wrap

# ---------------------------------------------------------------- types


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
    if type(to) is Box:
        raise TypeError("Cannot construct a dtype from an array")
    given: Any = class_of(from_)() if type(from_) is Box and from_.weak else from_
    return np.can_cast(given.dtype if type(given) is Box else given, to, casting)


@implements(np.issubdtype, "issubdtype")
def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is of a kind of dtypes, or below another one."""
    return np.issubdtype(*map(_dtype_given, (arg1, arg2)))


@implements(np.promote_types, "promote_types")
def promote_types(type1: Any, type2: Any) -> np.dtype:
    """The smallest dtype to which both can be cast without a loss."""
    return np.promote_types(*map(_dtype_given, (type1, type2)))


def _dtype_given(a: Any) -> Any:
    """What is given for a dtype: it may be a scalar, but no array."""
    if type(a) is Box and not issubclass(class_of(a), np.generic):
        raise TypeError("Cannot construct a dtype from an array or a Python number")
    return a.dtype if type(a) is Box else a


@implements(np.min_scalar_type, "min_scalar_type")
def min_scalar_type(a: Any) -> np.dtype:
    """The dtype of a traced array; of a scalar that is known, the smallest dtype that holds it."""
    x = box_of(a)
    if x.aval.shape or x.dtype.kind == "b":
        return x.dtype
    if (known := extents.known(raw(x))) is None:
        raise UnfollowedError(
            what="`np.min_scalar_type` of a number", reason="the dtype depends on its value"
        )
    return np.min_scalar_type(known)


@implements(np.common_type, "common_type")
def common_type(*arrays: Any) -> Any:
    """The inexact scalar type common to all."""
    for a in arrays:
        require(a, "dtype")
    ds = [inexact_dtype(dtype_of(raw(a))) for a in arrays]
    if any(dtype_of(raw(a)).kind == "b" for a in arrays):
        raise ArgumentTypeError(name="common_type", problem="can't get common type for non-numeric array")
    return promote(*ds).type if ds else np.float16


def isscalar(element: Any) -> bool:
    """Whether it stands for a NumPy or Python scalar."""
    if type(element) is Box:
        return element.scalar
    if isinstance(element, str):  # or what stands for text
        return True
    return np.isscalar(element.tj_example() if hasattr(type(element), "tj_example") else element)


publish(np.isscalar, isscalar, "isscalar")  # asked for things that are no boxes, too


@implements(np.iterable, "iterable")
def iterable(y: Any) -> bool:
    """Whether the array has a first axis."""
    return bool(shape_of(raw(y)))


@implements(np.isfortran, "isfortran")
def isfortran(a: Any) -> bool:
    """Whether the array lies in memory in Fortran's order and not in C's."""
    require(a, "flags")
    return members.in_fortran_order(box_of(a))


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The values in another dtype (complex to real: the real part)."""
    d = dtypes.canonical(dtype)
    if not copy and dtype_of(raw(x)) == d:
        return x
    scalar = isinstance(x, np.generic) or (type(x) is Box and x.scalar)
    return wrap(cast(raw(x), d)) if scalar else members.indexed_copy(cast(raw(x), d))


astype = implements(np.astype, "astype")(astype)


@implements(np.asarray_chkfinite, "asarray_chkfinite")
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`asarray`; raises ArgumentError for NaN or infinity, which only known values can be checked for."""
    out = NP[np.asarray](a, dtype)
    r = raw(out)
    known = extents.known(r)
    if known is None:
        raise ArgumentTypeError(
            name="asarray_chkfinite",
            problem="values that are not known while tracing cannot be checked; use asarray and isfinite",
        )
    if not np.isfinite(known).all():
        raise ArgumentError(name="asarray_chkfinite", problem="array must not contain infs or NaNs")
    return out


@implements(np.real_if_close, "real_if_close")
def real_if_close(a: Any, tol: float = 100) -> Any:
    """The real part if all imaginary ones are (in multiples of epsilon) below `tol`; needs known values."""
    x = NP[np.asarray](a)
    if x.dtype.kind != "c":
        return x
    known = extents.known(raw(x))
    if known is None:
        raise ArgumentTypeError(
            name="real_if_close",
            problem="the dtype of the result depends on values that are not known; use x.real",
        )
    return x.real if not np.iscomplexobj(np.real_if_close(known, tol)) else x


@implements(np.sort_complex, "sort_complex")
def sort_complex(a: Any) -> Any:
    """Sorted along the last axis, as complex numbers."""
    s = sort(a, -1)
    if s.dtype.kind == "c":
        return s
    return s.astype(np.complex64 if s.dtype.char in "bhBH" else np.complex128)


# ---------------------------------------------------------------- equality and memory


@implements(np.array_equiv, "array_equiv")
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether the arrays are equal after broadcasting; a traced boolean."""
    x, y = box_of(a1), box_of(a2)
    try:
        common_shape("array_equiv", [x.aval.shape, y.aval.shape])
    except ShapeError:
        return False
    return python_bool((x == y).all())


#: Why a question about memory is refused.
_PLACES = "a program does not know where its arrays lie"


@implements(np.shares_memory, "shares_memory")
def shares_memory(a: Any, b: Any, /, max_work: int = -1) -> bool:
    """Whether a write into one is seen in the other, where the places of both are known."""
    if not (type(a) is Box and type(b) is Box) or a.scalar or b.scalar:
        return False
    if a.storage is b.storage:
        if a.chain and b.chain:
            raise UnfollowedError(what="`np.shares_memory` of parts of one array", reason=_PLACES)
        return a.size > 0 and b.size > 0
    outside = (a.storage.origin is not None) and (b.storage.origin is not None)
    if outside or type(a.storage) is not Storage or type(b.storage) is not Storage:
        raise UnfollowedError(what="`np.shares_memory` of arrays of outside", reason=_PLACES)
    return False


@implements(np.may_share_memory, "may_share_memory")
def may_share_memory(a: Any, b: Any, /, max_work: int = 0) -> bool:
    """Like `shares_memory`."""
    return shares_memory(a, b)


# ---------------------------------------------------------------- text


def _text(np_function: Any) -> Any:
    def text(a: Any, *args: Any, **kwargs: Any) -> str:
        r = raw(a)
        known = extents.known(r)
        if known is None:
            return repr(a)
        return np_function(np.asarray(known) if isinstance(r, Value) else r, *args, **kwargs)

    text.__name__ = np_function.__name__
    text.__doc__ = (
        "NumPy's text of known values, else `Traced<type>`: print inside jit with tracejit's own tools."
    )
    return implements(np_function, np_function.__name__)(text)


array2string, array_repr, array_str = map(_text, (np.array2string, np.array_repr, np.array_str))

# ---------------------------------------------------------------- of no values at all

#: Functions of dtypes, shapes and settings: NumPy's own, whatever is traced.
PASSED_ON = (
    "base_repr", "binary_repr", "broadcast_shapes", "get_include", "get_printoptions", "getbufsize", "geterr",
    "geterrcall", "info", "isdtype", "mintypecode", "printoptions", "set_printoptions",
    "setbufsize", "seterr", "seterrcall", "show_config", "show_runtime", "test", "typename",
)  # fmt: skip


@implements(np.einsum_path, "einsum_path")
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """The order of contractions, which shapes decide."""
    shown = [np.empty(shape_of(raw(x)), dtype_of(raw(x))) if type(x) is Box else x for x in operands]
    return np.einsum_path(*shown, optimize=optimize, einsum_call=einsum_call)  # type: ignore[call-overload]
