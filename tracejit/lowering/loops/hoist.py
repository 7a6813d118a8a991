"""The builder that the lowering records with: shared, hoisted and memoised scalar code.

Equal instructions are recorded once, and each goes to the outermost loop in
which its operands are known. Kernel functions can therefore be run for every
element they are read at without regard to what is loop-invariant, and two
indices are the same number exactly if they are the same register.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np

from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import I64, UNKNOWN_COST, Block, Buffer, Const, For, Inst, Pair, Reg
from tracejit.lowering.loops.ranges import ANY, Range, range_of_inst, range_of_number
from tracejit.records import record

_TRAPPING = frozenset({"sdiv", "srem", "udiv", "urem"})
_SUMS = frozenset({"iadd", "isub", "imul"})
_UNSHARED = frozenset({"load", "get"})
_WIDER = {np.dtype(d): np.dtype(w) for d, w in (("i1", "i2"), ("u1", "i2"), ("i2", "i4"), ("u2", "i4"))}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_FOLD = {"smax": max, "smin": min, "udiv": int.__floordiv__, "urem": int.__mod__}


@record()
class Frame:
    """One open block. `movable`: invariant code may leave it; `runs`: its body runs at least once."""

    block: Block
    movable: bool
    runs: bool
    keys: list[Any] = field(default_factory=list)


def _key(x: Any) -> Any:
    """An operand as a dictionary key: equal keys are the same bits."""
    if type(x) is Const and type(x.value) is float and (x.value == 0.0 or x.value != x.value):
        return ("nan" if x.value != x.value else math.copysign(1.0, x.value), x.dtype)
    return x


def _number(x: Any) -> int | None:
    """The value of an int64 constant."""
    return x if type(x) is int else x.value if type(x) is Const and x.dtype == I64 else None


class Recorder(Builder):
    """A `Builder` with common-subexpression elimination and loop-invariant code motion."""

    def __init__(self, name: str = "main") -> None:
        super().__init__(name)
        self.fail_code = 0
        self.frames = [Frame(self.block, False, True)]
        self.depths: dict[Reg, int] = {}
        self.known: dict[Any, Any] = {}
        self.ranges: dict[Reg, Range] = {}
        self.offsets: dict[Reg, tuple[Any, int]] = {}  # int64 sums of something and a constant
        self.widened: dict[Reg, Reg] = {}  # int64 -> the smaller integer that it was made of

    @property
    def depth(self) -> int:
        """The number of the innermost open block."""
        return len(self.frames) - 1

    # -- blocks

    @contextlib.contextmanager
    def into(self, block: Block) -> Iterator[Block]:
        """Record into `block` for the duration; nothing is hoisted out of it."""
        with self._open(Frame(block, False, True)):
            yield block

    @contextlib.contextmanager
    def _open(self, frame: Frame) -> Iterator[None]:
        previous, self.block = self.block, frame.block
        self.frames.append(frame)
        try:
            yield
        finally:
            self.frames.pop()
            self.block = previous
            for key in frame.keys:
                self.known.pop(key, None)

    @contextlib.contextmanager
    def loop(
        self,
        start: Any,
        stop: Any,
        *,
        vector: bool = False,
        down: bool = False,
        independent: bool = False,
        movable: bool = True,
        rare: bool = False,
    ) -> Iterator[Reg]:
        """`with k.loop(0, n) as i:` a For loop over int64. Invariant code leaves it if `movable`."""
        var = self.reg(I64)
        start, stop = self.lift(start, I64), self.lift(stop, I64)
        low, high = self.range_of(start)[0], self.range_of(stop)[1]
        node = For(var, start, stop, Block(), vector, down, independent, rare, max(high - low, 0))
        self.emit(node)
        runs = isinstance(start, Const) and isinstance(stop, Const) and start.value < stop.value
        with self._open(Frame(node.body, movable, runs)):
            self.depths[var] = self.depth
            self.ranges[var] = low, high - 1
            yield var

    # -- values

    def depth_of(self, x: Any) -> int:
        """The number of the outermost open block in which operand `x` is known."""
        if isinstance(x, Pair):
            return max(self.depth_of(x.re), self.depth_of(x.im))
        return self.depths.get(x, 0) if type(x) is Reg else 0

    def home(self, depth: int, trapping: bool = False) -> int:
        """The outermost block, from `depth` inwards, to which code of the current place may move."""
        n = self.depth
        while n > depth and self.frames[n].movable and (self.frames[n].runs or not trapping):
            n -= 1
        return n

    def place(self, depth: int, stmt: Any) -> None:
        """Record a statement in block `depth`, before the block of it that is open now."""
        stmts = self.frames[depth].block.stmts
        if depth == self.depth:
            stmts.append(stmt)
        else:
            stmts.insert(len(stmts) - 1, stmt)

    def remember(self, depth: int, key: Any, value: Any) -> None:
        """`known[key] = value` as long as block `depth` is open."""
        self.known[key] = value
        self.frames[depth].keys.append(key)

    def range_of(self, x: Any) -> Range:
        """The least and the largest number that an int64 operand can be."""
        return self.ranges.get(x) or range_of_number(x)

    def _inst(self, op: str, dtype: np.dtype, args: tuple[Any, ...], attr: Any = None) -> Reg:
        if op in _UNSHARED:
            out = super()._inst(op, dtype, args, attr)
            self.depths[out] = self.depth
            return out
        within = range_of_inst(op, args, tuple(map(self.range_of, args))) if dtype == I64 else ANY
        if op in _SUMS and attr is None and within != ANY:
            attr = "nsw"
        key = (op, dtype, attr, *map(_key, args))
        out = self.known.get(key)
        if out is not None:
            return out
        trapping = op in _TRAPPING and not (isinstance(args[1], Const) and args[1].value not in (0, -1))
        inner = op == "index"  # what follows from a check must not leave the block before it
        depth = self.depth if inner else self.home(max(map(self.depth_of, args), default=0), trapping)
        out = self.reg(dtype)
        self.place(depth, Inst(op, out, args, attr))
        self.depths[out] = depth
        self.remember(depth, key, out)
        if dtype == I64:
            self.ranges[out] = within
        return out

    def within(self, x: Any, known: Range | None) -> Any:
        """Operand `x`, which is known to be in a range from here on."""
        if type(x) is Reg and x.dtype == I64 and known is not None:
            low, high = self.range_of(x)
            self.ranges[x] = max(low, known[0]), min(high, known[1])
        return x

    def index(self, i: Any, size: Any, code: int, wraps: bool = True, below: bool = False) -> Any:
        """As the builder's; the index itself where it is known to be inside, and checked once a block."""
        low, high = self.range_of(i)
        below = below or high < self.range_of(size)[0]
        if low >= 0 and below:
            return i
        key = ("index", _key(i), _key(size), wraps)
        out = self.known.get(key) if self.noted is None else None
        if out is None:
            out = super().index(i, size, code, wraps and low < 0, below)
            if self.noted is None:
                self.remember(self.depth, key, out)
        return out

    def add(self, x: Any, y: Any, attr: Any = None) -> Any:
        """As the builder's; (i + 1) - 1 is i, so that an element is known by its index however that came about."""
        number = _number(y)
        if number is None or type(x) is not Reg or x.dtype != I64:
            return super().add(x, y, attr)
        base, offset = self.offsets.get(x, (x, 0))
        out = super().add(base, offset + number, attr)
        if out is not base:
            self.offsets[out] = (base, offset + number)
        return out

    def sub(self, x: Any, y: Any) -> Any:
        """As the builder's; of a number: the sum with what is as far below zero."""
        number = _number(y)
        if number is None or number == ANY[0] or type(x) is not Reg or x.dtype != I64:
            return super().sub(x, y)
        return self.add(x, -number)

    def cast(self, x: Any, dtype: Any) -> Any:
        out = super().cast(x, dtype)
        if type(out) is Reg and out.dtype == I64 and type(x) is Reg and x.dtype in _WIDER:
            self.widened[out] = x
        return out

    def compare(self, predicate: str, x: Any, y: Any) -> Any:
        """As the builder's; an int64 made of an integer of 8 or 16 bits and what is known before the loop are compared
        in twice the bits of that, since a vector holds more of them."""
        x, y, dtype = self._same(x, y)
        if dtype == I64 and self.depth_of(x) < self.depth_of(y):
            x, y, predicate = y, x, _MIRRORED.get(predicate, predicate)
        small = self.widened.get(x) if type(x) is Reg else None
        if small is None or self.depth_of(y) >= self.depth_of(x):
            return super().compare(predicate, x, y)
        info, wide = np.iinfo(small.dtype), _WIDER[small.dtype]
        near = self.int_op("smin", self.int_op("smax", y, int(info.min) - 1), int(info.max) + 1)
        return super().compare(predicate, self.cast(small, wide), self.cast(near, wide))

    def moved(self, x: Any, y: Any) -> int:
        """By which constant y is more than x; 0 if by none that is known."""
        base, offset = self.offsets.get(y, (y, 0)) if type(y) is Reg else (y, 0)
        before, start = self.offsets.get(x, (x, 0)) if type(x) is Reg else (x, 0)
        return offset - start if base is before else 0

    def int_op(self, op: str, x: Any, y: Any) -> Any:
        """As the builder's; of two int64 constants the result is one, and an operand where it is known to be the
        less or the larger one."""
        x, y, dtype = self._same(x, y)
        if op in ("smin", "smax") and dtype.kind == "i":
            less, more = (x, y) if op == "smin" else (y, x)
            if self.range_of(less)[1] <= self.range_of(more)[0]:
                return x
            if self.range_of(more)[1] <= self.range_of(less)[0]:
                return y
        a, b = _number(x), _number(y)
        if a is not None and b is not None and (op in ("smax", "smin") or (op in _FOLD and a >= 0 < b)):
            return Const(_FOLD[op](a, b), I64)
        return super().int_op(op, x, y)

    def load_at(self, buffer: Buffer, index: Any, since: int, exists: bool = False) -> Any:
        """`load`, hoisted as far as `since`, the block in which the element got its value.

        Out of loops that may not run at all only if the element is sure to exist.
        """
        depth = self.home(max(since, self.depth_of(index)), trapping=not exists)
        if depth == self.depth:
            return self.load(buffer, index)
        stmts = self.frames[depth].block.stmts
        tail = stmts.pop()
        frames, self.frames = self.frames, self.frames[: depth + 1]
        block, self.block = self.block, self.frames[-1].block
        try:
            return self.load(buffer, index)
        finally:
            stmts.append(tail)
            self.frames, self.block = frames, block

    def call(
        self,
        target: Any,
        args: tuple[Any, ...],
        out: Any = None,
        checked: bool = False,
        work: int = 0,
        cost: int = UNKNOWN_COST,
    ) -> Any:
        reg = super().call(target, args, out, checked, work, cost)
        if reg is not None:
            self.depths[reg] = self.depth
        return reg
