"""Structured arrays as nodes of trees, whose children are the columns, and those of outside in traced code."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterable
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.errors import UnfollowedError
from tracejit.ir.values import Value
from tracejit.numpy.boxes.sharing.either import Either
from tracejit.numpy.dispatch import Adopted
from tracejit.numpy.operands import FIELDS, SUBCLASSES
from tracejit.numpy.structured.array import Foreign, Structured, boxes_of
from tracejit.numpy.structured.calls import call
from tracejit.tracing import Box, box


def enter() -> None:
    """Make nodes of structured arrays, and let NumPy's functions know them."""
    SUBCLASSES[Structured] = call
    tree.register(Structured, _parts, _together)


def _parts(x: Structured) -> tuple[Any, Any]:
    return tuple(x.tj_numbers()), (x.dtype, x._tj_kind, x._tj_record)


def _together(aux: Any, children: Iterable[Any]) -> Any:
    """The array of its columns: NumPy's own, unless a column is traced or no array at all."""
    dtype, cls, is_record = aux
    columns = list(children)
    if not all(isinstance(c, (np.ndarray, np.generic)) for c in columns):
        columns = [box(c) if isinstance(c, (Value, np.ndarray, np.generic)) else c for c in columns]
        itself = _itself(aux, columns)
        return Structured(dtype, columns, cls, is_record) if itself is None else itself
    given = [np.asarray(c) for c in columns]
    made = _view_of_one(dtype, given)
    if made is None:
        rank = given[0].ndim - len(dtype[0].shape)
        made = np.zeros(given[0].shape[:rank], dtype)
        for name, column in zip(dtype.names, given, strict=True):
            made[name] = column
    made = made.view(cls) if cls is not np.ndarray else made
    return made[()] if is_record else made


def _itself(aux: Any, columns: list[Any]) -> Structured | None:
    """The array whose columns these are; None if there is none."""
    first = next((c for c in columns if type(c) is Box), None)
    array = FIELDS[first.storage][0]() if first is not None and first.storage in FIELDS else None
    if array is None or (array.dtype, array._tj_kind, array._tj_record) != aux:
        return None
    return array if all(map(_is_same, columns, array._tj_columns.values())) else None


def _is_same(x: Any, y: Any) -> bool:
    """Whether two columns are one."""
    if type(x) is Box and type(y) is Box:
        return x.storage is y.storage and x.chain == y.chain == () and x.identity is y.identity
    return x is y


def _view_of_one(dtype: np.dtype, columns: list[np.ndarray]) -> np.ndarray | None:
    """The view of the array whose fields the columns are views of; None if there is none."""
    owner = _owner_of(columns[0])
    offsets = [dtype.fields[name][1] for name in dtype.names or ()]  # type: ignore[index]
    starts = {c.ctypes.data - offset for c, offset in zip(columns, offsets, strict=True)}
    ranks = [c.ndim - len(dtype[name].shape) for c, name in zip(columns, dtype.names or (), strict=True)]
    strides = {c.strides[:rank] for c, rank in zip(columns, ranks, strict=True)}
    if len(starts) > 1 or len(strides) > 1 or any(_owner_of(c) is not owner for c in columns):
        return None
    memory = _Memory(columns, starts.pop(), columns[0].shape[: ranks[0]], strides.pop(), dtype)
    return np.asarray(memory).view(dtype)


def _owner_of(column: np.ndarray) -> Any:
    """What the memory of an array belongs to: an array, or another object that lends its memory to arrays."""
    owner: Any = column
    while isinstance(owner, (np.ndarray, _Memory)) and (base := owner.base) is not None:
        owner = base
    return owner


class _Memory:
    """A part of an array's memory, for NumPy."""

    def __init__(
        self, columns: list[np.ndarray], start: int, shape: Any, strides: Any, dtype: np.dtype
    ) -> None:
        self.base = columns[0]  # which keeps the memory
        self.__array_interface__ = {
            "data": (start, not all(c.flags.writeable for c in columns)),
            "shape": shape,
            "strides": strides,
            "typestr": f"|V{dtype.itemsize}",
            "descr": [("", f"|V{dtype.itemsize}")],
            "version": 3,
        }


def adopted(value: Any) -> Adopted | None:
    """How the counterpart of a structured array that traced code meets is made. None for those of other classes, and
    where no field holds numbers."""
    dtype = value.dtype
    if type(value) not in (np.ndarray, np.recarray) or not _can_be_named(dtype):
        return None
    used = [n for n in dtype.names if dtypes.can_be_column(dtype[n]) or dtype[n].base.names is not None]
    if not used:
        return None

    def make(*columns: Any) -> Structured:
        known = dict(zip(used, columns, strict=False))
        held = [known[n] if n in known else Foreign(n) for n in dtype.names]
        return Structured(dtype, held, type(value), is_new=False)

    return Adopted(tuple(used), ("dtype", "dtype.names"), make)  # a dtype's names can be set


def _can_be_named(dtype: np.dtype) -> bool:
    """Whether paths lead to the fields: no name is one of several."""
    return not any("." in n or n == "dtype" or not n for n in dtype.names or ())


# ---- those that the run has made, in results


def is_structured(x: Any) -> bool:
    """Whether it is a structured array of traced code."""
    return type(x) is Structured


def is_new(x: Any, outside: Container[int]) -> bool:
    """Whether a part of a result is a structured array, or a column of one, that the run has made. `outside`: the
    storages of other arrays, by identity."""
    boxes = boxes_of(x) if type(x) is Structured else [x] if type(x) is Box else []
    return any(b.storage in FIELDS and id(b.storage) not in outside for b in boxes)


def whole(
    x: Structured, outside: Container[int], around: Structured | None = None
) -> tuple[Callable[..., Any], list[Box]]:
    """The function that makes a structured array of its columns, and these, those of fields in fields as well.
    `around`: the array of which it is a field.

    Raises UnfollowedError for a part of an array that the run has made, which it would not share memory with."""
    columns = x.tj_numbers()
    for c in columns:
        if type(c) is not Box or id(c.storage) in outside or c.storage not in FIELDS:
            continue
        judge_choice(c)
        owner, name, dtype = FIELDS[c.storage]
        if owner() is None and not c.chain:  # a view of all of it, which is the array now
            owner = weakref.ref(x)
            FIELDS[c.storage] = owner, name, dtype
        lonely = (x._tj_around and x._tj_around()) is around
        if not lonely or owner() is not (None if c.chain else x) or (c.chain and not x._tj_record):
            raise unfollowed()
    parts = [whole(c, outside, x) if type(c) is Structured else None for c in columns]
    boxes = [[c] if p is None else p[1] for c, p in zip(columns, parts, strict=True)]
    aux = _parts(x)[1]

    def make(*values: Any) -> Any:
        given = iter(values)
        taken = [[next(given) for _ in b] for b in boxes]
        return _together(aux, [v[0] if p is None else p[0](*v) for v, p in zip(taken, parts, strict=True)])

    return make, [b for group in boxes for b in group]


def settled(x: Any, of: Callable[[Any], Any], value_of: Callable[[Any], Any]) -> Any:
    """What a structured array, or a column of one, is for the user when an eager run is over. `of` gives what other
    objects are, `value_of` the value of a box.

    Raises UnfollowedError for a part of an array that the run has made, which it would not share memory with."""
    if type(x) is Structured:
        make, boxes = whole(x, ())
        return make(*map(value_of, boxes))
    array, name, dtype = FIELDS[x.storage]
    owner = array()
    if x.chain:
        raise unfollowed()
    if owner is not None:
        return of(owner)[name]
    value = value_of(x)
    return in_gaps(dtype, name, value) if isinstance(value, np.ndarray) else value


def in_gaps(dtype: np.dtype, name: str, column: Any) -> np.ndarray:
    """The column as a field of an array of which nothing else is known."""
    rank = np.ndim(column) - len(dtype[name].shape)
    made = np.zeros(np.shape(column)[:rank], dtype)
    made[name] = column
    return made[name]


def judge_choice(column: Box) -> None:
    """Raises UnfollowedError for a column that a condition chooses among others, which share memory with it."""
    if isinstance(column.storage, Either) and column.storage.alive():
        raise UnfollowedError(what="a structured array", reason="a condition decides which of several it is")


def unfollowed() -> UnfollowedError:
    """That a result would share no memory with another one."""
    reason = "it is a part of one that is made anew at each call"
    return UnfollowedError(what="a structured array", reason=reason)
