"""NumPy's settings that a function sets: `np.seterr(divide="ignore")`, `np.setbufsize(16384)`.

The program sets them at the same place in its order, as it prints. Nothing is set while it is traced; what the function
asks for then is told from what it has set before.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from tracejit.frontend import active
from tracejit.frontend.impure import ACTS
from tracejit.frontend.outside import asked
from tracejit.frontend.outside.asked import Asking, call_of, known, path_of
from tracejit.frontend.text.sinks import enter
from tracejit.tracing import current_trace

#: What sets, and what asks for what was set.
_ASKED_BY = {id(np.seterr): np.geterr, id(np.setbufsize): np.getbufsize}
_TOLD = (None, "ignore", "warn")


class _Sets(NamedTuple):
    """Calls `function`, which sets something, with what is known of its arguments."""

    function: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]

    def __call__(self) -> None:
        self.function(*self.args, **dict(self.kwargs))


class Setting:
    """What traced code has in the place of the function `tj_own`, which gives what was set before."""

    def __init__(self, own: Any) -> None:
        self.tj_own = own
        functools.update_wrapper(self, own, ("__module__", "__name__", "__qualname__", "__doc__"), ())

    def __eq__(self, other: object) -> bool:
        return other is self.tj_own or (type(other) is Setting and other.tj_own is self.tj_own)

    def __hash__(self) -> int:
        return hash(self.tj_own)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        session, own = active.session(), self.tj_own
        if session is None or not session.guarded:
            return own(*args, **kwargs)
        path = path_of(own)
        try:
            args, kwargs = tuple(map(known, args)), {k: known(x) for k, x in kwargs.items()}
        except ValueError:
            session.refuse(path, own, ACTS)
        if current_trace() is not session.capture.trace or session.in_settings:
            session.refuse(path, own, "a loop, a branch, a transformation or a `with` statement sets it")
        asks = _ASKED_BY[id(own)]
        before = call_of(session, asks)
        if type(before) is not int and type(before) is not dict:
            session.refuse(path, own, "what was set before is not known")
        after = _after(own, asks, before, args, kwargs)
        if asks is np.geterr and any(kind not in _TOLD for kind in after.values()):
            session.refuse(path, own, "compiled code does not look for floating-point errors")
        session.settings[asks] = after
        enter(own.__name__, _Sets(own, args, tuple(kwargs.items())), [])
        return dict(before) if type(before) is dict else before


def _after(own: Any, asks: Any, before: Any, args: Any, kwargs: Any) -> Any:
    """What is set after `own(*args, **kwargs)`, where `before` was: NumPy says it, and then everything is as it was."""
    held, size = np.geterr(), np.getbufsize()
    try:
        if type(before) is dict:
            np.seterr(**before)
        own(*args, **kwargs)
        return asks()
    finally:
        np.seterr(**held)
        np.setbufsize(size)


def stand_in_for(value: Any) -> Setting | Asking | None:
    """The stand-in of a function that sets something, or only asks; None for others."""
    return Setting(value) if id(value) in _ASKED_BY else asked.stand_in_for(value)
