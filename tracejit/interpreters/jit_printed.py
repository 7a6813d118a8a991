"""Jaxprs compiled by Numba from their printed form: the second backend, an independent way to run every program."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tracejit.errors import NotPrintableError
from tracejit.interpreters import messages
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.jit import Compiled
from tracejit.ir.jaxpr import DRAWN
from tracejit.lowering import fuse
from tracejit.lowering.llvm import cpu
from tracejit.lowering.runtime import compile as machine
from tracejit.lowering.runtime import printed
from tracejit.ops.creation import times
from tracejit.tracing import LOCK, use_trace


class CompiledByNumba(Compiled):
    """As `Compiled`; arguments may lie in memory in any way. There is no fast path to it, and no function in C."""

    def _lower(self) -> None:
        with use_trace(ROOT):
            layouts = [None] * len(self.jaxpr.invars)
            self.lowered = fuse.lower(self.jaxpr, layouts, self._aliases)
        self.llvm = "; compiled by Numba"

    def _load(self, make: Callable[[str], bytes]) -> None:
        name = self.source_jaxpr.name or "program"
        if DRAWN in self.jaxpr.effects:
            raise NotPrintableError(function=name, problem="a random generator")
        if times.occur(self.source_jaxpr):
            raise NotPrintableError(function=name, problem="dates or times, which Numba has in other ways")
        with LOCK:
            self.direct = self.run = printed.Printed(self.lowered, name)  # type: ignore[assignment]
            Compiled.count += 1
        self.compile_seconds = time.perf_counter() - self._start
        messages.tell_compiled(self.source_jaxpr, self.compile_seconds)

    @property
    def code(self) -> Any:  # type: ignore[override]
        """The machine code that the other backend makes of the program."""
        with use_trace(ROOT):
            return machine.compile_llvm(cpu.emit(self.lowered.program))

    def as_text(self, stage: str) -> str:
        return self.code.text if stage == "source" else super().as_text(stage)
