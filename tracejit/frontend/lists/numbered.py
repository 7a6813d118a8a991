"""Tuples with numbers, in the runs that need them: which tuple an item, a name or a result is, only the program knows.

    for i in range(n):
        step = (f(x[i]), i)          gets a number: a counter that the loop carries
        path.append(step)            the list has a column of numbers beside those of its items
        if step[0] > best[0]:
            best = step              the branch chooses its number with what is in it

A function is traced so if it hands out tuples that may be one, or asks whether two are (`lists.tuples`). What is made
for a name, or as an item, has the number of what it stands for; results have one tuple for each number, and those of
outside, which have numbers below zero, are themselves. A tuple has a number from the first block or list on that gets
it; what may be made in each step of a loop or before it, as far as its numbers tell, has none, and is refused.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from tracejit import ops
from tracejit.errors import BufferedListError, UnfollowedError
from tracejit.frontend import active
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.lists.items import Items
from tracejit.frontend.lists.options import Options
from tracejit.frontend.lists.tuples import Tuples
from tracejit.frontend.rewrite.blocks.containers import NONE, spread
from tracejit.frontend.variants.node import UNKNOWN
from tracejit.frontend.variants.which import has_tuples, is_numbered
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.values import Value
from tracejit.tracing import Box, box, current_trace, new_array


class _Known(NamedTuple):
    """A tuple, its raw number, and the trace in which it has that; None if it is one of outside."""

    tuple: Any
    number: Any
    trace: Any


class Numbered(Tuples):
    """The tuples of one run, by identity, with numbers."""

    numbered = True

    def __init__(self) -> None:
        super().__init__()
        self.count = new_array(np.int64(0))
        self.known: dict[int, _Known] = {}
        #: Tuples that had a number in a block that is over, or of which it is not known which they are.
        self.gone: dict[int, Any] = {}
        #: By identity, tuples that are constants of so many codes.
        self.constants: dict[int, Any] = {}
        self.looked_at = 0
        self.outside: list[Any] = []  # tuples of outside: the first one has the number -1

    @contextlib.contextmanager
    def block(self, is_loop: bool) -> Iterator[list[Any]]:
        """As of `Tuples`: numbers of the block are not known after it."""
        try:
            yield []
        finally:
            level = current_trace().level
            for key, found in list(self.known.items()):
                if found.trace is not None and found.trace.level > level:
                    del self.known[key]
                    self.gone[key] = found.tuple

    def has(self, x: Any) -> int:
        """As of `Tuples`."""
        return (id(x) in self.known) + (id(x) in self.gone) + super().has(x)

    # -- numbers

    def number(self, x: Any) -> Any:
        """The raw number of a tuple; None if it is not known which one it is."""
        found = self.known.get(id(x))
        if found is not None and (found.trace in (None, current_trace()) or found.trace.live):
            return found.number
        if found is not None or id(x) in self.gone or not isinstance(current_trace(), StageTrace):
            return None
        session: Any = active.session()
        if session.is_outside(x) or session.where_is(x) is not None or self._is_constant(x):
            self.outside.append(x)
            self.known[id(x)] = _Known(x, np.int64(-len(self.outside)), None)
            return self.known[id(x)].number
        number: Any
        if options := session.choices.options(x):
            number = self._chosen(options)
        elif self._is_made_in(x, active.in_loop()):
            number = self.count.read()
            self.count[...] = box(ops.arithmetic.add(number, np.int64(1)))
        else:
            return None
        if number is not None:
            self.note(x, number)
        return number

    def fresh(self, count: int) -> Any:
        """Raw numbers of so many new tuples."""
        first = self.count.read()
        self.count[...] = box(ops.arithmetic.add(first, np.int64(count)))
        rows = ops.create.iota(dtype=np.dtype(np.int64), shape=(count,), dimension=0)
        return ops.arithmetic.add(rows, ops.shape.broadcast_to(first, (count,)))

    def key(self, x: Any, make: Callable[[], Any]) -> Any:
        """As of `Tuples`: both are one tuple."""
        known = super().key(x, make)
        if id(known) not in self.known:
            number = self.number(x)
            self.note(known, UNKNOWN if number is None else number)
        return known

    def _is_constant(self, x: Any) -> bool:
        """Whether it is a constant of the code that is run, which is one tuple for all steps and calls."""
        for code, _ in cast(Any, active.session()).codes[self.looked_at :]:
            self.constants |= {id(y): y for y in constants_of(code)}
        self.looked_at = len(cast(Any, active.session()).codes)
        return id(x) in self.constants

    def number_of(self, x: Any) -> Any:
        """The raw number of a tuple, if it has one."""
        return self.known[id(x)].number if id(x) in self.known else None

    def _chosen(self, options: Sequence[Any]) -> Any:
        """The number of what is one of `options`, or a new one."""
        number = self.count.read()
        self.count[...] = box(ops.arithmetic.add(number, np.int64(1)))
        for o in options:
            other = self.number(o.container)
            if other is None or o.flag is None:
                return None
            number = ops.compare.select(o.flag, other, number)
        return number

    def note(self, x: Any, number: Any) -> None:
        """The tuple `x`, which was made here, has a number."""
        if number is UNKNOWN:
            self.gone[id(x)] = x
        else:
            self.known[id(x)] = _Known(x, number, current_trace())

    def prepare(self, values: Iterable[Any]) -> None:
        """Let the tuples in `values` have numbers before a block begins, or a step ends, as far as they can."""
        for x in values:
            for _, y in spread(x):
                if is_tuple(y):
                    self.number(y)

    def numbers(self, value: Any, kept: Any = NONE) -> list[Any]:
        """The numbers of the tuples in a value, as far as the containers `kept`: raw ones, or UNKNOWN."""
        found = [self.number(x) for _, x in spread(value, kept) if is_tuple(x)]
        return [UNKNOWN if n is None else n for n in found]

    def note_all(self, value: Any, kept: Any, numbers: Iterable[Any]) -> None:
        """The tuples in a value that was made here have these numbers."""
        tuples = (x for _, x in spread(value, kept) if is_tuple(x))
        for x, n in zip(tuples, numbers, strict=True):
            self.note(x, n.read() if type(n) is Box else n)

    def of_item(self, x: Any) -> list[Any]:
        """The raw numbers of an item of a list and of the tuples in it. Raises BufferedListError."""
        found = [self.number(y) for y in inside(x)]
        if any(n is None for n in found):
            raise BufferedListError(what="a tuple that each step may make anew, or not, as an item")
        return found

    def note_item(self, x: Any, numbers: Iterable[Any]) -> None:
        """The item `x` of a list, which was made here, and the tuples in it have these numbers."""
        for y, n in zip(inside(x), numbers, strict=True):
            self.note(y, n)

    def columns(self, items: Items | Options, xs: Iterable[Any]) -> list[list[Any]]:
        """As of `Tuples`. Raises BufferedListError."""
        if isinstance(items, Options):  # whose forms have numbers
            return []
        if items.has_arrays:
            raise BufferedListError(what="tuples with arrays, of which it matters which they are,")
        rows = [self.of_item(x) for x in xs]
        count = len(list(inside(items.item([0] * len(items.kinds)))))
        return [[row[n] for row in rows] for n in range(count)]

    # -- what lists and blocks tell

    def put(self, x: Any, token: Any) -> None:
        """A list gets an item: the numbers are beside it."""

    def taken(self, x: Any, token: Any) -> None:
        """An item of a list. Raises BufferedListError for that of a list without numbers."""
        if any(id(y) not in self.known for y in inside(x)):
            raise BufferedListError(what="tuples of a dict, set or view")

    def found(self, x: Any, name: str | None) -> bool:
        """A step has found a tuple, which was made for it with its number."""
        return not is_tuple(x)

    def leave(self, before: Any, x: Any, y: Any) -> bool:
        """A step leaves the tuple `y` in a name, with its number."""
        return False

    def chosen(self, x: Any, options: list[tuple[Any, bool]]) -> bool:
        """A tuple of what branches leave, which was made with its number, if all of `options` have one."""
        return id(x) in self.known

    def collected(self, new: Iterable[Any], kept: Mapping[str, tuple[Any, Any, bool]]) -> set[str] | None:
        """Lists of tuples are not made of the results of all steps."""
        return None if any(True for x in new for _ in inside(x)) else set()

    def filled(self, items: Iterable[Any]) -> None:
        """A loop has filled a list with `items`, which are no tuples."""

    # -- what is asked

    def are_one(self, x: Any, y: Any) -> Any:
        """Whether two tuples are one: a raw truth value. Raises UnfollowedError."""
        a, b = self.number(x), self.number(y)
        if a is None or b is None:
            reason = "a step may have made it anew, or not"
            raise UnfollowedError(what="whether two tuples are one", reason=reason)
        if not isinstance(a, Value) and not isinstance(b, Value):
            return np.bool_(a == b)
        return ops.compare.eq(a, b)

    def check(self, values: Iterable[Any], is_outside: Callable[[Any], bool]) -> None:
        """As of `Tuples`: what is handed out has numbers."""
        for value in values:
            for x in _all(value):
                if id(x) in self.gone or (isinstance(x, Columns) and x.tj_tokens() and not x.tj_numbered):
                    raise BufferedListError(what="tuples, which may be in two places of the result,")

    def is_shared(self, values: Iterable[Any]) -> bool:
        """Whether tuples of a result may be one or of outside, as only their numbers tell."""
        return any(
            id(x) in self.known or (has_tuples(x) and is_numbered(x)) for value in values for x in _all(value)
        )


def is_tuple(x: Any) -> bool:
    """Whether it is one of those that have numbers; there is one empty tuple."""
    return type(x) is tuple and bool(x)


def inside(x: Any) -> Iterator[Any]:
    """The tuples that an item of a list is made of, an outer one before what is in it."""
    if is_tuple(x):
        yield x
        for y in x:
            yield from inside(y)


def constants_of(code: types.CodeType) -> Iterator[Any]:
    """The tuples that are constants of code and of the functions in it."""
    for x in code.co_consts:
        yield from constants_of(x) if isinstance(x, types.CodeType) else inside(x)


def is_constant(display: str) -> bool:
    """Whether a display has nothing but constants in it."""
    with contextlib.suppress(ValueError):
        ast.literal_eval(display)
        return True
    return False


def _all(value: Any) -> Iterator[Any]:
    """What a result is made of: containers, and lists of traced length."""
    left, met = [value], set()
    for x in left:
        if x is None or id(x) in met:
            continue
        met.add(id(x))
        yield x
        if isinstance(x, dict):
            left += [*x.keys(), *x.values()]
        elif isinstance(x, (list, tuple, set, frozenset, collections.deque)):
            left += x
        elif "_tj_class" in vars(type(x)):
            left += getattr(x, "__dict__", {}).values()


class Once:
    """The tuples of one call of a program, one for each number; `given` are those of outside."""

    def __init__(self, given: Iterable[Any]) -> None:
        self.made: dict[int, Any] = {-1 - n: x for n, x in enumerate(given)}

    def of(self, number: Any, x: Any) -> Any:
        """The tuple that has this number, which is like `x`."""
        return self.made.setdefault(int(number), x)

    def item(self, x: Any, numbers: Iterator[Any]) -> Any:
        """The item `x` of a list, of which and of the tuples in which these are the numbers."""
        if not is_tuple(x):
            return x
        n = next(numbers)
        return self.of(n, tuple([self.item(y, numbers) for y in x]))
