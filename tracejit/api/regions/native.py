"""One attempt to run a part of a function natively, which either does all of it or nothing."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.api.fallback import Python, Refusal
from tracejit.api.regions.gain import Gain
from tracejit.api.regions.given import why_unsure
from tracejit.interpreters import budget
from tracejit.ir.jaxpr import has_side_effects
from tracejit.tracing import is_tracing

#: What an attempt gives that did nothing.
MISSED: Any = object()
#: NumPy's error state, unless somebody sets another: native code does not look at it.
_USUAL = np.geterr()
#: Signatures that may be refused before a part is left to Python.
_REFUSALS = 3


class _Ambient:
    """The filters of warnings when the outermost function began to run: it may have changed them since."""

    filters: tuple[Any, int] | None = None


ambient = _Ambient()


def filters() -> tuple[Any, int]:
    return warnings.filters, len(warnings.filters)


class Missed(Python):
    """What a part's jitted function does where it has no program: nothing. `refusal` is the last reason."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        super().__init__(fun, True)
        self.refusal: Refusal | None = None
        self.failed = False

    def run(self, refusal: Refusal, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.refusal = refusal
        self.remember(key, refusal)
        return MISSED

    def again(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.failed = True
        return MISSED

    def plain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return MISSED

    def admit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises RuntimeError if what is given is more than values, functions and plain objects."""
        unsure = next(filter(None, map(why_unsure, (*args, *kwargs.values()))), None)
        if unsure is not None:
            raise RuntimeError(f"it is given {unsure}")

    def accept(self, program: Any) -> None:
        """Raises RuntimeError for what can't be done over without being seen."""
        stores = program.store is not None and bool(program.store.writes)
        if stores or has_side_effects(program.jaxpr.effects):
            raise RuntimeError("it acts, or stores something outside of it")


class Native:
    """A part's jitted function with its gain. `compiled(fun, python)` makes the former, when it is first needed."""

    def __init__(self, fun: Any, lines: int, compiled: Callable[[Any, Python], Any]) -> None:
        self.fun = fun
        self.gain = Gain(lines)
        self.python = Missed(fun)
        self.refusals = 0
        self._compiled = compiled

    @functools.cached_property
    def jitted(self) -> Any:
        return self._compiled(self.fun, self.python)

    @property
    def works(self) -> bool:
        """Whether it has run natively."""
        return self.gain.traced > 0

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result, or MISSED with everything as it was before; `gain.off` says whether that is for good."""
        if is_tracing() or np.geterr() != _USUAL or filters() != ambient.filters:
            return MISSED
        gain, python, jitted = self.gain, self.python, self.jitted
        count, python.refusal, python.failed = jitted.trace_count, None, False
        start = time.perf_counter()
        try:
            with budget.within(gain.allowance):
                out = jitted(*args, **kwargs)
        except Exception:  # of a check that is no error of Python's, or of a lack of memory: Python will tell
            out, python.failed = MISSED, True
        spent = time.perf_counter() - start
        if out is not MISSED:
            gain.ran_natively(spent, jitted.trace_count != count)
        elif python.refusal is not None:
            self._refused(python.refusal, spent)
        else:
            gain.did_over()
        return out

    def _refused(self, refusal: Refusal, spent: float) -> None:
        if "TJ223" in refusal.reason:
            self.python.refused.clear()
            self.gain.gave_up(spent)
            return
        self.refusals += 1
        self.gain.compiling += spent
        if not self.works or self.refusals >= _REFUSALS:
            self.gain.off = str(refusal)
