"""NumPy's settings that a function sets: `np.seterr(divide="ignore")`, `np.setbufsize(16384)`.

The program sets them at the same place in its order, as it prints. Nothing is set while it is traced; what the function
asks for then is told from what it has set before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracejit.frontend.outside import asked
from tracejit.frontend.outside.asked import Asking, call_of, path_of
from tracejit.frontend.text.sinks import enter
from tracejit.tracing import current_trace

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

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


class Setting(Asking):
    """What traced code has in the place of the function `tj_own`, which gives what was set before."""

    def tj_called(self, session: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        own = self.tj_own
        path = path_of(own)
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


def stand_in_for(value: Any) -> Asking | None:
    """The stand-in of a function that sets something, or only asks; None for others."""
    return Setting(value) if id(value) in _ASKED_BY else asked.stand_in_for(value)
