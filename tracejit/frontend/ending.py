"""The end of a run: what it has changed of outside, and what becomes of that."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

from tracejit.errors import CapturedWriteError, RandomStateError
from tracejit.frontend import members
from tracejit.frontend.active import in_blocks_of
from tracejit.frontend.checks import is_plain
from tracejit.frontend.journal import GONE, Change
from tracejit.frontend.outside import iterators
from tracejit.frontend.outside.lasting import Lasting
from tracejit.frontend.paths import ATTR, CELL, ITEM, Members, root
from tracejit.frontend.raw import outside as raw
from tracejit.frontend.run import Run
from tracejit.frontend.shadows import behind, containers, functions, objects
from tracejit.frontend.untouched import EMPTY
from tracejit.frontend.variants.which import check_change

#: So many keys of a container are asked whether comparing them changes something.
_MOST_KEYS = 4


def finish(session: Run, lasting: Lasting) -> None:
    """Writes down what of outside is changed, carries it out (in eager runs), or refuses it."""
    if session.guarded:
        _refuse_deleted(session)
        with _unchanged(session):
            _ask_keys(session)
    found = _found(session)
    if found and session.guarded and (shared := _by_two_ways(session)) is not None:
        raise CapturedWriteError(what=shared, where=session.call_site)
    for change, free in found:
        if free and not session.guarded:
            _carry_out(change, lasting.of)
        elif not (free and session.capture.journaled):
            where = change.where() if change.where is not None else session.call_site
            raise CapturedWriteError(what=change.what, where=where)
        check_change(change.value)
    if not session.guarded:
        lasting.settle()
    session.changes = [change for change, _ in found]
    drawn = session.generators.restore()
    if drawn is not None:
        raise RandomStateError(function=drawn, problem="it is drawn from by code that is not followed")


def _found(session: Run) -> list[tuple[Change, bool]]:
    """What of outside is changed, and whether each may be."""
    found = [pair for scope in session.scopes() for pair in scope.changes()]
    found += [*functions.cell_changes(session), *functions.attribute_changes(session)]
    found += [*objects.changes(session), *containers.changes(session), *members.changes(session)]
    return [*found, *iterators.changes(session), *raw.changes(session), *_of_as_is(session)]


def _of_as_is(session: Run) -> Iterator[tuple[Change, bool]]:
    """What code that runs as it is has changed, and whether the journal may have it: what was there is guarded."""
    free = session.untouched.straight and not session.has_variants
    for kept, key, was, now in session.untouched.left:
        node = kept.node
        if not free or node is None:
            yield Change(root(kept.owner, "attribute", kept.name).attr(key), now), False
            continue
        here = behind.class_node(kept.owner, key) if isinstance(kept.owner, type) else node.attr(key)
        if was is not EMPTY:
            session.check(here, "value" if is_plain(was) else "is", was)
        elif isinstance(kept.owner, type):
            session.check(Members(kept.owner), "absent", key)
        else:
            session.check(node.attr("__dict__"), "absent", key)
        yield Change(node.attr(key), GONE if now is EMPTY else now), True


@contextlib.contextmanager
def only_once(session: Run) -> Iterator[None]:
    """Refuses changes in a function that a transformation runs: its values are not those of the program, and it
    may run more or less often."""
    session.untouched.straight = False
    if not session.capture.journaled or in_blocks_of(session.capture.trace):
        yield
        return
    with _unchanged(session):
        yield


@contextlib.contextmanager
def _unchanged(session: Run) -> Iterator[None]:
    """Refuses what changes something here."""
    before = [(change.node.place(), _identity(change)) for change, _ in _found(session)]
    try:
        yield
    finally:
        new = [c for c, _ in _found(session) if (c.node.place(), _identity(c)) not in before]
        if new:
            raise CapturedWriteError(what=new[0].what, where=session.call_site)


def _carry_out(change: Change, own: Callable[[Any], Any]) -> None:
    """Let the place hold its new value."""
    node = change.node
    owner: Any = node.parent.read() if node.parent is not None else None
    gone, value = change.value is GONE, own(change.value)
    if node.kind == ITEM:
        owner[node.key] = value
    elif node.kind == CELL and not gone:
        owner.cell_contents = value
    elif node.kind == ATTR and not gone:
        setattr(owner, node.key, value)
    elif node.kind == ATTR and hasattr(owner, node.key):
        delattr(owner, node.key)


def _by_two_ways(session: Run) -> str | None:
    """A dict that was met as one, and as the attributes of an object or as a module's globals."""
    met = [x for x, shadow in session.seen() if behind.is_shadow(shadow)]
    namespaces = [*map(behind.instance_dict, met), *(scope.real for scope in session.scopes())]
    shared = (d for d in namespaces if type(d) is dict and session.where_is(d) is not None)
    return next((str(session.where_is(d)) for d in shared), None)


def _refuse_deleted(session: Run) -> None:
    """Refuses functions that delete globals: nobody is told of that."""
    for code, scope in session.codes:
        for name in functions.stored(code, ("DELETE_GLOBAL",)):
            if name in scope.real:
                where = functions.find_store(code, ("DELETE_GLOBAL",), name)
                raise CapturedWriteError(what=f"global `{scope.prefix}{name}`", where=where)


def _ask_keys(session: Run) -> None:
    """Lets keys be hashed and compared by the user's own methods, as guards and the program do, too: what these change,
    they would change more often than Python lets them."""
    for _, copy, _, _ in session.containers:
        if isinstance(copy, (dict, set, frozenset)):
            keys = [k for k in list(copy)[:_MOST_KEYS] if behind.is_shadow(k)]
            for key in keys:
                if isinstance(behind.find(type(key).__mro__, "__hash__")[1], types.FunctionType):
                    hash(key)
                    _ = key == keys[0]


def _identity(change: Change) -> Any:
    """What a changed place holds."""
    return id(change.value) if change.before is None else tuple(map(id, containers.contents(change.value)))
