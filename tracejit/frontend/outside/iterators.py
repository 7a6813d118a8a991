"""Iterators of outside from which a function takes items: each call takes the next ones.

Traced code gets a stand-in. It takes the items from a copy of the iterator, which guards copy as well; so the items are
read anew at each call, before any is taken. The program lets the iterator of outside go on by as many in the end.
"""

from __future__ import annotations

import functools
import gc
import itertools
import types
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from tracejit.errors import UnfollowedError
from tracejit.frontend.journal import Change
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows import containers
from tracejit.tracing import current_trace

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_LEAVES = (
    *(type(iter([])), type(reversed([])), type(iter(())), type(iter(range(0))), type(iter(""))),
    *(type(iter({})), type(iter({}.values())), type(iter({}.items())), type(iter(set()))),
)
_NESTED = (zip, enumerate, map, filter)
#: Classes of iterators that are followed, if those in them are.
CLASSES = (*_LEAVES, *_NESTED, itertools.count, itertools.cycle)
_CALLS = (map, filter)
#: Functions that may be called ahead of time: they do nothing but give their results.
_PURE = frozenset(
    {*(abs, len, min, max, sum, round, divmod, bool, int, float, complex, str, tuple, list), type(None)}
)
#: Views of dicts, and of what may only be read: they show what is in a dict.
VIEWS = (type({}.keys()), type({}.values()), type({}.items()), types.MappingProxyType)
#: So many items are taken at most in a run: it could go on without an end.
_MOST = 4096
END: Any = type("End", (), {"__repr__": lambda self: "the end", "__slots__": ()})()


class Taken(NamedTuple):
    """An item of an iterator, END if it has none, and the iterator from there on."""

    item: Any
    rest: Any


def go_on(taken: Taken) -> Taken:
    """The next item after `taken`."""
    return Taken(next(taken.rest, END), taken.rest)


def ahead_of(x: Any) -> Taken:
    """The first item of a copy of the iterator `x`."""
    rest = _copy(x, {})
    return Taken(next(rest, END), rest)


def _copy(x: Any, done: dict[int, Any]) -> Any:
    """A copy of an iterator over the same objects. Raises TypeError if it has parts that are not followed."""
    if id(x) in done:
        return done[id(x)]
    cls = type(x)
    if cls is itertools.count:
        new = itertools.count(*_numbers(x))
    elif cls is itertools.cycle:
        with warnings.catch_warnings():  # from Python 3.12 on, until 3.14 has it no longer
            warnings.simplefilter("ignore", DeprecationWarning)
            make, args, (given, first) = x.__reduce__()
            new = make(*[_copy(a, done) for a in args])
            new.__setstate__(([*given], first))  # the list of what it has given, which it would share
    elif cls in CLASSES:
        make, args, *state = x.__reduce__()
        if cls in _CALLS and args[0] not in _PURE:
            raise TypeError("an iterator calls a function")
        new = make(*[_copy(a, done) if _is_iterator(a) else a for a in args])
        for s in state:
            new.__setstate__(s)
    else:
        raise TypeError(f"a {cls.__name__}")
    done[id(x)] = new
    return new


def _numbers(x: itertools.count[Any]) -> tuple[Any, ...]:
    """Where a counter is, and its step: they are seen in its text only. Raises ValueError for other numbers than
    Python's integers and floats."""
    texts = repr(x)[len("count(") : -1].split(", ")
    return tuple([int(t) if t.removeprefix("-").isdigit() else float(t) for t in texts])


def _is_iterator(x: Any) -> bool:
    return hasattr(type(x), "__next__")


def advance(x: Any, n: int) -> None:
    """Ask for an item `n` times."""
    for _ in range(n):
        next(x, END)


class Advanced(NamedTuple):
    """What a place holds in the end: the iterator that it held, asked for an item so often."""

    count: int

    def tj_change(self) -> tuple[Any, tuple[Any, ...]]:
        """What makes the change of the object, and is given these things besides."""
        return advance, (self.count,)


_advanced = functools.cache(Advanced)


def can_follow(x: Any) -> bool:
    """Whether `x` is an iterator that can be copied, with all that it takes its items from."""
    if type(x) not in CLASSES:
        return False
    if type(x) is itertools.cycle and not hasattr(x, "__reduce__"):
        return False
    try:
        _copy(x, {})
    except Exception:
        return False
    return True


def _parts(x: Any) -> Iterator[Any]:
    """The iterator and those in it, and what they are over."""
    yield x
    if _is_iterator(x):
        for part in gc.get_referents(x):
            for p in (part, *part) if type(part) is tuple and type(x) in _NESTED else (part,):
                yield from _parts(p)


class Iterating:
    """The stand-in of the iterator `tj_real` at `tj_node`, which was asked for an item `tj_asked` times."""

    __slots__ = ("tj_asked", "tj_last", "tj_node", "tj_parts", "tj_real", "tj_session")

    def __init__(self, session: Run, node: Node, real: Any) -> None:
        self.tj_session, self.tj_node, self.tj_real = session, node, real
        self.tj_parts = [*_parts(real)]
        self.tj_asked = 0
        self.tj_last: tuple[Node, Taken] | None = None

    def __iter__(self) -> Iterating:
        return self

    def __next__(self) -> Any:
        session = self.tj_session
        if current_trace() is not session.capture.trace:
            raise self.tj_refusal("a loop, a branch or a transformation takes its items")
        if self.tj_asked >= _MOST:
            raise self.tj_refusal("too many items are taken from it")
        try:
            if self.tj_last is None:
                node, taken = self.tj_node.applied(ahead_of), ahead_of(self.tj_real)
            else:
                node, taken = self.tj_last[0].applied(go_on), go_on(self.tj_last[1])
        except Exception as e:  # which the function may catch, and which another call may not raise
            raise self.tj_refusal(f"it raises {type(e).__name__} here") from e
        self.tj_last = node, taken
        place = node.item(0, f"{self.tj_node.text}[{self.tj_asked}]")
        self.tj_asked += 1
        if taken.item is END:
            session.check(place, "is", END)
            raise StopIteration
        return session.wrap(place, taken.item)

    def __length_hint__(self) -> Any:
        hint = getattr(type(self.tj_real), "__length_hint__", None)
        if hint is None:
            return NotImplemented
        left = hint(self.tj_real)
        self.tj_session.check(self.tj_node.applied(hint), "value", left)
        return max(left - self.tj_asked, 0)

    def tj_refusal(self, reason: str) -> UnfollowedError:
        return UnfollowedError(what=str(self.tj_node), reason=reason)

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self.tj_real), name):
            raise self.tj_refusal("more is done with it than taking its items")
        raise AttributeError(f"{type(self.tj_real).__name__!r} object has no attribute {name!r}")


def _refuses(self: Iterating, *_: Any, **__: Any) -> NoReturn:
    raise self.tj_refusal("more is done with it than taking its items")


for _name in ("__reduce_ex__", "__copy__", "__deepcopy__", "__dir__", "__repr__", "__str__", "__format__"):
    setattr(Iterating, _name, _refuses)


def wrap(session: Run, node: Node, value: Any) -> Any:
    """The stand-in of an iterator, if it can be followed; else the iterator itself, reported."""
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    if not session.guarded:
        return value
    if not can_follow(value):
        session.same(node, value)
        session.from_library(node, value, "its class comes from a library or is written in C")
        return value
    session.check(node, "type", type(value))
    session.differs(node, value)
    return session.remember(value, Iterating(session, node, value), node)


def changes(session: Run) -> Iterator[tuple[Change, bool]]:
    """The iterators of outside that have gone on.

    Raises UnfollowedError if what one is over has changed, or two share a part: an item may be another one then."""
    met = [x for _, x, _ in session.met() if type(x) is Iterating and x.tj_last is not None]
    seen: set[int] = set()
    for x in met:
        moving = {id(p) for p in x.tj_parts if _is_iterator(p)}
        if not seen.isdisjoint(moving):
            raise x.tj_refusal("another iterator goes on with it")
        seen |= moving
        over = {id(session.known(p)) for p in x.tj_parts if containers.is_container(p)} - {id(None)}
        if any(id(c.copy) in over and containers.is_changed(c) for c in session.containers):
            raise x.tj_refusal("what it is over is changed")
        yield Change(x.tj_node, _advanced(x.tj_asked)), True


def wrap_view(session: Run, node: Node, value: Any) -> Any:
    """A view of the stand-in of a dict."""
    known = session.known(value)
    if known is not None or not session.guarded:
        return value if known is None else known
    session.check(node, "type", type(value))
    held = session.wrap(node.applied(shown_by), shown_by(value))
    if not isinstance(held, dict):
        session.refuse(str(node), value, "what it shows is no dict")
    make = {k: getattr(dict, k.__name__.removeprefix("dict_")) for k in VIEWS[:3]}.get(type(value))
    return session.remember(value, types.MappingProxyType(held) if make is None else make(held), node)


def shown_by(view: Any) -> Any:
    """The dict that a view shows."""
    (held,) = gc.get_referents(view)
    return held


#: What wraps the objects of each class.
HANDLERS: dict[type, Any] = {**dict.fromkeys(CLASSES, wrap), **dict.fromkeys(VIEWS, wrap_view)}
