"""NumPy's functions of structured arrays: what makes them, what moves their elements, and orders of them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import UnsupportedFunctionError
from tracejit.numpy.boxes.memory import layout_of_field
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.operands import has_box
from tracejit.numpy.options import judge_sort
from tracejit.numpy.structured.array import Structured, of_array, put
from tracejit.tracing import Box, to_raw


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


#: Which arguments have the elements, where these are others than the first.
_MOVED = {np.append: (0, 1), np.where: (1, 2), np.compress: (1,)}


def _columns_of(x: Any, name: str) -> Any:
    """An argument with a column for each structured array in it."""
    if type(x) in (list, tuple):
        return type(x)(_columns_of(y, name) for y in x)
    return x.tj_column(name) if type(x) is Structured else x


def _moves(function: Any) -> Callable[..., Any]:
    """A function that puts elements elsewhere, whatever they are: what it does to each column."""

    @functools.wraps(function)
    def form(*args: Any, **kwargs: Any) -> Any:
        moved = [args[n] for n in _MOVED.get(function, (0,)) if n < len(args)]
        if function in (np.concatenate, np.hstack) and moved and type(moved[0]) in (list, tuple):
            moved = [*moved[0]]
        given = _structures((*args, *kwargs.values()))
        if not given or len(moved) != len(given) or any(map(operator.is_not, moved, given)):
            raise refuse(function)
        like = given[0]
        flat = not any(like.dtype[n].shape for n in like.dtype.names)
        if any(x.dtype != like.dtype or x._tj_record for x in given) or not flat or "dtype" in kwargs:
            raise refuse(function)
        ours = NUMPY_TO_TRACEJIT[function]
        columns = [ours(*[_columns_of(a, n) for a in args], **kwargs) for n in like.dtype.names]
        if all(map(operator.is_, columns, like.tj_numbers())):
            return like
        return Structured(like.dtype, columns, like._tj_kind if len(given) == 1 else np.ndarray)

    return form


def _is_straight(a: Structured) -> bool:
    """Whether the elements are known to lie one after the other, in C order."""
    name, column = a.tj_some_column()
    if type(column) is not Box or column.chain:
        return False
    column.storage.layout_read = True
    return column.storage.layout == layout_of_field(a.dtype, name, column.aval.shape)


def _ravel(a: Any, order: str = "C") -> Any:
    """A view, where the elements lie one after the other: which the columns by themselves never do."""
    if order not in ("C", "K", "A") or a._tj_record or not _is_straight(a):
        raise refuse(np.ravel)
    return FORMS[np.reshape](a, -1)


# ---- orders


def _order_of(a: Structured, axis: Any, kind: Any, order: Any, stable: Any) -> Any:
    """The positions of the elements in the order of their fields, those in `order` before the others."""
    names = [order] if isinstance(order, str) else list(order or ())
    columns = a._tj_columns
    judge_sort(kind, None, stable)
    if (
        not all(type(n) is str for n in names)
        or any(n not in columns for n in names)
        or len({*names}) < len(names)
    ):
        np.sort(a.tj_example(), axis, kind, order)  # raises what NumPy raises for such names
    if a.ndim != 1 or axis not in (-1, 0) or any(n not in columns for n in names):
        raise refuse(np.sort)
    names += [n for n in columns if n not in names]
    keys = [a.tj_column(n) for n in names]
    if any(type(k) is Structured or k.ndim != 1 or k.aval.dtype.kind not in "biuf" for k in keys):
        raise refuse(np.sort)
    return NUMPY_TO_TRACEJIT[np.lexsort](keys[::-1])


#: So few elements, and all where that is asked for, NumPy leaves in order where they are equal.
_STABLE = 16


def _leave_ties(a: Structured, places: Any, kind: Any, stable: Any, signs: bool = False) -> None:
    """Leave the call to Python where elements are equal, whose order is that of NumPy's algorithm. `signs`: only where
    zeros among them differ in sign."""
    size = a.shape[0]
    if stable or kind in ("stable", "mergesort") or (type(size) is int and size <= _STABLE):
        return
    np_ = NUMPY_TO_TRACEJIT
    keys = [np_[np.take](k, places) for k in a.tj_numbers()]
    equal = [_same(k[1:], k[:-1]) for k in keys]
    floats = [np_[np.signbit](k) for k in keys if k.aval.dtype.kind == "f"]
    if signs and not floats:
        return
    if signs:
        differ = [np_[np.not_equal](s[1:], s[:-1]) for s in floats]
        equal.append(functools.reduce(np_[np.logical_or], differ))
    ties = functools.reduce(np_[np.logical_and], equal)
    leave_if(to_raw(np_[np.any](ties)), "the order of structured elements that are equal")


def _same(x: Any, y: Any) -> Any:
    np_ = NUMPY_TO_TRACEJIT
    equal = np_[np.equal](x, y)
    if x.aval.dtype.kind != "f":
        return equal
    return np_[np.logical_or](equal, np_[np.logical_and](np_[np.isnan](x), np_[np.isnan](y)))


def _sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    places = _order_of(a, axis, kind, order, stable)
    _leave_ties(a, places, kind, stable, signs=True)
    return a.tj_each(lambda c: c[places])


def _argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    places = _order_of(a, axis, kind, order, stable)
    _leave_ties(a, places, kind, stable)
    return places


# ---- those that make arrays


def _array(
    a: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Any:
    if type(a) is not Structured or ndmin > a.ndim or (dtype is not None and np.dtype(dtype) != a.dtype):
        raise refuse(np.array)
    judge_layout(np.array, a, order)
    made = a.tj_each(lambda c: c.copy()) if copy or a._tj_record else a
    return made if subok or made._tj_kind is np.ndarray else made.view(np.ndarray)


def judge_layout(function: Any, a: Structured, order: Any) -> None:
    """Raises UnsupportedFunctionError where an array of this order may be none in C order."""
    if a.ndim > 1 and order not in ("C", None) and not (order == "K" and _is_straight(a)):
        raise refuse(function)


def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return a.copy() if a._tj_record else _array(a, order=order, subok=subok)


def _asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, like: Any = None) -> Any:
    return _array(a, dtype, copy=bool(copy), order=order)


def _asanyarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, like: Any = None) -> Any:
    return _array(a, dtype, copy=bool(copy), order=order, subok=True)


def _like(function: Any, plain: Any) -> Callable[..., Any]:
    """`zeros_like` and its kin, of `zeros`."""

    @functools.wraps(function)
    def form(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
        judge_layout(function, a, order)
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
    if type(x) is Box:  # each number in all fields
        has_inner = any(dtype[n].base.names is not None or dtype[n].shape for n in dtype.names or ())
        if has_inner or not x.aval.is_static or x.aval.dtype.kind not in "biuf":
            raise refuse(np.array)
    elif type(x) not in (Structured, list, tuple):
        raise refuse(np.array)
    shape = x.shape if type(x) in (Structured, Box) else (len(x),) if type(x) is list else ()
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
    np.asanyarray: _asanyarray,
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
}
