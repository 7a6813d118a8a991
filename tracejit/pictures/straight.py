"""Where the items of rows are across, so that long arrows are straight: the method of Brandes and Köpf (Fast and simple
horizontal coordinate assignment, 2002), for items of different widths.

Items are put into blocks, one above the other, with the middle one of their neighbours; arrows that pass rows come
before all others. That is done from above and from below, from the left and from the right. In each of the four
drawings blocks are as far to the left as the widths allow; the mean of the two in the middle is taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

_Near = Sequence[Sequence[int]]
_Gap = Callable[[int, int], float]


def straightened(
    rows: Sequence[Sequence[int]],
    up: _Near,
    down: _Near,
    inner: Sequence[bool],
    gap: _Gap,
    lean: Mapping[tuple[int, int], float],
) -> list[float]:
    """The middle of each item.

    Args:
        rows: the items of each row, in order.
        up, down: the neighbours of each item in the rows above and below.
        inner: which items are places of arrows.
        gap: the least distance from an item to the one on its right.
        lean: (upper, lower) item -> how far the lower one should be to the right of the upper one; 0 otherwise.
    """
    place = {i: n for row in rows for n, i in enumerate(row)}
    barred = _conflicts(rows, up, inner, place)
    found: list[list[float]] = []
    for near, above in ((up, True), (down, False)):
        ordered = rows if above else rows[::-1]
        for mirrored in (False, True):
            sign = -1.0 if mirrored else 1.0
            seen = [row[::-1] for row in ordered] if mirrored else ordered
            blocks = _Blocks(seen, near, barred, above, lean, sign)
            x = _compact(seen, blocks, lambda a, b, m=mirrored: gap(b, a) if m else gap(a, b))
            found.append([sign * at for at in x])
    _line_up(found)
    return [(s[1] + s[2]) / 2 for s in map(sorted, zip(*found, strict=True))]


def _conflicts(
    rows: Sequence[Sequence[int]], up: _Near, inner: Sequence[bool], place: Mapping[int, int]
) -> set[tuple[int, int]]:
    """Arrows (upper, lower) that cross one that passes both rows."""
    barred = set()
    for above, row in itertools.pairwise(rows):
        low, start = 0, 0
        for n, i in enumerate(row):
            passing = next((j for j in up[i] if inner[i] and inner[j]), None)
            if passing is None and n < len(row) - 1:
                continue
            high = place[passing] if passing is not None else len(above) - 1
            for v in row[start : n + 1]:
                for u in up[v]:
                    if not low <= place[u] <= high and not (inner[u] and inner[v]):
                        barred.add((u, v))
            start, low = n + 1, high
    return barred


class _Blocks:
    """`root`: the first item of each item's block; `shift`: how far it is to the right of that."""

    def __init__(
        self,
        rows: Sequence[Sequence[int]],
        near: _Near,
        barred: set[tuple[int, int]],
        above: bool,
        lean: Mapping[tuple[int, int], float],
        sign: float,
    ) -> None:
        count = sum(map(len, rows))
        self.root = list(range(count))
        self.shift = [0.0] * count
        place = [0] * count
        for row in rows:
            last = -1
            for n, i in enumerate(row):
                place[i] = n
            for i in row:
                js = sorted(near[i], key=place.__getitem__)
                for j in js[(len(js) - 1) // 2 : len(js) // 2 + 1]:
                    pair = (j, i) if above else (i, j)
                    if place[j] > last and pair not in barred:
                        self.root[i] = self.root[j]
                        offset = lean.get(pair, 0.0) * sign
                        self.shift[i] = self.shift[j] + (offset if above else -offset)
                        last = place[j]
                        break


def _compact(rows: Sequence[Sequence[int]], blocks: _Blocks, gap: _Gap) -> list[float]:
    """Blocks as far to the left as they can be, then those that nothing holds there to the right."""
    root, shift = blocks.root, blocks.shift
    right: dict[int, dict[int, float]] = {}
    left: dict[int, dict[int, float]] = {}
    for row in rows:
        for a, b in itertools.pairwise(row):
            apart = gap(a, b) + shift[a] - shift[b]
            p, q = root[a], root[b]
            if p != q:
                apart = max(apart, right.get(p, {}).get(q, apart))
                right.setdefault(p, {})[q] = left.setdefault(q, {})[p] = apart
    order = _sorted(set(root), left, right)
    x: dict[int, float] = {}
    for q in order:
        x[q] = max((x[p] + d for p, d in left.get(q, {}).items()), default=0.0)
    for p in reversed(order):
        if p in right:
            x[p] = max(x[p], min(x[q] - d for q, d in right[p].items()))
    return [x[root[i]] + shift[i] for i in range(len(root))]


def _sorted(
    roots: set[int], left: Mapping[int, Mapping[int, float]], right: Mapping[int, Mapping[int, float]]
) -> list[int]:
    """The blocks from left to right. Blocks never cross, so there is no circle."""
    waiting = {q: len(left.get(q, ())) for q in roots}
    ready = sorted(q for q, n in waiting.items() if not n)
    order = []
    while ready:
        p = ready.pop()
        order.append(p)
        for q in right.get(p, ()):
            waiting[q] -= 1
            if not waiting[q]:
                ready.append(q)
    return order


def _line_up(found: list[list[float]]) -> None:
    """Move the drawings to the narrowest one: those from the left to its left side, the others to its right side."""
    narrow = min(found, key=lambda x: max(x) - min(x))
    for n, x in enumerate(found):
        move = max(narrow) - max(x) if n % 2 else min(narrow) - min(x)
        found[n] = [at + move for at in x]
