"""Nests whose elements are checked, as indices are: in blocks that note a failure and go on.

A loop that may end at any element can't be vectorised. So a block is computed whole, and if a check failed in it,
its elements are computed again, one after the other, to end the program at the first that is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracejit.ir.jaxpr import Eqn, Var
from tracejit.lowering.loops.extents import LEAST
from tracejit.lowering.loops.nodes import I64, Size
from tracejit.lowering.plan.access import Flat, Stored

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body

_BLOCK = 256


def in_blocks(body: Body, eqns: list[Eqn], size: int, own: dict[Var, Any]) -> bool:
    """Whether it pays, and can be done: what is stored must not be what the elements are made of. Threads of a device
    end one by one."""
    if body.ctx.device:
        return False
    written = [v.buffer for v in own.values() if type(v) is Stored]
    read = [body.stored(body.values[a]) for e in body.inlined(eqns) for a in e.invars if a in body.values]
    overwrites = any(type(v) is Stored and v.buffer in written for v in read)
    return size >= LEAST and any(e.effects for e in eqns) and not overwrites


def emit_blocks(body: Body, eqns: list[Eqn], size: int, own: dict[Var, Any]) -> None:
    """The flat nest of `eqns` over `size` elements."""
    k = body.k
    with k.loop(0, Size(-(-size // _BLOCK), I64, k), independent=True) as block:
        start = k.mul(block, _BLOCK)
        stop = k.int_op("smin", k.add(start, _BLOCK), k.const(size, I64))
        failed = k.slot(k.const(0, I64), "failed")
        with k.noting(failed), k.loop(start, stop, vector=True) as i:
            body.compute(eqns, Flat((i,)), own)
        with k.when(k.ne(k.get(failed), 0)), k.loop(start, stop) as i:
            body.evaluate(eqns, Flat((i,)), own)
            body.pending.clear()
