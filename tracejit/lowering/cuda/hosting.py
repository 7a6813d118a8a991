"""Steps of a plan that the host runs: calls of libraries and of Python, on copies of the device's arrays.

    int32 host0(ptr args, ptr params, ptr table, ptr arena, ptr status)

`args` are a copy of the frame, then copies of the buffers that the statements name.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tracejit.lowering.cuda.facts import Facts
from tracejit.lowering.cuda.fragments import Body, Kernels
from tracejit.lowering.cuda.nodes import Fragment, Host, Kernel, Plan
from tracejit.lowering.llvm.alias import pointees, walk
from tracejit.lowering.llvm.cpu import Host as HostTarget
from tracejit.lowering.llvm.memory import STATUS_WORDS
from tracejit.lowering.llvm.text import Function
from tracejit.lowering.loops.nodes import Buffer, Call, Program, Slot
from tracejit.lowering.loops.uses import places
from tracejit.lowering.lowered import Lowered
from tracejit.lowering.runtime import compile as machine
from tracejit.lowering.runtime.executable import Executable, needs_gil

_TYPES = [ctypes.c_void_p] * 5


class _Copies(HostTarget):
    """Where the copies of buffers are; `buffers` are those that are needed."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.buffers: list[Buffer] = []

    def arg(self, f: Function, buffer: Buffer) -> str:
        if buffer not in self.buffers:
            self.buffers.append(buffer)
        return self._read(f, "ptr", "%args", 1 + self.buffers.index(buffer))

    arena = arg

    def launch(self, body: Any, node: Any) -> bool:
        return False

    def given(self, f: Function, value: int) -> str:
        return str(value)


class HostStep:
    """A function of the host: which buffers it takes, and which words of the frame it sets (`left`: whose)."""

    def __init__(
        self, program: Program, plan: Plan, step: Host, buffers: list[Buffer], left: list[Any], address: int
    ) -> None:
        known = pointees(program)
        self.buffers = buffers
        self.pointers = [b for b in _named(step.stmts) if b.kind == "pointer"]
        self.sizes = {b: _bytes(b) for b in self.buffers}
        for b in self.pointers:
            self.sizes[b] = max((_bytes(t) for t in known.get(b, ())), default=0)
        self.words = sorted({plan.frame[x] for x in left if x not in self.pointers})
        gil = any(needs_gil(s.target) for s in step.stmts if isinstance(s, Call))
        self.function = (ctypes.PYFUNCTYPE if gil else ctypes.CFUNCTYPE)(ctypes.c_int32, *_TYPES)(address)


class HostSteps:
    """All steps of a plan that the host runs, compiled as one module."""

    def __init__(self, lowered: Lowered, facts: Facts, plan: Plan, steps: list[Host]) -> None:
        program = lowered.program
        emitter = Kernels(program, facts, plan)
        places = [_Copies(program) for _ in steps]
        left = []
        for n, step in enumerate(steps):
            text, names = _function(emitter, places[n], step, f"host{n}")
            emitter.module.functions[f"host{n}"] = text
            left.append(names)
        code = machine.compile_llvm(machine.as_set(emitter.module.render()))
        #: It knows the addresses of what is called, and what a failure means.
        self.executable = Executable(lowered, code)
        for n, step in enumerate(steps):
            address = code.symbols[f"host{n}"]
            step.function = HostStep(program, plan, step, places[n].buffers, left[n], address)

    def run(self, step: HostStep, frame: np.ndarray, copies: list[np.ndarray]) -> None:
        """Run a step on copies. Raises what Python has raised in it, and the exceptions of failed checks."""
        args = (ctypes.c_void_p * (1 + len(copies)))(frame.ctypes.data, *(c.ctypes.data for c in copies))
        status = (ctypes.c_int64 * STATUS_WORDS)()
        params, table = self.executable.tables()
        code = step.function(ctypes.addressof(args), params, table, None, ctypes.addressof(status))
        if code:
            self.executable.fail(np.array([code, *status], np.int64).tobytes())


def _function(emitter: Kernels, places: _Copies, step: Host, name: str) -> tuple[str, list[Any]]:
    """The text of a step's function, and whose words of the frame it sets."""
    f = Function(emitter.module)
    kernel, fragment = Kernel(name, "host", []), Fragment(step.stmts)
    f.entry.append("  %frame = load ptr, ptr %args")
    body = Body(f, emitter, kernel, fragment, places)
    body.write()
    body.finish()
    f.add(f"ret i32 {f.let('load i32, ptr %status.code')}")
    head = f"define i32 @{name}(ptr %args, ptr %params, ptr %table, ptr %arena, ptr %status) nounwind {{"
    start = ["entry:", "  %status.code = alloca i32", "  store i32 0, ptr %status.code"]
    return "\n".join([head, *start, *f.entry, "  br label %start", "start:", *f.lines, "}"]), body.left


def _named(stmts: list[Any]) -> list[Buffer]:
    return list(dict.fromkeys(b for s in walk(stmts) for b in places(s) if not isinstance(b, Slot)))


def _bytes(b: Buffer) -> int:
    return max(int(b.size), 1) * b.dtype.itemsize
