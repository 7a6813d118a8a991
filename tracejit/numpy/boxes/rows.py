"""Items of Python lists that lie side by side in one array.

Lists that native loops have filled hold views of one array each. What joins such a list again (`np.array(items)`,
`np.stack`, a loop over it) takes the array itself, not thousands of pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.views import Identity, Region
from tracejit.tracing import Box, Storage, View, current_trace

#: Fewer items are joined one by one.
SHORTEST = 4
Runs = list[tuple[bool, Any]]


class StaleView(BaseException):
    """A list has copies of views where it needs the views: what made it must do without. Not an `Exception`,
    which users' functions catch."""


class Borrowed(View):
    """The copy of a view, as long as nothing is written through it or into the arrays of which it is a view: those
    of the storages it watches. Otherwise reading and writing raise StaleView. `apart`: no two such views of a list
    share memory."""

    __slots__ = ("apart", "watched")

    def __init__(self, apart: bool) -> None:
        self.apart = apart
        self.watched: list[tuple[Storage, Any]] = []

    def watch(self, storage: Storage) -> None:
        self.watched.append((storage, storage.value))

    def __eq__(self, other: object) -> bool:
        return other is self

    def __hash__(self) -> int:
        """Another one after a write, so that values which storages remember are not found."""
        return hash(tuple([id(storage.value) for storage, _ in self.watched]))

    def read(self, raw: Any) -> Any:
        if any(storage.value is not value for storage, value in self.watched):
            raise StaleView
        return raw

    def write(self, holder: list[Any], new: Any) -> Any:
        raise StaleView


def rows(
    stack: Any, depth: int = 1, weak: bool = False, scalar: bool = False, borrowed: View | None = None
) -> list[Any]:
    """The rows of a raw array, which gets a storage of its own, as views of it; of `depth` 2 lists of the rows of
    each row, and so on. `weak` and `scalar` as `Box` has them."""
    storage, aval = Storage(stack, current_trace()), aval_of(stack)
    ahead, shape = aval.shape[:depth], aval.shape[depth:]
    sizes, steps = (*(1 for _ in ahead), *map(extents.of_dim, shape)), (1,) * len(aval.shape)
    rest, axes = (0,) * len(shape), tuple(range(depth, len(aval.shape)))
    row, scalar = aval.with_shape(shape), scalar and not shape
    tail = () if borrowed is None else (borrowed,)

    def below(*at: int) -> Any:
        if len(at) < depth:
            return [below(*at, k) for k in range(ahead[len(at)])]  # type: ignore[arg-type]
        chain = Region(aval.shape, (*at, *rest), sizes, steps, axes), *tail
        out = Box(storage, chain, row, weak, scalar)
        out.identity = None if scalar or weak else Identity()
        return out

    return below()


def grid(items: Any) -> tuple[Box, int, Box] | None:
    """(the view that has all items of a list, or of lists in it, as its rows; how deep the lists are; the first
    item), or None."""
    if type(items) is not list or len(items) < SHORTEST:
        return None
    if type(items[0]) is not list:
        whole = run(items)
        return None if whole is None else (whole, 1, items[0])
    inner = [grid(x) for x in items]
    if any(x is None or inner[0] is None or x[1] != inner[0][1] for x in inner):
        return None
    whole = run([x[0] for x in inner if x is not None])
    return None if whole is None or inner[0] is None else (whole, inner[0][1] + 1, inner[0][2])


def run(items: Any) -> Box | None:
    """The view that has all items of a list or tuple as its rows, if there is one."""
    if type(items) not in (list, tuple) or len(items) < SHORTEST or _length(items, 0) < len(items):
        return None
    return _joined(items, 0, len(items))


def runs(items: Sequence[Any]) -> Runs | None:
    """The items in order: (True, a view that has some of them as its rows) or (False, one item); None if there is
    no such view."""
    found = list(_runs(items))
    return found if any(joined for joined, _ in found) else None


def _runs(items: Sequence[Any]) -> Iterator[tuple[bool, Any]]:
    at = 0
    while at < len(items):
        length = _length(items, at)
        if length >= SHORTEST:
            yield True, _joined(items, at, length)
        else:
            length = 1
            yield False, items[at]
        at += length


def _region(x: Any) -> Region | None:
    """The region of a box that shows one place of an axis of its storage."""
    if type(x) is not Box or not x.chain or type(x.chain[0]) is not Region:
        return None
    tail = x.chain[1:]
    return x.chain[0] if not tail or (len(tail) == 1 and type(tail[0]) is Borrowed) else None


def _length(items: Sequence[Any], at: int) -> int:
    """How many items from `at` on are equally far from each other, on one axis of one storage."""
    first = _region(items[at])
    second = _region(items[at + 1]) if at + 1 < len(items) else None
    if first is None or second is None or _axis(items[at], items[at + 1]) is None:
        return 1
    axis, step = _axis(items[at], items[at + 1])  # type: ignore[misc]
    n = at + 2
    while n < len(items) and _axis(items[n - 1], items[n]) == (axis, step):
        n += 1
    return n - at


def _axis(a: Any, b: Any) -> tuple[int, int] | None:
    """(axis, distance) if `b` shows the same as `a` at another place of an axis, else None."""
    p, q = _region(a), _region(b)
    if p is None or q is None or a.storage is not b.storage or a.chain[1:] != b.chain[1:]:
        return None
    if (p.axes, p.steps, a.weak, a.scalar) != (q.axes, q.steps, b.weak, b.scalar):
        return None
    if any(not _same(m, n) for m, n in zip(p.sizes, q.sizes, strict=True)):
        return None
    apart = [n for n, (s, t) in enumerate(zip(p.starts, q.starts, strict=True)) if not _same(s, t)]
    if len(apart) != 1 or apart[0] in p.axes:
        return None
    s, t = p.starts[apart[0]], q.starts[apart[0]]
    return (apart[0], t - s) if type(s) is int and type(t) is int else None


def _joined(items: Sequence[Any], at: int, length: int) -> Box:
    x, region = items[at], _region(items[at])
    axis, step = _axis(x, items[at + 1])  # type: ignore[misc]
    assert region is not None
    sizes, steps = list(region.sizes), list(region.steps)
    sizes[axis], steps[axis] = length, step
    whole = Region(region.base, region.starts, tuple(sizes), tuple(steps), (axis, *region.axes))
    out = Box(x.storage, (whole, *x.chain[1:]), x.aval.with_shape((length, *x.aval.shape)))
    out.identity = Identity()
    return out


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is int and a == b)
