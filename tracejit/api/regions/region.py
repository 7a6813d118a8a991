"""A region: statements of a function, which the function's copy asks for their results before it runs them."""

from __future__ import annotations

import time
import types
from collections.abc import Callable
from typing import Any

from tracejit.api.fallback import Python
from tracejit.api.regions.native import MISSED, Native
from tracejit.frontend import rewrite
from tracejit.frontend.rewrite.regions.work import seconds


class Region:
    """Stands in a copy's table as long as it may be run natively. `ended(region)` is told when that is over."""

    def __init__(
        self,
        part: Any,
        globals_: dict[str, Any],
        compiled: Callable[[Any, Python], Any],
        ended: Callable[[Region], None],
    ) -> None:
        self.part = part
        self.entries = [part.entry]
        fun = types.FunctionType(part.code, globals_, part.code.co_name)
        self.native = Native(fun, part.lines[1] - part.lines[0] + 1, compiled)
        self.gain = self.native.gain
        self.ended = ended
        self.start = 0.0

    def __call__(self, *given: Any) -> tuple[Any, ...] | None:
        """What the statements bind, if they were run natively; None: Python is to run them, and to call `leave`."""
        gain = self.gain
        if not gain.runs and not gain.native_runs and not gain.guess:
            gain.guess = seconds(self.part.stmts, dict(zip(self.part.takes, given, strict=True)))
        if gain.due and not gain.sample:
            rewrite.enter(self.native.fun.__code__, self.part.definition)
            out = self.native(given, {})
            if gain.off:
                self.ended(self)
            if out is not MISSED:
                return out
        self.start = time.perf_counter()
        return None

    def leave(self) -> None:
        """Python has run the statements."""
        self.gain.ran(time.perf_counter() - self.start)
        if self.gain.off:
            self.ended(self)

    @property
    def fate(self) -> str | None:
        """What has become of it: `small`, `refused`, or None as long as it may be run natively."""
        return None if self.gain.off is None else "small" if self.gain.small else "refused"
