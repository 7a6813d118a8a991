"""Refusals of the function that is being traced in this thread: they end its trace, whoever catches them.

An error that says "this can't be traced" is not one that the function would see under Python. A handler in the
user's code must not take it for one of Python's and go on with another answer, so each such error
(`TracejitError.limit`) is written down here when it is made, and whoever runs the function looks here in the end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class _Thread(threading.local):
    met: list[BaseException] | None = None
    failed: int | None = None
    hidden: tuple[int, type] | None = None
    count: int = 0


_thread = _Thread()


def met() -> list[BaseException]:
    """What has been refused so far in the run that is under way; empty where nothing is traced."""
    return _thread.met or []


def add(error: BaseException) -> None:
    """Write down that `error` refuses the run that is under way, if there is one."""
    if _thread.met is not None:
        _thread.met.append(error)


def may_number(error: Any) -> Any:
    """`error`, which is none where tuples have numbers."""
    error.numbers_tuples = True
    return error


def failed(error: BaseException | None) -> None:
    """A check of compiled code is about to raise `error`; None: what is raised is no check's."""
    _thread.failed = None if error is None else id(error)  # not the error, which would keep its frames alive
    _thread.count += 1


def last_failure() -> int:
    """A number that says which failure of compiled code was this thread's last one."""
    return _thread.count


def is_failed(error: BaseException) -> bool:
    """Whether `error`, which has just been caught, was raised by a check of compiled code."""
    return _thread.failed == id(error)


def hide(error: BaseException) -> None:
    """`error`, which is about to be raised, has what stands for traced values instead of them."""
    _thread.hidden = id(error), type(error)  # another one may be where one was that is gone


def hides_values(error: BaseException) -> bool:
    """Whether `error`, which has just been caught, has what stands for traced values instead of them."""
    return _thread.hidden == (id(error), type(error))


#: What traced code notes about an exception that the user's function raises: that it does, and that it is no Ctrl-C.
MARKS = ("_tj_raised", "_tj_thrown")


def unmark(error: BaseException) -> None:
    """`error` leaves the user's function as that has raised it."""
    for name in MARKS:
        vars(error).pop(name, None)


def withdraw(wanted: Callable[[BaseException], bool]) -> None:
    """Forget the refusals that `wanted` picks: what they feared did not happen."""
    if _thread.met is not None:
        _thread.met[:] = [e for e in _thread.met if not wanted(e)]


class into:
    """Write refusals into a list for a `with` block; with None they are forgotten: nothing is traced there."""

    __slots__ = ("met", "previous")

    def __init__(self, met: list[BaseException] | None) -> None:
        self.met = met

    def __enter__(self) -> None:
        self.previous = _thread.met
        _thread.met = self.met

    def __exit__(self, *_: object) -> None:
        _thread.met = self.previous


class attempt:
    """A block after which, if it raises one of `kinds`, tracejit itself goes another way: its refusals don't count."""

    __slots__ = ("kinds", "start")

    def __init__(self, *kinds: type[BaseException]) -> None:
        self.kinds = kinds

    def __enter__(self) -> None:
        self.start = len(met())

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if isinstance(error, self.kinds):
            del met()[self.start :]
