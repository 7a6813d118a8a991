"""What code does in an eager run to things of the user's, where effects happen at once, besides giving a value."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tracejit.frontend import active
from tracejit.frontend.shadows import randoms
from tracejit.frontend.shadows.containers import contents
from tracejit.tracing import STATE

if TYPE_CHECKING:
    from tracejit.frontend.run import Run


class Noting:
    """A function that notes that it is called: what streams write with, and what makes the records of what is logged.

    The stream itself stays where it is, since code may ask what it is, or keep it. `before`: the attribute that it is
    put in the place of, None for that of the class."""

    def __init__(self, real: Any, before: Any, session: Run, what: str) -> None:
        self.real, self.before, self.session, self.what = real, before, session, what

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.session.acted(self.what)
        return self.real(*args, **kwargs)

    def leave(self, holder: Any, name: str) -> None:
        """Be no attribute any more, nor one that another puts back: that of a thread that began later."""
        top = vars(holder).get(name)
        if top is not self:
            while isinstance(top, Noting) and top.before is not self:
                top = top.before
            if isinstance(top, Noting):
                top.real, top.before = self.real, self.before
        elif self.before is None:
            delattr(holder, name)
        else:
            setattr(holder, name, self.before)


class Acts:
    """What an eager run does from here on; nothing of other runs, whose effects are part of their programs."""

    def __init__(self) -> None:
        session = active.session()
        self.session = session if session is not None and not session.guarded else None
        if self.session is None:
            return
        self.outer, self.session.acting = self.session.acting, []
        self.seen = len(self.session.first), len(self.session.containers), len(self.session.sources)
        self.drawn = randoms.Drawn()
        self.drawn.enter_shared()
        for generator, _ in self.session.sources:
            self.drawn.enter("a random generator", generator)
        copies = [c.copy for c in self.session.containers]
        self.held = [(x, contents(x)) for x in (*self.session.in_place, *copies)]
        self.writes = _writes()
        self.told: list[tuple[Any, str, Noting]] = []
        for holder, name, what in _doors():
            self._note(holder, name, what)

    def _note(self, holder: Any, name: str, what: str) -> None:
        """Note calls of an attribute; what has no attributes of its own may be called unseen."""
        session: Any = self.session
        try:
            noting = Noting(getattr(holder, name), vars(holder).get(name), session, what)
            setattr(holder, name, noting)
        except (AttributeError, TypeError):
            session.acted(f"perhaps {what}")
        else:
            self.told.append((holder, name, noting))

    def end(self) -> list[str]:
        """What it has done; but for draws, it stays done."""
        session = self.session
        if session is None:
            return []
        found, session.acting = session.acting or [], self.outer
        for holder, name, noting in reversed(self.told):
            noting.leave(holder, name)
        copies = [(c.copy, c.before) for c in session.containers[self.seen[1] :]]
        if any(_differs(*pair) for pair in (*self.held, *session.first[self.seen[0] :], *copies)):
            found.append("changes what a container holds")
        for generator, state in session.sources[self.seen[2] :]:
            self.drawn.seen.setdefault(id(generator), ("a random generator", generator, state or b""))
        if (drawn := self.drawn.restore()) is not None:
            found.append(f"draws from {drawn}")
        if _writes() != self.writes:
            found.append("writes into an array")
        if self.outer is not None:
            self.outer += found
        return found


def _doors() -> Iterator[tuple[Any, str, str]]:
    """By which functions, as attributes of what, a process prints and logs."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            yield stream, "write", "prints"
    if (logs := sys.modules.get("logging")) is not None:
        yield logs, "_logRecordFactory", "logs"


def meet(session: Run, value: Any) -> None:
    """Note the random generators of outside that an eager run meets."""
    if not session.guarded and randoms.is_generator(value):
        session.sources.append((value, None if session.acting is None else randoms.state_of(value)))


def _writes() -> int:
    return 0 if STATE.written is None else STATE.written.writes


def _differs(x: Any, before: list[Any]) -> bool:
    now = contents(x)
    return len(now) != len(before) or not all(map(operator.is_, now, before))
