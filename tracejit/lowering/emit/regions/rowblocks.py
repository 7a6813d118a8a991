"""Rows of one loop that only other loops read, side by side in one block.

What a loop stacks for the loop that walks back are often many numbers a step. As arrays of their own each is a stream
of memory with an address to keep, and LLVM asks of every two whether they overlap; the fields of a record have one
address and constant offsets.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from tracejit.ir.jaxpr import Eqn, Var
from tracejit.ir.kernel import ScanRegion
from tracejit.lowering.loops.extents import LEAST
from tracejit.lowering.plan.access import Stored, c_strides

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body

_FIELD = 16  # elements of a row, at most: longer ones are streams of their own


def place_rows(body: Body, eqn: Eqn) -> None:
    """Put rows of the scan `eqn` into records, where nothing has decided their place before. The width of a record
    stays below that of sizes which become parameters, since offsets have to be constants."""
    n_carry = eqn.params["carry"]
    found = [v for v in eqn.outvars[n_carry:] if _is_field(v)]
    if not n_carry or len(found) < 2:
        return  # without carries LLVM may compute several steps at once, which needs an array
    found = _only_for_loops(body, found)
    while found:
        first, group, width = found[0], list[Var](), 0
        for v in found:
            size = math.prod(v.aval.shape[1:])
            if (
                v.aval.dtype == first.aval.dtype
                and v.aval.shape[0] == first.aval.shape[0]
                and width + size < LEAST
            ):
                group.append(v)
                width += size
        found = [v for v in found if v not in group]
        if len(group) > 1:
            _lay(body, group, width)


def _is_field(v: Var) -> bool:
    return v.aval.is_static and math.prod(v.aval.shape[1:]) <= _FIELD


def _only_for_loops(body: Body, found: list[Var]) -> list[Var]:
    """Those of the values that scans with carries read row by row, and nothing else. Their storage is theirs alone."""
    shared = Counter(map(id, body.plan.storage.values()))
    free = {
        v
        for v in found
        if v in body.plan.storage
        and (storage := body.plan.storage[v]).stored is None
        and shared[id(storage)] == 1
    }
    free -= {a for a in body.jaxpr.outs if type(a) is Var}
    for reader in body.jaxpr.eqns:
        whole = reader.invars
        if isinstance(reader.op.kernel, ScanRegion) and reader.params["carry"]:
            params = reader.params
            whole = whole[: (params["length"] is None) + params["consts"] + params["carry"]]
        free.difference_update(a for a in whole if type(a) is Var)
    return [v for v in found if v in free]


def _lay(body: Body, group: list[Var], width: int) -> None:
    block = body.ctx.allocate(body, (group[0].aval.shape[0], width), group[0].aval.dtype, "rows")
    offset = 0
    for v in group:
        inner = v.aval.shape[1:]
        storage = body.plan.storage[v]
        storage.stored = Stored(block.buffer, (width, *c_strides(inner)), offset, block.since)
        storage.plain = False
        offset += math.prod(inner)
