"""Buffers, slots, calls and failures of the loop IR as LLVM text.

Slots, pointer variables and stack buffers become allocas of the entry block, which LLVM promotes. Heap
blocks are held by such variables too, null when there is none, so that the exit block can free them all
however it was reached.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.lowering.llvm.alias import Scopes
from tracejit.lowering.llvm.scalar import typed, value
from tracejit.lowering.llvm.target import Target
from tracejit.lowering.llvm.text import Function, alignment, literal, mem_type, signature
from tracejit.lowering.loops.interrupt import BETWEEN
from tracejit.lowering.loops.nodes import (  # fmt: skip
    I64,
    OUT_OF_MEMORY,
    Alloc,
    Buffer,
    Call,
    Const,
    Copy,
    External,
    For,
    Give,
    Grow,
    Inst,
    Operand,
    Program,
    Rotate,
    SetPointer,
    SetSlot,
    Size,
    Slot,
    Store,
    While,
)

_MOST = 1 << 62  # sizes are less
_CONVERSIONS = {
    ("i", 4): ("trunc i64 {} to i32",),
    ("u", 4): ("trunc i64 {} to i32",),
    ("f", 8): ("bitcast i64 {} to double",),
    ("f", 4): ("bitcast i64 {} to double", "fptrunc double {} to float"),
}
POOL = "pool:blocks"
_FIRST_BLOCK = 1 << 12  # bytes of a growing buffer when the program runs for the first time
_MOST_REMEMBERED = 1 << 24  # bytes that later calls start with at most
STATUS_WORDS = 2  # int64 details that a failed check leaves: the index and the size


class Memory:
    """What the statements of one function, a part of `outer`, read, write and call. `finish` is its exit block."""

    def __init__(self, f: Function, program: Program, target: Target, outer: Memory | None = None) -> None:
        self.f = f
        self.program = program
        self.target = target
        self.scopes = Scopes(f.module, program, None if outer is None else outer.scopes.pointees)
        self.bases: dict[Buffer, str] = {}
        self.slots: dict[Slot, str] = {}
        self.params: dict[int, str] = {}
        self.sizes: dict[Size, str] = {}
        f.size = self.size
        self.heap: list[Buffer] = []
        self.capacities: dict[Buffer, str] = {}
        self.needs: dict[Buffer, str] = {}
        self.unlikely = ""
        self.ticks = ""  # the alloca that counts the work since the last look for signals
        self.outermost: Any = None

    # -- sizes

    def param(self, index: int, flags: str = "") -> str:
        if index not in self.params:
            self.params[index] = self.target.param(self.f, index, flags)
        return self.params[index]

    def size(self, x: Size) -> str:
        """The parameter that a size is, as a register of its dtype that is known everywhere."""
        if x.index < 0:
            return literal(x)
        if x not in self.sizes:
            name = self.param(x.index, self._range(x))
            if x.more:
                given, name = name, self.f.fresh()
                self.f.entry.append(f"  {name} = add nsw i64 {given}, {x.more}")
            self.sizes[x] = self._as(x.dtype, name)
        return self.sizes[x]

    def _range(self, x: Size) -> str:
        """What LLVM may know of a size, the same for all of a sign."""
        if x.dtype.kind == "f":
            return ""
        low, high = (1, _MOST) if x.value > 0 else (-_MOST, 0)
        return f", !range {self.f.module.shared(f'!{{i64 {low}, i64 {high}}}')}"

    def _as(self, dtype: np.dtype, name: str) -> str:
        """An int64 of the entry block as an integer, or its bits as a float."""
        for op in _CONVERSIONS.get((dtype.kind, dtype.itemsize), ()):
            given, name = name, self.f.fresh()
            self.f.entry.append(f"  {name} = {op.format(given)}")
        return name

    # -- memory

    def base(self, b: Buffer) -> str:
        """The pointer to the first element. Heap and pointer buffers are variables, read at each use."""
        if b.kind in ("heap", "pointer"):
            return self.f.let(f"load ptr, ptr {self.variable(b)}")
        if b.kind == "field" and b not in self.bases:
            offset = str(b.slot) if isinstance(b.slot, int) else value(self.f, b.slot)
            return self.f.let(f"getelementptr inbounds i8, ptr {self.base(b.block)}, i64 {offset}")  # type: ignore[arg-type]
        if b not in self.bases:
            self.bases[b] = self._fixed(b)
        return self.bases[b]

    def _fixed(self, b: Buffer) -> str:
        if b.kind == "arg":
            return self.target.arg(self.f, b)
        if b.kind == "arena":
            return self.target.arena(self.f, b)
        return self.alloca(f"[{max(int(b.size), 1)} x {mem_type(b.dtype)}]", 64)

    def alloca(self, type_: str, align: int = 8, init: str | None = None) -> str:
        name = self.f.fresh()
        self.f.entry.append(f"  {name} = alloca {type_}, align {align}")
        if init is not None:
            self.f.entry.append(f"  store {type_} {init}, ptr {name}")
        return name

    def variable(self, b: Buffer) -> str:
        """The alloca that holds the pointer of a heap or pointer buffer."""
        if b not in self.bases:
            self.bases[b] = self.alloca("ptr", 8, "null")
            if b.kind == "heap":
                self.heap.append(b)
        return self.bases[b]

    def capacity(self, b: Buffer) -> str:
        """The alloca that holds the bytes allocated for a heap buffer."""
        if b not in self.capacities:
            self.capacities[b] = self.alloca("i64", 8, "0")
        return self.capacities[b]

    def element(self, b: Buffer, index: Operand, type_: str) -> str:
        base = self.base(b)
        if isinstance(index, Const) and index.value == 0:
            return base
        return self.f.let(f"getelementptr inbounds {type_}, ptr {base}, {typed(self.f, index)}")

    def alignment(self, access: Inst | Store, dtype: np.dtype) -> int:
        """What the address of an element that is read or written is a multiple of."""
        return alignment(dtype)

    def load(self, inst: Inst) -> str:
        f, b, dtype = self.f, inst.attr, inst.out.dtype
        t = mem_type(dtype)
        where = self.element(b, inst.args[0], t)
        got = f.let(f"load {t}, ptr {where}, align {self.alignment(inst, dtype)}{self.scopes.tags(b)}")
        return f.let(f"trunc i8 {got} to i1") if dtype.kind == "b" else got

    def store(self, node: Store) -> None:
        f, b, dtype = self.f, node.buffer, node.value.dtype
        t, v = mem_type(dtype), value(self.f, node.value)
        where = self.element(b, node.index, t)
        v = f.let(f"zext i1 {v} to i8") if dtype.kind == "b" else v
        f.add(f"store {t} {v}, ptr {where}, align {self.alignment(node, dtype)}{self.scopes.tags(b)}")

    def copy(self, node: Copy) -> None:
        f, size, align = self.f, node.target.dtype.itemsize, alignment(node.target.dtype)
        to, source = self.base(node.target), self.base(node.source)
        count = f.let(f"mul nsw i64 {value(f, node.count)}, {size}")
        pointers = f"ptr align {align} {to}, ptr align {align} {source}"
        f.add(f"call void @llvm.memcpy.p0.p0.i64({pointers}, i64 {count}, i1 false)")

    def set_pointer(self, node: SetPointer) -> None:
        self.f.add(f"store ptr {self.base(node.target)}, ptr {self.variable(node.buffer)}")

    def rotate(self, node: Rotate) -> None:
        now = [self.base(p) for p in node.pointers]
        for p, to in zip(node.pointers, (*now[1:], now[0]), strict=True):
            self.f.add(f"store ptr {to}, ptr {self.variable(p)}")

    # -- slots and instructions

    def slot(self, s: Slot) -> str:
        if s not in self.slots:
            self.slots[s] = self.alloca(mem_type(s.dtype), alignment(s.dtype))
        return self.slots[s]

    def set_slot(self, node: SetSlot) -> None:
        f, t, v = self.f, mem_type(node.slot.dtype), value(self.f, node.value)
        v = f.let(f"zext i1 {v} to i8") if node.slot.dtype.kind == "b" else v
        f.add(f"store {t} {v}, ptr {self.slot(node.slot)}")

    def get_slot(self, s: Slot) -> str:
        got = self.f.let(f"load {mem_type(s.dtype)}, ptr {self.slot(s)}")
        return self.f.let(f"trunc i8 {got} to i1") if s.dtype.kind == "b" else got

    # -- calls, failures, heap

    def call(self, node: Call) -> None:
        f = self.f
        result, kinds = signature(node.target.signature)
        address = self.target.external(f, node.target)
        args = ", ".join(f"{t} {self.argument(a)}" for t, a in zip(kinds, node.args, strict=True))
        text = f"call {result} {address}({args}) nounwind"
        if result == "void":
            f.add(text)
            return
        name = f.let(text)
        if node.out is not None:
            f.names[node.out.id] = name
        if node.checked:
            self.leave_if(f.let(f"icmp ne i32 {name}, 0"), name)

    def argument(self, a: Any) -> str:
        if isinstance(a, Buffer):
            return self.base(a)
        if isinstance(a, tuple):
            buffer, index = a
            index = Const(index, I64) if isinstance(index, int) else index
            return self.element(buffer, index, f"[{buffer.dtype.itemsize} x i8]")
        return self.slot(a) if isinstance(a, Slot) else value(self.f, a)

    def leave_if(self, cond: str, code: str, details: tuple[str, ...] = ()) -> None:
        """Go to the exit block with `code` where `cond`, freeing what is allocated."""
        f = self.f
        fail, on = f.labels("fail", "ok")
        f.branch(cond, fail, on, f", !prof {self.weights()}")
        f.begin(fail)
        for n, d in enumerate(details):
            self.target.detail(f, n, d)
        f.add(f"store i32 {code}, ptr %status.code")
        f.jump("exit")
        f.begin(on)

    def weights(self) -> str:
        self.unlikely = self.unlikely or self.f.module.node('!{!"branch_weights", i32 1, i32 100000}')
        return self.unlikely

    def index(self, inst: Inst) -> str:
        """One comparison in the likely case. Others leave the way, for the wrapped index or out of the program."""
        f, check = self.f, inst.attr
        i, size = (value(f, a) for a in inst.args)
        if not check.wraps:
            self.leave_if(f.let(f"icmp uge i64 {i}, {size}"), str(check.code), (i, size))
            return i
        outside, inside, at = *f.labels("outside", "inside"), f.fresh()
        before = f.label
        test = f"icmp slt i64 {i}, 0" if check.below else f"icmp uge i64 {i}, {size}"
        f.branch(f.let(test), outside, inside, f", !prof {self.weights()}")
        f.begin(outside)
        wrapped = f.let(f"add i64 {i}, {size}")
        wrong = (f.let(f"icmp sge i64 {i}, 0"), f.let(f"icmp slt i64 {wrapped}, 0"))
        self.leave_if(f.let(f"or i1 {wrong[0]}, {wrong[1]}"), str(check.code), (i, size))
        after = f.label
        f.jump(inside)
        f.begin(inside)
        f.add(f"{at} = phi i64 [ {i}, %{before} ], [ {wrapped}, %{after} ]")
        return at

    def alloc(self, node: Alloc) -> None:
        """Grow only: a buffer allocated again in a loop keeps its block while it is large enough."""
        f, b = self.f, node.buffer
        bytes_ = f.let(f"mul nsw i64 {value(f, node.size)}, {b.dtype.itemsize}")
        needed = f.let(f"call i64 @llvm.smax.i64(i64 {bytes_}, i64 1)")
        variable, capacity = self.variable(b), self.capacity(b)
        grow, on = f.labels("grow", "allocated")
        held = f.let(f"load i64, ptr {capacity}")
        f.branch(f.let(f"icmp slt i64 {held}, {needed}"), grow, on)
        f.begin(grow)
        self.release(b)
        pool = self.target.external(f, self.register(POOL, "ptr(ptr,i64)"))
        block = f.let(f"call noalias ptr {pool}(ptr null, i64 {needed}) nounwind")
        f.add(f"store ptr {block}, ptr {variable}")
        self.leave_if(f.let(f"icmp eq ptr {block}, null"), str(OUT_OF_MEMORY))
        f.add(f"store i64 {needed}, ptr {capacity}")
        f.jump(on)
        f.begin(on)

    def grow(self, node: Grow) -> None:
        f, b = self.f, node.buffer
        variable, capacity = self.variable(b), self.capacity(b)
        if b not in self.needs:
            self.needs[b] = f"@need{len(f.module.header)}"
            f.module.header.append(f"{self.needs[b]} = internal global i64 {_FIRST_BLOCK}")
        full, on = f.labels("full", "room")
        held, size = f.let(f"load i64, ptr {capacity}"), value(f, node.size)
        f.branch(f.let(f"icmp slt i64 {held}, {size}"), full, on, f", !prof {self.weights()}")
        f.begin(full)
        before = f.let(f"load atomic i64, ptr {self.needs[b]} monotonic, align 8")
        twice = f.let(f"call i64 @llvm.smax.i64(i64 {f.let(f'mul i64 {held}, 2')}, i64 {size})")
        first = f.let(f"icmp eq i64 {held}, 0")
        more = f.let(f"select i1 {first}, i64 {before}, i64 0")
        bytes_ = f.let(f"call i64 @llvm.smax.i64(i64 {twice}, i64 {more})")
        pool = self.target.external(f, self.register(POOL, "ptr(ptr,i64)"))
        old = f.let(f"load ptr, ptr {variable}")
        # It touches no other memory that is known here, so that the loop keeps values in registers.
        touched = "memory(argmem: readwrite, inaccessiblemem: readwrite)"
        block = f.let(f"call ptr {pool}(ptr {old}, i64 {bytes_}) nounwind {touched}")
        self.leave_if(f.let(f"icmp eq ptr {block}, null"), str(OUT_OF_MEMORY))
        f.add(f"store ptr {block}, ptr {variable}")
        f.add(f"store i64 {bytes_}, ptr {capacity}")
        need = f.let(f"call i64 @llvm.smin.i64(i64 {bytes_}, i64 {_MOST_REMEMBERED})")
        f.add(f"store atomic i64 {need}, ptr {self.needs[b]} monotonic, align 8")
        f.jump(on)
        f.begin(on)

    def give(self, node: Give) -> None:
        f = self.f
        blocks = dict.fromkeys(b.block or b for b, _ in node.pairs)
        for b, target in node.pairs:
            f.add(f"store ptr {self.base(b)}, ptr {self.base(target)}, align 8")
            second = f.let(f"getelementptr inbounds i64, ptr {self.base(target)}, i64 1")
            f.add(f"store ptr {self.base(b.block or b)}, ptr {second}, align 8")
        for b in blocks:
            self.forget(b)

    def release(self, b: Buffer) -> None:
        f, variable = self.f, self.variable(b)
        pool = self.target.external(f, self.register(POOL, "ptr(ptr,i64)"))
        f.add(f"call ptr {pool}(ptr {f.let(f'load ptr, ptr {variable}')}, i64 0) nounwind")
        self.forget(b)

    def forget(self, b: Buffer) -> None:
        self.f.add(f"store ptr null, ptr {self.variable(b)}")
        self.f.add(f"store i64 0, ptr {self.capacity(b)}")

    def register(self, name: str, signature_: str) -> External:
        """An external that the program needs though no statement of its own calls it."""
        external = External(name, signature_)
        if external not in self.program.externals:
            self.program.externals.append(external)
        return external

    def charge(self, ticks: str) -> str:
        """Add to the work done since the last look for signals; what it is now."""
        if not self.target.interruptible:
            return "0"
        if not self.ticks:
            self.ticks = self.alloca("i64", 8, "0")
        now = self.f.let(f"add i64 {self.f.let(f'load i64, ptr {self.ticks}')}, {ticks}")
        self.f.add(f"store i64 {now}, ptr {self.ticks}")
        return now

    def poll(self, count: str, node: For) -> None:
        """Let Python handle its signals each time `count` is a multiple of `node.poll`, a power of two, or enough
        work has been charged."""
        f, every = self.f, node.poll
        if not (every or node.ticks) or not self.target.interruptible:
            return
        if every:
            mask = self.target.given(f, every - 1)
            self.look_if(f.let(f"icmp eq i64 {f.let(f'and i64 {count}, {mask}')}, 0"))
        else:
            self.look_if(self.overdue(node))

    def overdue(self, node: For | While) -> str:
        """Whether enough work has been charged since the last look; an iteration of `node` is charged."""
        return self.f.let(f"icmp ugt i64 {self.charge(self.target.given(self.f, node.ticks))}, {BETWEEN}")

    def look_if(self, due: str) -> tuple[str, str]:
        """Let Python handle its signals where `due`; the blocks in which that was asked and in which it was done."""
        f = self.f
        look, on = f.labels("look", "on")
        asked = f.label
        f.branch(due, look, on, f", !prof {self.weights()}")
        f.begin(look)
        if self.ticks:
            f.add(f"store i64 0, ptr {self.ticks}")
        code = self.target.look(self)
        self.leave_if(f.let(f"icmp ne i32 {code}, 0"), code)
        looked = f.label
        f.jump(on)
        f.begin(on)
        return asked, looked

    def finish(self) -> None:
        """The common exit: free the heap, return the status code."""
        f = self.f
        f.jump("exit")
        f.begin("exit")
        for b in self.heap:
            self.release(b)
