"""A fragment of a kernel as an LLVM function, the same text for a card and for the emulated device.

    define internal void @k0.f1(<parameters>, ptr %local, ptr %mine, i64 %tid, i64 %ntid, i64 %cta, i64 %ncta,
                                 i64 %row)

The parameters are those of the kernel: pointers of buffers (`%b3`), sizes (`%p0`), variables of loops of the host's
(`%step7`), and `%frame`, `%status`, `%scratch`. `%local` are the words of the block, `%mine` those of the thread, for
what it accumulates; `%row` is the iteration that the block is at.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.cuda import looking, trees
from tracejit.lowering.cuda.facts import Facts, is_set_first, moved
from tracejit.lowering.cuda.lanes.ahead import AHEAD, NAME, is_ahead
from tracejit.lowering.cuda.nodes import CONVERGENT, Fragment, Keep, Kernel, Plan
from tracejit.lowering.cuda.sharing.copies import Copies
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.llvm.scalar import value
from tracejit.lowering.llvm.target import Target
from tracejit.lowering.llvm.text import Function, Module, literal, mem_type, reg_type
from tracejit.lowering.loops.nodes import (  # fmt: skip
    Block,
    Buffer,
    Call,
    Const,
    External,
    For,
    Inst,
    Operand,
    Program,
    Reg,
    SetSlot,
    Slot,
    Store,
)
from tracejit.lowering.loops.uses import defined, is_check, operands

#: What every fragment and kernel knows besides buffers and sizes.
FIXED = ("ptr %frame", "ptr %status", "ptr %scratch")
THREAD = ("ptr %local", "ptr %mine", "i64 %tid", "i64 %ntid", "i64 %cta", "i64 %ncta", "i64 %row")


class Device(Target):
    """Everything is a parameter of the kernel; nothing outside of it can be called."""

    def __init__(self, emitter: Kernels, share: tuple[str, str] | None) -> None:
        self.emitter = emitter
        self.shares = share

    def arg(self, f: Function, buffer: Buffer) -> str:
        return self.emitter.parameter("buffer", buffer)

    arena = arg

    def param(self, f: Function, index: int, flags: str = "") -> str:
        return self.emitter.parameter("size", index)

    def external(self, f: Function, external: External) -> str:
        raise AssertionError(f"a call of {external.name} in a kernel")

    def detail(self, f: Function, index: int, operand: str) -> None:
        f.add(f"store i64 {operand}, ptr %detail{index}")

    def share(self, f: Function) -> tuple[str, str] | None:
        return self.shares


class Body(Copies):
    """Translates the statements of one fragment."""

    def __init__(
        self, f: Function, emitter: Kernels, kernel: Kernel, fragment: Fragment, target: Target | None = None
    ) -> None:
        self.emitter, self.kernel, self.fragment = emitter, kernel, fragment
        share = None
        if fragment.shared is not None:
            f.entry += [
                "  %before = mul nsw i64 %cta, %ntid",
                "  %first = add nsw i64 %before, %tid",
                "  %step = mul nsw i64 %ntid, %ncta",
            ] * (kernel.kind == "threads")
            share = ("%first", "%step") if kernel.kind == "threads" else ("%tid", "%ntid")
        super().__init__(
            f, emitter.program, target or Device(emitter, share), emitter.first, fragment, kernel
        )
        emitter.first = emitter.first or self
        self.scratch = ""  # the memory that each thread has of its own
        self.writes = False  # whether the access at hand is a store
        self.op = ""  # what it does in one step with the element
        self.has_block = False  # whether the address of the block's own memory is known
        self.left: list[Any] = []  # whose words of the frame it sets

    def write(self) -> None:
        """Translate the fragment, with what comes in before it and what goes out after it."""
        stmts = self.fragment.stmts
        inside = walk(stmts)
        made = {r for s in inside for r in defined(s)}
        for r in dict.fromkeys(r for s in inside for r in operands(s) if r not in made):
            self.bring(r)
        self.scopes.enter(stmts)
        self.outermost = self.fragment.shared
        for s in stmts:
            self.stmt(s)
        self.leave(list(dict.fromkeys(r for s in stmts for r in _results(s))))
        for slot in dict.fromkeys(s.slot for s in inside if isinstance(s, SetSlot)):
            self.take_out(slot)
        for b in dict.fromkeys(b for s in inside for b in moved(s)):
            if (where := self.place(b, True)) is not None:
                self.f.add(f"store ptr {self.base(b)}, ptr {where}, align 8")

    # -- what comes in and goes out

    def leave(self, results: list[Reg]) -> None:
        """Let one thread leave values where others find them."""
        f, others = self.f, ""
        if self.fragment.shared is not None and any(map(self.has_place, results)):
            lead, others = f.labels("lead", "led")
            f.branch(f.let("icmp eq i64 %tid, 0"), lead, others)
            f.begin(lead)
        for r in results:
            if (where := self.place(r, True)) is not None:
                f.add(f"store {_boxed(f, r, value(f, r))}, ptr {where}, align 8")
        if others:
            f.jump(others)
            f.begin(others)

    def has_place(self, x: Any) -> bool:
        """Whether a value has a word."""
        return x not in self.fragment.own and (x in self.emitter.plan.frame or x in self.kernel.local)

    def place(self, x: Any, writes: bool = False, looks: bool = True) -> str | None:
        """The address of the word of a value, to be read or written; None if it has none. `looks`: it is told of; what
        is only handed on may never have been set."""
        plan, f = self.emitter.plan, self.f
        if not self.has_place(x):
            return None
        if x in plan.frame:
            self.left += [x] * writes
            where = f.let(f"getelementptr inbounds i64, ptr %frame, i64 {plan.frame[x]}")
        else:
            where = f.let(f"getelementptr inbounds i64, ptr %local, i64 {self.kernel.local[x]}")
        name = f"the word of {getattr(x, 'name', 'a value')}"
        return self.looked(where, 8, writes, where, 8, name) if looks else where

    # -- accesses that are looked at

    def looked(
        self, where: str, size: int, writes: bool, low: str, room: int, name: str, own: bool = False
    ) -> str:
        """The address of an access of `size` bytes in a buffer of `room` from `low`: `where`, if nobody looks."""
        if self.emitter.sites is None:
            return where
        kind = looking.kind(
            self.emitter.sites, f"{self.kernel.name}, {name}", size, writes, own, bool(self.op)
        )
        return self.f.let(looking.call(where, size, kind, "%tid", "%cta", low, room))

    def element(self, b: Buffer, index: Operand, type_: str) -> str:
        where = super().element(b, index, type_)
        if self.emitter.sites is None:
            return where
        size = looking.BYTES[type_]
        low, room = (where, size) if b.kind == "pointer" else (self.base(b), int(b.size) * b.dtype.itemsize)
        return self.looked(where, size, self.writes, low, room, b.name, self._is_own(b))

    def _is_own(self, b: Buffer) -> bool:
        """Whether each thread has a buffer of its own."""
        if b.kind in ("arg", "arena", "pointer") or b in self.emitter.plan.extra or b in self.kernel.places:
            return False
        shared = self.fragment.shared
        return b.kind != "private" or (shared is not None and b in shared.private)

    def bring(self, r: Reg) -> None:
        """Let a register that is made elsewhere be known here."""
        if r.id in self.f.names:
            return
        if r in self.emitter.facts.turns and self.kernel.kind != "host":
            self.f.names[r.id] = self.emitter.parameter("turn", r)
            return
        if self.kernel.kind == "rows" and self.kernel.loop is not None and r is self.kernel.loop.var:
            self.f.names[r.id] = "%row"
            return
        again = self.emitter.facts.again.get(r)
        if again is not None:
            for a in again.args:
                if isinstance(a, Reg):
                    self.bring(a)
            self.stmt(again)
            return
        where, type_ = self.place(r), mem_type(r.dtype)
        got = self.f.let(f"load {type_}, ptr {where}, align 8")
        self.f.names[r.id] = self.f.let(f"trunc i8 {got} to i1") if r.dtype.kind == "b" else got

    def slot(self, s: Slot) -> str:
        """The variable of a slot, which begins with what it was left as; with the identity where it accumulates."""
        if s not in self.slots:
            type_, name = mem_type(s.dtype), super().slot(s)
            entry = self.f.entry
            self.variables.setdefault(s, []).append(name)
            if s in self.totals:
                first = Const(self.fragment.totals[self.totals[s]].identity, s.dtype)
                bits = str(int(first.value)) if s.dtype.kind == "b" else literal(first)
                entry.append(f"  store {type_} {bits}, ptr {name}")
            elif not is_set_first(s, (block := Block(self.fragment.stmts)), True) and (
                place := self.address(s, not is_set_first(s, block))
            ):
                entry.append(f"  {name}.was = load {type_}, ptr {place}, align 8")
                entry.append(f"  store {type_} {name}.was, ptr {name}")
        return self.slots[s]

    def address(self, x: Any, looks: bool = True) -> str | None:
        """As `place`, in the entry block."""
        lines, self.f.lines = self.f.lines, self.f.entry
        try:
            return self.place(x, looks=looks)
        finally:
            self.f.lines = lines

    def take_out(self, s: Slot) -> None:
        """Leave a slot where others find it, or what this thread has accumulated."""
        f, type_ = self.f, mem_type(s.dtype)
        if s in self.totals:
            self.join(s, trees.name_of(self.fragment.totals[self.totals[s]]))
            where: str | None = f.let(f"getelementptr inbounds i64, ptr %mine, i64 {self.totals[s]}")
        else:
            where = self.place(s, True)
        if where is not None:
            f.add(f"store {type_} {f.let(f'load {type_}, ptr {self.slot(s)}')}, ptr {where}, align 8")

    def base(self, b: Buffer) -> str:
        if b in self.emitter.facts.hosted:
            return self.target.arg(self.f, b)
        return super().base(b)

    def variable(self, b: Buffer) -> str:
        """The variable of a pointer, which begins with what it was left as."""
        if b not in self.bases:
            self.bases[b] = self.alloca("ptr", 8, "null")
            if (place := self.address(b)) is not None:
                self.f.entry.append(f"  {self.bases[b]}.was = load ptr, ptr {place}, align 8")
                self.f.entry.append(f"  store ptr {self.bases[b]}.was, ptr {self.bases[b]}")
        return self.bases[b]

    def _fixed(self, b: Buffer) -> str:
        plan, kernel = self.emitter.plan, self.kernel
        if b.kind in ("arg", "arena") or b in plan.extra:
            return self.target.arg(self.f, b)
        if b in kernel.places:
            return self._own("%scratch.block", kernel.places[b])
        if b.kind != "private":
            return super()._fixed(b)
        shared = self.fragment.shared
        if shared is None or b not in shared.private:
            return self._own("%scratch.block", b.slot)
        self.scratch = self.scratch or self.alloca(f"[{shared.scratch} x i8]", 64)
        return self._own(self.scratch, b.slot)

    def _own(self, base: str, offset: int) -> str:
        f, name = self.f, self.f.fresh()
        if base == "%scratch.block" and not self.has_block:
            self.has_block = True
            blocks = "0" if self.kernel.is_near else "%cta"
            f.entry.append(f"  %scratch.at = mul nsw i64 {blocks}, {self.kernel.own}")
            f.entry.append("  %scratch.block = getelementptr inbounds i8, ptr %scratch, i64 %scratch.at")
        f.entry.append(f"  {name} = getelementptr inbounds i8, ptr {base}, i64 {offset}")
        return name

    # -- statements

    def stmt(self, stmt: Any) -> None:
        self.writes, self.op = isinstance(stmt, Store), ""
        if isinstance(stmt, Store) and stmt.op:
            self._change(stmt)
            return
        if isinstance(stmt, Store) and stmt in self.kept:
            self.keep(stmt)
            return
        if isinstance(stmt, Keep):
            where, x = self.place(stmt.key, True), stmt.value
            self.f.add(f"store {_boxed(self.f, x, value(self.f, x))}, ptr {where}, align 8")
            return
        if isinstance(stmt, SetSlot) and stmt.slot.name == NAME and isinstance(x := stmt.value, Reg):
            # Or LLVM would load where the value is used.
            self.f.names[x.id] = self.f.let(f"freeze {reg_type(x.dtype)} {value(self.f, x)}")
        super().stmt(stmt)

    def _change(self, s: Store) -> None:
        """Change an element in one step for all threads of the device."""
        self.op, t, x = s.op, mem_type(s.value.dtype), value(self.f, s.value)
        where, align = self.element(s.buffer, s.index, t), s.value.dtype.itemsize
        self.f.let(f'atomicrmw {s.op} ptr {where}, {t} {x} syncscope("device") monotonic, align {align}')

    def loop_hint(self, node: For, group: str) -> str:
        if not (self.emitter.unrolls and is_ahead(node)):
            return ""
        module = self.f.module
        turns = module.shared(f'!{{!"llvm.loop.unroll.count", i32 {AHEAD}}}')
        return f", !llvm.loop {module.node(f'distinct !{{{{self}}, {turns}}}')}"

    def leave_if(self, cond: str, code: str, details: tuple[str, ...] = ()) -> None:
        shared = self.fragment.shared
        if shared is not None and shared.var.id in self.f.names:
            self.f.add(f"store i64 {self.f.names[shared.var.id]}, ptr %turn")
        super().leave_if(cond, code, details)

    def finish(self) -> None:
        self.f.jump("exit")
        self.f.begin("exit")


def _results(s: Any) -> list[Reg]:
    """The registers that a statement of the outermost level of a fragment gives to what comes after it."""
    return [s.out] if isinstance(s, (Inst, Call)) and s.out is not None else []


def _boxed(f: Function, x: Any, name: str) -> str:
    """A value as it is in memory, with its type."""
    if x.dtype.kind == "b":
        return f"i8 {int(x.value)}" if isinstance(x, Const) else f"i8 {f.let(f'zext i1 {name} to i8')}"
    return f"{reg_type(x.dtype)} {name}"


class Kernels:
    """Writes the fragments of a plan's kernels into one module. `parameters` are those of the kernel at hand. `device`:
    the kind of device. A sanitised one is told of each access of memory that threads share, by `looking.LOOK`."""

    def __init__(self, program: Program, facts: Facts, plan: Plan, device: str = "") -> None:
        self.program, self.facts, self.plan = program, facts, plan
        self.unrolls = (
            device == "card"
        )  # whether loops that read ahead are written out, so that nothing moves
        self.sites: list[str] | None = [] if device == "sanitized" else None  # what each access is called
        self.module = Module()
        self.first: Any = None  # the first body, which knows what pointers point at
        self.parameters: dict[tuple[str, Any], str] = {}
        self.numbers = {b: n for n, b in enumerate(program.buffers)}

    def parameter(self, kind: str, x: Any) -> str:
        """The name of a parameter of the kernel at hand."""
        name = f"%b{self.numbers[x]}" if kind == "buffer" else f"%p{x}" if kind == "size" else f"%step{x.id}"
        self.parameters[kind, x] = ("ptr " if kind == "buffer" else "i64 ") + name
        return name

    def write(self, kernel: Kernel, fragments: list[Fragment]) -> None:
        """Write the fragments of a kernel, and find its parameters."""
        self.parameters = {}
        bodies = []
        for n, fragment in enumerate(fragments):
            fragment.name = f"{kernel.name}.f{n}"
            fragment.checks = any(is_check(s) for s in walk(fragment.stmts))
            f = Function(self.module, contract=self.program.fastmath)
            body = Body(f, self, kernel, fragment)
            body.write()
            body.finish()
            bodies.append((fragment, f))
        kernel.params = list(self.parameters)
        head = ", ".join([*self.parameters.values(), *FIXED, *THREAD])
        for fragment, f in bodies:
            self.module.functions[fragment.name] = _definition(fragment, f, head)


def _definition(fragment: Fragment, f: Function, head: str) -> str:
    lines = [f"define internal void @{fragment.name}({head}) {CONVERGENT} nounwind {{", "entry:"]
    end = ["  ret void", "}"]
    if fragment.checks:
        lines += ["  %status.code = alloca i32", "  store i32 0, ptr %status.code"]
        lines += [x for n in "01" for x in (f"  %detail{n} = alloca i64", f"  store i64 0, ptr %detail{n}")]
        lines += ["  %turn = alloca i64", "  store i64 0, ptr %turn"]
        end = ["  call void @tj.fail(ptr %status, ptr %local, ptr %turn, ptr %status.code, ptr %detail0, ptr %detail1)",
               *end]  # fmt: skip
    return "\n".join([*lines, *f.entry, "  br label %start", "start:", *f.lines, *end])
