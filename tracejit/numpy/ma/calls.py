"""NumPy's functions of masked arrays that hold boxes.

A ufunc computes with the data, and the array's `__array_wrap__` says what the result is. NumPy's functions in Python
run as copies of their code; those in C that take masked arrays for plain ones get their data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import UnsupportedFunctionError
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.ma.array import Array, box_of, held
from tracejit.numpy.operands import SUBCLASSES

#: How copies are made, filled by the file that makes them.
copies: dict[str, Callable[..., Any]] = {}

#: Functions in C that see the data only, and give plain arrays.
_OF_DATA = frozenset((np.where, np.copyto, np.result_type, np.can_cast, np.bincount, np.putmask))
#: Functions in Python that ask for nothing but arrays and give plain ones: ours of the data.
_PLAIN = frozenset((np.array, np.asarray, np.isclose, np.allclose, np.full_like))


def call(function: Any, ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy's `function` gives for arguments with masked arrays."""
    if isinstance(function, np.ufunc):
        return _ufunc(function, args, kwargs)
    if function in _OF_DATA:
        plain = [_plain(a) for a in args]
        return NUMPY_TO_TRACEJIT.get(function, function)(*plain, **{k: _plain(v) for k, v in kwargs.items()})
    own = OWN.get(getattr(function, "__name__", ""))
    if own is not None and getattr(np, function.__name__, None) is function:
        return own(*args, **kwargs)
    code = getattr(function, "__wrapped__", None)
    if code is None or not hasattr(code, "__code__") or not _in_python(code):
        raise UnsupportedFunctionError(name=f"numpy.{function.__name__} of a masked array")
    return copies["function"](code)(*args, **kwargs)


def _in_python(code: Any) -> bool:
    """Whether a function's code computes: what has C code says in Python only which arguments matter."""
    module = code.__globals__.get("__name__", "")
    return module.startswith(("numpy.lib.", "numpy._core.fromnumeric", "numpy._core.numeric"))


def _plain(x: Any) -> Any:
    if type(x) in (list, tuple):
        return type(x)(map(_plain, x))
    return box_of(x)


def _ufunc(function: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc: the first masked array wraps the result."""
    out = kwargs.get("out")
    out = out[0] if type(out) is tuple and len(out) == 1 else out
    if function.nout > 1 or function.signature is not None or not kwargs.keys() <= {"out"}:
        raise UnsupportedFunctionError(
            name=f"numpy.{function.__name__} of a masked array, with these arguments,"
        )
    ours = NUMPY_TO_TRACEJIT[function]
    plain = [held(a) if type(a) in SUBCLASSES or isinstance(a, np.ma.MaskedArray) else a for a in args]
    if out is not None:
        if type(out) not in SUBCLASSES:
            raise UnsupportedFunctionError(
                name=f"numpy.{function.__name__} of a masked array into a plain one"
            )
        ours(*plain, out=held(out))
        return out.__array_wrap__(out, (ours, args, 0))  # type: ignore[attr-defined]
    result = ours(*plain)
    wrapping: Any = next(a for a in args if type(a) in SUBCLASSES)
    return wrapping.__array_wrap__(held(result), (ours, args, 0), not np.shape(result))


# ---- NumPy's functions that make arrays, of masked arrays, too ---------------------------------------


def _array(
    x: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    **more: Any,
) -> Any:
    """`np.array`."""
    if type(x) not in SUBCLASSES:
        if isinstance(x, np.ma.MaskedArray) and subok:
            raise UnsupportedFunctionError(name="np.array of a masked constant")
        given = (
            [box_of(y) if not isinstance(y, np.ma.MaskedArray) else np.asarray(y) for y in x]
            if type(x) in (list, tuple)
            else x
        )
        return NUMPY_TO_TRACEJIT[np.array](given, dtype, copy=copy, order=order, ndmin=ndmin, **more)
    box = x._tj_box
    same = dtype is None or np.dtype(dtype) == box.dtype
    if not subok:
        return NUMPY_TO_TRACEJIT[np.array](box, dtype, copy=copy, order=order, ndmin=ndmin, **more)
    if not copy and same and ndmin <= box.ndim and order in (None, "K", "A"):
        return x
    new = NUMPY_TO_TRACEJIT[np.array](box, dtype, copy=copy, order=order, ndmin=ndmin, **more)
    return x._tj_like(new)


def _asarray(x: Any, dtype: Any = None, order: Any = None, **more: Any) -> Any:
    """`np.asarray`: of a masked array its data."""
    return _array(x, dtype, copy=None, order=order or "K", **more)


def _asanyarray(x: Any, dtype: Any = None, order: Any = None, **more: Any) -> Any:
    """`np.asanyarray`."""
    return _array(x, dtype, copy=None, order=order or "K", subok=True, **more)


#: Names in NumPy -> ours.
OWN: dict[str, Any] = {
    "array": _array,
    "asarray": _asarray,
    "asanyarray": _asanyarray,
    "ndarray": Array,
    "errstate": np.errstate,
    "seterr": np.seterr,
}
OWN_FUNCTIONS: dict[Any, Any] = {
    np.array: _array, np.asarray: _asarray, np.asanyarray: _asanyarray
}  # fmt: skip
