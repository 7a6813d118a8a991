"""`Buffer`: what stands for a list or deque whose length only the program knows, with what lists and deques do."""

from __future__ import annotations

import collections
import functools
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from tracejit import ops
from tracejit.frontend import active
from tracejit.frontend.lists.columns import Columns, Number, raw_of, user
from tracejit.frontend.lists.items import Items
from tracejit.frontend.lists.joins import compare, extend, grow
from tracejit.frontend.lists.options import Options, any_common
from tracejit.frontend.lists.stacked import column
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.boxes.unsure import is_unsure
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.operands import SEQUENCES
from tracejit.ops.indexing.index_check import Raising, check_index
from tracejit.tracing import Box, box, new_array

#: Classes of lists that can be buffers.
CLASSES = (list, collections.deque)
_I64 = np.dtype(np.int64)
_NUMBERS = (Box, bool, int, float, complex, np.generic)


class Buffer(Columns):
    """The stand-in of a list or deque."""

    __slots__ = ()

    @classmethod
    def of(cls, xs: Any, items: Items | Options, room: int) -> Any:
        """As of `Columns`."""
        made = super().of(xs, items, room)
        session = active.session()
        numbers = session.choices.tuples.columns(items, xs) if session is not None and items.is_tuple else ()
        made.tj_numbers = [column([*map(box, c)], _I64, made.tj_room) for c in numbers]
        for x in xs if items.is_tuple else ():
            made.tj_get(x)
        return made

    # -- what lists do

    def append(self, x: Any, /) -> None:
        """As of a list."""
        k = self.tj_next()
        self.tj_get(x)
        self.tj_put(k, x)
        self.tj_let_be(extents.add(k, 1))

    def extend(self, xs: Any, /) -> None:
        """As of a list."""
        if type(xs) is Buffer and type(xs.tj_number()) is not int:
            extend(self, xs)
            return
        for x in list(xs):
            self.append(x)

    def __iadd__(self, xs: Any) -> Buffer:
        self.extend(xs)
        return self

    def __add__(self, xs: Any) -> Buffer:
        return self._sum(self, xs)

    def __radd__(self, xs: Any) -> Buffer:
        return self._sum(xs, self)

    def _sum(self, a: Any, b: Any) -> Buffer:
        """A list of the items of two lists."""
        self._only_list("+")
        for x, other in ((a, b), (b, a)):
            if type(x) is not list and (type(x) is not Buffer or x.tj_ring):
                raise TypeError(f'can only concatenate list (not "{type(x).__name__}") to list')
            if type(x) is list and not x:
                return other.copy()
        first, second = (x if type(x) is Buffer else self._like(x) for x in (a, b))
        made = first.tj_part(0, first.tj_number())
        grow(made, second.tj_room)
        extend(made, second)
        return made

    def __mul__(self, times: Any) -> Any:
        if type(times) is not int or times < 1:
            raise self.tj_refusal("`*` with another number than a known one from 1 on")
        return functools.reduce(self._sum, [self] * (times - 1), self.copy())

    __rmul__ = __mul__

    def _compared(self, other: Any, how: str) -> Any:
        if type(other) is list and not other:
            other = self.tj_part(0, 0)
        other = self._like(other) if type(other) is list else other
        return compare(self, other, how) if type(other) is Buffer else NotImplemented

    def _like(self, xs: list[Any]) -> Buffer:
        """A buffer of the items of a list. Raises BufferedListError."""
        items = any_common(xs)
        if items is None:
            raise self.tj_refusal("an item of another type")
        return Buffer.of(xs, items, 1)

    def pop(self, *at: Any) -> Any:
        """As of a list."""
        self.tj_check_free()
        if at and not (len(at) == 1 and type(at[0]) is int and at[0] == -1 and not self.tj_ring):
            return self._taken(*at)
        k = self.tj_last(f"pop from {'an ' if self.tj_ring else ''}empty {self.tj_class.__name__}")
        found = self.tj_item(k)
        self.tj_let_be(k)
        return found

    def _taken(self, at: Any) -> Any:
        """`pop` of the item `at`; those after it move up."""
        self._only_list("pop")
        k = self._position(at, "pop ")
        found = self.tj_item(k)
        rows = self.tj_rows()
        self.tj_rearrange(
            ops.arithmetic.add(rows, ops.create.convert(ops.compare.ge(rows, self.tj_all(k)), _I64))
        )
        self.tj_let_be(extents.sub(self.tj_number(), 1))
        return found

    def insert(self, at: Any, x: Any, /) -> None:
        """As of a list: the items from there on move down."""
        self._only_list("insert")
        k, n = self._clamped(at), self.tj_next()
        rows = self.tj_rows()
        self.tj_rearrange(
            ops.arithmetic.sub(rows, ops.create.convert(ops.compare.gt(rows, self.tj_all(k)), _I64))
        )
        self.tj_get(x)
        self.tj_put(k, x)
        self.tj_let_be(extents.add(n, 1))

    def copy(self) -> Buffer:
        """As of a list."""
        self._only_list("copy")
        return self.tj_part(0, self.tj_number())

    def reverse(self) -> None:
        """As of a list."""
        self.tj_check_free()
        self._only_list("reverse")
        last = self.tj_all(extents.sub(self.tj_number(), 1))
        self.tj_rearrange(ops.arithmetic.sub(last, self.tj_rows()))

    def _slice(self, s: slice) -> Buffer:
        if s.step is None or (type(s.step) is int and s.step == 1):
            first = 0 if s.start is None else self._clamped(s.start)
            last = self.tj_number() if s.stop is None else self._clamped(s.stop)
            return self.tj_part(first, extents.maximum(extents.sub(last, first), 0))
        if s.start is None and s.stop is None and type(s.step) is int and s.step == -1:
            made = self.copy()
            made.reverse()
            return made
        raise self.tj_refusal("a slice with steps")

    def tj_part(self, first: Number, count: Number) -> Buffer:
        """A list of some of the items."""
        made = self._copy(first, count)
        for part in (self, made):
            part.tj_share()
        return made

    def _copy(self, first: Number, count: Number) -> Buffer:
        python = [p if isinstance(p, bool) else new_array(p.read()) for p in self.tj_python]
        columns = [new_array(c.read()) for c in self.tj_columns]
        made = Buffer(list, self.tj_items, columns, python, user(count))
        made.tj_first, made.tj_shares = self.tj_first, self.tj_shares
        made.tj_tuples, made.tj_numbers = self.tj_tuples, [new_array(c.read()) for c in self.tj_numbers]
        if self.tj_ring or type(first) is not int or first:
            made.tj_rearrange(ops.arithmetic.add(self.tj_rows(), self.tj_all(first)))
        return made

    def _clamped(self, at: Any) -> Number:
        """A position as slices take it: from the end if it is negative, and no further than the ends."""
        if not _is_integer(at):
            raise self.tj_refusal("a position that is no integer")
        k, n = extents.number(at), self.tj_number()
        if type(k) is int and k >= 0:
            return extents.minimum(n, k)
        if type(k) is int:
            return extents.maximum(extents.add(n, k), 0)
        wrapped = ops.compare.select(ops.compare.lt(k, np.int64(0)), raw_of(extents.add(k, n)), k)
        return extents.minimum(extents.maximum(wrapped, 0), n)

    def tj_array(self) -> Box:
        """The array that NumPy makes of it."""
        kinds, n = self.tj_items.kinds, self.tj_number()
        if any(k.dtype != kinds[0].dtype for k in kinds) or (
            self.tj_items.has_arrays and not self.tj_items.tree.is_leaf()
        ):
            raise self.tj_refusal("an array of tuples of several types")
        if kinds[0].dtype != np.float64 or not self.tj_items.tree.is_leaf() or kinds[0].shape:
            leave_if(ops.compare.eq(raw_of(n), np.int64(0)), "the array of a list without items")
        columns = [self.tj_values(k) for k in range(len(kinds))]
        if self.tj_items.tree.is_leaf():
            return new_array(columns[0].read())
        return NUMPY_TO_TRACEJIT[np.stack](columns, axis=1)

    def tj_values(self, k: int) -> Box:
        """The numbers that items have in column `k`."""
        n = self.tj_number()
        whole = self._copy(0, n) if self.tj_ring else self
        column, arena = whole.tj_columns[k][: user(n)], self.tj_arenas[k]
        return column if arena is None else box(arena.all_of(column.read()))

    def tj_equal(self, x: Any) -> Any:
        """Which items are `x`. A NaN equals itself in a list, if it is the same object."""
        if (
            not self.tj_items.tree.is_leaf()
            or self.tj_items.has_arrays
            or not isinstance(x, _NUMBERS)
            or (type(x) is Box and x.aval.shape)
        ):
            raise self.tj_refusal("a comparison with items of several numbers")
        same = NUMPY_TO_TRACEJIT[np.isnan](x)
        leave_if(same.read() if type(same) is Box else same, "a comparison with NaN")
        return self.tj_values(0) == x

    def index(self, x: Any, /) -> Any:
        """As of a list."""
        found = self.tj_equal(x)
        some = NUMPY_TO_TRACEJIT[np.any](found).read()
        leave_if(ops.compare.not_(some), "an item that is not in the list")
        return box(NUMPY_TO_TRACEJIT[np.argmax](found).read(), weak=True)

    def count(self, x: Any, /) -> Any:
        """As of a list."""
        return box(NUMPY_TO_TRACEJIT[np.count_nonzero](self.tj_equal(x)).read(), weak=True)

    def remove(self, x: Any, /) -> None:
        """As of a list."""
        self.pop(self.index(x))

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        """As of a list."""
        self._only_list("sort")
        self.tj_check_free()
        self.tj_refill(self.tj_ordered(key, reverse).tj_raws())

    def tj_ordered(self, by: Any, backwards: Any) -> Buffer:
        """A sorted list of the items, of which equal ones keep their order. `by`: a list of their keys, or None."""
        by = self if by is None else by
        kinds, n = by.tj_items.kinds if type(by) is Buffer else (), self.tj_number()
        if not kinds or any(k.shape or k.dtype.kind == "c" for k in kinds) or type(backwards) is not bool:
            raise self.tj_refusal("sorting by other things than numbers")
        columns = [by.tj_values(k) for k in range(len(kinds))]
        for c in columns:
            nan = NUMPY_TO_TRACEJIT[np.any](NUMPY_TO_TRACEJIT[np.isnan](c))
            leave_if(nan.read(), "the order of NaN and other numbers")
        rows = NUMPY_TO_TRACEJIT[np.zeros](self.tj_room, np.int64)
        rows[: user(n)] = ordered(columns, backwards)
        made = self.tj_part(0, n)
        made.tj_rearrange(rows.read())
        return made

    def clear(self) -> None:
        """As of a list."""
        self.tj_check_free()
        self.tj_forget_head()
        self.tj_first = self.tj_length = 0

    def _position(self, i: Any, what: str) -> Number:
        """A position that the user gives. Raises IndexError."""
        if not _is_integer(i):
            raise self.tj_refusal("an index that is no integer")
        message = (
            f"{self.tj_class.__name__} {what}index out of range"
            if not self.tj_ring
            else "deque index out of range"
        )
        k, n = extents.number(i), self.tj_number()
        if type(k) is int and type(n) is int:
            if not -n <= k < n:
                raise IndexError(message)
            return k % n
        return check_index(raw_of(k), size=n, axis=0, failure=Raising(IndexError, message))

    def __getitem__(self, i: Any) -> Any:
        if type(i) is slice and not self.tj_ring:
            return self._slice(i)
        return self.tj_shown(self._position(i, ""))

    def __setitem__(self, i: Any, x: Any) -> None:
        self.tj_forget_head()
        self.tj_get(x)
        self.tj_put(self._position(i, "assignment "), x)

    # -- what deques do

    def appendleft(self, x: Any, /) -> None:
        """As of a deque."""
        self._only_ring("appendleft")
        self.tj_forget_head()
        k = self.tj_next()
        self.tj_first = user(self._turned(extents.sub(extents.number(self.tj_first), 1)))
        self.tj_get(x)
        self.tj_put(0, x)
        self.tj_let_be(extents.add(k, 1))

    def popleft(self) -> Any:
        """As of a deque: the first item."""
        self._only_ring("popleft")
        self.tj_check_free()
        k = self.tj_last("pop from an empty deque")
        found = self.tj_item(0)
        self.tj_first = user(self._turned(extents.add(extents.number(self.tj_first), 1)))
        self.tj_let_be(k)
        return found

    def _only_list(self, name: str) -> None:
        if self.tj_ring:
            raise self.tj_refusal(f"`{name}` of a deque")

    def _only_ring(self, name: str) -> None:
        if not self.tj_ring:
            raise AttributeError(f"'list' object has no attribute {name!r}")

    # -- what Python asks

    def __iter__(self) -> Iterator[Any]:
        n = self.tj_number()
        if type(n) is not int:
            raise self.tj_refusal("all of its items, one after the other")
        return (self.tj_shown(k) for k in range(n))

    def __getattr__(self, name: str) -> Any:
        if hasattr(self.tj_class, name):
            raise self.tj_refusal(f"`{name}`")
        raise AttributeError(f"{self.tj_class.__name__!r} object has no attribute {name!r}")

    __hash__ = None  # type: ignore[assignment]


def _refuses(name: str) -> Any:
    def method(self: Buffer, *_: Any, **__: Any) -> NoReturn:
        raise self.tj_refusal(f"`{name}`")

    return method


def _compares(how: str) -> Any:
    return lambda self, other: self._compared(other, how)


for _name in (
    *("len", "contains", "reversed", "delitem", "repr", "str", "format", "imul", "reduce_ex", "copy"),
    *("deepcopy", "dir", "array", "index"),
):
    setattr(Buffer, f"__{_name}__", _refuses(f"__{_name}__"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Buffer, f"__{_name}__", _compares(_name))


def ordered(columns: list[Any], backwards: bool) -> Any:
    """The order of rows of numbers, as an array of positions. Equal ones keep their order, backwards too."""
    columns = [c[::-1] for c in columns] if backwards else columns
    one, several = NUMPY_TO_TRACEJIT[np.argsort], NUMPY_TO_TRACEJIT[np.lexsort]
    order = one(columns[0], kind="stable") if len(columns) == 1 else several(columns[::-1])
    return (columns[0].shape[0] - 1) - order[::-1] if backwards else order


def example(x: Any) -> Any:
    """For what stands for a list, dict or set of traced length another one, anything else as it is."""
    if not isinstance(x, Columns):
        return x
    return x.tj_class() if x.tj_seen_of is None else getattr(x.tj_seen_of[0].tj_class(), x.tj_seen_of[1])()


def _is_integer(x: Any) -> bool:
    """Whether `x` is a position in a list."""
    if type(x) is not Box:
        return type(x) is int
    return not is_unsure(x) and not x.aval.shape and x.aval.dtype.kind in "iu"


SEQUENCES[Buffer] = Buffer.tj_array
