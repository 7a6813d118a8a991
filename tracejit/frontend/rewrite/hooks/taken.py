"""Branches that can't be native: the one that a call takes, as a part of a program of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.errors import TracejitError, TracerBoolError, refusals
from tracejit.frontend import active
from tracejit.numpy.assumed import TAKEN, assumed


def native_or_taken(choice: Any, then: Callable[[], Any] | None, other: Callable[[], Any] | None) -> Any:
    """The value of a native branch. Where there can be none, the branch that this call takes is part of the program,
    which checks that it is the one; other calls have another program."""
    error: Any = None
    if (choice.where, TAKEN) not in active.session().decisions or (
        taken := assumed(choice.pred, _again)
    ) is None:
        try:
            with refusals.attempt(TracejitError):
                return choice.run()
        except TracejitError as e:
            error = e
        asks = error.arguments or error.places or error.structure  # another trace may know what is missing
        asks = asks or isinstance(
            error.__cause__, RecursionError
        )  # each level of it would take as long again
        taken = None if asks else assumed(choice.pred, lambda: error)
    choice.is_native = False
    if taken is None:
        if error.limit:
            refusals.add(error)
        raise error
    _strip(error)
    block = then if taken else other
    return None if block is None else block()


def _strip(error: BaseException | None) -> None:
    """Forget the frames of an error that the program keeps, and so what the function's names hold."""
    while error is not None and error.__traceback__ is not None:  # errors may be each other's contexts
        error.__traceback__, error = None, error.__cause__ or error.__context__


def _again() -> Exception:
    """The refusal of a branch that is met again."""
    return TracerBoolError(aval="bool[]")
