"""Long ranges in blocks, and reductions of everything in parts: each block on its own, then what they came to."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tracejit.lowering.emit.accumulate import Accumulator
from tracejit.lowering.loops.nodes import I64, Const, Size
from tracejit.lowering.plan.access import Index, Stored
from tracejit.lowering.plan.context import Context, loops

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body

MANY = 1 << 16  # elements from which a reduction of everything is done in parts
_BLOCK = 1024  # elements that a sum adds up before it starts anew; a power of two
_BLOCK_OF_DEVICE = 8192  # the same where the threads of a block add it up: some 32 elements each
_LEAST_PART = 256  # elements of a part


def block_size(ctx: Context) -> int:
    """Elements that a sum adds up before it starts anew; a power of two."""
    return _BLOCK_OF_DEVICE if ctx.device else _BLOCK


def is_block(ctx: Context, d: Any) -> bool:
    """Whether an axis of this size is never longer than a block."""
    most = d if type(d) is int else d.bound
    return most is not None and most <= block_size(ctx)


@contextlib.contextmanager
def blocks(body: Body, n: Any, independent: bool = False) -> Iterator[tuple[Any, Any, Any]]:
    """The blocks of range(n): where one starts and stops, and its number."""
    k, size = body.k, block_size(body.ctx)
    bits = size.bit_length() - 1
    if type(n) is int:
        count: Any = Size(-(-n // size), I64, k)
    else:
        count = k.int_op("ashr", k.add(n, size - 1), bits)
    with k.loop(0, count, independent=independent) as b:
        yield *_range_of(body, n, b), b


def _range_of(body: Body, n: Any, block: Any) -> tuple[Any, Any]:
    """Where a block of range(n) starts and stops."""
    k, bits = body.k, block_size(body.ctx).bit_length() - 1
    start, stop = (k.int_op("shl", i, bits) for i in (block, k.add(block, 1)))
    return start, k.int_op("smin", stop, k.lift(n, I64))


def is_worth_parts(extents: list[Any], inner: int, accumulators: list[Accumulator]) -> bool:
    """Whether a reduction of everything is large enough to be done in parts that threads can share."""
    if not accumulators or not all(a.splits for a in accumulators):
        return False
    static = all(type(d) is int for d in extents)
    return static and math.prod(extents) >= MANY and extents[inner] >= _LEAST_PART


class Parts:
    """A reduction of everything: each block on its own, then their results. In order, those are the operations of one
    pass, but the blocks do not wait for each other."""

    def __init__(self, body: Body, extents: list[int], accumulators: list[Accumulator]) -> None:
        self.body = body
        self.extents = extents
        self.accumulators = accumulators
        self.blocks = -(-extents[-1] // block_size(body.ctx))
        self.count = math.prod(extents[:-1]) * self.blocks
        self.results = [self._room(a, self.count) for a in accumulators]

    def _room(self, acc: Accumulator, count: int) -> Stored:
        # however many parts there are, they lie in the arena: the code is the same for every number
        buffer = self.body.ctx.buffer(acc.initial[0].dtype, count, "arena", "part")
        return Stored(buffer, (1,), 0, self.body.k.depth)

    @contextlib.contextmanager
    def each(self, independent: bool) -> Iterator[tuple[Index, Any, Any, Any]]:
        """The blocks: outer index, start, stop, number."""
        k, number = self.body.k, Const(0, I64)
        with loops(self.body, self.extents[:-1], vector=False, independent=independent) as before:
            with blocks(self.body, self.extents[-1], independent) as (start, stop, b):
                for i, d in zip(before, self.extents[:-1], strict=True):
                    number = k.add(k.mul(number, d), i)
                yield before, start, stop, k.lift(k.add(k.mul(number, Size(self.blocks, I64, k)), b), I64)

    def at(self, number: Any) -> tuple[Index, Any, Any]:
        """The block of a number: outer index, start, stop."""
        k, before = self.body.k, list[Any]()
        n, block = (k.int_op(op, number, k.const(self.blocks, I64)) for op in ("sdiv", "srem"))
        for d in reversed(self.extents[:-1]):
            before.insert(0, k.int_op("srem", n, k.const(d, I64)))
            n = k.int_op("sdiv", n, k.const(d, I64))
        return tuple(before), *_range_of(self.body, self.extents[-1], block)

    def leave(self, number: Any, accumulators: list[Accumulator]) -> None:
        """Keep what a block came to."""
        for acc, place in zip(accumulators, self.results, strict=True):
            self.body.put(place, (number,), acc.partial())

    def take(self, number: Any) -> None:
        """Take in what a block came to."""
        for acc, place in zip(self.accumulators, self.results, strict=True):
            acc.take(self._load(place, number))

    def take_all(self) -> None:
        """Take in what all blocks came to, in loops that the threads of a block can share."""
        for acc, place in zip(self.accumulators, self.results, strict=True):
            acc.take_all(_Row(self, acc, place), self.count)

    def _load(self, place: Stored, number: Any) -> Any:
        return self.body.k.load(place.buffer, place.at(self.body.k, (number,)))


class _Row:
    """Values of one accumulator, in memory."""

    def __init__(self, parts: Parts, acc: Accumulator, place: Stored) -> None:
        self.parts, self.acc, self.place = parts, acc, place

    def __getitem__(self, number: Any) -> Any:
        return self.parts._load(self.place, number)

    def __setitem__(self, number: Any, x: Any) -> None:
        self.parts.body.put(self.place, (number,), x)

    def fresh(self, count: int) -> _Row:
        """Room for `count` more values."""
        return _Row(self.parts, self.acc, self.parts._room(self.acc, count))
