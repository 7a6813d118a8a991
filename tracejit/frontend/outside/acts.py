"""What code does in an eager run to things of the user's, where effects happen at once, besides giving a value."""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any

from tracejit.frontend import active
from tracejit.frontend.shadows import randoms
from tracejit.frontend.shadows.containers import contents
from tracejit.tracing import STATE

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_STREAMS = ("stdout", "stderr")


class _Written:
    """A stream of the process while somebody asks whether something is written into it."""

    def __init__(self, real: Any, session: Run) -> None:
        self.real, self.session = real, session

    def write(self, text: Any) -> Any:
        """Write, and note that."""
        self.session.acted("prints")
        return self.real.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class _Logged:
    """Makes the records of what is logged, and notes that."""

    def __init__(self, real: Any, session: Run) -> None:
        self.real, self.session = real, session

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.session.acted("logs")
        return self.real(*args, **kwargs)


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
        streams = [(sys, name, getattr(sys, name)) for name in _STREAMS]
        self.told: list[tuple[Any, str, Any]] = [
            (m, name, _Written(x, self.session)) for m, name, x in streams if x is not None
        ]
        if (logs := sys.modules.get("logging")) is not None:
            self.told.append((logs, "_logRecordFactory", _Logged(logs.getLogRecordFactory(), self.session)))
        for holder, name, noting in self.told:
            setattr(holder, name, noting)

    def end(self) -> list[str]:
        """What it has done; but for draws, it stays done."""
        session = self.session
        if session is None:
            return []
        found, session.acting = session.acting or [], self.outer
        for holder, name, noting in self.told:
            if getattr(holder, name) is noting:
                setattr(holder, name, noting.real)
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


def meet(session: Run, value: Any) -> None:
    """Note the random generators of outside that an eager run meets."""
    if not session.guarded and randoms.is_generator(value):
        session.sources.append((value, None if session.acting is None else randoms.state_of(value)))


def _writes() -> int:
    return 0 if STATE.written is None else STATE.written.writes


def _differs(x: Any, before: list[Any]) -> bool:
    now = contents(x)
    return len(now) != len(before) or not all(map(operator.is_, now, before))
