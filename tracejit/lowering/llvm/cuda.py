"""Loop IR -> LLVM IR for NVPTX -> PTX.

A program whose body is scalar code followed by one parallel `For` becomes a kernel: the iterations of that
loop are dealt out to the threads of the grid (a grid-stride loop, so any launch shape is right). The
translation of statements and the vector functions are those of the CPU; only the surroundings differ.
Kernel parameters: one pointer to global memory per buffer of `program.args`, then the int64 params. Arena
buffers need one more pointer, the last; it is present when `program.arena_bytes` is not 0.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

from tracejit.errors import InternalTypeError
from tracejit.ir.kernel import Unsupported
from tracejit.lowering._lazy import llvm
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.llvm.body import Translator
from tracejit.lowering.llvm.target import Target
from tracejit.lowering.llvm.text import Function, Module
from tracejit.lowering.loops.nodes import (  # fmt: skip
    Alloc,
    Buffer,
    Call,
    Comment,
    External,
    For,
    Inst,
    Program,
    SetSlot,
)
from tracejit.lowering.loops.uses import is_check

_TRIPLE = "nvptx64-nvidia-cuda"
_SREG = "call i32 @llvm.nvvm.read.ptx.sreg"
_lock = threading.RLock()


class Device(Target):
    """Pointers and params are parameters of the kernel; nothing outside the kernel can be called."""

    def arg(self, f: Function, buffer: Buffer) -> str:
        return f"%arg{buffer.slot}"

    def arena(self, f: Function, buffer: Buffer) -> str:
        name = f.fresh()
        f.entry.append(f"  {name} = getelementptr inbounds i8, ptr %arena, i64 {buffer.slot}")
        return name

    def param(self, f: Function, index: int, flags: str = "") -> str:
        return f"%param{index}"

    def external(self, f: Function, external: External) -> str:
        raise Unsupported(f"a call of {external.name} in a CUDA kernel")

    def detail(self, f: Function, index: int, operand: str) -> None:
        raise Unsupported("a check that may raise in a CUDA kernel")

    def share(self, f: Function) -> tuple[str, str]:
        """This thread's number and the number of threads, in the entry block."""
        wide = {}
        for name in ("ctaid", "ntid", "tid", "nctaid"):
            narrow, wide[name] = f.fresh(), f.fresh()
            f.entry.append(f"  {narrow} = {_SREG}.{name}.x()")
            f.entry.append(f"  {wide[name]} = zext i32 {narrow} to i64")
        before, first, step = f.fresh(), f.fresh(), f.fresh()
        f.entry.append(f"  {before} = mul nsw i64 {wide['ctaid']}, {wide['ntid']}")
        f.entry.append(f"  {first} = add nsw i64 {before}, {wide['tid']}")
        f.entry.append(f"  {step} = mul nsw i64 {wide['ntid']}, {wide['nctaid']}")
        return first, step


def _check(program: Program) -> None:
    """Raise Unsupported unless the program is scalar code and then one loop of independent iterations."""
    *before, loop = [s for s in program.body.stmts if not isinstance(s, Comment)] or [None]
    if not isinstance(loop, For) or loop.down:
        raise Unsupported("a CUDA kernel is one loop over independent iterations")
    if not all(isinstance(s, (Inst, SetSlot)) for s in before):
        raise Unsupported("stores or loops before the parallel loop of a CUDA kernel")
    if any(is_check(s) or isinstance(s, (Call, Alloc)) for s in walk([loop])):
        raise Unsupported("calls, checks or allocation in a CUDA kernel")
    carried = {s.slot for s in before if isinstance(s, SetSlot)}
    if any(isinstance(s, SetSlot) and s.slot in carried for s in walk([loop])):
        raise Unsupported("a value carried from one iteration of a CUDA kernel to the next")


def kernel_name(program: Program) -> str:
    """The program's name as PTX allows it: letters, digits and underscores."""
    return "kernel_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in program.name)


def emit_kernel(program: Program) -> str:
    """The module of a program as LLVM IR text with one kernel (see `kernel_name`).

    Raises Unsupported for programs that are not one parallel loop.
    """
    _check(program)
    module = Module()
    f = Function(module, contract=program.fastmath)
    Translator(f, program, Device()).run()
    pointers = [f"ptr noalias %arg{b.slot}" for b in program.args]
    count = len(program.params) if program.fixed_params < 0 else program.fixed_params
    params = [f"i64 %param{n}" for n in range(count)]
    arena = ["ptr noalias align 16 %arena"] if program.arena_bytes else []
    name = kernel_name(program)
    head = f"define ptx_kernel void @{name}({', '.join([*pointers, *params, *arena])}) {{"
    lines = [head, "entry:", *f.entry, "  br label %start", "start:", *f.lines, "  ret void", "}"]
    module.functions[name] = "\n".join(lines)
    return module.render()


@functools.cache
def _machine(cc: tuple[int, int]) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(_TRIPLE)
    return target.create_target_machine(cpu=f"sm_{cc[0]}{cc[1]}", opt=3)


def assemble(text: str, cc: tuple[int, int] = (9, 0)) -> str:
    """PTX of a module, for compute capability `cc`. Needs neither a GPU nor its driver.

    Raises InternalTypeError when the text is not valid LLVM IR.
    """
    with _lock:
        try:
            module = llvm.parse_assembly(text, llvm.create_context())
            module.verify()
        except RuntimeError as e:
            raise InternalTypeError(problem=f"the LLVM IR does not verify: {e}") from e
        machine = _machine(cc)
        module.triple, module.data_layout = _TRIPLE, str(machine.target_data)
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return machine.emit_assembly(module)
