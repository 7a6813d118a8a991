"""What stands for things of outside that a run may write: objects, classes, globals, containers, functions' attributes.

Reading one of them for the first time gives it its place in the session, also if that happens in a block that is
staged. Then the block is staged again: what is known before it begins can be carried, or put back.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any

from tracejit.frontend import active, members
from tracejit.frontend.journal import GONE
from tracejit.frontend.rewrite.blocks.cells import UNBOUND
from tracejit.frontend.shadows import attributes, behind, containers
from tracejit.frontend.shadows.growing import Growing, appended_to
from tracejit.frontend.shadows.scopes import GuardedGlobals
from tracejit.frontend.text import sinks


def written(x: Any) -> dict[str, Any] | None:
    """What the run has written to the attributes of a shadow or a class, or to globals; None of anything else."""
    if behind.is_shadow(x):
        return dict(behind.state_of(x).writes)
    if type(x) is members.Members:
        return dict(x.writes)
    return dict(x.written()) if type(x) is GuardedGlobals else None


def rewrite(x: Any, before: dict[str, Any]) -> None:
    """Let what was written be `before` again."""
    if type(x) is GuardedGlobals:
        x.restore(before)
        return
    writes = x.writes if type(x) is members.Members else behind.state_of(x).writes
    writes.clear()
    writes.update(before)


def read(x: Any, name: str) -> Any:
    """An attribute or global as it is now. UNBOUND if there is none, or none that is the object's own."""
    try:
        return x.lookup(name) if type(x) in (GuardedGlobals, members.Members) else attributes.own(x, name)
    except (AttributeError, KeyError):
        return UNBOUND


def write(x: Any, name: str, value: Any) -> None:
    """Assign an attribute or global."""
    if type(x) is GuardedGlobals:
        x.put(name, value)
    elif type(x) is members.Members:
        x.writes[name] = value
    else:
        behind.put(x, name, value)


def deletes(now: dict[str, Any]) -> bool:
    """Whether something is deleted."""
    return any(x is GONE for x in now.values())


class Outside:
    """The stand-ins of a session that a block finds, and what happens to those that it meets first."""

    def __init__(self) -> None:
        session = active.session()
        self.session = session if session is not None and session.guarded else None
        self.known = [] if self.session is None else list(_stand_ins(self.session))
        self.ids = {id(x) for _, x in self.known}
        self.names = [x for _, x in self.known if behind.is_shadow(x) and behind.state_of(x).names is None]
        self.count = 0 if self.session is None else len(self.session.containers)
        self.functions = 0 if self.session is None else len(self.session.attributes)

    def forget(self) -> bool:
        """Undo what the block has changed of things that it has met first. Whether there was anything."""
        if self.session is None:
            return False
        found = self._forget_names()
        for _, x in _stand_ins(self.session):
            if id(x) not in self.ids and written(x):
                found = True
                rewrite(x, {})
        for copy in self.session.containers[self.count :]:
            if not _same(containers.contents(copy.copy), copy.before):
                found = True
                _refill(copy.copy, copy.before)
        for _, fn, before in self.session.attributes[self.functions :]:
            added = {k: x for k, x in vars(fn).items() if k not in before or before[k] is not x}
            found = found or bool(added)
            for k in added:
                del vars(fn)[k]
            vars(fn).update({k: before[k] for k in added if k in before})
        return found

    def _forget_names(self) -> bool:
        """The `__dict__` of objects that had none yet is asked for again."""
        assert self.session is not None
        given = [s for s in map(behind.state_of, self.names) if s.names is not None]
        changed = False
        for state in given:
            copy = next(c for c in self.session.containers if c.copy is state.names)
            changed = changed or not _same(containers.contents(copy.copy), copy.before)
            self.session.containers.remove(copy)
            state.names = None
        return changed


def _stand_ins(session: Any) -> Iterator[tuple[str, Any]]:
    """All that may be written, with names."""
    for _, stand_in, node in list(session.met()):
        if node is not None and behind.is_shadow(stand_in):
            yield node.text, stand_in
    for copy in session.containers:
        yield copy.node.text, copy.copy
    for scope in session.scopes():
        yield "globals", scope
    for names in list(session.members.values()):
        yield names.cls.__name__, names
    for node, fn, _ in session.attributes:
        yield node.text, fn
    yield from sinks.redirected()


def _same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


#: Classes whose own methods refill what derives from them: `update` of a Counter adds.
_REFILLED: tuple[Any, ...] = (collections.OrderedDict, dict, set, list, collections.deque)


def _refill(x: Any, before: list[Any]) -> None:
    if type(x) is Growing and type(x.tj_new) is not list:
        x.tj_new = []
    x = appended_to(x)
    base: Any = next((cls for cls in _REFILLED if isinstance(x, cls)), type(x))
    base.clear(x)
    if issubclass(base, dict):
        base.update(x, zip(before[::2], before[1::2], strict=True))
    elif base is set:
        base.update(x, before)
    else:
        base.extend(x, before)
