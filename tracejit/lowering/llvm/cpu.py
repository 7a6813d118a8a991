"""Loop IR -> LLVM IR text for the host CPU.

The entry is `i32 @entry(ptr args, ptr params, ptr table, ptr arena, ptr status)`; see ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Callable

from tracejit.lowering.linking.processor import vector_bits
from tracejit.lowering.llvm import ahead, vecmath
from tracejit.lowering.llvm.body import Translator
from tracejit.lowering.llvm.chunks import Frame, launch, nest
from tracejit.lowering.llvm.nests import separate
from tracejit.lowering.llvm.target import Target, Translation
from tracejit.lowering.llvm.text import Function, Module
from tracejit.lowering.loops.nodes import Buffer, External, For, Program
from tracejit.lowering.runtime.compile import MANY_SCALARS, UNIFORM_TESTS

#: Scalars of loops up to which LLVM may pack them into vectors (its SLP pass). Of more it makes slower loops, whose
#: time goes into packing and unpacking: gradients of loops over 12 and 40 numbers are 1.2 times faster without, and
#: compile in 0.8 and 0.5 of the time.
_PACKED = 3
_ATTRIBUTES = 'nounwind "prefer-vector-width"="512"'


class Host(Target):
    """Pointers come from the arrays that the entry is called with. Those of buffers and the params are
    read once in the entry block, where they dominate every use."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.separate: set[For] | None = None

    def _read(self, f: Function, type_: str, array: str, index: int, flags: str = "") -> str:
        where, name = f.fresh(), f.fresh()
        f.entry.append(f"  {where} = getelementptr inbounds {type_}, ptr {array}, i64 {index}")
        f.entry.append(f"  {name} = load {type_}, ptr {where}, !invariant.load {f.module.empty()}{flags}")
        return name

    def arg(self, f: Function, buffer: Buffer) -> str:
        return self._read(f, "ptr", "%args", buffer.slot)

    def arena(self, f: Function, buffer: Buffer) -> str:
        offset, name = self.given(f, buffer.slot), f.fresh()
        f.entry.append(f"  {name} = getelementptr inbounds i8, ptr %arena, i64 {offset}")
        return name

    def param(self, f: Function, index: int, flags: str = "") -> str:
        return self._read(f, "i64", "%params", index, flags)

    def given(self, f: Function, value: int) -> str:
        if value == 0 or self.program.fixed_params < 0:
            return str(value)
        self.program.params.append(value)
        return self.param(f, len(self.program.params) - 1)

    def external(self, f: Function, external: External) -> str:
        index = self.program.externals.index(external)
        where = f.let(f"getelementptr inbounds ptr, ptr %table, i64 {index}")
        return f.let(f"load ptr, ptr {where}, !invariant.load {f.module.empty()}")

    def launch(self, body: Translator, node: For) -> bool:
        inside = Function(body.f.module.part())
        frame = Frame(inside)
        chunk = body.part(inside, Chunk(self.program, body, frame))
        launch(body, chunk, frame, node, _ATTRIBUTES)
        return True

    def apart(self, body: Translator, node: For) -> bool:
        if self.separate is None:
            self.separate = separate(self.program)
        if node not in self.separate:
            return False
        inside = Function(body.f.module.part(), contract=body.f.contract)
        frame = Frame(inside)
        nest(body, body.part(inside, Nest(self.program, body, frame)), frame, node, _ATTRIBUTES)
        return True

    interruptible = True

    def look(self, body: Translation) -> str:
        return self._look(body, body.register("python:check_signals", "i32()"), "")

    def _look(self, body: Translation, check: External, argument: str) -> str:
        """It runs signal handlers, which know nothing of the arrays here: values stay in registers."""
        address = self.external(body.f, check)
        return body.f.let(f"call i32 {address}({argument}) nounwind memory(inaccessiblemem: readwrite)")

    def detail(self, f: Function, index: int, operand: str) -> None:
        f.add(f"store i64 {operand}, ptr {f.let(f'getelementptr inbounds i64, ptr %status, i64 {index}')}")


class Chunk(Host):
    """A part of a loop that threads share. What it needs of the entry's arguments, `outer` leaves in the frame."""

    def __init__(self, program: Program, outer: Translator, frame: Frame) -> None:
        super().__init__(program)
        self.outer = outer
        self.frame = frame

    def param(self, f: Function, index: int, flags: str = "") -> str:
        return self.frame.add("i64", self.outer.target.param(self.outer.f, index), flags=flags)

    def given(self, f: Function, value: int) -> str:
        got = self.outer.target.given(self.outer.f, value)
        return self.frame.add("i64", got) if got.startswith("%") else got

    def launch(self, body: Translator, node: For) -> bool:
        return False

    def look(self, body: Translation) -> str:
        return self._look(body, body.register("threads:look", "i32(i64)"), "i64 %who")


class Nest(Chunk):
    """A loop nest that is a function of its own, and runs as a whole where it is called."""

    def look(self, body: Translation) -> str:
        return Host.look(self, body)


def emit(program: Program, translator: Callable[..., Translator] = Translator) -> str:
    """The module of a program as LLVM IR text, which `translator` writes.

    `pool:blocks` is appended to `program.externals` where heap buffers need them, and what follows from
    sizes to `program.params`, so both tables must be built after this. Raises Unsupported for dtypes without
    a native type.
    """
    module = Module(vector_bits=vector_bits())
    vecmath.plan(module, program.body.stmts)
    if program.fixed_params >= 0:
        del program.params[program.fixed_params :]
    f = Function(module, contract=program.fastmath)
    body = translator(f, program, Host(program))
    body.open()
    body.run()
    body.finish()
    f.add(f"ret i32 {f.let('load i32, ptr %status.code')}")
    head = [
        f"define i32 @entry(ptr noalias readonly %args, ptr noalias readonly %params, "
        f"ptr noalias readonly %table, ptr align 64 %arena, ptr noalias %status) {_ATTRIBUTES}{body.suffix} {{",
        "entry:",
        "  %status.code = alloca i32",
        "  store i32 0, ptr %status.code",
    ]
    if len(program.slots) > _PACKED:
        module.metadata.append(MANY_SCALARS)
    if program.uniform:
        module.metadata.append(UNIFORM_TESTS)
    if ahead.is_worth(program):
        module.metadata.append(ahead.FLAG)
    module.functions["entry"] = "\n".join([*head, *f.entry, "  br label %start", "start:", *f.lines, "}"])
    return module.render()
