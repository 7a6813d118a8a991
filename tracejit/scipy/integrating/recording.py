"""What `solve_ivp` keeps of a solution besides its end: all points, the polynomials between them, and events.

Each is kept in arrays with room for `room` rows, of which the first ones are in use; how many, the program knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax, records, tree
from tracejit import numpy as tnp
from tracejit.control.custom.implicit import custom_root
from tracejit.errors import SolverRoomError
from tracejit.ops.indexing.index_check import check_index
from tracejit.scipy.integrating.problem import Problem
from tracejit.scipy.optimizing.loops.bracketing import brent
from tracejit.scipy.solving import number_solve
from tracejit.tracing import caller, to_raw

#: Rows that there is room for at first.
FIRST_ROWS = 2_048
_EPS = float(np.finfo(float).eps)


class Event(NamedTuple):
    """A function of (t, y) whose zeros are events; `most` of them end the solution, None for no end."""

    value: Callable[[Any, Any], Any]
    direction: float
    most: int | None


class Happened(NamedTuple):
    """What there is of one event: the last value, and `count` rows of times and states."""

    value: Any
    count: Any
    ts: Any
    ys: Any


class Record(NamedTuple):
    """The rows of the points, the pieces, and the events; the time `t` and state `y` at which the solution ends."""

    t: Any
    y: Any
    ts: Any
    ys: Any
    count: Any
    pieces: Any  # None where no polynomial is asked for
    looked: Any  # which steps had an event
    events: list[Happened]
    ended: Any  # whether an event has ended it


def room_for(n: int) -> int:
    """How many rows of `n` numbers are kept: fewer of long ones, more where the program is made again for that."""
    return max(min(FIRST_ROWS, 2**22 // max(n, 1)), 64) * caller.room()


@records.record(frozen=True)
class _Full:
    """The failure of a solution for whose steps there is no room."""

    lanes: bool = True

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        return SolverRoomError(room=details[1], where=where)


_FULL = _Full()


def check_room(more: Any, room: int) -> None:
    """Fail where there are `more` steps than `room`."""
    bad = to_raw(tnp.where(more, room, 0))
    check_index(bad, size=room, axis=0, failure=_FULL)


def put(x: Any, value: Any, at: Any) -> Any:
    """The array with `value` in the row `at`."""
    return lax.dynamic_update_index_in_dim(x, value, at, 0)


def record(problem: Problem, p: Any, events: Sequence[Event], dense: bool) -> tuple[Any, Record]:
    """All steps from the point `p`: the last point, and what happened on the way. Where there is no room for another
    step the record is at its end, and the point is not."""
    n = p.y.size
    room = room_for(n)

    def rows(x: Any) -> Any:
        return tnp.zeros((room, *x.shape), x.dtype)

    pieces = tree.map(lambda x: put(rows(tnp.asarray(x)), x, 0), problem.piece(p)) if dense else None
    began = [
        Happened(lax.stop_gradient(e.value(p.t, p.y)), np.int64(0), rows(p.t), rows(p.y)) for e in events
    ]
    looked = tnp.zeros(room if events else 0, bool)
    # An interval of no length has two points.
    ts, ys = (put(put(rows(x), x, 0), x, 1) for x in (p.t, p.y))
    count = tnp.where(lax.stop_gradient(p.t) == problem.end, 2, 1)
    start = Record(p.t, p.y, ts, ys, count, pieces, looked, began, np.bool_(False))

    def going(state: Any) -> Any:
        p, r = state
        return problem.going(p) & (r.count < room) & ~r.ended

    def step(state: Any) -> Any:
        p, r = state
        p = problem.trial(p)
        return p, _noted(problem, p, r, events)

    return lax.while_loop(going, step, (p, start))


def _noted(problem: Problem, p: Any, r: Record, events: Sequence[Event]) -> Record:
    """The record after a trial that led to `p`; what is written into rows that are not in use does not matter."""
    moved = problem.moved(p)
    t, y, happened, ended = p.t, p.y, r.events, r.ended
    looked = r.looked
    piece: Any = problem.piece(p) if events or r.pieces is not None else None
    row = tnp.minimum(r.count, r.ts.shape[0] - 1)
    if events:
        happened, stop, ended, any_of_them = _happened(problem, p, piece, r.events, events, moved)
        t = tnp.where(ended, stop, p.t)
        y = tnp.where(ended, piece.at(stop), p.y)
        looked = put(looked, any_of_them, row)
    pieces = r.pieces
    kept = moved
    if pieces is not None:
        # SciPy leaves a step away that an event ends where it began.
        kept = moved & ~((r.count > 1) & (t == r.t))
        pieces = tree.map(lambda rows, x: put(rows, x, row - 1), pieces, piece)
    return Record(
        tnp.where(moved, t, r.t),
        tnp.where(moved, y, r.y),
        put(r.ts, t, row),
        put(r.ys, y, row),
        r.count + tnp.where(kept, 1, 0),
        pieces,
        looked,
        happened,
        ended,
    )


def _happened(
    problem: Problem, p: Any, piece: Any, before: list[Happened], events: Sequence[Event], moved: Any
) -> tuple[list[Happened], Any, Any, Any]:
    """The events in a step: their rows, the time at which one ends the solution, whether one does, and whether there
    was any."""
    values, active, roots, last = [], [], [], []
    for e, h in zip(events, before, strict=True):
        value = lax.stop_gradient(e.value(p.t, p.y))
        crossed = moved & _crossed(h.value, value, e.direction)
        root = _root(problem, e, piece, p, crossed)
        values.append(value)
        active.append(crossed)
        roots.append(root)
        last.append(crossed & (h.count + 1 >= e.most) if e.most is not None else np.bool_(False))
    stop, first = p.t, np.int64(len(events))
    for n, (root, final) in enumerate(zip(roots, last, strict=True)):
        sooner = final & ((first == len(events)) | (problem.direction * (stop - root) > 0))
        stop, first = tnp.where(sooner, root, stop), tnp.where(sooner, n, first)
    ended = first < len(events)
    out = []
    for n, (h, value, crossed, root) in enumerate(zip(before, values, active, roots, strict=True)):
        ahead = problem.direction * (stop - root)
        seen = crossed & (~ended | (ahead > 0) | ((ahead == 0) & (n <= first)))
        at = tnp.minimum(h.count, h.ts.shape[0] - 1)
        ts, ys = put(h.ts, root, at), put(h.ys, piece.at(root), at)
        out.append(Happened(tnp.where(moved, value, h.value), h.count + tnp.where(seen, 1, 0), ts, ys))
    some = active[0]
    for crossed in active[1:]:
        some = some | crossed
    return out, stop, ended, some


def _crossed(old: Any, new: Any, direction: float) -> Any:
    up, down = (old <= 0) & (new >= 0), (old >= 0) & (new <= 0)
    return up if direction > 0 else down if direction < 0 else up | down


def _root(problem: Problem, e: Event, piece: Any, p: Any, wanted: Any) -> Any:
    """The time in the last step at which the event is, or some time where it is not `wanted`. Its derivative is that
    of the zero of the event's function on the polynomial."""

    before, after = p.before, p.t

    def value(t: Any) -> Any:
        return e.value(t, piece.at(t))

    def solve(_: Any, guess: Any) -> Any:
        found = brent(value, guess, after, (4 * _EPS, 4 * _EPS, 100), wanted=wanted)
        return tnp.where(wanted, tnp.where(found.bracketed, found.root, after), guess)

    return custom_root(lambda t: tnp.where(wanted, value(t), t - before), before, solve, number_solve)
