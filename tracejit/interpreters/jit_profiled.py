"""Programs that measure themselves: what `jit` compiles while a profile is on. A second door to lowering, as `jit`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tracejit.interpreters.jit import MISS, Compiled
from tracejit.lowering.costs import Cost
from tracejit.lowering.llvm import cpu, probes
from tracejit.lowering.llvm.probes import Probe, label
from tracejit.lowering.loops.nodes import External, Program
from tracejit.lowering.lowered import Callback, Lowered
from tracejit.lowering.runtime.compile import Code
from tracejit.lowering.runtime.executable import Executable
from tracejit.lowering.runtime.stopwatch import PROBES, RECORDER, Counters
from tracejit.timeline import Span, span

#: What a profile needs of the rooms below, too.
__all__ = ["PROBES", "RECORDER", "Cost", "Counters", "Measured", "Probe", "Profiled", "label"]


class Profiled(Compiled):
    """A program with probes. It gives the same results: the operations and their order are the same."""

    def _emit(self, program: Program) -> str:
        self.plan = probes.plan(program)
        self.lowered.callbacks = [replace(c, fn=_spanned(c)) for c in self.lowered.callbacks]

        def weaver(*args: Any) -> probes.Weaver:
            made = probes.Weaver(*args)
            made.plan = self.plan
            return made

        return cpu.emit(program, weaver)

    def _executable(self) -> Executable:
        return Measured(self.lowered, self.code, self.plan.probes, self.source_jaxpr.name or "a program")

    def _holding(self, native: Callable[..., Any]) -> Callable[..., Any]:
        assert isinstance(self.run, Measured)
        return functools.partial(_timed, super()._holding(native), self.run.counters)


class Measured(Executable):
    """An executable whose program counts."""

    def __init__(self, lowered: Lowered, code: Code, found: list[probes.Probe], name: str) -> None:
        self.counters = Counters(name, found)
        super().__init__(lowered, code)

    def _address(self, external: External) -> int:
        return self.counters.address if external.name == probes.COUNTERS else super()._address(external)


def _timed(native: Callable[..., Any], counters: Counters, *arrays: Any) -> Any:
    """A call of native code as a span; none if the arguments are others than it takes."""
    RECORDER.enter()
    out, called = MISS, Span("native", counters.name, counters)
    called.__enter__()
    try:
        out = native(*arrays)
    except BaseException:
        called.end()
        raise
    else:
        called.end(out is not MISS)
    finally:
        RECORDER.leave()
    return out


def _spanned(callback: Callback) -> Callable[..., None]:
    """The function of a callback as a span."""

    def fn(operands: list[Any], results: list[Any]) -> None:
        with span("callback", callback.name):
            callback.fn(operands, results)

    return fn
