"""Branches and loops that can't be native: what a call takes of them, as a part of a program of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tracejit.errors import BranchLeavesError, TracejitError, TracerBoolError, refusals
from tracejit.frontend import active
from tracejit.frontend.rewrite.hooks.messages import is_programs
from tracejit.numpy.assumed import TAKEN, assumed, is_decided

#: So many times branches are staged in themselves.
MOST_DEEP = 16


def native_or_taken(choice: Any, then: Callable[[], Any] | None, other: Callable[[], Any] | None) -> Any:
    """The value of a native branch. Where there can be none, the branch that this call takes is part of the program,
    which checks that it is the one; other calls have another program."""
    error: Any = None
    if (choice.where, TAKEN) not in active.session().decisions or (
        taken := assumed(choice.pred, _again)
    ) is None:
        try:
            with refusals.attempt(TracejitError), _inside(choice.where, choice.pred):
                return choice.run()
        except TracejitError as e:
            error = e
        deep = isinstance(error.__cause__, RecursionError)  # each level of it would take as long again
        taken = None if error.asks or deep else assumed(choice.pred, lambda: error)
    choice.is_native = False
    if taken is None:
        if isinstance(error, BranchLeavesError) and (error.traced or is_decided(choice.pred)):
            error.traced = (choice.pred,)  # of the outermost branch, in the end
        if error.limit:
            refusals.add(error)
        raise error
    _strip(error)
    block = then if taken else other
    return None if block is None else block()


@contextlib.contextmanager
def _inside(where: str, pred: Any) -> Iterator[None]:
    """While the branches at `where` are staged. Raises BranchLeavesError where they are staged in themselves, level by
    level: a function calls itself, and nothing known ends that."""
    depth: dict[str, int] = active.session().staging
    if depth.get(where, 0) >= MOST_DEEP:
        error = BranchLeavesError(
            problem="its function calls itself there, nobody knows how often", where=where
        )
        error.traced = (pred,)
        raise error
    depth[where] = depth.get(where, 0) + 1
    try:
        yield
    finally:
        depth[where] -= 1


def is_step_taken(pred: Any, error: BaseException, met: int) -> bool:
    """Whether this call takes a step of a `while` loop, on the condition `pred`, which can't be native because of
    `error`. The program checks that it does; `met`: so many refusals there were before the loop was staged.

    Raises `error` where a program can't be for this call's steps."""
    takes = isinstance(error, Exception) or is_programs(error)
    asks = isinstance(error, TracejitError) and error.asks
    deep = isinstance(error, RecursionError) or isinstance(error.__cause__, RecursionError)
    noted = refusals.met()[met:]
    takes = takes and not asks and not deep
    taken = assumed(pred, lambda: _reason(error, noted)) if takes else None
    if taken is None:
        raise error from error.__cause__
    del refusals.met()[met:]
    _strip(error)
    return bool(taken)


def _reason(error: BaseException, noted: list[BaseException]) -> Exception:
    """The refusal that says why a loop is not native."""
    found = error if isinstance(error, TracejitError) else next(iter(noted), error)
    return found if isinstance(found, Exception) else _again()


def _strip(error: BaseException | None) -> None:
    """Forget the frames of an error that the program keeps, and so what the function's names hold."""
    while error is not None and error.__traceback__ is not None:  # errors may be each other's contexts
        error.__traceback__, error = None, error.__cause__ or error.__context__


def _again() -> Exception:
    """The refusal of a branch that is met again."""
    return TracerBoolError(aval="bool[]")
