"""Which tuples are items of lists that loops fill.

    pts.append((x, y))             the list keeps the numbers, and gives another tuple of them for `pts[0]`
    return pts, pts[0]

To Python this is one tuple in two places. Such lists have the numbers only, so that nothing is lost as long as a tuple
is in one place; here it is followed which tuples may be in two, and a function that hands these out, or asks whether
two are one, is refused. A list is named by a token, which lists that may have the same items have in common.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tracejit import tree
from tracejit.errors import BufferedListError, UnfollowedError
from tracejit.errors.refusals import may_number
from tracejit.frontend import active
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.lists.items import Items
from tracejit.frontend.lists.options import Options
from tracejit.frontend.variants.which import has_tuples
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.values import Value
from tracejit.tracing import Box, current_trace


class _Mark(NamedTuple):
    """What is known of a tuple. `lists`: tokens of lists that have it -> the trace that has put it there, or taken it;
    of an item of a list that a loop has filled, a token of its own. `name`: where a step has found it. `vague`: it may
    be one of any others."""

    tuple: Any
    lists: Mapping[Any, Any] = MappingProxyType({})
    name: str | None = None
    vague: bool = False

    @property
    def is_item(self) -> bool:
        """Whether it is an item of a list that a loop has filled, and nowhere else."""
        return (
            len(self.lists) == 1 and not self.name and not self.vague and type(next(iter(self.lists))) is _Own
        )


class Tuples:
    """The tuples of one run, by identity."""

    #: Whether they have numbers.
    numbered = False

    def __init__(self) -> None:
        self.marks: dict[int, _Mark] = {}
        #: Lists that may have one tuple twice, and which lists may have one in common.
        self.shared: set[Any] = set()
        self.linked: dict[Any, set[Any]] = {}
        #: By identity, new tuples that branches choose among and that somebody else may see, and what they have chosen:
        #: the tuple, and the identities of those that it may be.
        self.kin: dict[int, tuple[Any, frozenset[int]]] = {}
        #: (a tuple of before the loop, a list into which its steps put it or None: it may be one of others)
        self._outside: list[tuple[Any, Any]] = []
        #: By identity, tuples that are keys of Python's containers, and what these have for them: known numbers.
        self.keys: dict[int, tuple[Any, Any]] = {}

    @contextlib.contextmanager
    def block(self, is_loop: bool) -> Iterator[list[Any]]:
        """While a block is staged, of which a loop's step makes its names anew. A list to which the block appends its
        result; if this is None, it will be staged again, and nothing has happened."""
        before = dict(self.marks), set(self.shared), dict(self.linked), dict(self.kin), self._outside
        self._outside, results = [], []
        try:
            yield results
        finally:
            mine, self._outside = self._outside, before[-1]
            if not results or results[0] is None:
                self.marks, self.shared, self.linked, self.kin, _ = before
            else:
                self.marks, self.kin = (before[0], before[3]) if is_loop else (self.marks, self.kin)
                now = current_trace()
                for key, m in self.marks.items():
                    if not all(trace.live for trace in m.lists.values()):
                        lists = {k: trace if trace.live else now for k, trace in m.lists.items()}
                        self.marks[key] = m._replace(lists=lists)
                for x, token in mine:
                    self.found(x, None) if token is None else self.put(x, token)

    def has(self, x: Any) -> int:
        """How many references to `x` are here, which who counts them has to leave out."""
        return (id(x) in self.marks) + (id(x) in self.keys) + (id(x) in self.kin)

    def key(self, x: Any, make: Callable[[], Any]) -> Any:
        """What a container of Python's has for a tuple as a key: the same at each time, of what `make` gives first."""
        if id(x) not in self.keys:
            self.keys[id(x)] = x, make()
        return self.keys[id(x)][1]

    def mark(self, x: Any) -> _Mark:
        """What is known of a tuple."""
        return self.marks.get(id(x)) or _Mark(x)

    def _is_in(self, x: Any, m: _Mark, token: Any) -> None:
        self.marks[id(x)] = m._replace(lists={**m.lists, token: current_trace()})

    def taken(self, x: Any, token: Any) -> None:
        """An item of a list, which stays there."""
        for t in _tuples(x):
            self._is_in(t, self.mark(t), token)

    def put(self, x: Any, token: Any) -> None:
        """A list gets an item."""
        if has_tuples(x):
            self.shared.add(token)  # of several forms, which it has in other places, too
        for t in _tuples(x):
            m = self.mark(t)
            if not (m.name or self._is_made_in(t, active.in_loop()) or type(token) is Keys):
                self.shared.add(token)  # each step may put it there
                self._outside.append((t, token))
            again = token in m.lists and not _is_alternative(m.lists[token]) and type(token) is not Keys
            if m.vague or again:
                self.shared.add(token)
            others = self._lists(t)
            if token in others and token not in m.lists and not _is_alternative(others[token]):
                self.shared.add(token)  # it has one that may be this
            for other, trace in others.items():
                if other is token or _is_alternative(trace):
                    continue
                for one in (other, *(other.items if type(other) is _Chosen else ())):
                    self.linked[one] = self.linked.get(one, set()) | {token}
                    self.linked[token] = self.linked.get(token, set()) | {one}
            self._is_in(t, m, token)

    def link(self, token: Any, others: Iterable[Any]) -> None:
        """What has `token` may have the same tuples as the others."""
        self.linked[token] = self.linked.get(token, set()) | {*others}

    def found(self, x: Any, name: str | None) -> bool:
        """A step has found a tuple in a name, or (None) inside of what a name has. Whether it is not known which it
        is."""
        self.marks[id(x)] = self.mark(x)._replace(name=name, vague=name is None)
        return name is None

    def leave(self, before: Any, x: Any, y: Any) -> bool:
        """A step that has found the tuple `x` in a name, which was `before` the loop, leaves `y` there. Gives whether
        that is a new one, which is nowhere else."""
        fresh = not tree.is_leaf(y) and y is not x and self.is_new(y, active.in_loop())
        for token in self.mark(x).lists:
            self._outside.append((before, token))
            if not fresh:
                self.shared.add(token)
        return fresh

    def _lists(self, x: Any) -> dict[Any, Any]:
        """The tokens of lists that have a tuple, or one that it may be, as the marks have them."""
        return {token: trace for y in (x, *self._kin_of(x)) for token, trace in self.mark(y).lists.items()}

    def may_be_among(self, x: Any, others: Collection[int]) -> bool:
        """Whether a tuple may be one of others, which are known by their identities, and is none of these itself."""
        return id(x) not in others and any(id(y) in others for y in self._kin_of(x))

    def _kin_of(self, x: Any) -> list[Any]:
        """Other tuples that may be the tuple `x`."""
        _, mine = self.kin.get(id(x), (x, frozenset()))
        return [y for y, theirs in self.kin.values() if y is not x and not mine.isdisjoint(theirs)]

    def chosen(self, x: Any, options: list[tuple[Any, bool]]) -> bool:
        """A tuple of what branches leave, which is one of `options`: tuples, and whether somebody else may see each.
        Whether it is known by itself which it is."""
        origins: set[int] = set()
        for y, is_seen in options:
            if is_seen and y is not x and id(y) not in self.marks:
                self.kin.setdefault(id(y), (y, frozenset((id(y),))))
            origins |= self.kin[id(y)][1] if id(y) in self.kin else set()
        if origins:
            self.kin[id(x)] = x, frozenset(origins)
        if all(self.is_new(y, active.in_loop()) for y, _ in options):
            return False
        marks = [self.mark(y) for y, _ in options]
        if all(m.is_item or self.is_new(m.tuple, active.in_loop()) for m in marks):
            items = {token for m in marks for token in m.lists}
            self.marks[id(x)] = _Mark(x, {_Chosen(items): current_trace()})  # which one, flags say
        else:
            self.found(x, None)
        return False

    def is_new(self, x: Any, loop: StageTrace | None) -> bool:
        """Whether a tuple is nowhere else, and made in the step of a loop that is staged now, if there is one."""
        known = any(id(y) in self.marks for y in (x, *self._kin_of(x)))
        return not known and self._is_made_in(x, loop)

    def _is_made_in(self, x: Any, loop: StageTrace | None) -> bool:
        """Whether a number in a tuple, or that it is an item, shows that the step of a loop has made it; where there is
        no loop, it is."""
        if loop is None:
            return True
        m = self.mark(x)
        if m.is_item:
            return all(trace.level >= loop.level for trace in m.lists.values())
        raws = (y.read() for y in tree.leaves(x) if type(y) is Box)
        return any(isinstance(v, Value) and v.trace is not None and v.trace.level >= loop.level for v in raws)

    # -- lists of a known length, which a loop fills

    def collected(self, new: Iterable[Any], kept: Mapping[str, tuple[Any, Any, bool]]) -> set[str] | None:
        """A step appends the items `new` to lists. `kept`: of each name that a step leaves as a tuple, what it was
        before the loop, what the step has found, and whether it leaves a new one there, nowhere else. Gives the names
        whose tuples of before the loop are appended; None if one tuple may be appended twice."""
        met: set[int] = set()
        names = {id(x): n for n, (_, x, _) in kept.items()}
        carried: set[str] = set()
        for t in (t for x in new for t in _tuples(x)):
            m, name = self.mark(t), names.get(id(t))
            if not met.isdisjoint({id(t), *map(id, self._kin_of(t))}):
                return None
            met.add(id(t))
            if name is not None and m.name == name and not m.lists and kept[name][2]:
                carried.add(name)
            elif not (
                self.is_new(t, active.in_loop()) or (m.is_item and self._is_made_in(t, active.in_loop()))
            ):
                return None
        starts = [kept[n][0] for n in carried]
        if len({id(x) for x in starts}) < len(starts) or any(id(x) in self.marks for x in starts):
            return None
        self._outside += [(x, None) for x in starts]
        return carried

    def filled(self, items: Iterable[Any]) -> None:
        """A loop has filled a list with `items`."""
        for t in (t for x in items for t in _tuples(x)):
            self.marks[id(t)] = _Mark(t, {_Own(): current_trace()})

    # -- numbers, which only some runs have (`numbered`)

    def prepare(self, values: Iterable[Any]) -> None:
        """A block begins in which `values` may be seen, or a step ends that leaves them."""

    def numbers(self, value: Any, kept: Any = ()) -> list[Any]:
        """What tells which tuples are in a value, beside its leaves."""
        return []

    def number_of(self, x: Any) -> Any:
        """The raw number of a tuple, if it has one."""
        return None

    def columns(self, items: Items | Options, xs: Iterable[Any]) -> list[list[Any]]:
        """What tells which tuples the items of a list are, and which are in them: raw numbers for each column."""
        return []

    def is_shared(self, values: Iterable[Any]) -> bool:
        """Whether only the program knows which of the tuples in a result are one."""
        return False

    def are_one(self, x: Any, y: Any) -> Any:
        """Whether two tuples are one: a raw truth value; None if only what they were chosen of can tell. Raises
        UnfollowedError."""
        if self.may_be_one(x, y):
            raise which()
        return None

    # -- what is asked

    def may_be_one(self, x: Any, y: Any) -> bool:
        """Whether two tuples, which are two objects here, may be one."""
        a, b, theirs = self.mark(x), self.mark(y), self._lists(y)
        if self._is_key_of(x, y) or self._is_key_of(y, x):
            return True
        return a.vague or b.vague or any(self._meets(token, theirs) for token in self._lists(x))

    def check(self, values: Iterable[Any], is_outside: Callable[[Any], bool]) -> None:
        """Nothing of what the run hands out may be in two places of it, or in one and outside. Raises
        BufferedListError."""
        met: set[int] = set()
        tokens: set[Any] = set()
        twice = vague = False
        left = [x for x in values if x is not None]
        for x in left:
            if id(x) in met:
                continue
            met.add(id(x))
            if isinstance(x, Columns):
                mine = set(x.tj_tokens())
                twice |= x.tj_shares or not mine.isdisjoint(self.shared)
            else:
                mine = set(self._lists(x))
                vague |= self.mark(x).vague
                left += _inside(x)
            twice |= any(self._meets(token, tokens) for token in mine)
            tokens |= mine
        for m in self.marks.values():
            twice |= is_outside(m.tuple) and any(self._meets(token, tokens) for token in m.lists)
        twice |= any(key in met and id(known) in met for key, (_, known) in self.keys.items())
        if twice or (vague and tokens):
            raise may_number(BufferedListError(what="tuples, which may be in two places of the result,"))

    def _is_key_of(self, known: Any, x: Any) -> bool:
        return id(x) in self.keys and self.keys[id(x)][1] is known

    def _meets(self, token: Any, others: Any) -> bool:
        return token in others or not self.linked.get(token, set()).isdisjoint(others)


def which() -> UnfollowedError:
    """That it is asked of tuples whether they are one, of which this is not known."""
    reason = "one lies in a container that a loop has made anew, or in a list of traced length"
    return may_number(UnfollowedError(what="whether two tuples are one", reason=reason))


class Keys:
    """The token of the keys of a dict or set: of equal ones the first one stays, so that none is there twice."""

    __slots__ = ()


class _Own:
    """The token of one item of a list of known length."""

    __slots__ = ()


class _Chosen:
    """The token of what is one of the items that have the tokens `items`, or another tuple."""

    def __init__(self, items: set[Any]) -> None:
        self.items = items


def _tuples(x: Any) -> Iterator[Any]:
    """A tuple, and those in it or in a list, but not the empty one, which is one object."""
    if type(x) is tuple and x:
        yield x
    if type(x) in (tuple, list):
        for y in x:
            yield from _tuples(y)


def _inside(x: Any) -> list[Any]:
    """What a container or object holds."""
    if isinstance(x, dict):
        return [*x.keys(), *x.values()]
    if isinstance(x, (list, tuple, set, frozenset)):
        return [*x]
    return [*getattr(x, "__dict__", {}).values()] if "_tj_class" in vars(type(x)) else []


def _is_alternative(trace: Any) -> bool:
    """Whether what a trace has done is what the block that is staged now would do otherwise: it is over, and its block
    is not."""
    return not trace.live
