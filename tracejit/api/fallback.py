"""Fallback: under an outermost jit, what can't be compiled is run by Python, as it is, on NumPy.

A trace has no effects, so that one which failed leaves nothing behind, whatever the reason: the user's function is
called, and gives its own result or its own exception. So does a native run in which a check failed, if nothing that
it did can be seen: then Python raises the very exception, with its type, its text and the user's line.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from tracejit.api.common import name_of
from tracejit.api.running import differentiates_eagerly, run_user
from tracejit.api.tracebacks import is_ours, trail
from tracejit.config import config
from tracejit.errors import (
    ArgumentCountError,
    DonatedArgumentError,
    FallbackWarning,
    StaticArgumentError,
    TracejitError,
    UnhashableStaticError,
    is_library,
    refusals,
)
from tracejit.interpreters import budget, generators, messages
from tracejit.ir.jaxpr import Jaxpr, can_be_done_over, sub_jaxprs
from tracejit.records import record
from tracejit.timeline import span
from tracejit.tracing import is_tracing

#: Mistakes in the use of jit itself: Python's run would hide them.
_MISUSED = (UnhashableStaticError, StaticArgumentError, DonatedArgumentError, ArgumentCountError)
#: Signatures of a function that are remembered as refused.
_MOST_REFUSED = 64


#: What a reason says that is an error of tracejit's own.
INSIDE = "an error inside tracejit"


class _Real(threading.local):
    """Whether Python is at work in this thread for the sake of an exception."""

    asked = False


_real = _Real()


@record(frozen=True)
class Refusal:
    """Why a function was not compiled: in one sentence, where, and what to do about it. `limit`: whether it is for
    what tracing can't do; otherwise Python may raise the same exception."""

    reason: str
    where: str | None
    remedy: str
    limit: bool
    #: The user's lines that the exception came through, outermost first.
    trail: tuple[tuple[str, int], ...] = ()
    #: Compiling that goes on; once it is `done`, calls may ask for the program again.
    later: Any = None

    @staticmethod
    def of(error: BaseException) -> Refusal | None:
        """The refusal that `error`, raised while a function was traced, stands for; None if it must be raised."""
        if isinstance(error, (*_MISUSED, MemoryError)):
            return None
        if not isinstance(error, TracejitError):
            lines = trail(error)
            line = f"{lines[-1][0]}:{lines[-1][1]}" if lines else None
            text = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            if is_ours(error):
                return Refusal(f"{text} ({INSIDE})", line, "tell us, with the function", False, lines)
            return Refusal(text, line, "see the reason", False, lines)
        remedies = [r.format(**error.details) for r in error.remedies]
        reason = f"[{error.code}] {error.cause.format(**error.details)}"
        remedy = remedies[0] if remedies else "see the reason"
        return Refusal(reason, error.where, remedy, error.limit, trail(error))

    def lines(self, filename: str, first: int, last: int) -> list[int]:
        """The lines of a part of a file that the exception came through, the last one being where it was made."""
        file, _, line = (self.where or "").rpartition(":")
        where = [(file, int(line))] if line.isdigit() else []
        return [n for name, n in (*self.trail, *where) if name == filename and first <= n <= last]

    def __str__(self) -> str:
        return f"{self.reason}" + (f" (at {self.where})" if self.where else "")


class Python:
    """A jitted function as Python runs it. `refused` has the signatures that tracing refused, and why."""

    def __init__(self, fun: Callable[..., Any], wanted: bool | None) -> None:
        self.fun = fun
        self.wanted = wanted
        self.refused: dict[Any, Refusal] = {}
        self.told = False
        self.changes = False  # whether a program changes objects of outside
        self.chooses = False  # whether a result of a program is of one of several types

    @property
    def allowed(self) -> bool:
        """Whether the option or the setting lets Python take over."""
        return config.fallback if self.wanted is None else self.wanted

    def key(self, signature: Callable[[], Any]) -> Any:
        """A call's signature; the class of the refusal where it has none, as with an array of strings."""
        try:
            return signature()
        except (TracejitError, OverflowError) as e:  # the latter of integers beyond 64 bits
            if Refusal.of(e) is None:
                raise
            return type(e)

    def run(self, refusal: Refusal, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function's own result; warns once, and remembers that calls with this key are Python's.

        What tracing can't do is told before the function runs. Other exceptions are most often the function's own,
        which then raises them again: if it did not, it is told afterwards."""
        if refusal.limit:
            self.tell(refusal)
        with span("python", name_of(self.fun)):
            out = run_user(self.fun, args, kwargs) if is_tracing() else self.partly(refusal)(*args, **kwargs)
        self.tell(refusal)
        self.remember(key, refusal)
        return out

    def partly(self, refusal: Refusal) -> Callable[..., Any]:
        """The function, or one that does the same."""
        return self.fun

    def ends(self, refusal: Refusal) -> list[tuple[str, str]]:
        """The statements that end parts of the function which may be run natively: the line, and why."""
        return []

    def measured(self) -> list[str]:
        """What of the function is run natively, and what was measured."""
        return []

    def plain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call by Python where a program can't do what is to be seen."""
        with span("python", name_of(self.fun)):
            return self.fun(*args, **kwargs)

    def admit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Look at arguments of a kind that was not met before they are traced; an exception refuses them."""

    def accept(self, program: Any) -> None:
        """Look at a program that was traced; an exception refuses it."""
        self.changes = self.changes or program.changes
        self.chooses = self.chooses or program.chooses

    def runs_in_derivatives(self) -> bool:
        """Whether a derivative is taken outside of jit of a function that changes objects, or gives a result of one of
        several types, which are other numbers to differentiate: it is run as the rest is."""
        return (self.chooses or (self.changes and self.allowed)) and differentiates_eagerly()

    def remember(self, key: Any, refusal: Refusal) -> None:
        """Calls with this signature are Python's."""
        if len(self.refused) >= _MOST_REFUSED:
            self.refused.clear()
        self.refused[key] = refusal

    def tell(self, refusal: Refusal) -> None:
        """Warn with the reason, once; the user's line is in the text."""
        if self.told:
            return
        self.told = True
        name = name_of(self.fun)
        messages.debug(1, f"tracejit: {name} is run by Python: {refusal}")
        details = {"function": name, "reason": refusal.reason, "remedy": refusal.remedy}
        warnings.warn(FallbackWarning(where=refusal.where, **details), stacklevel=_callers_level())

    def again(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call done over by Python after compiled code raised `error`; raised, if that was no check."""
        told = not self.allowed and failed_check(error) and refusals.hides_values(error)
        if told:
            generators.take_back(error)
            self._raise_real(error, args, kwargs)
        self.check_again(error)
        with span("python", name_of(self.fun)):
            return self.fun(*args, **kwargs)

    def check_again(self, error: Exception) -> None:
        """Raise `error` unless Python may do the call over in which compiled code raised it; take back its draws."""
        if not failed_check(error) or not self.allowed:
            raise error
        generators.take_back(error)

    def prepared(
        self,
        prepare: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        signature: Callable[..., Any],
    ) -> Any:
        """`prepare(args, kwargs)`, where Python does not take over. In a derivative outside of jit, which runs one
        operation after the other, the function is run so instead of refused: a Refusal says that."""
        eager = self.allowed and differentiates_eagerly()
        if eager and self.refused and (known := self.refused.get(signature(args, kwargs))) is not None:
            return known
        kinds = (Exception,) if eager else ()
        try:
            with budget.within(0), refusals.attempt(*kinds):
                return prepare(args, kwargs)
        except Exception as e:
            if eager and (refusal := Refusal.of(e)) is not None:
                return refusal
            if not is_tracing():
                refusals.unmark(e)
            if is_tracing() or not refusals.hides_values(e):
                raise
            error = e
        return self._raise_real(error, args, kwargs)

    def _raise_real(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
        """Raise what Python raises in this call, for which `error` stands: the same with its values. Nothing else that
        Python gives is used, as it may not take over."""
        if not _real.asked:  # else its run has led here again, by what compiles it without being told to
            _real.asked = True
            try:
                with contextlib.suppress(TracejitError):
                    self.fun(*args, **kwargs)
            finally:
                _real.asked = False
        raise error


def _callers_level() -> int:
    """`stacklevel` for a warning at the line that called the jitted function."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and is_library(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level


def failed_check(error: Exception) -> bool:
    """Whether a check of compiled code raised `error`, and not a callback of the user's."""
    return refusals.is_failed(error)


def may_be_done_over(jaxpr: Jaxpr) -> bool:
    """Whether a program has checks, and does nothing that can be seen before the last of them has passed: it calls
    nothing, puts its entries off, and writes into arrays of the caller's afterwards. What it draws from generators is
    taken back."""
    return "error" in jaxpr.effects and can_be_done_over(jaxpr.effects)


def hides_values(jaxpr: Jaxpr) -> bool:
    """Whether a check of a program raises an exception that has not all of its values."""
    return "error" in jaxpr.effects and any(
        getattr(e.params.get("failure"), "hides", False) or any(map(hides_values, sub_jaxprs(e.params)))
        for e in jaxpr.eqns
    )
