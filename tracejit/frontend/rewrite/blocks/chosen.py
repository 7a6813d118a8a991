"""Lists, dicts and objects of which a traced condition chooses one.

    if c:
        params = new           # afterwards `params` is a container of chosen leaves: neither `new` nor the old one

Nobody sees that as long as the containers are only read. What would be seen is looked after here: whether `params is
new`, a later change of either, and a result that is one of the caller's or that has both. Where the condition is known
in the end, the program asks it then; where it is not (it belongs to one step of a loop), that is refused.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tracejit import ops
from tracejit.errors import UnfollowedError
from tracejit.frontend.rewrite.blocks.cells import UNBOUND, Cell, get
from tracejit.frontend.rewrite.blocks.containers import NONE, opened
from tracejit.frontend.rewrite.blocks.held import Held
from tracejit.frontend.rewrite.blocks.identity import TRUE
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.tracing import ONLY_LOCAL, current_trace


class Option(NamedTuple):
    """What a chosen container may be: `container`, if the raw `flag` holds (None: it is not known when)."""

    container: Any
    flag: Any


class _Chosen(NamedTuple):
    """A container that is one of several: itself, those that somebody else may see, and what all of them held."""

    container: Any
    options: list[Option]
    held: list[Held]


class Choices:
    """The chosen containers of one run, by identity."""

    def __init__(self) -> None:
        self.found: dict[int, _Chosen] = {}
        #: By identity, what a loop has made anew that lies in containers: which objects these are is not carried.
        self.vague: dict[int, Any] = {}

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """While a block is staged: what it chooses for itself is forgotten, and its containers with that."""
        before = dict(self.found), dict(self.vague)
        try:
            yield
        finally:
            self.found, self.vague = before

    def choices(
        self, made: Any, options: Sequence[tuple[list[Any], Any]], kept: Collection[int] = NONE
    ) -> Iterator[tuple[Any, list[Option]]]:
        """The containers in `made`, which is one of `options`, all of the same structure: ([value], raw flag or None),
        and what they may be. Nothing else of ours may refer to the values."""
        mine = opened(made, kept, frozen=True)
        columns = [(opened(held[0], kept, frozen=True), flag) for held, flag in options]
        for n, x in enumerate(mine):
            found: list[Option] = []
            for column, flag in columns:
                if len(column) == len(mine) and column[n] is not x:
                    found += self._reached(column, n, flag)
            if found:
                yield x, found

    def note(self, x: Any, options: list[Option]) -> None:
        """Let `x` be one of `options`, or itself."""
        options = _merged(options)
        self.found[id(x)] = _Chosen(x, options, [Held(y) for y in (x, *(o.container for o in options))])

    def add(self, x: Any, y: Any, flag: Any) -> None:
        """`x` may also be `y`, of the same structure, where the raw `flag` holds."""
        for a, b in zip(opened(x, frozen=True), opened(y, frozen=True), strict=False):
            if a is not b:
                self.note(a, [*self.options(a), Option(b, flag)])

    def _reached(self, column: list[Any], n: int, flag: Any) -> Iterable[Option]:
        """The `n`-th container of a value, if somebody else may see it, and what that may be itself."""
        y = column[n]
        if sys.getrefcount(y) > ONLY_LOCAL + 2:  # it lies in a column and in a container or list
            yield Option(y, flag)
        inner = self.found.get(id(y))
        for o in inner.options if inner is not None else ():
            yield Option(o.container, _both(flag, o.flag))

    def options(self, x: Any) -> list[Option]:
        """What `x` may be besides itself."""
        found = self.found.get(id(x))
        return [] if found is None or found.container is not x else found.options

    def ask(self, x: Any, y: Any) -> Any:
        """Whether the user's `x` and `y`, two objects, are one: False, or a raw truth value. Raises UnfollowedError."""
        if type(x) is type(y) and not self.vague.keys().isdisjoint((id(x), id(y))):
            reason = "it lies in a container that a loop has made anew"
            raise UnfollowedError(what="whether two objects are one", reason=reason)
        return self.same(x, y)

    def same(self, x: Any, y: Any) -> Any:
        """Whether `x` and `y`, two objects, are one, as far as that is known."""
        if not self.found:
            return False
        mine = [Option(x, TRUE), *self.options(x)]
        yours = [Option(y, TRUE), *self.options(y)]
        found: Any = False
        for a in mine:
            for b in yours:
                if a.container is b.container:
                    flag = known(_both(a.flag, b.flag), "whether two objects are one")
                    found = flag if found is False else ops.compare.or_(found, flag)
        return found

    def check(self, before: Mapping[int, Any] = MappingProxyType({})) -> None:
        """Python runs the function if a chosen container is one that was changed since, or was changed itself: those
        that were not found `before`, the block that ends here.

        Raises:
            UnfollowedError: it is not known which it is.
        """
        for c in [c for k, c in self.found.items() if before.get(k) is not c]:
            mine = not c.held[0].same(Held(c.container))
            for o, held in zip(c.options, c.held[1:], strict=True):
                if mine or not held.same(Held(o.container)):
                    what = f"a {type(c.container).__name__} that is changed after a condition has chosen it"
                    leave_if(known(o.flag, what), what)


def is_seen(cell: Cell) -> bool:
    """Whether something else than the cell refers to the container in it, or to one in that."""
    xs = [] if get(cell) is UNBOUND else opened(cell.cell_contents, frozen=True)
    return any(sys.getrefcount(x) > ONLY_LOCAL + 2 for x in xs)


def known(flag: Any, what: str) -> Any:
    """The flag, if the current trace knows it. Raises UnfollowedError."""
    if isinstance(flag, Value):
        trace = flag.trace
        if trace is None or not trace.live or trace.level > current_trace().level:
            flag = None
    if flag is None:
        reason = "it may be one that has another name too, as a condition chooses while the program runs"
        raise UnfollowedError(what=what, reason=reason)
    return flag


def _both(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return None
    if a is TRUE or b is TRUE:
        return b if a is TRUE else a
    return ops.compare.and_(a, b) if _are_live(a, b) else None


def _either(a: Any, b: Any) -> Any:
    if a is TRUE or b is TRUE:
        return TRUE
    return ops.compare.or_(a, b) if a is not None and b is not None and _are_live(a, b) else None


def _are_live(*flags: Any) -> bool:
    """Whether the program can still compute with these."""
    return not any(isinstance(x, Value) and x.trace is not None and not x.trace.live for x in flags)


def _merged(options: Iterable[Option]) -> list[Option]:
    """Each container once: what comes to it in several ways would be twice as much after every further step."""
    found: dict[int, Option] = {}
    for o in options:
        k = id(o.container)
        found[k] = Option(o.container, _either(found[k].flag, o.flag)) if k in found else o
    return list(found.values())


def inverse(flag: Any) -> Any:
    """The raw flag of the other branch."""
    return np.bool_(not flag) if not isinstance(flag, Value) else ops.compare.not_(flag)
