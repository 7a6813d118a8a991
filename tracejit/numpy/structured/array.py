"""A structured array as user code sees it while something is traced: its columns, by the names of its fields.

Columns are boxes, structured arrays of fields that have fields themselves, or `Foreign` where they hold no numbers. The
object never changes: what is written goes into the columns, so that views and copies are those of the columns. One
element, which `a[n]` gives, is a view as in NumPy; its columns are arrays without dimensions of the array's own.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import RefusedFunctionError, UnsupportedFunctionError
from tracejit.numpy.boxes.indexing import view_of_all
from tracejit.numpy.boxes.memory import fields_overlap, layout_of_field
from tracejit.numpy.boxes.sharing.either import Either
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, plain
from tracejit.numpy.operands import FIELDS
from tracejit.numpy.structured.places import OF_NUMBERS, are_names, is_integer
from tracejit.tracing import Box, new_array


class Foreign:
    """A column that holds no numbers: strings, objects, numbers in another order of bytes."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Structured:
    """A structured array, or one element of it (`is_record`). `cls`: NumPy's class of it; `is_new`: it is none of
    outside."""

    __slots__ = ("__weakref__", "_tj_around", "_tj_columns", "_tj_dtype", "_tj_kind", "_tj_record")
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1.0

    def __init__(
        self,
        dtype: np.dtype,
        columns: Sequence[Any],
        cls: type = np.ndarray,
        is_record: bool = False,
        is_new: bool = True,
    ) -> None:
        assert dtype.names is not None
        if is_new and fields_overlap(dtype):
            raise UnsupportedFunctionError(name="a new structured array of fields that share memory")
        store = object.__setattr__
        store(self, "_tj_dtype", dtype)
        store(self, "_tj_columns", dict(zip(dtype.names, columns, strict=True)))
        store(self, "_tj_kind", cls)
        store(self, "_tj_record", is_record)
        store(self, "_tj_around", None)  # the array of which it is a field, weakly
        for name, column in self._tj_columns.items():
            if type(column) is Box and not column.chain:
                self._hold(name, column, is_new)
            elif type(column) is Structured and column._tj_around is None:
                store(column, "_tj_around", weakref.ref(self))

    def _hold(self, name: str, column: Box, is_new: bool) -> None:
        """Be the array of a column, if it has none: a new one lies in memory as a field of this array does."""
        known = FIELDS.get(column.storage)
        if known is not None and (known[0]() is not None or is_new):
            return
        FIELDS[column.storage] = weakref.ref(self), name, self._tj_dtype
        if is_new:
            column.storage.layout = layout_of_field(self._tj_dtype, name, column.aval.shape)

    # ---- what it is

    dtype = property(lambda self: self._tj_dtype)
    ndim = property(lambda self: len(self.shape))
    itemsize = property(lambda self: self._tj_dtype.itemsize)
    nbytes = property(lambda self: self.size * self._tj_dtype.itemsize)
    T = property(lambda self: self.transpose())

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its shape: that of a column, without the dimensions of the field itself."""
        name, column = self.tj_some_column()
        own = self._tj_dtype[name].shape
        return (*list(column.shape)[: len(column.shape) - len(own)],)

    @property
    def size(self) -> Any:
        """How many elements it has."""
        return math.prod(self.shape)

    def tj_some_column(self) -> tuple[str, Any]:
        """The name of a field with numbers, and its column."""
        found = next(((n, c) for n, c in self._tj_columns.items() if type(c) is not Foreign), None)
        if found is None:
            raise UnsupportedFunctionError(name="a structured array without fields of numbers")
        return found

    def tj_example(self) -> Any:
        """An array like this without tracing, for whoever asks of which class it is."""
        sizes = [d if type(d) is int else 1 for d in self.shape]
        plain = np.zeros(sizes, self._tj_dtype).view(self._tj_kind)
        return plain[()] if self._tj_record else plain

    def tj_parts(self) -> list[tuple[tuple[bool, Any], Any]]:
        """The columns, with the steps to them."""
        return [((False, name), column) for name, column in self._tj_columns.items()]

    def tj_is_chosen(self) -> bool:
        """Whether a condition decides which of several arrays it is."""
        return any(isinstance(b.storage, Either) for b in boxes_of(self))

    def tj_rows(self) -> Box | None:
        """An array of as many rows; None if it has no rows."""
        column = None if self._tj_record or not self.ndim else self.tj_some_column()[1]
        return column.tj_rows() if type(column) is Structured else column

    def __len__(self) -> int:
        return len(self._tj_columns) if self._tj_record else len(self.tj_some_column()[1])

    def __bool__(self) -> bool:
        raise UnsupportedFunctionError(name="the truth value of a structured array")

    # ---- elements and fields

    def tj_column(self, name: Any) -> Any:
        """The column of a field itself."""
        if name not in self._tj_columns:
            fields: Any = self._tj_dtype.fields
            if name not in fields:
                raise ValueError(f"no field of name {name}")
            name = next((n for n in self._tj_columns if fields.get(n) == fields[name]), None)
            if name is None:
                raise UnsupportedFunctionError(name="a field of a structured array that was renamed")
        column = self._tj_columns[name]
        if type(column) is Foreign:
            raise UnsupportedFunctionError(name=f"the field {name!r} of a structured array, without numbers,")
        return column

    def tj_numbers(self) -> list[Any]:
        """All columns. Raises UnsupportedFunctionError if one has no numbers."""
        return [self.tj_column(name) for name in self._tj_columns]

    def tj_each(self, function: Callable[[Any], Any], is_record: bool = False, cls: Any = None) -> Structured:
        """The array whose columns `function` gives of these."""
        columns = [function(c) for c in self.tj_numbers()]
        return Structured(self._tj_dtype, columns, cls or self._tj_kind, is_record)

    def __getitem__(self, index: Any) -> Any:
        if type(index) is str:
            return self._field(index)
        if are_names(index):
            return self._fields(index)
        if self._tj_record and type(index) is int:
            return self._field(self._names[index])
        if self._tj_record:
            raise UnsupportedFunctionError(name=f"the index {index!r} of an element of a structured array")
        is_one, places = self._places(index)
        columns = [c[p] for c, p in zip(self.tj_numbers(), places, strict=True)]
        return Structured(self._tj_dtype, columns, self._tj_kind, is_one)

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(index) is str:
            put(self.tj_column(index), value)
        elif are_names(index):
            put(self._fields(index), value)
        elif self._tj_record and type(index) is int:
            put(self.tj_column(self._names[index]), value)
        else:
            places = [...] * len(self._tj_columns) if self._tj_record else self._places(index)[1]
            for column, place, x in zip(self.tj_numbers(), places, parts_of(self, value), strict=True):
                column[place] = x

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self._tj_columns)

    def _field(self, name: str) -> Any:
        """The array of a field, which is a view; of one element the number."""
        column = self.tj_column(name)
        if type(column) is Structured:
            return column
        return column[()] if self._tj_record and not column.aval.shape else view_of_all(column)

    def _fields(self, names: list[str]) -> Structured:
        """A view of some of the fields, in this order."""
        for name in names:
            if name not in self._tj_columns and name in (self._tj_dtype.fields or ()):
                raise UnsupportedFunctionError(name="a field of a structured array by its title, in a list,")
            if name not in self._tj_columns:
                raise KeyError(name)
        dtype: Any = self._tj_dtype[names]
        return Structured(dtype, [_view(self._tj_columns[n]) for n in names], self._tj_kind, self._tj_record)

    def _places(self, index: Any) -> tuple[bool, list[Any]]:
        """Whether the index is that of one element, and the index of each column, of which the dimensions that belong
        to the field stay."""
        places = index if type(index) is tuple else (index,)
        if len(places) == self.ndim and all(map(is_integer, places)):
            one = (*places, ...)
            return True, [places if type(c) is Structured else one for c in self._tj_columns.values()]
        has_rest = any(p is Ellipsis for p in places)
        ranks = [len(self._tj_dtype[n].shape) if has_rest else 0 for n in self._tj_columns]
        return False, [(*places, *[slice(None)] * rank) if rank else index for rank in ranks]

    def __iter__(self) -> Iterator[Any]:
        if self._tj_record:
            return iter([self._field(n) for n in self._tj_columns])
        return iter([self[n] for n in range(len(self))])

    def __getattr__(self, name: str) -> Any:
        own = object.__getattribute__(self, "_tj_kind")
        known = np.void if self._tj_record else own
        if own is not np.ndarray and name in self._tj_columns and not hasattr(known, name):
            return self._field(name)
        if name[:2] == "__" or name[:3] == "tj_" or name[:4] == "_tj_" or not hasattr(known, name):
            raise AttributeError(f"{known.__name__!r} object has no attribute {name!r}", name=name, obj=self)
        if name in OF_NUMBERS and not self._tj_record:
            method = getattr(self.tj_example(), name)  # which says that there is none of such elements
            return lambda *args, **kwargs: plain(method, args, kwargs)
        raise UnsupportedFunctionError(name=f"ndarray.{name} of a structured array")

    def __setattr__(self, name: str, value: Any) -> None:
        if self._tj_kind is np.ndarray or name not in self._tj_columns or hasattr(np.recarray, name):
            raise UnsupportedFunctionError(name=f"the attribute {name!r} of a structured array, set,")
        put(self.tj_column(name), value)

    # ---- methods

    def __copy__(self, memo: Any = None) -> Structured:
        return self.copy()

    __deepcopy__ = __copy__

    def copy(self, order: str = "C") -> Structured:
        """A new array with the same elements."""
        if order != "C" and self.ndim > 1:
            raise UnsupportedFunctionError(name="ndarray.copy of a structured array, in another order,")
        return self.tj_each(lambda c: c.copy(), self._tj_record)

    def view(self, dtype: Any = None, type: Any = None) -> Structured:
        """The same memory, as an array of records perhaps (`np.recarray`)."""
        cls = dtype if type is None else type
        plain = cls is None or getattr(cls, "_tj_class", cls) is np.ndarray
        if self._tj_record or (dtype is not None and type is not None) or not (plain or cls is np.recarray):
            raise UnsupportedFunctionError(name="ndarray.view of a structured array as another dtype")
        kind = self._tj_kind if cls is None else np.ndarray if plain else cls
        return Structured(
            self.tj_example().view(kind).dtype, [_view(c) for c in self._tj_columns.values()], kind
        )

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        """Sorts in place, by the fields in `order` first."""
        put(self, NUMPY_TO_TRACEJIT[np.sort](self, axis, kind, order, stable=stable))

    def transpose(self, *axes: Any) -> Any:
        """Another order of the dimensions."""
        return NUMPY_TO_TRACEJIT[np.transpose](self, axes[0] if len(axes) == 1 else axes or None)

    def reshape(self, *shape: Any) -> Any:
        """Another shape."""
        return NUMPY_TO_TRACEJIT[np.reshape](self, shape[0] if len(shape) == 1 else shape)

    def flatten(self) -> Any:
        """A copy of one dimension."""
        return NUMPY_TO_TRACEJIT[np.ravel](self.copy())

    def item(self, *args: Any) -> tuple[Any, ...]:
        """One element as a tuple of Python's numbers."""
        place = args[0] if len(args) == 1 and type(args[0]) is tuple else args
        one = self[place] if place and len(place) == self.ndim else self
        if type(one) is not Structured or one.ndim or (place and one is self):
            raise UnsupportedFunctionError(name="ndarray.item of a structured array of several elements")
        return tuple([c.item() if c.ndim == 0 else c for c in _without_arrays(one)])

    def tolist(self) -> Any:
        """The elements as tuples of Python's numbers, in lists."""
        return self.item() if not self.ndim else [x.tolist() for x in self]

    def __eq__(self, other: object) -> Any:
        return _equal(self, other)

    def __ne__(self, other: object) -> Any:
        return NUMPY_TO_TRACEJIT[np.logical_not](_equal(self, other))

    def _tj_refuse(self, *_: Any, **__: Any) -> Any:
        reason = "its memory or its text is needed, and it has none while it is traced"
        raise RefusedFunctionError(name="a structured array", reason=reason, remedy="use its fields")

    __repr__ = __str__ = __format__ = __array__ = __reduce_ex__ = _tj_refuse


def _equal(a: Structured, b: Any) -> Any:
    """Which elements are equal in all fields."""
    plain = type(b) is Structured and a._tj_kind is b._tj_kind is np.ndarray and a._tj_dtype == b._tj_dtype
    if not plain or any(a._tj_dtype[n].shape for n in a._names):
        raise UnsupportedFunctionError(name="== of a structured array and something of another dtype")
    equal, both = NUMPY_TO_TRACEJIT[np.equal], NUMPY_TO_TRACEJIT[np.logical_and]
    columns = zip(a.tj_numbers(), b.tj_numbers(), strict=True)
    return functools.reduce(both, [x == y if type(x) is Structured else equal(x, y) for x, y in columns])


def _view(column: Any) -> Any:
    """All of a column, which is another array."""
    return view_of_all(column) if type(column) is Box else column


def _without_arrays(one: Structured) -> list[Any]:
    """The columns of an element that has numbers only. Raises UnsupportedFunctionError for others."""
    columns = one.tj_numbers()
    if any(type(c) is Structured or c.aval.shape for c in columns):
        raise UnsupportedFunctionError(name="ndarray.item of a structured array with fields of arrays")
    return columns


def _method(function: Any) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return NUMPY_TO_TRACEJIT[function](self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"`np.{function.__name__}` of this array."
    return method


for _function in (np.argsort, np.take, np.ravel, np.repeat, np.squeeze, np.swapaxes):
    setattr(Structured, _function.__name__, _method(_function))


# ---- what is written


def put(column: Any, value: Any) -> None:
    """Write a value into a column, or into all columns of an array."""
    if type(column) is Structured:
        for c, x in zip(column.tj_numbers(), parts_of(column, value), strict=True):
            put(c, x)
    elif type(value) is Structured:
        raise UnsupportedFunctionError(name="a structured array, written into a field of numbers,")
    elif not (type(value) is Box and value.storage is column.storage and value.chain == column.chain):
        column[...] = value  # otherwise it is there: `a["x"] += 1` stores what it has written


def parts_of(target: Structured, value: Any) -> list[Any]:
    """What is written into each column of `target` where `value` is written into it or into a part of it."""
    columns = target.tj_numbers()
    if isinstance(value, (np.ndarray, np.void)) and value.dtype.names is not None:
        value = of_array(value)
    if type(value) is Structured:
        parts = value.tj_numbers()
        if len(parts) != len(columns):
            raise UnsupportedFunctionError(name="a structured array with another number of fields, written,")
        shared = {id(c.storage) for c in boxes_of(target)}
        if any(id(c.storage) in shared for c in boxes_of(value)):
            parts = [c.copy() for c in parts]
        return parts
    if type(value) is tuple:
        if len(value) != len(columns):
            raise ValueError(
                f"could not assign tuple of length {len(value)} to structure with {len(columns)} fields."
            )
        return list(value)
    if type(value) is list:
        rows = [parts_of(target, x) for x in value]
        if all(type(x) is tuple or (type(x) is Structured and x._tj_record) for x in value):
            return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in columns]
        raise UnsupportedFunctionError(name="a list that is none of tuples, written into a structured array,")
    if np.ndim(value) and any(
        type(c) is Structured or target.dtype[n].shape for n, c in target._tj_columns.items()
    ):
        raise UnsupportedFunctionError(name="an array without fields, written into a structured array,")
    return [value] * len(columns)


def boxes_of(x: Structured) -> list[Box]:
    """The boxes of all fields, also of those in fields."""
    found = []
    for column in x._tj_columns.values():
        found += boxes_of(column) if type(column) is Structured else [column] if type(column) is Box else []
    return found


def of_array(x: Any) -> Structured:
    """A new array with the elements of one of NumPy's."""
    columns: list[Any] = []
    for name in x.dtype.names:
        field = x.dtype[name]
        if field.base.names is not None:
            columns.append(of_array(x[name]))
        else:
            columns.append(new_array(np.array(x[name])[()]) if dtypes.can_be_column(field) else Foreign(name))
    cls = type(x) if isinstance(x, np.recarray) else np.ndarray
    return Structured(x.dtype, columns, cls, isinstance(x, np.void))
