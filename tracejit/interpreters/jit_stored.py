"""The door of the jit interpreter to programs that are stored: in files, which other processes load, and as libraries
of C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.interpreters.jit import Compiled, c_strides, element_strides, operand
from tracejit.ir import natives
from tracejit.lowering.foreign.inputs import Input, Result, SizeOf
from tracejit.lowering.lowered import Callback, Check, Failure
from tracejit.lowering.runtime import shell
from tracejit.lowering.runtime.executable import Executable
from tracejit.lowering.stored.building import build, compiler
from tracejit.lowering.stored.c_library import Member, compiled, processor, undefined
from tracejit.lowering.stored.container import VERSION, Malformed, pack, unpack
from tracejit.lowering.stored.programs import DTYPES, PRIMITIVES, Read, Written

__all__ = [
    "DTYPES",
    "VERSION",
    "Check",
    "Executable",
    "Failure",
    "Malformed",
    "Member",
    "Read",
    "Result",
    "SizeOf",
    "Stored",
    "Written",
    "build",
    "compiled",
    "compiler",
    "describe",
    "pack",
    "processor",
    "python_calls",
    "undefined",
    "unpack",
]


def python_calls(compiled: Compiled) -> list[str]:
    """The functions that a compiled program calls in Python, besides primitives that have no native code."""
    calls = [c for c in compiled.lowered.callbacks if not _is_primitive(c)]
    return sorted({c.name or "a function" for c in calls})


def foreign_calls(compiled: Compiled) -> bool:
    """Whether a compiled program calls functions that another compiler made for this process."""
    return any(e.name.startswith(natives.PREFIX) for e in compiled.lowered.program.externals)


def _is_primitive(c: Callback) -> bool:
    return not c.users and c.op is not None and c.op.eval.__module__.startswith(PRIMITIVES)


def describe(
    written: Written,
    compiled: Compiled,
    captured: Sequence[Any],
    check: Callable[[Failure], Any],
    encode: Callable[[Any], Any],
) -> dict[str, Any]:
    """The description of a compiled program with the arrays that it has captured, which are its first inputs. `check`
    describes what a failed check raises, `encode` a plain value."""
    fixed = [operand(x) for x in (*compiled.constants, *captured)]
    program = written.program(compiled.run, check, encode)
    return {**program, "fixed": list(map(written.array, fixed)), "lifted": len(compiled.constants)}


class Stored:
    """A program of a file, ready to run: `executable`, whose first inputs are `fixed`; the last of these are the
    `captured` arrays."""

    def __init__(
        self, read: Read, d: dict[str, Any], check: Callable[[Any], Failure], decode: Callable[[Any], Any]
    ) -> None:
        self.executable = read.program(d, check, decode)
        self.fixed = list(map(read.array, d["fixed"]))
        self.captured = self.fixed[d["lifted"] :]
        self.lowered = self.executable.lowered
        types = [(a.dtype, a.shape) for a in self.lowered.in_avals]
        if [(a.dtype, a.shape) for a in self.fixed] != types[: len(self.fixed)]:
            raise Malformed("its arrays are not those of its program")

    @property
    def in_avals(self) -> list[Any]:
        """The types of the arguments."""
        return self.lowered.in_avals[len(self.fixed) :]

    def caller(self, inputs: Sequence[shell.Input], python: Sequence[int]) -> Callable[..., Any]:
        """A function of arguments like `inputs`, which it checks: the outputs, or MISS. Those in `python` are Python's
        numbers."""
        any_array = [shell.Input()] * len(self.fixed)
        native = self.executable.caller([*any_array, *inputs], python=frozenset(python))
        fixed = self.fixed
        return (lambda *arrays: native(*fixed, *arrays)) if fixed else native

    def inputs(self, shapes: Sequence[tuple[Any, ...]]) -> list[Input]:
        """The inputs of the program to a function of C: the arrays that it always takes are part of it. `shapes`: those
        of the arguments, in which the number of an argument as text is the size that this is."""
        written = set(self.lowered.aliases.values())
        fixed = [Input(a.dtype, a.shape, element_strides(a), np.array(a, order="K")) for a in self.fixed]
        count = len(fixed)
        sizes = {int(n) for shape in shapes for n in shape if type(n) is str}
        free = []
        for n, (a, shape) in enumerate(zip(self.in_avals, shapes, strict=True)):
            full = self.shape(shape)
            strides = c_strides(a.shape) if a.is_static else ()
            free.append(Input(a.dtype, full, strides, None, n + count in written, n in sizes))
        return fixed + free

    def shape(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """A shape in which text is the number of an argument, as functions of C take it."""
        return tuple(SizeOf(len(self.fixed) + int(n)) if type(n) is str else n for n in shape)

    def run(self, arrays: Sequence[np.ndarray]) -> tuple[Any, ...]:
        """The outputs of the program for arrays in C order, of its types."""
        return self.executable.call(*self.fixed, *arrays)
