"""A jitted function as Python runs it: a copy of it, in which the parts that pay are run natively."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.api.fallback import Python, Refusal
from tracejit.api.regions.copies import Callee, callee_of
from tracejit.api.regions.native import ambient, filters
from tracejit.config import config


class Regional(Python):
    """`compiled(fun, python)` makes the jitted functions of parts."""

    def __init__(
        self, fun: Callable[..., Any], wanted: bool | None, compiled: Callable[[Any, Python], Any]
    ) -> None:
        super().__init__(fun, wanted)
        self.compiled = compiled

    @property
    def callee(self) -> Callee | None:
        """The record of the function's code."""
        return callee_of(self.fun, self.compiled)

    def partly(self, refusal: Refusal) -> Callable[..., Any]:
        callee = self.callee if config.regions else None
        if callee is None:
            return self.fun
        callee.copies.learn(refusal)
        copy = callee.copies.of(self.fun)
        return self.fun if copy is self.fun else _watched(copy)

    def ends(self, refusal: Refusal) -> list[tuple[str, str]]:
        callee = self.callee if config.regions else None
        if callee is None:
            return []
        callee.copies.learn(refusal)
        return [(f"{callee.file}:{cut.line}", cut.why or refusal.reason) for cut in callee.copies.cuts()]

    def measured(self) -> list[str]:
        """The regions of the function, and of the functions that its copies called, each with its file and lines."""
        first = self.callee if config.regions else None
        callees = [] if first is None else [first, *first.called()]
        found = [(c.file, *lines, gain) for c in callees for lines, gain in c.measured()]
        return [
            f"{file}:{line}-{last}: {'native' if gain.off is None else gain.off}; {gain}"
            if gain.runs or gain.native_runs
            else f"{file}:{line}-{last}: {gain.off or 'native'}"
            for file, line, last, gain in found
        ]


def _watched(copy: Callable[..., Any]) -> Callable[..., Any]:
    """`copy`, called with the filters of warnings as they are now for those that native code may stand for."""

    def call(*args: Any, **kwargs: Any) -> Any:
        outer, ambient.filters = ambient.filters, filters()
        try:
            return copy(*args, **kwargs)
        finally:
            ambient.filters = outer

    return call
