"""Lists of outside to which a function appends: a history, which another call finds longer.

Traced code gets a stand-in that knows the new items only. The length and the items that were there before are read
when they are asked for, as inputs of the program. What needs the whole list is refused, and the function is traced
again with a copy of it (`containers`).
"""

from __future__ import annotations

import collections
import collections.abc
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from tracejit import ops
from tracejit.errors import UnfollowedError
from tracejit.frontend.lists import picked
from tracejit.frontend.lists.columns import user
from tracejit.frontend.lists.items import common
from tracejit.frontend.origins import StandsFor
from tracejit.frontend.paths import Node
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.numbers import leave_if

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

#: Classes of containers that may grow.
CLASSES = (list, collections.deque)


class Short(NamedTuple):
    """Lists at a place that have less than `depth` items."""

    place: tuple[Any, ...]
    depth: int


class Grows(NamedTuple):
    """The place of a list of which another trace need not know more than what is appended to it."""

    place: tuple[Any, ...]


class Growing(StandsFor):
    """The stand-in of the list or deque `tj_real` at `tj_node`, to which `tj_new` was appended."""

    __slots__ = ("tj_length", "tj_new", "tj_node", "tj_old", "tj_real", "tj_session")

    def __init__(self, session: Run, node: Node, real: Any) -> None:
        self.tj_session, self.tj_node, self.tj_real = session, node, real
        self.tj_new: Any = []  # a list, or a buffer where only the program knows how many there are
        self.tj_old: dict[int, Any] = {}  # items of before that were read
        self.tj_length: Any = None

    @property
    def tj_kind(self) -> type:
        return type(self.tj_real)

    def tj_refusal(self, depth: int | None = None) -> UnfollowedError:
        """That all of the list is needed, at `places`; if `depth` is given, only of lists that have fewer items."""
        error = UnfollowedError(what=str(self.tj_node), reason="more of it is used than its last items")
        place = self.tj_node.place()
        error.places = (place if depth is None else Short(place, depth),)
        return error

    def append(self, x: Any, /) -> None:
        """As of a list."""
        self.tj_new.append(x)

    def extend(self, xs: Any, /) -> None:
        """As of a list."""
        self.tj_new.extend(list(xs))

    def __iadd__(self, xs: Any) -> Growing:
        self.extend(xs)
        return self

    def _few(self) -> list[Any]:
        """The new items, of which there is a known number. Raises UnfollowedError."""
        if type(self.tj_new) is not list:
            raise self.tj_refusal()
        return self.tj_new

    def pop(self, *at: Any) -> Any:
        """As of a list: an item that was appended in this run."""
        if at or not self._few() or self.tj_most is not None:
            raise self.tj_refusal()
        return self.tj_new.pop()

    @property
    def tj_most(self) -> int | None:
        """How many items it can have."""
        return getattr(self.tj_real, "maxlen", None)

    def tj_count(self) -> Any:
        """`len`, which may be traced."""
        if self.tj_most is not None:
            raise self.tj_refusal()
        if self.tj_length is None:
            self.tj_length = self.tj_session.wrap(self.tj_node.applied(len), len(self.tj_real))
        if type(self.tj_new) is not list:
            return self.tj_length + self.tj_new.tj_count()
        return self.tj_length + len(self.tj_new) if self.tj_new else self.tj_length

    def __getitem__(self, i: Any) -> Any:
        if type(i) is int:
            return self._item(i)
        is_end = type(i) is slice and type(i.start) is int and i.stop is None and i.step is None
        if not is_end or i.start >= 0 or type(self.tj_real) is not list:
            raise self.tj_refusal()
        if type(self.tj_new) is list and len(self.tj_real) + len(self.tj_new) < -i.start:
            self._let_be_a_buffer()
            raise self.tj_refusal(depth=-i.start - len(self.tj_new))
        return [self._item(n) for n in range(i.start, 0)]

    def _last(self, depth: int) -> Any:
        """Item `-depth` where only the program knows how many are new: one of these, or one of before."""
        new, size = self.tj_new, len(self.tj_real)
        if new.tj_items.has_arrays or self.tj_most is not None:
            raise self.tj_refusal()
        n = new.tj_number()
        if size < depth:  # a longer list has more items to choose among
            self.tj_session.check(self.tj_node.applied(len), "value", size)
        old = [self._old(-k) for k in range(min(depth, size), 0, -1)]
        newest = new.tj_item(extents.maximum(extents.sub(n, depth), 0))
        at = extents.sub(extents.minimum(n, depth), depth - len(old))
        if not extents.at_least(at, 0):
            # A known number does not fail at once: only where the program comes here, as another step of a loop may.
            few = ops.compare.lt(extents.operand(at), np.int64(0)) if type(at) is not int else self._always()
            leave_if(few, "there are fewer items than are read")
            at = extents.maximum(at, 0)
        if type(at) is int:
            return [*old, newest][at]
        found = picked.item([*old, newest], user(at))
        if found is picked.NOTHING:
            raise self.tj_refusal()
        return found

    def _always(self) -> Any:
        """A raw condition that holds, which only the program knows."""
        self.tj_count()
        return ops.compare.ge(self.tj_length.read(), np.int64(0))

    def _old(self, at: int) -> Any:
        """An item that was there before, which is an input."""
        if at not in self.tj_old:
            self.tj_old[at] = self.tj_session.wrap(self.tj_node.item(at), self.tj_real[at])
        return self.tj_old[at]

    def _item(self, i: int) -> Any:
        if type(self.tj_new) is not list and i < 0:
            return self._last(-i)
        count, size, most = len(self._few()), len(self.tj_real), self.tj_most
        if count and most is not None and not -most <= i < 0:
            raise self.tj_refusal()  # what is appended moves the others
        if -count <= i < 0:
            return self.tj_new[i]
        old = i + count if i < 0 else i
        if -size <= old < size:
            return self._old(old)
        self._let_be_a_buffer()
        raise self.tj_refusal(depth=-old if old < 0 else old + 1)

    def _let_be_a_buffer(self) -> None:
        """Raises Turned where more is read than there is, in a block that is staged and may append more often."""
        kinds = common(self.tj_new)
        if kinds is not None:
            self.tj_session.turn(self.tj_new, kinds, self)

    def __setitem__(self, i: Any, x: Any) -> None:
        if type(i) is not int or not -len(self._few()) <= i < 0 or self.tj_most is not None:
            raise self.tj_refusal()
        self.tj_new[i] = x

    def __bool__(self) -> bool:
        if not self._few():
            self.tj_session.check(self.tj_node.applied(bool), "is", bool(self.tj_real))
        return bool(self.tj_new or self.tj_real)

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self.tj_real), name):
            raise self.tj_refusal()
        raise AttributeError(f"{type(self.tj_real).__name__!r} object has no attribute {name!r}")

    __hash__ = None  # type: ignore[assignment]


def _refuses(self: Growing, *_: Any, **__: Any) -> NoReturn:
    raise self.tj_refusal()


for _name in (
    *(
        "__len__",
        "__iter__",
        "__contains__",
        "__reversed__",
        "__delitem__",
        "__repr__",
        "__str__",
        "__format__",
    ),
    *(
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__add__",
        "__radd__",
        "__mul__",
        "__rmul__",
    ),
    *("__imul__", "__reduce_ex__", "__copy__", "__deepcopy__", "__dir__"),
):
    setattr(Growing, _name, _refuses)
_sequences: Any = collections.abc.Sequence
_sequences.register(Growing)  # so that `match` asks for its length


def appended_to(x: Any) -> Any:
    """What is appended to a list that grows; anything else as it is."""
    return x.tj_new if type(x) is Growing else x


def example(x: Any) -> Any:
    """For what stands for a growing list another list, anything else as it is."""
    return type(x.tj_real)() if type(x) is Growing else x
