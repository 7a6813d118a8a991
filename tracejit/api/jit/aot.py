"""Ahead of time: functions traced and compiled for given types, and what they look like inside."""

from __future__ import annotations

from typing import Any

from tracejit.api.common import name_of
from tracejit.api.jit.programs import Program
from tracejit.api.jit.signature import Call
from tracejit.interpreters import jit as native
from tracejit.interpreters.eval import ROOT
from tracejit.tracing import use_trace


class Lowering:
    """A traced function, not yet compiled: `.compile()`, `.as_text(stage)`, `.jaxpr`."""

    def __init__(self, jitted: Any, call: Call, program: Program) -> None:
        self.jitted = jitted
        self.program = program
        self._call = call

    @property
    def jaxpr(self) -> Any:
        """The program as it was traced, before passes."""
        return self.program.jaxpr

    def compile(self) -> CompiledFunction:
        """Compile for C-contiguous arguments."""
        strides = tuple(native.c_strides(v.aval.shape) for v in self.program.jaxpr.invars)
        with use_trace(ROOT):
            return CompiledFunction(self, self.program.compiled(strides))

    def as_text(self, stage: str = "jaxpr") -> str:
        """The program at a stage: 'jaxpr', 'loops', 'source', 'llvm' or 'asm'. Raises ValueError for another."""
        return self.compile().as_text(stage)


class CompiledFunction:
    """A function compiled ahead of time: call it with arguments of the same types.

    Raises TypeError when called with other types or another structure.
    """

    def __init__(self, lowering: Lowering, compiled: native.Compiled) -> None:
        self._lowering = lowering
        self._compiled = compiled
        self.compile_seconds = compiled.compile_seconds

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        jitted, expected = self._lowering.jitted, self._lowering._call
        call = Call(jitted.fun, jitted.options, args, kwargs)
        if call.key() != expected.key():
            raise TypeError(
                f"{name_of(jitted.fun)} was compiled for {expected.avals()}, but called with {call.avals()} "
                "(or another structure, or other static arguments); compile it for these or call the jitted function"
            )
        return jitted(*args, **kwargs)

    def as_text(self, stage: str = "llvm") -> str:
        """The compiled program at a stage: 'jaxpr', 'loops', 'source', 'llvm' or 'asm'."""
        return self._compiled.as_text(stage)

    @property
    def jaxpr(self) -> Any:
        """The program after the passes."""
        return self._compiled.jaxpr

    def callbacks(self) -> list[str]:
        """The operations that the native program runs in Python."""
        return [c.name for c in self._compiled.lowered.callbacks]

    def memory_analysis(self) -> dict[str, int]:
        """Bytes that a call needs.

        `argument_bytes`, `output_bytes`, and `alias_bytes` of outputs that are written into arguments;
        `temporary_bytes`, of all buffers in between at their peak, with `arena_bytes` of them in the one block
        that a call borrows (the rest lies on the stack or is allocated by loops); `peak_bytes` in all. Arrays
        whose extent only a run knows (the tape of a `while_loop` in reverse) are not in these figures, nor is
        what Python functions allocate that the program calls.
        """
        lowered, jaxpr = self._compiled.lowered, self._compiled.jaxpr
        size = lambda avals: sum(a.size * a.dtype.itemsize for a in avals)  # noqa: E731
        arguments, outputs = size(jaxpr.in_avals), size(jaxpr.out_avals)
        shared = size(lowered.out_avals[n] for n in lowered.aliases)
        temporary = lowered.temporary_bytes
        return {
            "argument_bytes": arguments,
            "output_bytes": outputs,
            "alias_bytes": shared,
            "temporary_bytes": temporary,
            "arena_bytes": lowered.program.arena_bytes,
            "peak_bytes": arguments + outputs - shared + temporary,
        }
