"""What the planner knows of a program's statements: who can run them, and what threads may share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.lowering.cuda.nodes import Keep, Total
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    I64,
    Alloc,
    Block,
    Buffer,
    Call,
    Comment,
    Const,
    Copy,
    For,
    Free,
    Give,
    Grow,
    If,
    Inst,
    Program,
    Reg,
    Rotate,
    SetPointer,
    SetSlot,
    Slot,
    Store,
    While,
    blocks_of,
)
from tracejit.lowering.loops.parallel import Taint
from tracejit.lowering.loops.uses import defined, operands, places, trips

_HOSTS = (Call, Alloc, Grow, Give, Free)
_UNKNOWN = 1000  # iterations of a loop over a range that is not known
#: Instructions that are computed again wherever they are needed, rather than handed on in memory.
_CHEAP = frozenset(
    ("param", "iadd", "isub", "imul", "smin", "smax", "umin", "umax", "shl", "ashr", "lshr", "sdiv", "srem", "udiv",
     "urem", "and", "or", "xor", "not", "cmp", "select", "cast", "bitcast", "fadd", "fsub", "fmul", "fneg", "fabs",
     "fmaximum", "fminimum")
)  # fmt: skip
#: Accumulating operations, and whether they must say that their order does not matter.
_TOTALS = {"fadd": True, "fmul": True} | dict.fromkeys(
    ("iadd", "imul", "fmaximum", "fminimum", "smax", "smin", "umax", "umin", "and", "or", "xor"), False
)


class Facts:
    """Facts of one program, whose copies have been made loops (`expand_copies`)."""

    def __init__(self, program: Program, hosted: Collection[Buffer] = ()) -> None:
        self.program = program
        self.hosted = frozenset(hosted)  # pointers that the host moves
        stmts = walk(program.body.stmts)
        self.uses = Counter(x for s in stmts for x in places(s))
        self.written = {s.buffer for s in stmts if isinstance(s, Store)}
        for s in stmts:
            if isinstance(s, Call):
                self.written |= {
                    a[0] if isinstance(a, tuple) else a for a in s.args if not isinstance(a, Slot)
                }
            elif isinstance(s, SetPointer):  # what is reached through pointers may be written
                self.written.add(s.target)
        self.written |= {b for pair in program.may_alias for b in pair}
        self.made: dict[Any, Inst] = {s.out: s for s in stmts if isinstance(s, Inst)}
        self._inside: dict[For, set[Reg]] = {}
        self.turns: set[Reg] = set()  # variables of loops of the host's, which kernels are launched with
        self.again: dict[Reg, Inst] = {}
        self.variables = {s.var for s in stmts if isinstance(s, For)}
        for s in stmts:
            if isinstance(s, Inst) and self._is_cheap(s):
                self.again[s.out] = s

    def _is_cheap(self, s: Inst) -> bool:
        """Whether an instruction is computed again where it is needed, from constants and variables of loops."""
        if s.op == "load":
            known = s.attr.kind == "arg" and s.attr not in self.written
        else:
            known = s.op in _CHEAP
        return known and all(not isinstance(a, Reg) or a in self.again or a in self.variables for a in s.args)

    # -- who runs what

    @staticmethod
    def is_hosts(s: Any) -> bool:
        """Whether only the host can run a statement: it calls a library or Python, or allocates."""
        return any(isinstance(x, _HOSTS) for x in walk([s]))

    @staticmethod
    def calls_libraries(s: Any) -> bool:
        """Whether a statement has calls of the device's libraries."""
        return any(isinstance(x, Call) and is_library(x) for x in walk([s]))

    @staticmethod
    def moves_pointers(s: Any) -> bool:
        """Whether a statement points pointers at other buffers."""
        return any(isinstance(x, (SetPointer, Rotate)) for x in walk([s]))

    def trips(self, node: For) -> int:
        """The iterations of a loop, about."""
        span = self.span(node)
        return self._length(node) if span is None else max(span[1] - span[0], 0)

    def _length(self, node: For) -> int:
        """The iterations of a block of a longer loop, `range(b << 13, min((b + 1) << 13, n))`."""
        start, stop = (self.made.get(x) for x in (node.start, node.stop))
        ends = [self.made.get(a) for a in stop.args] if stop is not None and stop.op == "smin" else []
        for e in ends:
            if start is not None and e is not None and start.op == e.op == "shl":
                bits = self.number(start.args[1])
                if bits is not None and bits == self.number(e.args[1]):
                    return 1 << bits
        return _UNKNOWN

    def span(self, node: Any) -> tuple[int, int] | None:
        """The start and stop of a loop over a range, if they are known."""
        found = (self.number(node.start), self.number(node.stop)) if isinstance(node, For) else (None, None)
        return None if found[0] is None or found[1] is None else (found[0], found[1])

    def number(self, x: Any) -> int | None:
        """The integer that an operand is for these shapes."""
        if isinstance(x, Const):
            return int(x.value)
        inst = self.again.get(x)
        return self.program.params[inst.attr] if inst is not None and inst.op == "param" else None

    def inside(self, node: For) -> set[Reg]:
        """The registers that are made in the body of a loop."""
        if node not in self._inside:
            self._inside[node] = {r for s in walk(node.body.stmts) for r in defined(s)}
        return self._inside[node]

    def elements(self, node: Any) -> int:
        """How many iterations of innermost loops a statement runs in parallel, about."""
        inner = [self.elements(s) for b in blocks_of(node) for s in b.stmts]
        if isinstance(node, For):
            return self.trips(node) * max([1, *inner])
        return max([0, *inner])

    def is_moved(self, s: Any) -> bool:
        """Whether the host is to run a statement, which moves its pointers."""
        return self.hosted.issuperset(moved(s)) if isinstance(s, (SetPointer, Rotate)) else False

    # -- what threads share

    def totals(self, node: For) -> list[Total] | None:
        """What a loop accumulates, if threads can share its iterations otherwise; else None."""
        if node.lanes:
            return []
        if node.down or not (node.vector or node.grain):
            return None
        stmts = walk(node.body.stmts)
        if any(isinstance(s, (*_HOSTS, SetPointer, Rotate, Copy, Keep)) for s in stmts):
            return None
        inner = Counter(x for s in stmts for x in places(s))
        whole = {x for x, n in inner.items() if n == self.uses[x]}
        private = {b for b in whole if isinstance(b, Buffer) and b.kind == "stack"} | set(node.private)
        if not Taint(node, walk([node]), private).reaches_all_stores():
            return None
        found = []
        for slot in dict.fromkeys(s.slot for s in stmts if isinstance(s, SetSlot)):
            if slot in whole and is_set_first(slot, node.body):
                continue
            total = _total(slot, node.body, stmts)
            if total is None:
                return None
            found.append(total)
        return found


def moved(s: Any) -> tuple[Buffer, ...]:
    """The pointers that a statement changes."""
    if isinstance(s, SetPointer):
        return (s.buffer,)
    return s.pointers if isinstance(s, Rotate) else ()


def is_set_first(slot: Slot, block: Block, kept: bool = False) -> bool:
    """Whether each run of a block sets a slot before anything in it reads it, and before it ends, if it is `kept`."""
    for n, s in enumerate(block.stmts):
        if isinstance(s, SetSlot) and s.slot is slot:
            return True
        if not _is_named(slot, s):
            continue
        if isinstance(s, While) and any(_is_named(slot, x) for x in s.head.stmts):
            return is_set_first(slot, s.head, True)
        inside = [b for b in blocks_of(s) if any(_is_named(slot, x) for x in b.stmts)]
        kept = kept or any(_is_named(slot, x) for x in block.stmts[n + 1 :])
        certain = len(inside) == 2 if isinstance(s, If) else isinstance(s, For) and 0 < trips(s) < math.inf
        return bool(inside) and (certain or not kept) and all(is_set_first(slot, b, kept) for b in inside)
    return False


def _is_named(slot: Slot, s: Any) -> bool:
    """Whether a statement, or one inside of it, names a slot."""
    return any(x is slot for inner in walk([s]) for x in places(inner))


def _total(slot: Slot, body: Block, stmts: list[Any]) -> Total | None:
    """The accumulation that a slot is in a loop, None if it is anything else."""
    touching = [s for s in stmts if any(x is slot for x in places(s))]
    if len(touching) != 2 or not all(s in body.stmts for s in touching):
        return None
    got, put = touching
    if not isinstance(got, Inst) or not isinstance(put, SetSlot):
        return None
    made = next((s for s in body.stmts if isinstance(s, Inst) and s.out is put.value), None)
    if made is None or made.op not in _TOTALS or (_TOTALS[made.op] and made.attr != "reassoc"):
        return None
    readers = [s for s in stmts if any(x is got.out for x in operands(s))]
    if readers != [made] or sum(a is got.out for a in made.args) != 1:
        return None
    return Total(slot, made.op, slot.dtype, _identity(made.op, slot.dtype))


def _identity(op: str, dtype: np.dtype) -> Any:
    """What changes nothing where it is accumulated."""
    if op == "fadd":
        return -0.0
    if op in ("fmul", "imul"):
        return 1
    if op in ("fmaximum", "fminimum"):
        return -math.inf if op == "fmaximum" else math.inf
    if op in ("smax", "umax", "smin", "umin"):
        info = np.iinfo(np.uint8 if dtype.kind == "b" else dtype)
        return int(info.min if op.endswith("max") else info.max)
    if op == "and":
        return True if dtype.kind == "b" else -1
    return False if dtype.kind == "b" else 0


def expand_copies(program: Program) -> None:
    """Make loops over elements of the copies in a program."""
    maker = Maker(program)
    for block in [program.body, *(b for s in walk(program.body.stmts) for b in blocks_of(s))]:
        stmts: list[Any] = []
        for s in block.stmts:
            stmts += maker.copy(s) if isinstance(s, Copy) else [s]
        block.stmts[:] = stmts


class Maker:
    """Makes statements with registers of their own."""

    def __init__(self, program: Program) -> None:
        stmts = walk(program.body.stmts)
        self.last = max((r.id for s in stmts for r in defined(s)), default=0)

    def reg(self, dtype: np.dtype) -> Reg:
        """A new register."""
        self.last += 1
        return Reg(self.last, dtype, None)  # type: ignore[arg-type]

    def copy(self, s: Copy) -> list[Any]:
        """The elements of a copy, one after another; those of complex arrays are two each."""
        dtype, stop, before = s.source.dtype, s.count, []
        if dtype.kind == "c":
            dtype, stop = dtypes.real_part_dtype(dtype), self.reg(I64)
            before = [Inst("imul", stop, (s.count, Const(2, I64)))]
        i, x = self.reg(I64), self.reg(dtype)
        body = Block([Inst("load", x, (i,), s.source), Store(s.target, i, x)])
        return [*before, For(i, Const(0, I64), stop, body, vector=True, independent=True)]


def is_library(s: Call) -> bool:
    """Whether a call is one of the device's library."""
    return s.target.name.startswith("library:")


def is_scalar(s: Any) -> bool:
    """Whether a statement touches no memory but slots."""
    if isinstance(s, Inst):
        return s.op not in ("load", "index")
    return isinstance(s, (SetSlot, Comment, Keep))


def is_loop(s: Any) -> bool:
    """Whether statements are inside of a statement."""
    return isinstance(s, (For, While, If))
