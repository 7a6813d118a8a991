"""What a program of loops costs: its operations and the bytes that it moves, counted on the loop IR.

Counted is what the program does, after fusion: what is recomputed counts twice, what was simplified away not at all.
Loops count with the steps that they make: bounds that depend on the variable of a loop outside are computed for each
of its values, or where there are many, for the middle one, which is exact for bounds that are linear in it. Of an `if`
the dearer branch counts. A loop whose number of steps only a run knows counts once, and is told of.

Bytes: each top-level statement (a nest of loops, a call) moves what it touches of a block of memory once, at most the
block. What lies on the stack stays in the cache and does not count.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import field
from typing import Any

from tracejit.lowering.loops.nodes import (
    Block,
    Buffer,
    Call,
    Comment,
    Const,
    Copy,
    For,
    If,
    Inst,
    Program,
    SetSlot,
    Store,
    While,
    blocks_of,
)
from tracejit.records import record

#: Operations on floats that count as one, by their name in the loop IR; `fma` is two.
_ARITHMETIC = frozenset(("fadd", "fsub", "fmul", "fdiv", "fneg", "fabs"))
#: Steps of a loop up to which those inside are counted for each of its values.
_EACH = 64
_WHOLE: dict[str, Callable[..., float | None]] = {
    "iadd": lambda a, b: a + b,
    "isub": lambda a, b: a - b,
    "imul": lambda a, b: a * b,
    "sdiv": lambda a, b: math.trunc(a / b) if b else None,
    "srem": lambda a, b: math.fmod(a, b) if b else None,
    "shl": lambda a, b: a * 2**b,
    "ashr": lambda a, b: a // 2**b,
    "smin": min,
    "smax": max,
    "umin": min,
    "umax": max,
}


@record()
class Cost:
    """`operations`: how many of each kind, and of each function under its name; `moved`: accesses in bytes by buffer;
    `unknown`: loops whose steps are not known; `opaque`: routines whose operations are not known."""

    operations: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    functions: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    moved: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    unknown: int = 0
    opaque: list[str] = field(default_factory=list)

    def add(self, other: Cost, times: float = 1) -> None:
        """Add another cost, so many times."""
        for kind, count in other.operations.items():
            self.operations[kind] += count * times
        for name, count in other.functions.items():
            self.functions[name] += count * times
        for buffer, count in other.moved.items():
            self.moved[buffer] += count * times
        self.unknown += other.unknown
        self.opaque += other.opaque

    @property
    def flops(self) -> float:
        """Arithmetic operations on floats."""
        return sum(n * (2 if kind == "fma" else 1) for kind, n in self.operations.items())

    @property
    def transcendentals(self) -> float:
        """Calls of functions such as `exp`, and square roots."""
        return sum(self.functions.values())


@record(frozen=True)
class Nest:
    """One top-level statement of a program. `what`: the equation that it ends with, as the loop IR names it; `moved`:
    bytes between it and memory."""

    what: str
    cost: Cost
    moved: float


def nests(program: Program) -> list[Nest]:
    """The cost of each nest of loops and call, in order; straight-line code between them counts with what follows."""
    counter = Counter()
    found: list[Nest] = []
    what, waiting = "", Cost()
    for stmt in program.body.stmts:
        if type(stmt) is Comment:
            what = stmt.text
            continue
        cost = counter.cost_of(stmt)
        waiting.add(cost)
        if type(stmt) in (For, While, Call, Copy):
            found.append(Nest(what, waiting, counter.bytes_of(waiting)))
            waiting = Cost()
    if waiting.operations or waiting.functions or waiting.moved:
        found.append(Nest(what, waiting, counter.bytes_of(waiting)))
    return found


#: Statements whose costs are kept.
_NOTED = frozenset((For, While, If, Call, Copy))


class Counter:
    """Walks statements. `known`: the values of integer registers and slots where they can be told; `noted`: what each
    statement with an address of its own costs, the last time that it was looked at."""

    def __init__(self) -> None:
        self.known: dict[int, float | None] = {}
        self.buffers: dict[int, Buffer] = {}
        self.noted: dict[Any, Cost] = {}

    def over(self, program: Program) -> Counter:
        """This counter, which has walked a program."""
        for stmt in program.body.stmts:
            self.cost_of(stmt)
        return self

    # -- bytes

    def touch(self, cost: Cost, buffer: Buffer, count: float = 1) -> None:
        """`count` elements of a buffer are read or written."""
        if buffer.kind in ("stack", "private"):
            return
        self.buffers[id(buffer)] = buffer
        cost.moved[id(buffer)] += count * buffer.dtype.itemsize

    def bytes_of(self, cost: Cost) -> float:
        """What a nest moves."""
        return sum(min(n, self._size(self.buffers[key])) for key, n in cost.moved.items())

    def _size(self, buffer: Buffer) -> float:
        elements = self._elements(buffer)
        return math.inf if elements is None else elements * buffer.dtype.itemsize

    def _elements(self, buffer: Buffer) -> float | None:
        return buffer.size if type(buffer.size) is int else self.value(buffer.size)

    # -- values

    def value(self, x: Any) -> float | None:
        """The integer that an operand is."""
        if isinstance(x, Const):
            return x.value if isinstance(x.value, (int, float)) else None
        return self.known.get(id(x))

    def _learn(self, inst: Inst) -> None:
        args = [self.value(a) for a in inst.args]
        out = None
        if inst.op == "get":
            out = self.known.get(id(inst.attr))
        elif inst.op in ("cast", "index") and args:
            out = args[0]
        elif inst.op in _WHOLE and None not in args:
            out = _WHOLE[inst.op](*args)
        self.known[id(inst.out)] = out

    # -- statements

    def cost_of(self, stmt: Any) -> Cost:
        """The cost of one statement."""
        cost = Cost()
        kind = type(stmt)
        if kind is Inst:
            self._inst(stmt, cost)
        elif kind is Store:
            self.touch(cost, stmt.buffer)
        elif kind is SetSlot:
            self.known[id(stmt.slot)] = self.value(stmt.value)
        elif kind is For:
            self._loop(stmt, cost)
        elif kind is While:
            self._forget(stmt)
            cost.add(self.block(stmt.head))
            cost.add(self.block(stmt.body))
            cost.unknown += 1
        elif kind is If:
            cost.add(max((self.block(b) for b in (stmt.then, stmt.orelse)), key=_weight))
            self._forget(stmt)
        elif kind is Call:
            self._call(stmt, cost)
        elif kind is Copy:
            count = self.value(stmt.count)
            self.touch(cost, stmt.source, count or 0)
            self.touch(cost, stmt.target, count or 0)
            cost.unknown += count is None
        if kind in _NOTED:
            self.noted[stmt] = cost
        return cost

    def block(self, block: Block) -> Cost:
        """The cost of all statements of a block."""
        cost = Cost()
        for stmt in block.stmts:
            cost.add(self.cost_of(stmt))
        return cost

    def _inst(self, inst: Inst, cost: Cost) -> None:
        if inst.op in _ARITHMETIC or inst.op == "fma":
            cost.operations[inst.op] += 1
        elif inst.op in ("math", "sqrt"):
            cost.functions[inst.attr if inst.op == "math" else "sqrt"] += 1
        elif inst.op == "load":
            self.touch(cost, inst.attr)
        if inst.out.dtype.kind in "iu":
            self._learn(inst)

    def _loop(self, loop: For, cost: Cost) -> None:
        start, stop = self.value(loop.start), self.value(loop.stop)
        self._forget(loop)
        steps = max(stop - start, 0) if start is not None and stop is not None else None
        if steps is None:
            steps = loop.most if math.isfinite(loop.most) else None
        if steps is None or start is None:
            self.known[id(loop.var)] = None
            cost.add(self.block(loop.body), 1 if steps is None else steps)
            cost.unknown += steps is None
        elif steps <= _EACH and _bounds_vary(loop.body):
            for n in range(math.ceil(steps)):
                self.known[id(loop.var)] = start + n
                cost.add(self.block(loop.body), min(1, steps - n))
        elif steps:
            self.known[id(loop.var)] = start + (steps - 1) / 2
            cost.add(self.block(loop.body), steps)
        self._forget(loop)

    def _forget(self, stmt: Any) -> None:
        """Slots that a statement with blocks sets have no known value in it, nor afterwards."""
        for block in blocks_of(stmt):
            for s in block.stmts:
                if type(s) is SetSlot:
                    self.known[id(s.slot)] = None
                self._forget(s)

    def _call(self, call: Call, cost: Cost) -> None:
        name = call.target.name
        library, _, routine = name.partition(":")
        letter, kind = routine[:1], routine[1:]
        product = library == "blas" and kind in ("gemm", "gemv")
        for arg in call.args:
            buffer = arg[0] if isinstance(arg, tuple) and not product else arg
            if isinstance(buffer, Buffer):
                self.touch(cost, buffer, self._elements(buffer) or 0)
        if library == "library" and call.work:
            cost.operations["fmul"] += call.work
            cost.operations["fadd"] += call.work
            return
        if not product:
            cost.opaque.append(name)
            return
        # BLAS takes flags first, then the extents: two and three for a product of matrices.
        flags, count = (2, 3) if kind == "gemm" else (1, 2)
        sizes = [self.known.get(id(a)) for a in call.args[flags : flags + count]]
        known = [s for s in sizes if s is not None]
        if len(known) < count:
            cost.unknown += 1
            return
        terms = math.prod(known) * (4 if letter in "cz" else 1)
        cost.operations["fmul"] += terms
        cost.operations["fadd"] += terms
        self._operands(call, cost, known)

    def _operands(self, call: Call, cost: Cost, sizes: list[float]) -> None:
        """The matrices of a product, which are given as pointers to elements."""
        pointers = [a for a in call.args if isinstance(a, tuple)]
        m, n, k = sizes if len(sizes) == 3 else (sizes[0], 1, sizes[1])
        for (buffer, _), count in zip(pointers, (m * k, k * n, m * n), strict=False):
            self.touch(cost, buffer, count)


def _weight(cost: Cost) -> tuple[float, float]:
    return cost.flops + cost.transcendentals, sum(cost.moved.values())


def _bounds_vary(block: Block) -> bool:
    """Whether a loop inside has a bound that is computed."""
    for s in block.stmts:
        if type(s) is For and not (isinstance(s.start, Const) and isinstance(s.stop, Const)):
            return True
        if any(_bounds_vary(b) for b in blocks_of(s)):
            return True
    return False
