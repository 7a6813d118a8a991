"""`warnings.warn`: warned when the program is there, as from the user's line."""

from __future__ import annotations

import sys
import types
import warnings
from typing import Any, NamedTuple

from tracejit.control.callbacks import journal
from tracejit.errors import UnfollowedError, is_library
from tracejit.frontend.text.deferred import Text, is_text
from tracejit.frontend.text.places import Place, caller, here
from tracejit.frontend.text.recipes import Known, Made, Recipe
from tracejit.frontend.text.shown import parts_of
from tracejit.frontend.text.sinks import enter, is_recording
from tracejit.ir.jaxpr import Jaxpr

_PYTHON = (types.FunctionType, staticmethod)


class Warned(NamedTuple):
    """Warns as `warnings.warn` does that is called at the first of `places`."""

    category: type[Warning]
    level: int
    places: tuple[Place, ...]

    def __call__(self, message: Any) -> None:
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
    enter("warn", Warned(category, stacklevel, places), [_message(message, category)], places=places)


def of_library(message: str, category: type[Warning]) -> None:
    """A warning that NumPy would give at the user's line."""
    if not is_recording():
        warnings.warn(message, category, stacklevel=_users_level())
        return
    places = here()
    enter("warn", Warned(category, 1, places), [(Known(message), ())], places=places)


def of_library_at(message: str, category: type[Warning], place: Place) -> None:
    """A warning that NumPy has given at `place` while a program is recorded, which is to give it there."""
    enter("warn", Warned(category, 1, (place,)), [(Known(message), ())], places=(place,))


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


def are_errors() -> bool:
    """Whether a warning may be raised as an exception now: then only Python does what comes before and after it."""
    return any(action == "error" for action, *_ in warnings.filters)
