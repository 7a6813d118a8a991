"""Tiling of nests that read something across the grain: transposes.

Where the innermost loop strides through one operand and another loop would
walk through it, both are run in blocks, so that every cache line fetched is
used before it leaves the cache.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tracejit.ir.jaxpr import Eqn, Var
from tracejit.ir.kernel import Pointwise
from tracejit.lowering.loops.nodes import I64, Size
from tracejit.lowering.plan.access import Index, Stored
from tracejit.lowering.plan.context import loops
from tracejit.lowering.plan.probe import Symbols, affine, probe_pull

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body

_TILE = 32
_WORTH = 64 * 64  # elements below which everything is in the cache anyway


@contextlib.contextmanager
def nest(body: Body, members: list[Eqn], shape: Any, vector: bool) -> Iterator[Index]:
    """Loops over `shape` for `members`, tiled if that pays; elements are computed independently."""
    # On a device such nests are tiled later, by way of shared memory.
    axis = None if body.ctx.device else _crossed_axis(body, members, shape)
    if axis is None:
        with loops(body, shape, vector, independent=True) as idx:
            yield idx
        return
    k, last = body.k, len(shape) - 1
    rest = tuple(1 if n in (axis, last) else d for n, d in enumerate(shape))
    with contextlib.ExitStack() as stack:
        idx = list(stack.enter_context(loops(body, rest, vector=False, independent=True)))
        counts = (Size(-(-shape[n] // _TILE), I64, k) for n in (axis, last))
        blocks = [stack.enter_context(k.loop(0, count, independent=True)) for count in counts]
        for n, block in zip((axis, last), blocks, strict=True):
            start = k.mul(block, _TILE)
            stop = k.add(start, _TILE)
            stop = k.int_op("smin", stop, k.const(shape[n], I64))
            idx[n] = stack.enter_context(k.loop(start, stop, vector=vector and n == last))
        yield tuple(idx)


def _crossed_axis(body: Body, members: list[Eqn], shape: Any) -> int | None:
    """The axis along which an operand lies that the innermost loop strides through."""
    if len(shape) < 2 or not all(type(d) is int for d in shape) or math.prod(shape) < _WORTH:
        return None
    if any(e.effects for e in members) or shape[-1] < _TILE:
        return None
    for eqn in body.inlined(members):
        for strides in _strides(body, eqn, shape):
            axis = next((n for n, s in enumerate(strides[:-1]) if s in (1, -1) and shape[n] >= _TILE), None)
            if axis is not None and abs(strides[-1]) > 1:
                return axis
    return None


def _strides(body: Body, eqn: Eqn, shape: Any) -> Iterator[list[int]]:
    """By how much each loop moves in the stored operands of an equation over `shape`."""
    if eqn.outvars[0].aval.shape != shape:
        return
    symbols = Symbols()
    own = symbols.identity(shape)
    if isinstance(eqn.op.kernel, Pointwise):
        reads = [(a, own) for a in eqn.invars]
    else:
        reads = probe_pull(symbols, eqn, own).reads
    for a, idx in reads:
        value = body.stored(body.values[a]) if type(a) is Var and a.aval.shape else None
        if type(value) is not Stored or not all(type(s) is int for s in value.strides):
            continue
        maps = [affine(symbols, i) for i in idx]
        if all(m is not None for m in maps):
            steps = list(zip(maps, value.strides, strict=True))
            yield [sum(m.get(n, 0) * s for m, s in steps if m) for n in range(len(shape))]
