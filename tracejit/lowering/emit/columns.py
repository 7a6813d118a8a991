"""Nests with reductions down columns, which accumulate into rows."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from tracejit.ir.jaxpr import Eqn, Var
from tracejit.lowering.emit.accumulate import accumulator
from tracejit.lowering.emit.parts import MANY
from tracejit.lowering.loops.nodes import I64, Const, Size
from tracejit.lowering.plan.access import ZERO, Index, Stored
from tracejit.lowering.plan.context import loops
from tracejit.lowering.plan.groups import Group

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body

_NARROW = 4  # columns of which a row is narrow
_WIDE = 1 << 14  # columns of a row that is long enough for a part of a few of them
_PART = 1 << 15  # elements of a part of the rows, at least
_LEAST_ROWS = 32  # rows of a part
_MOST_PARTS = 1 << 7
_TOGETHER = 8  # rows of an array that are taken in for each time that the accumulators are read and written


def emit_columns(body: Body, group: Group) -> None:
    """`for kept: clear a row; for reduced: for kept: accumulate into the row; finish the row`."""
    domain = group.domain
    for eqn in group.members:
        body.comment(eqn)
    first = min((n for n in group.axes if domain[n] != 1), default=min(group.axes))
    kept = [n for n in range(first, len(domain)) if n not in group.axes]
    lanes = tuple(domain[n] for n in kept)
    if _is_narrow(group, kept):
        _emit_narrow_columns(body, group, first, lanes)
        return
    outs = {e: body.define(e.outvars[0]) for e in group.members}
    states = {e: _state_rows(body, e, lanes) for e in group.members}
    if rows := _rows_of_a_part(group, first, lanes):
        _emit_parts(body, group, first, kept, rows, outs, states)
        return
    ranges = dict(enumerate(domain))
    with loops(body, domain[:first], False, True) as outer:
        if any(d != 1 for d in domain[:first]):
            body.ctx.make_private([p.buffer for places in states.values() for p in places])
        head = tuple(i for n, i in enumerate(outer) if n not in group.axes)
        _clear(body, states, lanes, ())
        _accumulate(body, group, states, first, kept, outer, ranges, ())
        _finish(body, outs, states, lanes, head)


def _clear(body: Body, states: Any, lanes: Any, part: Index) -> None:
    with loops(body, lanes) as lane:
        for e, places in states.items():
            initial = _form(e).init(body.k, e.invars[0].aval.dtype)
            for place, x in zip(places, initial, strict=True):
                body.put(place, (*part, *lane), x)


def _accumulate(
    body: Body, group: Group, states: Any, first: int, kept: list[int], outer: Index, ranges: Any, part: Index
) -> None:
    """Take in the elements of the `ranges` of the axes from `first` on."""
    if type(ranges[first]) is tuple and _are_rows_of_arrays(body, group, first, kept):
        k, (start, stop) = body.k, ranges[first]
        blocks = k.int_op("udiv", k.sub(stop, start), k.const(_TOGETHER, I64))
        with k.loop(0, blocks) as block, loops(body, tuple(ranges[n] for n in kept)) as inner:
            row = k.add(start, k.mul(block, _TOGETHER))
            indices = [(*outer, k.add(row, n), *inner) for n in range(_TOGETHER)]
            _take_in(body, group, states, (*part, *inner), indices)
        ranges = {**ranges, first: (k.add(start, k.mul(blocks, _TOGETHER)), stop)}
    with loops(body, tuple(ranges[n] for n in range(first, len(group.domain)))) as inner:
        _take_in(body, group, states, (*part, *(inner[n - first] for n in kept)), [(*outer, *inner)])


def _are_rows_of_arrays(body: Body, group: Group, first: int, kept: list[int]) -> bool:
    """Whether rows of an array are added up, so that it takes longer to fetch them than to add. Rows that are
    computed would be computed by as many copies of the code."""
    if kept != list(range(first + 1, len(group.domain))):
        return False
    atoms = [e.invars[0] for e in group.members]
    return all(type(a) is Var and type(body.stored(body.values.get(a))) is Stored for a in atoms)


def _take_in(body: Body, group: Group, states: Any, lane: Index, indices: list[Index]) -> None:
    """Elements, one after the other, at a place of the accumulators."""
    positions = [_position(body, group, idx) for idx in indices]
    for e in group.members:
        _step(body, e, states[e], lane, [body.read(e.invars[0], idx) for idx in indices], positions)


def _step(
    body: Body, eqn: Eqn, places: list[Stored], lane: Index, xs: list[Any], positions: list[Any]
) -> None:
    state = tuple(body.k.load(p.buffer, p.at(body.k, lane)) for p in places)
    for x, position in zip(xs, positions, strict=True):
        state = _form(eqn).step(body.k, state, x, position)
    for p, new in zip(places, state, strict=True):
        body.put(p, lane, new)


def _finish(body: Body, outs: Any, states: Any, lanes: Any, head: Index) -> None:
    k = body.k
    with loops(body, lanes, independent=True) as lane:
        for e, places in states.items():
            state = tuple(k.load(p.buffer, p.at(k, lane)) for p in places)
            dtype = e.outvars[0].aval.dtype
            body.put(outs[e], (*head, *lane), k.cast(_form(e).finish(k, state, dtype), dtype))


def _form(eqn: Eqn) -> Any:
    return eqn.op.kernel


def _state_rows(body: Body, eqn: Eqn, lanes: Any) -> list[Stored]:
    initial = _form(eqn).init(body.k, eqn.invars[0].aval.dtype)
    return [body.ctx.allocate(body, lanes, x.dtype, "acc") for x in initial]


def _position(body: Body, group: Group, idx: Index) -> Any:
    """The position in the flattened reduced axes."""
    k, position = body.k, Const(0, I64)
    for n in sorted(group.axes):
        position = k.add(k.mul(position, body.extent(group.domain[n])), idx[n])
    return k.lift(position, I64)


# ---------------------------------------------------------------- what threads can share


def _rows_of_a_part(group: Group, first: int, lanes: tuple[int, ...]) -> int | None:
    """Of how many rows the parts are that are accumulated on their own, for threads to share. It depends on
    nothing but the shape, so that results are the same whoever shares."""
    domain = group.domain
    if not lanes or not all(type(d) is int for d in domain):
        return None
    if math.prod(domain) < MANY or math.prod(domain[:first]) != 1:
        return None
    if not all(_form(e).tree in ("sum", "reassoc") for e in group.members):
        return None
    a_row = math.prod(domain[first + 1 :])
    rows = max(
        _TOGETHER if lanes[-1] >= _WIDE else _LEAST_ROWS, -(-_PART // a_row), -(-domain[first] // _MOST_PARTS)
    )
    rows += -rows % _TOGETHER
    return rows if 2 * rows <= domain[first] else None


def _emit_parts(
    body: Body, group: Group, first: int, kept: list[int], rows: int, outs: Any, states: Any
) -> None:
    """`for part: clear a row; for reduced in part: ...`, then the parts' rows in order."""
    k, n = body.k, group.domain[first]
    lanes, outer = tuple(group.domain[a] for a in kept), (ZERO,) * first
    count, size = -(-n // rows), Size(rows, I64, k)
    parts = {e: _state_rows(body, e, (count, *lanes)) for e in group.members}
    count = Size(count, I64, k)
    with k.loop(0, count, independent=True) as part:
        start = k.mul(part, size)
        stop = k.int_op("smin", k.add(start, size), k.const(n, I64))
        ranges = {**dict(enumerate(group.domain)), first: (start, stop)}
        _clear(body, parts, lanes, (part,))
        _accumulate(body, group, parts, first, kept, outer, ranges, (part,))
    _clear(body, states, lanes, ())
    with k.loop(0, count) as part, loops(body, lanes) as lane:
        for e in group.members:
            (x,) = (k.load(p.buffer, p.at(k, (part, *lane))) for p in parts[e])
            _step(body, e, states[e], lane, [x], [k.const(0, I64)])
    _finish(body, outs, states, lanes, tuple(ZERO for a in range(first) if a not in group.axes))


# ---------------------------------------------------------------- narrow rows


def _is_narrow(group: Group, kept: list[int]) -> bool:
    """Whether a row of columns is shorter than a vector, and the columns are not: then they are what to
    vectorise, each with an accumulator of its own."""
    sizes = [group.domain[n] for n in kept]
    down = [group.domain[n] for n in group.axes]
    if not kept or max(group.axes) > min(kept) or not all(type(d) is int for d in (*sizes, *down)):
        return False
    sums = all(_form(e).tree == "sum" and e.outvars[0].aval.dtype.kind == "f" for e in group.members)
    return sums and 1 < math.prod(sizes) <= _NARROW and group.domain[max(group.axes)] >= 2 * _NARROW


def _emit_narrow_columns(body: Body, group: Group, first: int, lanes: tuple[int, ...]) -> None:
    """`for outer: for reduced: accumulate into one register a column`."""
    domain, axes = group.domain, set(group.axes)
    outs = {e: body.define(e.outvars[0]) for e in group.members}
    tails = [tuple(Const(i, I64) for i in lane) for lane in itertools.product(*map(range, lanes))]
    with loops(body, domain[:first], vector=False, independent=True) as outer:
        head = tuple(i for n, i in enumerate(outer) if n not in axes)
        rows = [(e, tail, accumulator(body.k, e, False)) for e in group.members for tail in tails]
        with loops(body, domain[first : len(domain) - len(lanes)]) as inner:
            for e, tail, acc in rows:
                acc.add(body.read(e.invars[0], (*outer, *inner, *tail)), ZERO)
        for e, tail, acc in rows:
            body.put(outs[e], (*head, *tail), acc.result())
