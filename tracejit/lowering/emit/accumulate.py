"""Accumulators of reductions: what a pass keeps in registers while it runs.

Sums of floats add up blocks in any order (so that they vectorise) and the
blocks' sums with a compensated addition: as accurate as pairwise summation or
better, and the same bits whatever the number of threads.
"""

from __future__ import annotations

import math
from typing import Any

from tracejit import dtypes
from tracejit.ir.jaxpr import Eqn
from tracejit.lowering.loops.hoist import Recorder
from tracejit.lowering.loops.nodes import I64, Pair

_NOWHERE = (1 << 63) - 1
#: How many threads take in what the blocks of a long sum came to, and how many what these came to.
_LANES = (256, 16)


class Accumulator:
    """The state of one reduction in slots."""

    blocked = False
    #: Whether parts of the range may be reduced on their own: `partial` of each is then taken in by `take`.
    splits = False
    searches = False  # whether a block whose result is better than those before is read again

    def __init__(self, k: Recorder, eqn: Eqn) -> None:
        self.k = k
        self.form: Any = eqn.op.kernel
        self.dtype = eqn.outvars[0].aval.dtype
        self.initial = self.form.init(k, eqn.invars[0].aval.dtype)  # type: ignore[attr-defined]
        self.slots = [k.slot(x, "acc") for x in self.initial]
        self.vector = self.form.tree != "ordered"  # type: ignore[attr-defined]
        self.splits = self.vector and len(self.slots) == 1

    def add(self, x: Any, position: Any) -> None:
        """Take in one element."""
        k = self.k
        state = self.form.step(k, tuple(k.get(s) for s in self.slots), x, position)
        for s, new in zip(self.slots, state, strict=True):
            k.set(s, new)

    def open_block(self) -> None:
        """A block of elements begins."""

    def close_block(self) -> None:
        """A block of elements ends."""

    def prepare(self) -> None:
        """There will be blocks; called outside of all loops over them."""

    def partial(self) -> Any:
        """What the elements of one block come to."""
        return self.k.get(self.slots[0])

    def take(self, partial: Any) -> None:
        """Take in a block of which another accumulator has this result."""
        self.add(partial, 0)

    def take_all(self, parts: Any, count: int) -> None:
        """Take in `count` blocks, by a loop that threads can share. `parts[i]` is what a block came to."""
        with self.k.loop(0, count, vector=True) as i:
            self.take(parts[i])

    def result(self) -> Any:
        """The output's scalar."""
        return self.finish(tuple(self.k.get(s) for s in self.slots))

    def finish(self, state: tuple[Any, ...]) -> Any:
        return self.k.cast(self.form.finish(self.k, state, self.dtype), self.dtype)


class Sum(Accumulator):
    """A sum of floating-point numbers, in blocks. Without blocks it is one block."""

    blocked = True

    def __init__(self, k: Recorder, eqn: Eqn) -> None:
        super().__init__(k, eqn)
        self.totals: list[Any] = []

    def add(self, x: Any, position: Any) -> None:
        k, (slot,), (start,) = self.k, self.slots, self.initial
        k.set(slot, k.add(k.get(slot), k.cast(x, start.dtype), attr="reassoc"))

    def open_block(self) -> None:
        self.k.set(self.slots[0], self.initial[0])

    def close_block(self) -> None:
        """total += block, with the rounding errors summed on the side."""
        self._take(self.totals, [self.k.get(self.slots[0])], None, 0)

    def prepare(self) -> None:
        self.totals = self._places()

    def take(self, partial: Any) -> None:
        self.k.set(self.slots[0], partial)
        self.close_block()

    def take_all(self, parts: Any, count: int) -> None:
        """Each lane takes every n-th block in, a few lanes what those came to, and one thread what is left: no rounding
        error is lost on the way, whatever the number of blocks."""
        k, errors = self.k, None
        for lanes in _LANES:
            if count <= lanes:
                continue
            totals, rest = parts.fresh(lanes), parts.fresh(lanes)
            with k.loop(0, lanes, independent=True) as lane:
                places = self._places()
                taken = k.int_op("sdiv", k.sub(count + lanes - 1, lane), k.const(lanes, I64))
                with k.loop(0, taken) as n:
                    self._take(places, parts, errors, k.add(k.mul(n, lanes), lane))
                totals[lane], rest[lane] = map(k.get, places)
            parts, errors, count = totals, rest, lanes
        with k.loop(0, count) as n:
            self._take(self.totals, parts, errors, n)

    def _take(self, places: list[Any], parts: Any, errors: Any, n: Any) -> None:
        """places += parts[n], with the rounding errors of this and those that are known."""
        k, (total, error) = self.k, places
        s, e = _two_sum(k, k.get(total), parts[n])
        k.set(total, s)
        k.set(error, k.add(k.get(error), e))
        if errors is not None:
            k.set(error, k.add(k.get(error), errors[n]))

    def _places(self) -> list[Any]:
        start = self.initial[0]
        return [self.k.slot(start, "sum"), self.k.slot(self.k.const(0, start.dtype), "err")]

    def result(self) -> Any:
        k = self.k
        if not self.totals:
            return super().result()
        return self.finish((_corrected(k, k.get(self.totals[0]), k.get(self.totals[1])),))


class Search(Accumulator):
    """The first position of an extreme float. A block is run through for its extreme, which vectorises,
    and only if that beats all before a second time for the position."""

    blocked = searches = True

    def __init__(self, k: Recorder, eqn: Eqn) -> None:
        super().__init__(k, eqn)
        self.vector = self.splits = True
        self.best, self.where = self.slots
        self.top = k.slot(self.initial[0], "top")
        k.set(self.where, -1)

    def open_block(self) -> None:
        """Start from the infinity that loses against everything."""
        k = self.k
        low, high = k.const(-math.inf, self.top.dtype), k.const(math.inf, self.top.dtype)
        kept = self.form.extreme(k, low, high)
        k.set(self.top, k.select(k.eq(kept, high), low, high))

    def add(self, x: Any, position: Any) -> None:
        self.k.set(self.top, self.form.extreme(self.k, self.k.get(self.top), x))

    def partial(self) -> Any:
        return self.k.get(self.top)

    def take(self, partial: Any) -> None:
        self.k.set(self.top, partial)

    def take_all(self, parts: Any, count: int) -> None:
        """Find the extreme of all blocks, then the first block that has it."""
        k = self.k
        self.open_block()
        with k.loop(0, count, vector=True) as i:
            Search.add(self, parts[i], 0)
        self.start_search()
        with k.loop(0, count, vector=True) as i:
            self.search(parts[i], i)

    def part(self) -> Any:
        """The number of the block that is to be searched."""
        return self.k.get(self.where)

    def is_better(self) -> Any:
        """Whether the block that has just been run through has a better element than those before."""
        k, top, best = self.k, self.k.get(self.top), self.k.get(self.best)
        ahead = k.and_(k.ne(self.form.extreme(k, top, best), best), k.eq(best, best))
        return k.or_(k.lt(k.get(self.where), 0), ahead)

    def start_search(self) -> None:
        self.k.set(self.best, self.k.get(self.top))
        self.k.set(self.where, _NOWHERE)

    def search(self, x: Any, position: Any) -> None:
        k = self.k
        hit = k.or_(k.eq(x, k.get(self.best)), k.ne(x, x))
        k.set(
            self.where, k.int_op("smin", k.get(self.where), k.select(hit, position, k.const(_NOWHERE, I64)))
        )


def _two_sum(k: Recorder, a: Any, b: Any) -> tuple[Any, Any]:
    """fl(a + b) and its rounding error (Knuth)."""
    if isinstance(a, Pair):
        re, im = _two_sum(k, a.re, b.re), _two_sum(k, a.im, b.im)
        return k.pair(re[0], im[0]), k.pair(re[1], im[1])
    s = k.add(a, b)
    t = k.sub(s, a)
    return s, k.add(k.sub(a, k.sub(s, t)), k.sub(b, t))


def _corrected(k: Recorder, total: Any, error: Any) -> Any:
    """total + error; the error of infinite sums is not a number, and not meant."""
    if isinstance(total, Pair):
        return k.pair(_corrected(k, total.re, error.re), _corrected(k, total.im, error.im))
    return k.select(k.eq(k.sub(error, error), 0), k.add(total, error), total)


def accumulator(k: Recorder, eqn: Eqn, searching: bool) -> Accumulator:
    """A fresh accumulator for a reduction. `searching`: elements may be read twice."""
    form: Any = eqn.op.kernel
    dtype = form.init(k, eqn.invars[0].aval.dtype)[0].dtype
    is_inexact = dtypes.is_float(dtype) or dtypes.is_complex(dtype)
    if searching and form.extreme is not None and dtype.kind == "f" and dtype.itemsize >= 4:
        return Search(k, eqn)
    return Sum(k, eqn) if form.tree == "sum" and is_inexact else Accumulator(k, eqn)
