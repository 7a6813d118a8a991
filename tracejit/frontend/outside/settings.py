"""NumPy's settings that a function sets: `np.seterr(divide="ignore")`, `np.setbufsize(16384)`,
`np.set_printoptions(precision=3)`.

The program sets them at the same place in its order, as it prints. While it is traced the print options are really
set, so that text which is made then knows by which it is written, and so are the answers to errors of numbers. Both are
put back in the end. What the function asks for is told from what it has set before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracejit.frontend import active
from tracejit.frontend.outside import asked, floating
from tracejit.frontend.outside.asked import Asking, call_of, path_of
from tracejit.frontend.text.sinks import enter
from tracejit.tracing import current_trace

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

#: What sets, and what asks for what was set.
_ASKED_BY = {
    id(np.seterr): np.geterr,
    id(np.setbufsize): np.getbufsize,
    id(np.set_printoptions): np.get_printoptions,
}


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
        if asks is np.geterr and floating.is_seen(after.values()) and not floating.can_be_seen():
            session.refuse(path, own, floating.REASON)
        session.settings[asks] = after
        enter(own.__name__, _Sets(own, args, tuple(kwargs.items())), [])
        if asks is np.geterr:
            np.seterr(**after)
            floating.look()
        if asks is np.get_printoptions:
            _refuse_unwritten(session, own, after)
            np.set_printoptions(**after)
            return None
        return dict(before) if type(before) is dict else before


def _refuse_unwritten(session: Run, own: Any, after: dict[str, Any]) -> None:
    """Raises UnfollowedError for options that text of the program can't have, and where there is text already, which
    does not know by which options it is to be written."""
    if after.get("formatter") is not None or after.get("override_repr") is not None:
        session.refuse(path_of(own), own, "a function of the user's writes arrays then")
    if session.has_texts and not session.sets_text:
        session.refuse(path_of(own), own, "text was made before")
    session.sets_text = True


@contextlib.contextmanager
def put_back(session: Run) -> Iterator[None]:
    """In the end arrays are written, and errors answered, as before the trace."""
    try:
        yield
    finally:
        if session.error_state is not None and np.geterr in session.settings:
            np.seterr(**session.error_state)
        if session.sets_text and session.print_options is not None:
            np.set_printoptions(**session.print_options)


def _after(own: Any, asks: Any, before: Any, args: Any, kwargs: Any) -> Any:
    """What is set after `own(*args, **kwargs)`, where `before` was: NumPy says it, and then everything is as it was."""
    held, size, shown = np.geterr(), np.getbufsize(), np.get_printoptions()
    try:
        if asks is np.geterr:
            np.seterr(**before)
        elif asks is np.get_printoptions:
            np.set_printoptions(**before)
        own(*args, **kwargs)
        return asks()
    finally:
        np.seterr(**held)
        np.setbufsize(size)
        np.set_printoptions(**shown)


def other_options(given: tuple[str, ...]) -> dict[str, Any]:
    """NumPy's print options but for those that are `given`."""
    return {name: x for name, x in np.get_printoptions().items() if name not in given}


class printoptions:
    """`np.printoptions` for traced code: text that is made in its block knows by which options it is written."""

    __module__ = "numpy"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._tj_own, self._tj_kwargs = np.printoptions(*args, **kwargs), kwargs

    def __enter__(self) -> Any:
        self._tj_session = session = active.session()
        if session is not None and session.guarded and np.get_printoptions not in session.settings:
            call_of(session, other_options, (tuple(self._tj_kwargs),))  # they are those of the call
        after = self._tj_own.__enter__()
        if session is not None:
            session.in_settings += 1
            if session.guarded and (after.get("formatter") or after.get("override_repr")):
                self.__exit__(None, None, None)
                session.refuse(
                    "numpy.printoptions", np.printoptions, "a function of the user's writes arrays then"
                )
        return after

    def __exit__(self, *error: Any) -> None:
        if self._tj_session is not None:
            self._tj_session.in_settings -= 1
        self._tj_own.__exit__(*error)


def stand_in_for(value: Any) -> Any:
    """The stand-in of what sets something, or only asks; None for others."""
    if value is np.printoptions:
        return printoptions
    return Setting(value) if id(value) in _ASKED_BY else asked.stand_in_for(value)
