"""`warnings.warn`: warned when the program is there, as from the user's line. And `warnings.catch_warnings`, as far as
it is there for what is ignored."""

from __future__ import annotations

import functools
import sys
import types
import warnings
from typing import Any, NamedTuple

from tracejit import control
from tracejit.control.callbacks import journal
from tracejit.errors import UnfollowedError, is_library
from tracejit.frontend import active
from tracejit.frontend.outside import floating
from tracejit.frontend.text.deferred import Text, is_text
from tracejit.frontend.text.places import Names, Place, caller, here
from tracejit.frontend.text.recipes import Known, Made, Recipe, listed
from tracejit.frontend.text.shown import parts_of
from tracejit.frontend.text.sinks import enter, is_recording
from tracejit.ir.jaxpr import Jaxpr
from tracejit.tracing import current_trace

_PYTHON = (types.FunctionType, staticmethod)


#: A call of a function that filters: the function, its arguments.
Filter = tuple[Any, tuple[Any, ...], tuple[tuple[str, Any], ...]]


class Warned(NamedTuple):
    """Warns as `warnings.warn` does that is called at the first of `places`, after `filters` in a `with` block of
    `catch_warnings`."""

    category: type[Warning]
    level: int
    places: tuple[Place, ...]
    filters: tuple[Filter, ...]
    left_out: bool = False  # of programs in files

    def __call__(self, message: Any) -> None:
        if not self.filters:
            self._warn(message)
            return
        with warnings.catch_warnings():
            for function, args, kwargs in self.filters:
                function(*args, **dict(kwargs))
            self._warn(message)

    def _warn(self, message: Any) -> None:
        at = caller(self.places, self.level - 1)
        if at is None:  # there are not so many frames, which Python has its own way with
            warnings.warn(message, self.category, stacklevel=sys.getrecursionlimit() * 100)
            return
        names = at.names.of
        registry = names.setdefault("__warningregistry__", {})
        module = names.get("__name__") or "<string>"
        warnings.warn_explicit(message, self.category, at.file, at.line, module, registry)


def warn(message: Any, category: Any = None, stacklevel: Any = 1, source: Any = None, **more: Any) -> None:
    """`warnings.warn`."""
    if not is_recording():
        warnings.warn(message, category, stacklevel + 1, source, **more)
        return
    if source is not None or more or type(stacklevel) is not int:
        raise UnfollowedError(what="`warnings.warn`", reason="its `source` or its level are not followed")
    if isinstance(message, Warning):
        category = type(message)
    category = UserWarning if category is None else category
    if not (isinstance(category, type) and issubclass(category, Warning)):
        raise TypeError(f"category must be a Warning subclass, not {type(category).__name__!r}")
    places = here()
    if _is_taken(message, category, caller(places, stacklevel - 1)):
        return
    enter(
        "warn", Warned(category, stacklevel, places, _filters()), [_message(message, category)], places=places
    )


def of_library(
    message: str, category: type[Warning], at: tuple[Any, ...] | None = None, times: Any = None
) -> None:
    """A warning that NumPy would give at the user's line, or `at` another one: file, line, function, globals. As often
    as the raw integer `times` says, if there is one, where Python does no call over."""
    if not is_recording():
        if times is None:
            warnings.warn(message, category, stacklevel=_users_level())
        return
    _leave()
    places = here() if at is None else (_place(*at),)
    if times is not None:
        _of_values(message, Warned(category, 1, places[:1], _filters(), True), times)
        return
    out = category is UserWarning  # memory that is not set
    enter("warn", Warned(category, 1, places, _filters(), out), [(Known(message), ())], places=places)


def _place(file: str, line: int, function: str, names: dict[str, Any]) -> Place:
    return Place(file, line, function, Names(names))


def _of_values(message: str, act: Warned, times: Any) -> None:
    session = active.session()
    if not (session.over or session.in_cached or session.capture.follows_devices):
        where = str(act.places[0]) if act.places else None
        entry = control.callbacks.counted.Counted("warn", act, Made(listed, (Known(message),)), where)
        control.callbacks.counted.enter(entry, times)


def of_library_at(message: str, category: type[Warning], place: Place) -> None:
    """A warning that NumPy has given at `place` while a program is recorded, which is to give it there."""
    _leave()
    out = category is RuntimeWarning  # empty parts
    enter("warn", Warned(category, 1, (place,), _filters(), out), [(Known(message), ())], places=(place,))


def _filters() -> tuple[Filter, ...]:
    """What the traced code has set in `with` blocks that it is in."""
    session = active.session()
    return () if session is None or session.filters is None else session.filters[1]


def _sees() -> Any:
    """The run, if it is in a block that sees what is warned of."""
    session = active.session()
    return session if session is not None and session.sees_warnings else None


def _leave() -> None:
    """Leave the call to Python where a library warns and the function sees that."""
    if _sees() is not None:
        floating.leave("a warning that the function sees")


def _is_taken(message: Any, category: type[Warning], at: Place | None) -> bool:
    """Whether a warning of the user's code goes into a list of the block's, or is left to Python."""
    session = _sees()
    if session is None:
        return False
    trace, filters, *_ = session.filters
    if session.recorded is None or current_trace() is not trace:
        floating.leave("a warning that the function sees")
        return True
    known = type(message) is str or (isinstance(message, Warning) and not vars(message))
    if at is None or not known or len(filters) != 1 or filters[0][1:] != (("always",), ()):
        raise _refused("warn", "the block that records it has other filters, or its text is not known")
    made = message if isinstance(message, Warning) else category(message)
    session.recorded.append(warnings.WarningMessage(made, category, at.file, at.line))
    return True


class catch_warnings:
    """`warnings.catch_warnings` for traced code. Nothing stays set: what the program warns of in the block it warns of
    with the block's filters. Filters may ignore warnings or always show them. Where they make exceptions of them, or
    where they are recorded, Python does the calls in which NumPy would warn."""

    __module__ = "warnings"

    def __init__(self, **options: Any) -> None:
        self._tj_own = warnings.catch_warnings(**{k: x for k, x in options.items() if k != "record"})
        self._tj_options = options
        self._tj_looking: Any = None

    def __enter__(self) -> Any:
        self._tj_session = session = active.session() if is_recording() else None
        if session is None:
            self._tj_own = warnings.catch_warnings(**self._tj_options)
            return self._tj_own.__enter__()
        records = bool(self._tj_options.get("record"))
        if self._tj_options.get("module") is not None or (records and not floating.can_be_seen()):
            raise _refused("catch_warnings", floating.REASON)
        self._tj_before = session.filters, session.recorded, session.sees_warnings
        action = {k: x for k, x in self._tj_options.items() if k not in ("record", "module")}
        self._tj_own.__enter__()
        session.filters = current_trace(), _filters()
        if floating.can_be_seen():
            session.sees_warnings |= records
            session.recorded = [] if records else session.recorded
            self._tj_looking = floating.looking()
            self._tj_looking.__enter__()
        if action.get("action") is not None:
            _add(session, warnings.simplefilter, (), action)
        return session.recorded if records else None

    def __exit__(self, *error: Any) -> None:
        try:
            if self._tj_looking is not None:
                self._tj_looking.__exit__(*error)
        finally:
            session = self._tj_session
            if session is not None:
                session.filters, session.recorded, session.sees_warnings = self._tj_before
            self._tj_own.__exit__(*error)


def filtering(own: Any) -> Any:
    """What traced code has in the place of a function that filters warnings."""

    @functools.wraps(own)
    def call(*args: Any, **kwargs: Any) -> None:
        session = active.session() if is_recording() else None
        if session is not None:
            if session.filters is None:
                raise _refused(own.__name__, "what it sets stays set")
            _add(session, own, args, kwargs)
        own(*args, **kwargs)

    return call


def _add(session: Any, own: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Let the block that the run is in have one more filter."""
    trace, before = session.filters
    if current_trace() is not trace:
        raise _refused(own.__name__, "a loop or a branch in the `with` block sets it")
    action = args[0] if args else kwargs.get("action")
    if action == "error" and floating.can_be_seen():
        session.sees_warnings = True
        floating.look()
    elif action not in ("ignore", "always"):
        raise _refused(own.__name__, f"{action!r} is another answer than to ignore a warning or to show it")
    session.filters = trace, (*before, (own, args, tuple(kwargs.items())))


def _refused(name: str, reason: str) -> UnfollowedError:
    return UnfollowedError(what=f"`warnings.{name}`", reason=reason)


def _users_level() -> int:
    """`stacklevel` of the user's line for the caller of this function."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and is_library(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level


def _message(message: Any, category: type[Warning]) -> tuple[Recipe, tuple[Any, ...]]:
    if type(message) is Text:
        return message.recipe, message.values
    if not isinstance(message, Warning):
        return (Known(message), ()) if is_text(message) else parts_of(message)
    if any(isinstance(vars(c).get("__new__"), _PYTHON) for c in category.__mro__) or vars(message):
        raise UnfollowedError(what="`warnings.warn`", reason="its warning is more than a text")
    made = [parts_of(a) for a in message.args]
    recipes = (Known(category), *[r for r, _ in made])
    return Made(_made, recipes), tuple([v for _, values in made for v in values])


def _made(category: type[Warning], *args: Any) -> Warning:
    """The warning with these `args`, as its `__init__` has left it, which is not done over."""
    message = category.__new__(category, *args)
    message.args = args
    return message


def warns(jaxpr: Jaxpr) -> bool:
    """Whether a program may warn."""
    return any(isinstance(getattr(e, "act", None), Warned) for e in journal.entries(jaxpr))


def silent(jaxpr: Jaxpr) -> Jaxpr:
    """A program without the warnings that files leave out."""
    return journal.without(jaxpr, lambda e: getattr(getattr(e, "act", None), "left_out", False))


def are_errors() -> bool:
    """Whether a warning may be raised as an exception now: then only Python does what comes before and after it."""
    return any(action == "error" for action, *_ in warnings.filters)
