"""What all scopes of one program share: the recorder, buffers, status codes, callbacks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.ir.avals import Aval, Dim, Shape
from tracejit.ir.jaxpr import Eqn
from tracejit.lowering.loops.hoist import Recorder
from tracejit.lowering.loops.nodes import I64, Alloc, Block, Buffer, Copy, blocks_of
from tracejit.lowering.lowered import Callback, Check, Failure, Library
from tracejit.lowering.notes import Notes
from tracejit.lowering.plan.access import ZERO, Index, Scope, Stored, c_strides, is_contiguous

STACK = 64  # elements up to which a buffer is a stack buffer, which LLVM can keep in registers


class Context:
    """The program under construction."""

    def __init__(self, name: str, notes: Notes | None = None, device: bool = False) -> None:
        self.k = Recorder(name)
        self.device = device  # whether it is for a device (`cuda`)
        #: Where decisions are told, if anybody wants to know.
        self.notes = notes
        self.callbacks: list[Callback] = []
        #: What the device's libraries do, where the program is for a device; else None.
        self.libraries: list[Library] | None = [] if device else None
        self.failures: dict[int, Failure] = {}
        #: The loop bodies in which a buffer's contents do not outlive an iteration.
        self.homes: dict[Buffer, Block] = {}
        self.body: Block = self.k.block
        self._constants: dict[tuple[np.dtype, float], Buffer] = {}

    # -- buffers

    def allocate(self, scope: Scope, shape: Shape, dtype: np.dtype, name: str) -> Stored:
        """A new block for `shape` in C order."""
        if any(isinstance(d, Dim) and d.bound is None for d in shape):
            return self._allocate_heap(scope, shape, dtype, name)
        strides = c_strides(shape)
        size = (strides[0] * _capacity(shape[0])) if shape else 1
        buffer = self.buffer(dtype, size, "stack" if size <= STACK else "arena", name)
        return Stored(buffer, strides, 0, self.k.depth)

    def buffer(self, dtype: np.dtype, size: Any, kind: str, name: str) -> Buffer:
        b = self.k.buffer(f"{name}{len(self.k.program.buffers)}", dtype, size, kind)
        self.homes[b] = self.body
        return b

    def make_private(self, buffers: Sequence[Buffer]) -> None:
        """The contents of these buffers do not outlive an execution of the innermost open block."""
        self.homes.update(dict.fromkeys(buffers, self.k.block))

    def constant(self, dtype: np.dtype, value: float) -> Buffer:
        """A number in memory, written once where the program starts."""
        key = dtype, value
        if key not in self._constants:
            self._constants[key] = place = self.k.buffer(f"c{len(self._constants)}", dtype, 1, "stack")
            start = Block()
            with self.k.into(start):
                self.k.store(place, 0, self.k.const(value, dtype))
            self.k.program.body.stmts[:0] = start.stmts
        return self._constants[key]

    def _allocate_heap(self, scope: Scope, shape: Shape, dtype: np.dtype, name: str) -> Stored:
        strides, size = self.layout(scope, shape)
        size = self.k.lift(size, I64)
        buffer = self.buffer(dtype, size, "heap", name)
        self.k.emit(Alloc(buffer, size))
        return Stored(buffer, strides, 0, self.k.depth)

    def layout(self, scope: Scope, shape: Shape) -> tuple[tuple[Any, ...], Any]:
        """(strides, size) in C order, extents at their bounds: ints, int64 operands where nothing bounds them."""
        k, strides = self.k, list[Any]()
        size: Any = 1
        for d in reversed(shape):
            strides.insert(0, size)
            n = d.bound if isinstance(d, Dim) and d.bound is not None else scope.extent(d)
            known = type(size) is int and type(n) is int
            size = size * n if known else n if type(size) is int and size == 1 else k.mul(size, n)
        return tuple(strides), size

    def copy(self, scope: Scope, target: Stored, source: Stored, aval: Aval) -> None:
        """target[...] = source[...]."""
        k, shape = self.k, aval.shape
        plain = is_contiguous(target, shape) and is_contiguous(source, shape)
        if plain and target.offset == source.offset == 0 and aval.size > STACK:
            k.emit(Copy(target.buffer, source.buffer, k.const(aval.size, np.int64)))
            return
        with loops(scope, shape, independent=True) as idx:
            k.store(target.buffer, target.at(k, idx), k.load(source.buffer, source.at(k, idx)))

    # -- failures

    def fail_code(self, eqn: Eqn) -> int:
        """A new status code for what the kernel function of `eqn` reports."""
        code = len(self.failures) + 1
        self.failures[code] = Check(eqn.params.get("failure") or _unexplained, eqn.source)
        return code


def _unexplained(details: tuple[int, ...], where: Any) -> Exception:
    return RuntimeError(f"a check failed with {details} at {where}")


def _capacity(d: Any) -> int:
    return d if type(d) is int else d.bound or 1


@contextlib.contextmanager
def loops(
    scope: Scope, shape: Sequence[Any], vector: bool = True, independent: bool = False
) -> Iterator[Index]:
    """Loops over `shape`, outermost first; there is none for axes of size 1. An entry (start, stop) is a range."""
    with contextlib.ExitStack() as stack:
        idx: list[Any] = []
        last = max((n for n, d in enumerate(shape) if d != 1), default=-1)
        for n, d in enumerate(shape):
            one = type(d) is int and d == 1
            idx.append(
                ZERO if one else stack.enter_context(_axis(scope, d, vector and n == last, independent))
            )
        yield tuple(idx)


def _axis(scope: Scope, d: Any, vector: bool, independent: bool) -> Any:
    start, stop = d if type(d) is tuple else (0, scope.extent(d))
    return scope.k.loop(start, stop, vector=vector, independent=independent)


def work_of(block: Block) -> int:
    """A rough number of the instructions that a block executes."""
    total = 0
    for s in block.stmts:
        inner = blocks_of(s)
        trips = 1
        if hasattr(s, "var"):
            size = getattr(s.stop, "value", None), getattr(s.start, "value", None)
            trips = size[0] - size[1] if size[0] is not None and size[1] is not None else 1000
        elif hasattr(s, "head"):
            trips = 10**6
        total += trips * sum(map(work_of, inner)) if inner else _work_of_leaf(s)
    return total


def _work_of_leaf(stmt: Any) -> int:
    if type(stmt).__name__ == "Call":
        return stmt.cost
    if hasattr(stmt, "target"):
        return getattr(getattr(stmt, "count", None), "value", 0) // 4
    return 10 if getattr(stmt, "op", "") == "math" else 1
