"""A Python interpreter of the loop IR: an oracle that shares nothing with the emitters.

`execute(lowered, *arrays)` runs a program on copies of NumPy arrays. Every load and store is checked
against the bounds of its buffer, so it also finds accesses that native code would get away with.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from tracejit.lowering.loops.nodes import (  # fmt: skip
    Alloc,
    Block,
    Buffer,
    Call,
    Comment,
    Const,
    Copy,
    For,
    Free,
    Grow,
    If,
    Inst,
    Reg,
    Rotate,
    SetPointer,
    SetSlot,
    Slot,
    Store,
    While,
)
from tracejit.lowering.lowered import Lowered

_FUNCTIONS = {
    "fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide, "fneg": np.negative,
    "fabs": np.abs, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "copysign": np.copysign, "fmaximum": np.maximum, "fminimum": np.minimum,
    "iadd": np.add, "isub": np.subtract, "imul": np.multiply,
    "smax": np.maximum, "smin": np.minimum, "umax": np.maximum, "umin": np.minimum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "popcount": np.bitwise_count,
    "clz": lambda x: 8 * x.itemsize - int(x).bit_length(),
    "ctz": lambda x: (int(x) & -int(x)).bit_length() - 1 if x else 8 * x.itemsize,
    "shl": np.left_shift, "ashr": np.right_shift, "lshr": np.right_shift,
}  # fmt: skip
_COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_MATH = {
    "pow": np.power,
    "atan2": np.arctan2,
    "fmod": np.fmod,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
}


class Failed(Exception):
    """The program ended with a status."""

    def __init__(self, code: int, details: tuple[int, ...]) -> None:
        super().__init__(code, details)
        self.code = code
        self.details = details


def execute(lowered: Lowered, *arrays: np.ndarray) -> list[np.ndarray]:
    """The outputs of the program, in place in the inputs where it says so."""
    machine = _Machine(lowered)
    outs = [np.empty([_bound(d) for d in a.shape], a.dtype) for a in lowered.out_avals]
    for buffer, a, strides in zip(lowered.program.args, arrays, lowered.in_strides, strict=False):
        machine.lend(buffer, a, strides)
    for n, out in enumerate(outs):
        buffer = lowered.program.args[len(arrays) + n]
        machine.lend(buffer, out, tuple(s // out.itemsize for s in out.strides))
    with np.errstate(all="ignore"):
        machine.block(lowered.program.body)
    for o, i in lowered.aliases.items():
        outs[o] = arrays[i]
    return [_cut(out, dims, arrays, outs) for out, dims in zip(outs, lowered.out_dims, strict=True)]


def _bound(d: Any) -> int:
    return d if isinstance(d, int) else d.bound


def _cut(out: np.ndarray, dims: Any, arrays: Any, outs: Any) -> np.ndarray:
    sizes = [d if isinstance(d, int) else int((arrays if d[0] == "input" else outs)[d[1]]) for d in dims]
    return out[tuple(slice(n) for n in sizes)]


class _Machine:
    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        self.regs: dict[int, Any] = {}
        self.slots: dict[Slot, Any] = {}
        self.memory: dict[Buffer, Any] = {}
        self.arena = np.full(lowered.program.arena_bytes, 0xA5, np.uint8)

    # -- memory: a buffer is (flat array, position of element 0)

    def lend(self, buffer: Buffer, a: np.ndarray, strides: Any) -> None:
        """Views of arrays that may be strided either way, as a function from position to element."""
        size = sum(max(0, (d - 1) * s) for d, s in zip(a.shape, strides, strict=True)) + 1
        low = sum(min(0, (d - 1) * s) for d, s in zip(a.shape, strides, strict=True))
        size = 0 if a.size == 0 else size - low
        flat = np.lib.stride_tricks.as_strided(
            _first(a, strides), (size,), (a.itemsize,), writeable=a.flags.writeable
        )
        self.memory[buffer] = (flat, -low)

    def where(self, buffer: Buffer) -> Any:
        if buffer not in self.memory:
            size = int(self.value(buffer.size)) if not isinstance(buffer.size, int) else buffer.size
            if buffer.kind == "field":
                start = int(self.value(buffer.slot))
                assert buffer.block is not None
                block = self.memory[buffer.block][0][start:]
                return (block[: block.size - block.size % buffer.dtype.itemsize].view(buffer.dtype), 0)
            if buffer.kind == "arena":
                stop = buffer.slot + size * buffer.dtype.itemsize
                assert buffer.slot >= 0 and stop <= self.arena.nbytes, "outside of the arena"
                self.memory[buffer] = (self.arena[buffer.slot : stop].view(buffer.dtype), 0)
            else:
                self.memory[buffer] = (
                    np.full(size * buffer.dtype.itemsize, 0xA5, np.uint8).view(buffer.dtype),
                    0,
                )
        return self.memory[buffer]

    def element(self, buffer: Buffer, index: Any) -> tuple[np.ndarray, int]:
        flat, zero = self.where(buffer)
        flat = flat.view(f"f{flat.itemsize // 2}") if flat.dtype.kind == "c" else flat
        zero *= 2 if buffer.dtype.kind == "c" else 1
        at = zero + int(index)
        assert 0 <= at < flat.size, f"{buffer.name}[{index}] is outside of its {flat.size} elements"
        return flat, at

    # -- statements

    def value(self, x: Any) -> Any:
        return x.dtype.type(x.value) if isinstance(x, Const) else self.regs[x.id] if isinstance(x, Reg) else x

    def block(self, block: Block) -> None:
        for s in block.stmts:
            getattr(self, type(s).__name__.lower())(s)

    def inst(self, s: Inst) -> None:
        self.regs[s.out.id] = s.out.dtype.type(self.compute(s, [self.value(a) for a in s.args]))

    def compute(self, s: Inst, args: list[Any]) -> Any:
        if s.op == "load":
            flat, at = self.element(s.attr, args[0])
            return flat[at]
        if s.op == "get":
            return self.slots[s.attr]
        if s.op == "param":
            return self.lowered.program.params[s.attr]
        if s.op == "cmp":
            return _COMPARE[s.attr](*args)
        if s.op == "select":
            return args[1] if args[0] else args[2]
        if s.op == "cast":
            return np.asarray(args[0]).astype(s.out.dtype)[()]
        if s.op == "bitcast":
            return np.asarray(args[0]).view(s.out.dtype)[()]
        if s.op in ("sdiv", "srem", "udiv", "urem"):
            q, r = abs(int(args[0])) // abs(int(args[1])), int(math.fmod(int(args[0]), int(args[1])))
            sign = -1 if (args[0] < 0) != (args[1] < 0) else 1
            return sign * q if s.op in ("sdiv", "udiv") else r
        if s.op == "fma":
            return args[0] * args[1] + args[2]
        if s.op == "index":
            i, size = map(int, args)
            if not (-size if s.attr.wraps else 0) <= i < size:
                raise Failed(s.attr.code, (i, size))
            return i % size
        if s.op == "math":
            return _MATH.get(s.attr, getattr(np, s.attr, None))(*args)
        return _FUNCTIONS[s.op](*args)

    def store(self, s: Store) -> None:
        flat, at = self.element(s.buffer, self.value(s.index))
        flat[at] = self.value(s.value)

    def setslot(self, s: SetSlot) -> None:
        self.slots[s.slot] = self.value(s.value)

    def setpointer(self, s: SetPointer) -> None:
        self.memory[s.buffer] = self.where(s.target)

    def rotate(self, s: Rotate) -> None:
        now = [self.where(p) for p in s.pointers]
        assert not any(np.shares_memory(a[0], b[0]) for n, a in enumerate(now) for b in now[:n])
        self.memory.update(zip(s.pointers, (*now[1:], now[0]), strict=True))

    def setfor(self, s: For, i: int) -> None:
        self.regs[s.var.id] = np.int64(i)
        self.block(s.body)

    def __getattr__(self, name: str) -> Any:
        return {"for": self.loop, "while": self.while_, "if": self.if_}[name]

    def loop(self, s: For) -> None:
        span = list(range(int(self.value(s.start)), int(self.value(s.stop))))
        if s.independent and not s.down:
            self.in_any_order(s, span)
            return
        for i in reversed(span) if s.down else span:
            self.setfor(s, i)

    def in_any_order(self, s: For, span: list[int]) -> None:
        """Independent iterations, what one leaves behind taken from the next; the first failure counts."""
        failures: dict[int, Failed] = {}
        random.Random(len(span)).shuffle(span)
        for i in span:
            for b in s.private:
                self.memory.pop(b, None)
            try:
                self.setfor(s, i)
            except Failed as e:
                failures[i] = e
        if failures:
            raise failures[min(failures)]

    def while_(self, s: While) -> None:
        while True:
            self.block(s.head)
            if not self.value(s.cond):
                return
            self.block(s.body)

    def if_(self, s: If) -> None:
        self.block(s.then if self.value(s.cond) else s.orelse)

    def alloc(self, s: Alloc) -> None:
        size = int(self.value(s.size)) * s.buffer.dtype.itemsize
        self.memory[s.buffer] = (np.full(size, 0xA5, np.uint8).view(s.buffer.dtype), 0)

    def grow(self, s: Grow) -> None:
        old = self.memory.get(s.buffer, (np.zeros(0, np.uint8), 0))[0]
        new = np.full(max(int(self.value(s.size)), old.size), 0xA5, np.uint8)
        new[: old.size] = old
        self.memory[s.buffer] = (new, 0)

    def free(self, s: Free) -> None:
        del self.memory[s.buffer]

    def copy(self, s: Copy) -> None:
        n = int(self.value(s.count))
        (to, t), (source, f) = self.where(s.target), self.where(s.source)
        assert t + n <= to.size and f + n <= source.size
        to[t : t + n] = source[f : f + n]

    def comment(self, s: Comment) -> None:
        pass

    # -- calls

    def call(self, s: Call) -> None:
        kind, _, name = s.target.name.partition(":")
        if kind == "callback":
            self.callback(self.lowered.callbacks[int(name)])
        else:
            _blas(name, [self.pointer(a) for a in s.args])

    def callback(self, c: Any) -> None:
        ins, outs = (
            [self.where(b)[0].reshape(s) for b, s, _ in specs] for specs in (c.in_specs, c.out_specs)
        )
        c.fn(ins, outs)

    def pointer(self, a: Any) -> Any:
        if isinstance(a, Slot):
            return self.slots[a]
        buffer, index = a if isinstance(a, tuple) else (a, 0)
        flat, zero = self.where(buffer)
        return flat[zero + int(self.value(index)) :]


def _first(a: np.ndarray, strides: Any) -> np.ndarray:
    """`a` read from its lowest address."""
    return a[(..., *(slice(None, None, -1) if s < 0 else slice(None) for s in strides))] if a.size else a


def _matrix(block: np.ndarray, rows: int, columns: int, lead: int) -> np.ndarray:
    """A column-major matrix."""
    assert lead >= max(1, rows)
    return np.lib.stride_tricks.as_strided(block, (rows, columns), (block.itemsize, lead * block.itemsize))


def _blas(name: str, args: list[Any]) -> None:
    if name.endswith("gemm"):
        ta, tb, m, n, k, one, a, lda, b, ldb, zero, c, ldc = args
        x = _matrix(a, k, m, lda).T if ta == ord("T") else _matrix(a, m, k, lda)
        y = _matrix(b, n, k, ldb).T if tb == ord("T") else _matrix(b, k, n, ldb)
        assert one[0] == 1 and zero[0] == 0
        _matrix(c, m, n, ldc)[...] = x @ y
    else:
        t, m, n, one, a, lda, x, dx, zero, y, dy = args
        matrix = _matrix(a, m, n, lda)
        matrix = matrix.T if t == ord("T") else matrix
        assert one[0] == 1 and zero[0] == 0
        y[: matrix.shape[0] * dy : dy] = matrix @ x[: matrix.shape[1] * dx : dx]
