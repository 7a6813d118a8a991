"""Lists, dicts and objects of which a traced condition chooses one.

    if c:
        params = new           # afterwards `params` is a container of chosen leaves: neither `new` nor the old one

Nobody sees that as long as the containers are only read. What would be seen is looked after here: whether `params is
new`, a later change of either, and a result that is one of the caller's or that has both. Where the condition is known
in the end, the program asks it then; where it is not (it belongs to one step of a loop), that is refused.
"""

from __future__ import annotations

import collections
import contextlib
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tracejit import ops
from tracejit.errors import UnfollowedError
from tracejit.errors.refusals import may_number
from tracejit.frontend.lists.tuples import Tuples, which
from tracejit.frontend.rewrite.blocks.cells import UNBOUND, Cell, get
from tracejit.frontend.rewrite.blocks.containers import NONE, opened, spread
from tracejit.frontend.rewrite.blocks.held import Held
from tracejit.frontend.rewrite.blocks.identity import TRUE
from tracejit.frontend.variants.node import sure
from tracejit.frontend.variants.which import check_result
from tracejit.ir.references import ONLY_LOCAL
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.boxes.unsure import is_unsure
from tracejit.tracing import current_trace

#: Of a container that may be one of more than these it is not known which: each costs something at every branch.
TOO_MANY = 256
#: How often it is asked in one run which of several two containers are: a list of `n` that are one of all before them
#: asks as often as the third power of `n`.
MOST_ASKED = 2000


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
        #: By identity, tuples in containers that a loop has made anew: which these are is not carried.
        self.vague: dict[int, Any] = {}
        #: By branches, names of places of containers and objects that these have changed where they were staged.
        self.changed: dict[Any, dict[str, None]] = {}
        self.tuples = Tuples()  # those that may be items of lists of traced length
        self.ends: collections.Counter[str] = (
            collections.Counter()
        )  # by branches: how often one has raised StopIteration
        self.asked = 0
        self.result: list[Any] = []  # the containers in the result
        self._joined: dict[tuple[Any, int, int, int], tuple[Any, ...]] = {}  # what `_join` has made

    @contextlib.contextmanager
    def block(self, is_loop: bool, cells: Iterable[Cell] = ()) -> Iterator[list[Any]]:
        """While a block is staged: what it chooses for itself is forgotten, and its containers with that. The list is
        for its result, as `Tuples.block` has it; `cells`: where the block finds tuples."""
        self.tuples.prepare(map(get, cells))
        before = dict(self.found), self._joined, dict(self.vague)
        self._joined = {}
        try:
            with self.tuples.block(is_loop) as results:
                yield results
        finally:
            self.found, self._joined, self.vague = before

    def choices(
        self, made: Any, options: Sequence[tuple[list[Any], Any]], kept: Collection[int] = NONE
    ) -> Iterator[tuple[Any, list[Option]]]:
        """The containers in `made`, which is one of `options`, all of the same structure: ([value], raw flag or None),
        and what they may be. Nothing else of ours may refer to the values."""
        columns = [(*self._seen(held, kept), flag) for held, flag in options]
        for path, x in spread(made, kept):
            found: list[Option] = []
            if type(x) is tuple and self.tuples.chosen(
                x, [(column[path], path in seen) for column, seen, _ in columns if path in column]
            ):
                continue
            for column, seen, flag in columns:
                if path in column and column[path] is not x:
                    found += self._reached(column[path], path in seen, flag)
            if found:
                yield x, found

    def _seen(self, held: list[Any], kept: Collection[int]) -> tuple[dict[Any, Any], set[Any]]:
        """The containers of the value in `held`, by where they are, and where those are that somebody else may see,
        which sees what is in them, too."""
        column = dict(spread(held[0], kept))
        seen: set[Any] = set()
        for path in column:
            # it lies in the column, and in a container or list
            known = ONLY_LOCAL + 1 + self.tuples.has(column[path])
            if path[:-1] in seen or sys.getrefcount(column[path]) > known:
                seen.add(path)
        return column, seen

    def sees(self, held: list[Any]) -> bool:
        """Whether somebody else may see a container of the value in `held`. Nothing else of ours may refer to it."""
        column, seen = self._seen(held, NONE)
        return bool(seen) or any(map(self.options, column.values()))

    def is_seen(self, cell: Cell) -> bool:
        """Whether something else than the cell refers to the container in it, or to one in that, or these may be one
        of others."""
        xs = [] if get(cell) is UNBOUND else opened(cell.cell_contents, frozen=True)
        return any(self.options(x) or sys.getrefcount(x) > ONLY_LOCAL + 2 + self.tuples.has(x) for x in xs)

    def note(self, x: Any, options: Iterable[Option]) -> None:
        """Let `x` be one of `options`, or itself."""
        options = self._merged(x, options)
        self.found[id(x)] = _Chosen(x, options, [Held(y) for y in (x, *(o.container for o in options))])

    def add(self, x: Any, y: Any, flag: Any) -> None:
        """`x` may also be `y`, of the same structure, where the raw `flag` holds."""
        for a, b in zip(opened(x, frozen=True), opened(y, frozen=True), strict=False):
            if a is not b:
                self.note(a, [*self.options(a), *self._reached(b, True, flag)])

    def _merged(self, x: Any, options: Iterable[Option]) -> list[Option]:
        """Each container once: it is met on many ways where branches choose among what branches have chosen."""
        found: dict[int, Option] = {}
        for o in options:
            old = found.get(id(o.container), o)
            found[id(o.container)] = o if old is o else Option(o.container, self._either(old.flag, o.flag))
        found.pop(id(x), None)
        many = len(found) > TOO_MANY
        return [o._replace(flag=None) if many else o for o in found.values()]

    def _reached(self, y: Any, seen: bool, flag: Any) -> Iterable[Option]:
        """A container of a value, if somebody else may see it, and what that may be itself."""
        if seen:
            yield Option(y, flag)
        for o in self.options(y):
            yield Option(o.container, self._both(flag, o.flag))

    def options(self, x: Any) -> list[Option]:
        """What `x` may be besides itself."""
        found = self.found.get(id(x))
        return [] if found is None or found.container is not x else found.options

    def ask(self, x: Any, y: Any) -> Any:
        """`same`, where the user asks."""
        both = isinstance(x, tuple) and isinstance(y, tuple) and x is not y
        if both and (id(x) in self.vague or id(y) in self.vague):
            raise which()
        found = self.tuples.are_one(x, y) if both else None
        return self.same(x, y) if found is None else found

    def same(self, x: Any, y: Any) -> Any:
        """Whether `x` and `y`, two objects, are one: False, or a raw truth value. Raises UnfollowedError."""
        if not self.found:
            return False
        mine = [Option(x, TRUE), *self.options(x)]
        yours = [Option(y, TRUE), *self.options(y)]
        found: Any = False
        for a in mine:
            for b in yours:
                if a.container is b.container:
                    self._ask(type(x) is tuple)
                    flag = known(self._both(a.flag, b.flag), "whether two objects are one", type(x) is tuple)
                    found = flag if found is False else self._either(found, flag)
        return found

    def _ask(self, are_tuples: bool) -> None:
        self.asked += 1
        if self.asked > MOST_ASKED:
            reason = "there are too many that may be one"
            error = UnfollowedError(what="whether two objects are one", reason=reason)
            raise may_number(error) if are_tuples else error

    def pairs(self, spots: dict[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
        """The containers that may be one: the pairs of where they are (a name or nothing, then the way as `spread` has
        it) and the raw flag; not those that are one as far as those are that they lie in. Raises UnfollowedError."""
        told: dict[tuple[Any, Any], Any] = {}
        for a, b in self.meeting(spots):
            x, y = spots[a], spots[b]
            flag = TRUE if x is y else self.same(x, y)
            if flag is False:
                continue
            told[a, b] = flag
            inside = (a[:-1], b[:-1]) if a and b and a[-1:] == b[-1:] else None
            if inside is None or told.get(inside) is not flag:
                yield a, b, flag

    def meeting(self, spots: dict[Any, Any]) -> list[tuple[Any, Any]]:
        """The pairs of places whose containers may be one, outer ones first."""
        at: dict[int, list[Any]] = {}  # the places of what may be a container
        order = {key: n for n, key in enumerate(spots)}
        for key, x in spots.items():
            for k in {id(x), *(id(o.container) for o in self.options(x))}:
                at.setdefault(k, []).append(key)
        pairs = {(a, b) for keys in at.values() for n, a in enumerate(keys) for b in keys[n + 1 :]}
        return sorted(pairs, key=lambda pair: (len(pair[0]), order[pair[0]], order[pair[1]]))

    def leave(self, out: Any) -> Any:
        """The run has this result. Gives it, with numbers that are NumPy's or Python's as such."""
        whole = type(out) is tuple and not self.options(out) and sys.getrefcount(out) <= ONLY_LOCAL + 2
        out = tuple(map(sure, out)) if whole and any(map(is_unsure, out)) else sure(out)
        self.result = list({id(x): x for _, x in spread(out)}.values()) if self.found else []
        check_result(out)
        return out

    def stand_in(self, new: Any, x: Any) -> None:
        """Let `new` be what `x` is."""
        if self.found:
            self.note(new, [*self.options(x), Option(x, TRUE)])

    def _both(self, a: Any, b: Any) -> Any:
        """The raw flag that both hold; None if it is not known."""
        if a is None or b is None:
            return None
        if a is TRUE or b is TRUE:
            return b if a is TRUE else a
        return self._join(ops.compare.and_, a, b)

    def _either(self, a: Any, b: Any) -> Any:
        """The raw flag that one of them holds; None if it is not known."""
        if a is None or b is None:
            return None
        if a is TRUE or b is TRUE:
            return TRUE
        return self._join(ops.compare.or_, a, b)

    def _join(self, op: Any, a: Any, b: Any) -> Any:
        """What `op` makes of two flags, computed once: flags are compared by identity, too."""
        if a is b:
            return a
        if any(isinstance(x, Value) and x.trace is not None and not x.trace.live for x in (a, b)):
            return None
        trace = current_trace()
        key = op, id(trace), id(a), id(b)
        if key not in self._joined:
            self._joined[key] = op(a, b), a, b, trace
        return self._joined[key][0]

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


def known(flag: Any, what: str, of_tuples: bool = False) -> Any:
    """The flag, if the current trace knows it. Raises UnfollowedError."""
    if isinstance(flag, Value):
        trace = flag.trace
        if trace is None or not trace.live or trace.level > current_trace().level:
            flag = None
    if flag is None:
        reason = "it may be one that has another name too, as a condition chooses while the program runs"
        error = UnfollowedError(what=what, reason=reason)
        raise may_number(error) if of_tuples else error
    return flag


def inverse(flag: Any) -> Any:
    """The raw flag of the other branch."""
    return np.bool_(not flag) if not isinstance(flag, Value) else ops.compare.not_(flag)
