"""The door of the frontend: `prepare(f).run(capture, args, kwargs)` and `call`."""

from __future__ import annotations

import contextlib
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from tracejit.frontend import active, ending
from tracejit.frontend.capture import Capture, EagerCapture, FollowedCapture
from tracejit.frontend.guards import GuardSet
from tracejit.frontend.outside.lasting import Lasting
from tracejit.frontend.outside.questions import noticed
from tracejit.frontend.session import Session
from tracejit.tracing import is_tracing


class Prepared:
    """A callable that can be run under tracing: a function, method, partial or any callable."""

    def __init__(self, f: Any) -> None:
        self._f = _reference(f)

    @property
    def function(self) -> Any:
        """The user's callable. ReferenceError if it is gone."""
        f = self._f()
        if f is None:
            raise ReferenceError("the prepared function no longer exists")
        return f

    def run(self, capture: Capture, args: Any = (), kwargs: Any = None) -> tuple[Any, GuardSet]:
        """Runs a copy of the function that sees stand-ins; gives its result and the guards."""
        session = Session(capture)
        out = session.run(self.function, args, kwargs)
        return out, session.guards()


_prepared: weakref.WeakKeyDictionary[types.FunctionType, Prepared] = weakref.WeakKeyDictionary()


def _reference(f: Any) -> Any:
    """Functions are held weakly, as keys of the cache; other callables by their Prepared."""
    return weakref.ref(f) if type(f) is types.FunctionType else lambda: f


def prepare(f: Any) -> Prepared:
    """How to run `f` under tracing; one for a function, which the caller must keep alive."""
    if type(f) is not types.FunctionType:
        return Prepared(f)
    known = _prepared.get(f)
    if known is None:
        known = _prepared[f] = Prepared(f)
    return known


def call(f: Any, args: Any = (), kwargs: Any = None, has_aux: bool = False) -> Any:
    """Runs `f` for a transformation that keeps nothing (eager grad, vmap, scan bodies): inside
    the traced run that is under way, or in an eager one. Where nothing is traced it is called as it is. `has_aux`: the
    second part of its result is only handed out."""
    session = active.session()
    if not is_tracing() and (session is None or not session.guarded):
        return f(*args, **(kwargs or {}))
    return (session or Session(EagerCapture())).run(f, args, kwargs, has_aux)


@contextlib.contextmanager
def followed() -> Iterator[list[Callable[[], bool]]]:
    """Follows what users' functions read in this context. The list that it gives has, in the end, a check
    whether all of it is as it was; it stays empty where nothing was read, or where a jitted function is traced,
    whose own guards follow everything."""
    checks: list[Callable[[], bool]] = []
    outer = active.session()
    if outer is not None and outer.guarded and type(outer.capture) is not FollowedCapture:
        yield checks
        return
    capture = FollowedCapture()
    session = Session(capture, rewrites=False)
    with active.use(session), noticed(session):
        yield checks
    ending.finish(session, Lasting(session, ()))
    guards = session.guards()
    if len(guards) or capture.values:
        checks.append(lambda: capture.same(guards.arrays()))
