"""Large sizes as parameters: programs that differ in them only share their machine code.

A program is lowered for exact shapes: its loop bounds, strides and offsets are constants. Here the large ones
become `Size`s, constants that the emitters read from `Program.params`, so that another batch size gives the
same text, which is compiled once.

Small ones stay constants, since LLVM makes better code where it knows them: sizes below `LEAST`, for it writes
out short loops, and below `LARGE` those of loops inside of others, which would pay for a length that is not
known in every run. Integer divisors stay constants as well: dividing by an unknown number takes ten times as long.
Factors of means are passed too, as far as they can be told from other numbers: 1000.0 and 0.001.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from tracejit.lowering.llvm.alias import blocks_of, walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    I64,
    Alloc,
    Call,
    Const,
    Copy,
    For,
    Inst,
    Program,
    Reg,
    SetSlot,
    Size,
    Slot,
    Store,
    While,
)
from tracejit.lowering.loops.uses import trips

LEAST = 64
LARGE = 1024
_NEAR = 4  # how far the numbers are from the size of an array that its indices are compared with
_NEARBY = sorted(range(-_NEAR, _NEAR + 1), key=abs)
_NO_SIZE = 1 << 48  # numbers from here on are masks and other data
_LINEAR = frozenset({"iadd", "isub", "imul", "smin", "smax", "select", "cmp", "load", "index"})
_DIVISIONS = frozenset({"sdiv", "udiv", "srem", "urem"})
_SCALINGS = frozenset({"fmul", "fdiv"})
_MULTIPLES = (1, 2, 3, 4)  # n, such that n over a size is taken for the factor of a mean


def pass_sizes(program: Program) -> None:
    """Replace the constants of `program` that are large sizes by parameters."""
    calls = (s for s in walk(program.body.stmts) if isinstance(s, Call))
    arguments = {a for s in calls for a in s.args if isinstance(a, Slot)}
    for stmt in program.body.stmts:
        nest = _Nest(program.params, arguments)
        nest.find(stmt, True)
        nest.mark(stmt)
    program.fixed_params = len(program.params)


class _Nest:
    """One statement of a program's top level. Sizes that are equal are one parameter in it, and those near it that
    and a constant, so that LLVM sees that an index below n - 1 is below n; in other nests they are others, since
    equal sizes may not be equal in the next program.

    `kept` are small sizes near those of short inner loops; `indices` the registers that are computed from loop
    variables and constants only.
    """

    def __init__(self, params: list[int], arguments: set[Slot]) -> None:
        self.params = params
        self.arguments = arguments
        self.numbers: dict[tuple[int, str], int] = {}
        self.kept: set[int] = set()
        self.indices: set[int] = set()

    def find(self, s: Any, outermost: bool) -> None:
        """Collect what is kept."""
        if isinstance(s, For) and not outermost and trips(s) <= LARGE and type(s.stop) is Const:
            self.kept |= {s.stop.value + n for n in range(-_NEAR, _NEAR + 1)}
        for block in blocks_of(s):
            for inner in block.stmts:
                self.find(inner, outermost and not isinstance(s, (For, While)))

    def mark(self, s: Any) -> None:
        """Replace constants in a statement and those in it."""
        if isinstance(s, Inst):
            self._inst(s)
        elif isinstance(s, For):
            self.indices.add(s.var.id)
            s.start, s.stop = self.size(s.start), self.size(s.stop)
        elif isinstance(s, Store):
            s.index = self.size(s.index)
        elif isinstance(s, Copy):
            s.count = self.size(s.count)
        elif isinstance(s, Alloc):
            s.size = self.size(s.size)
        elif isinstance(s, SetSlot) and s.slot in self.arguments:
            s.value = self.size(s.value)
        elif isinstance(s, Call):
            s.args = tuple(map(self._argument, s.args))
        for block in blocks_of(s):
            for inner in block.stmts:
                self.mark(inner)

    def _argument(self, a: Any) -> Any:
        if isinstance(a, tuple):
            return (a[0], self.size(Const(a[1], I64) if isinstance(a[1], int) else a[1]))
        return self.size(a)

    def _inst(self, s: Inst) -> None:
        if s.op in _SCALINGS:
            s.args = tuple(map(self.factor, s.args))
        elif s.op in _DIVISIONS:
            s.args = (self.size(s.args[0]), s.args[1])
        elif s.op in _LINEAR:
            registers = [a for a in s.args if type(a) is Reg]
            is_index = all(a.id in self.indices for a in registers)
            if is_index:
                self.indices.add(s.out.id)
            if is_index or s.op != "imul":  # products of data are faster by constants
                s.args = tuple(map(self.size, s.args))

    def size(self, x: Any) -> Any:
        """An operand, as a `Size` if it is one."""
        if type(x) is Size:
            return self._parameter(x, x.value)
        if type(x) is not Const or x.dtype.kind != "i" or x.dtype.itemsize < 4:
            return x
        n = abs(x.value)
        is_size = LEAST <= n < _NO_SIZE and n not in self.kept
        return self._parameter(x, x.value) if is_size else x

    def factor(self, x: Any) -> Any:
        """A factor or divisor that may come from the size of a mean: it is or goes into a whole number."""
        if type(x) is not Const or x.dtype.kind != "f" or x.dtype.itemsize < 4:
            return x
        size = _size_of_mean(abs(x.value), float(np.finfo(x.dtype).eps))
        if size is None or size in self.kept:
            return x
        return self._parameter(x, struct.unpack("<q", struct.pack("<d", x.value))[0])

    def _parameter(self, x: Const, value: int) -> Size:
        kind = x.dtype.kind
        for more in _NEARBY if kind == "i" and value > 0 else (0,):
            if (value - more, kind) in self.numbers:
                return Size(x.value, x.dtype, x.k, self.numbers[value - more, kind], more)
        self.numbers[value, kind] = len(self.params)
        self.params.append(value)
        return Size(x.value, x.dtype, x.k, self.numbers[value, kind])


def _size_of_mean(x: float, eps: float) -> int | None:
    """The size that is `x`, or that `x` is one over, or a small multiple of that."""
    if not 1 / _NO_SIZE < x < _NO_SIZE:
        return None
    if x >= LEAST:
        return int(x) if x == math.floor(x) else None
    ratios = (n / x for n in _MULTIPLES)
    return next((round(r) for r in ratios if r >= LEAST and abs(r - round(r)) <= 2 * eps * r), None)
