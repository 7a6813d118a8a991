"""NumPy's functions of structured arrays: what makes them, what moves their elements, and orders of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import UnsupportedFunctionError
from tracejit.numpy.boxes.memory import layout_of_field
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.operands import has_box
from tracejit.numpy.structured.array import Structured, of_array, put
from tracejit.tracing import Box


def refuse(function: Any) -> UnsupportedFunctionError:
    """That a function takes no structured arrays here."""
    return UnsupportedFunctionError(name=f"numpy.{function.__name__} of a structured array")


def call(function: Any, ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy's `function` gives for arguments with structured arrays."""
    form = FORMS.get(function)
    if form is None:
        raise refuse(function)
    return form(*args, **kwargs)


# ---- those that move elements


def _structures(xs: Iterable[Any]) -> list[Structured]:
    """The structured arrays among arguments, also in lists and tuples."""
    found: list[Structured] = []
    for x in xs:
        found += _structures(x) if type(x) in (list, tuple) else [x] if type(x) is Structured else []
    return found


def _columns_of(x: Any, name: str) -> Any:
    """An argument with a column for each structured array in it."""
    if type(x) in (list, tuple):
        return type(x)(_columns_of(y, name) for y in x)
    return x.tj_column(name) if type(x) is Structured else x


def _moves(function: Any) -> Callable[..., Any]:
    """A function that puts elements elsewhere, whatever they are: what it does to each column."""

    @functools.wraps(function)
    def form(*args: Any, **kwargs: Any) -> Any:
        given = _structures(args)
        like = given[0]
        flat = not any(like.dtype[n].shape for n in like.dtype.names)
        if any(x.dtype != like.dtype or x._tj_record for x in given) or not flat or "out" in kwargs:
            raise refuse(function)
        ours = NUMPY_TO_TRACEJIT[function]
        columns = [ours(*[_columns_of(a, n) for a in args], **kwargs) for n in like.dtype.names]
        return Structured(like.dtype, columns, like._tj_kind if len(given) == 1 else np.ndarray)

    return form


def _ravel(a: Any, order: str = "C") -> Any:
    """A view, where the elements lie one after the other: which the columns by themselves never do."""
    name, column = a.tj_some_column()
    straight = type(column) is Box and not (column.chain or a._tj_record) and order in ("C", "K", "A")
    if not straight or column.storage.layout != layout_of_field(a.dtype, name, column.aval.shape):
        raise refuse(np.ravel)
    column.storage.layout_read = True
    return FORMS[np.reshape](a, -1)


# ---- orders


def _order_of(a: Structured, axis: Any, kind: Any, order: Any, stable: Any) -> Any:
    """The positions of the elements in the order of their fields, those in `order` before the others."""
    names = [order] if isinstance(order, str) else list(order or ())
    columns = a._tj_columns
    if a.ndim != 1 or axis not in (-1, 0) or any(n not in columns for n in names):
        raise refuse(np.sort)
    names += [n for n in columns if n not in names]
    keys = [a.tj_column(n) for n in names]
    if any(type(k) is Structured or k.ndim != 1 or k.aval.dtype.kind not in "biuf" for k in keys):
        raise refuse(np.sort)
    return NUMPY_TO_TRACEJIT[np.lexsort](keys[::-1])


def _sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    places = _order_of(a, axis, kind, order, stable)
    return a.tj_each(lambda c: c[places])


def _argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return _order_of(a, axis, kind, order, stable)


# ---- those that make arrays


def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return a.copy()


def _array(a: Any, dtype: Any = None, *, copy: Any = True, order: str = "K", ndmin: int = 0, **_: Any) -> Any:
    if type(a) is not Structured or ndmin > a.ndim or (dtype is not None and np.dtype(dtype) != a.dtype):
        raise refuse(np.array)
    made = a.tj_each(lambda c: c.copy()) if copy or a._tj_record else a
    return made if made._tj_kind is np.ndarray else made.view(np.ndarray)


def _asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, **_: Any) -> Any:
    return _array(a, dtype, copy=bool(copy))


def _like(function: Any, plain: Any) -> Callable[..., Any]:
    """`zeros_like` and its kin, of `zeros`."""

    @functools.wraps(function)
    def form(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
        d = a.dtype if dtype is None else dtype
        made = NUMPY_TO_TRACEJIT[plain](a.shape if shape is None else shape, d)
        return made if not subok or type(made) is not Structured else made.view(a._tj_kind)

    return form


def made(function: Any, dtype: np.dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function of NumPy's that makes arrays gives for the dtype of a structure."""
    if function in (np.zeros, np.ones, np.empty):
        return _filled(function, _shape(args, kwargs), dtype)
    if function is np.full:
        fill = kwargs.get("fill_value", args[1] if len(args) > 1 else None)
        new = _filled(np.zeros, _shape(args, kwargs), dtype)
        if type(fill) in (tuple, list):  # NumPy makes an array of it first
            raise refuse(function)
        put(new, fill)
        return new
    if function in LIKE:
        return FORMS[function](*[of_array(a) if isinstance(a, np.ndarray) else a for a in args], **kwargs)
    if function in (np.array, np.asarray, np.asanyarray) and len(args) <= 2 and not kwargs.keys() - {"dtype"}:
        return _of_values(next(iter(args)), dtype)
    raise refuse(function)


def _shape(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if kwargs.keys() - {"shape", "dtype", "fill_value"} or len(args) > 3:
        raise refuse(np.zeros)
    return args[0] if args else kwargs["shape"]


def _filled(function: Any, shape: Any, dtype: np.dtype) -> Structured:
    """A new array of this shape, which `np.zeros` or its like fills."""
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    columns = []
    for name in dtype.names or ():
        field = dtype[name]
        make = functools.partial(_filled, function) if field.base.names else NUMPY_TO_TRACEJIT[function]
        columns.append(make((*sizes, *field.shape), field.base))
    return Structured(dtype, columns, np.ndarray)


def _of_values(x: Any, dtype: np.dtype) -> Structured:
    """`np.array` of tuples, or of a structured array."""
    if not has_box((x,)):
        return of_array(np.array(x, dtype))
    if type(x) is Structured and x.dtype == dtype:
        return x.copy()
    shape = x.shape if type(x) is Structured else (len(x),) if type(x) is list else ()
    new = _filled(np.zeros, shape, dtype)
    put(new, x)
    return new


LIKE = {np.zeros_like: np.zeros, np.ones_like: np.ones, np.empty_like: np.empty}
#: NumPy's functions -> what they are for structured arrays.
FORMS: dict[Any, Callable[..., Any]] = {
    **{
        f: _moves(f)
        for f in (
            *(np.concatenate, np.hstack, np.append, np.take, np.reshape, np.flip, np.roll, np.repeat),
            *(
                np.tile,
                np.transpose,
                np.swapaxes,
                np.squeeze,
                np.expand_dims,
                np.compress,
                np.delete,
                np.where,
            ),
        )
    },
    **{f: _like(f, p) for f, p in LIKE.items()},
    np.ravel: _ravel,
    np.sort: _sort,
    np.argsort: _argsort,
    np.copy: _copy,
    np.array: _array,
    np.asarray: _asarray,
    np.asanyarray: _asarray,
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
}
