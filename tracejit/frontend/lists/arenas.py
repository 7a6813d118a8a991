"""Arrays of lists of traced length as references (`numpy.boxes.sharing.references`), in the runs that need them.

A list has copies of its arrays, at first. Where the function writes one of them, hands them out twice or asks whether
two are one, it is traced again: then each array that a list has moves into an arena, and the list has its number. What
a block puts into a list moves before the block if it is of outside; and what a block or branch binds to a name moves if
the name is an array in an arena elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import BufferedListError, ListRoomError
from tracejit.frontend import active
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.sharing.either import Either
from tracejit.numpy.boxes.sharing.references import Arena, Row, move, row_of
from tracejit.ops.indexing.index_check import check_index
from tracejit.records import record
from tracejit.tracing import Box, Storage, box, current_trace

#: Bytes of an array from which on there is room for fewer, and for how many of the largest there is at first.
_ROW, _LARGE = 4096, 16
#: Arrays for which an arena has room, for each item of a list: names have some of their own.
_EACH = 2


@record(frozen=True)
class _Full:
    """The failure of an append for which there is no room."""

    lanes: bool = True

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        return ListRoomError(room=details[1], where=where)


FULL = _Full()


class Hoisted(BaseException):
    """Something has to be done before the block that is staged under a trace whose parent is `level`. Not an
    `Exception`, which users' functions catch."""

    def __init__(self, act: Callable[[], Any], level: Any) -> None:
        super().__init__()
        self.act, self.level = act, level


def are_used() -> bool:
    """Whether this run has references."""
    session = active.session()
    return session is not None and session.arenas is not None


def arena_of(dtype: np.dtype, shape: tuple[int, ...]) -> Arena:
    """The arena of such arrays, which is made before the outermost block. Raises Hoisted."""
    session: Any = active.session()
    key = dtype, shape
    found = session.arenas.get(key)
    if found is not None and found.trace.live:
        return found
    level = session.frames[0].trace.parent if session.frames else current_trace()
    if level is not current_trace():
        raise Hoisted(partial(arena_of, dtype, shape), level)
    nbytes = max(1, dtype.itemsize * math.prod(shape))
    room = min(session.room, max(_LARGE, session.room * _ROW // nbytes)) * _EACH
    made = session.arenas[key] = Arena(dtype, shape, room)
    session.has_buffers = True
    return made


def known_arena(dtype: np.dtype, shape: Any) -> Arena | None:
    """The arena of such arrays, if there is one."""
    session: Any = active.session()
    found = None if session is None or session.arenas is None else session.arenas.get((dtype, shape))
    return found if found is not None and found.trace.live else None


def reference(x: Box) -> Any:
    """The number of an array, which moves into an arena if it is in none. Raises Hoisted, BufferedListError."""
    row = row_of(x)
    if row is not None:
        if not row.is_whole or x.identity is not None:
            raise BufferedListError(what="a part of an array, as an item")
        return row.number
    storage = x.storage
    if x.chain or x.identity is not None or storage.layout is not None:
        raise BufferedListError(what="a part of an array, or one in another order than C's, as an item")
    if type(storage) not in (Storage, Either) or not x.aval.is_static:
        raise BufferedListError(what="such an array as an item")
    arena_of(x.aval.dtype, x.aval.shape)  # type: ignore[arg-type]
    level = _level(storage)
    if level is not current_trace():
        if all(f.trace.parent is not level for f in active.session().frames):
            raise BufferedListError(what="an array of outside of a transformation, as an item")
        raise Hoisted(partial(_move, x), level)
    return _move(x)


def _level(storage: Storage) -> Any:
    """The trace in which a storage was made, whatever block has it now."""
    for frame in active.session().frames:
        if id(storage) in frame.claimed:
            return frame.claimed[id(storage)][1][1]
    return storage.trace


def _move(x: Box) -> Any:
    """Let an array of the current trace have a number."""
    row = row_of(x)
    if row is not None:  # since it was asked for
        return row.number
    arena, storage = arena_of(x.aval.dtype, x.aval.shape), x.storage
    owners = storage.alive() if isinstance(storage, Either) else []
    numbers = [_of_owner(o, x) for o in owners]
    number = _put(arena, x)
    for owner, n in zip(owners, numbers, strict=True):
        number = owner.choose(n, number)
    move(storage, arena, number)
    return number


def _of_owner(owner: Any, x: Box) -> Any:
    """The number of one of the arrays that `x` may be."""
    if owner.chain is None or not owner.exact or owner.identity is not None:
        raise BufferedListError(what="what may be a part of an array, as an item")
    storage = owner.storage
    return reference(Box(storage, owner.chain, x.aval))


def _put(arena: Arena, x: Box) -> Any:
    """A new array of the values of `x`."""
    k = extents.number(arena.count)
    number: Any = np.int64(k) if type(k) is int else k
    if isinstance(number, Value) or k >= arena.room:
        number = check_index(number, size=arena.room, axis=0, failure=FULL)
    value = x.read()
    arena.filling = True
    try:
        arena.at(number)[...] = box(value)
        arena.count[...] = box(ops.arithmetic.add(number, np.int64(1)))
    finally:
        arena.filling = False
    return number


def refer(values: Iterable[Any]) -> None:
    """Let arrays be in an arena, if there is one for such. Raises Hoisted, BufferedListError."""
    for x in values:
        if type(x) is Box and not x.scalar and row_of(x) is None:
            if known_arena(x.aval.dtype, x.aval.shape) is not None:
                reference(x)


def is_same(a: Row, b: Row) -> Any:
    """Whether two whole arrays are one: False, or a raw truth value."""
    if a.arena is not b.arena:
        return False
    x, y = a.number, b.number
    return ops.compare.eq(x, y) if isinstance(x, Value) or isinstance(y, Value) else np.bool_(x == y)
