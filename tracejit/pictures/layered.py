"""Boxes and the arrows between them in rows: the layered drawing of Sugiyama, Tagawa and Toda (1981).

Rows are the longest paths from the beginning; what is read late moves down to its first reader. An arrow over several
rows takes a place in each of them, which all arrows from one box share. The order in the rows follows the mean of the
neighbours, to and fro; then `straight` says where things are across. All of it is linear in boxes and arrows, up to
sorting.

Libraries were judged first: grandalf is no longer kept, igraph knows no sizes of boxes and is under the GPL,
fast-sugiyama knows no sizes either and takes six seconds for two thousand boxes, which take a third of one here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tracejit.pictures.straight import straightened
from tracejit.records import record

_GAP = 18.0  # between boxes of a row
_LANE = 9.0  # between arrows that pass a row
_BETWEEN = 30.0  # rows, at least
_MOST = 6000  # places that arrows take in rows; the longest ones have none beyond that
_SWEEPS = 12


@record()
class Placed:
    """Where boxes are: their middles, and the numbers of their rows; `rows` has the top and the bottom of each.
    `lanes`: for each arrow where it is across in the rows that it passes; they are those below the row that it comes
    from, or none if it passes too many."""

    x: list[float]
    y: list[float]
    row: list[int]
    rows: list[tuple[float, float]]
    lanes: list[list[float]]
    width: float
    height: float


def place(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    leans: Sequence[float] = (),
) -> Placed:
    """Place boxes of these (width, height), which are numbered in an order in which all arrows lead up.

    `leans`: for each arrow how far to the right of the first box's middle the second one's should be, so that the arrow
    is upright, which need not begin and end in the middle.
    """
    if not sizes:
        return Placed([], [], [], [], [], 0.0, 0.0)
    rows = _Rows(sizes, edges, leans or [0.0] * len(edges))
    rows.sort()
    xs = rows.spread()
    return rows.placed(xs)


def ranks(n: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The row of each box."""
    rank = [0] * n
    after: dict[int, list[int]] = defaultdict(list)
    before: dict[int, list[int]] = defaultdict(list)
    for a, b in sorted(edges, key=lambda e: e[1]):
        rank[b] = max(rank[b], rank[a] + 1)
        after[a].append(b)
        before[b].append(a)
    last = [max((rank[b] for b in after[a]), default=rank[a]) for a in range(n)]
    for a in range(n - 1, -1, -1):
        # Lower, where that makes no arrow longer: others go down further from where those to this box come from.
        if after[a]:
            low = min(rank[b] for b in after[a]) - 1
            if low > rank[a] and all(last[p] >= low for p in before[a]):
                rank[a] = low
    return rank


class _Rows:
    """Rows of items: boxes, numbered as given, and behind them the places of arrows that pass a row."""

    def __init__(
        self,
        sizes: Sequence[tuple[float, float]],
        edges: Sequence[tuple[int, int]],
        leans: Sequence[float],
    ) -> None:
        self.sizes, self.edges, self.leans = sizes, edges, leans
        self.lean: dict[tuple[int, int], float] = {}
        self.rank = ranks(len(sizes), edges)
        self.widths = [w for w, _ in sizes]
        self.chains: list[list[int]] = []
        self.up: list[list[int]] = [[] for _ in sizes]  # neighbours in the row above
        self.down: list[list[int]] = [[] for _ in sizes]
        self._chain(self._longest())
        self.rows: list[list[int]] = [[] for _ in range(max(self.rank) + 1)]
        for item in self._first_order():
            self.rows[self.rank[item]].append(item)

    def _longest(self) -> int:
        """How many rows an arrow may pass to be given places in them."""
        last: dict[int, int] = {}
        for a, b in self.edges:
            last[a] = max(last.get(a, 0), self.rank[b] - self.rank[a])
        spans, total = sorted(last.values()), 0
        for n in spans:
            total += n
            if total > _MOST:
                return max(n - 1, 1)
        return spans[-1] if spans else 1

    def _chain(self, longest: int) -> None:
        lanes: dict[tuple[int, int], int] = {}
        for (a, b), lean in zip(self.edges, self.leans, strict=True):
            chain, previous = [], a
            if self.rank[b] - self.rank[a] <= longest:
                for r in range(self.rank[a] + 1, self.rank[b]):
                    if (a, r) not in lanes:
                        lanes[a, r] = len(self.rank)
                        self._item(r)
                        self._join(previous, lanes[a, r])
                    previous = lanes[a, r]
                    chain.append(previous)
                self._join(previous, b)
                self.lean[previous, b] = lean
            self.chains.append(chain)

    def _item(self, rank: int) -> None:
        self.rank.append(rank)
        self.widths.append(0.0)
        self.up.append([])
        self.down.append([])

    def _join(self, a: int, b: int) -> None:
        if b not in self.down[a]:
            self.down[a].append(b)
            self.up[b].append(a)

    def _first_order(self) -> list[int]:
        """Depth first from the ends, so that what belongs together is together."""
        seen, order = [False] * len(self.rank), list[int]()
        for start in sorted(range(len(self.rank)), key=lambda i: (-self.rank[i], i)):
            stack = [] if seen[start] else [start]
            while stack:
                item = stack.pop()
                if not seen[item]:
                    seen[item] = True
                    order.append(item)
                    stack += [i for i in reversed(self.up[item]) if not seen[i]]
        return order

    # -- order

    def sort(self) -> None:
        """Order the rows so that few arrows cross."""
        position = [0.0] * len(self.rank)
        best, fewest = [list(r) for r in self.rows], self._crossings(position)
        for sweep in range(_SWEEPS):
            if not fewest:
                break
            downwards = sweep % 2 == 0
            near = self.up if downwards else self.down
            for row in self.rows if downwards else reversed(self.rows):
                self._sort_row(row, near, position)
            crossings = self._crossings(position)
            if crossings < fewest:
                best, fewest = [list(r) for r in self.rows], crossings
        self.rows = best

    def _sort_row(self, row: list[int], near: list[list[int]], position: list[float]) -> None:
        means = {i: sum(position[j] for j in near[i]) / len(near[i]) if near[i] else position[i] for i in row}
        row.sort(key=means.__getitem__)
        self._number(row, position)

    def _number(self, row: list[int], position: list[float]) -> None:
        for n, i in enumerate(row):
            position[i] = (n + 0.5) / len(row) if len(row) > 1 else 0.5

    def _crossings(self, position: list[float]) -> int:
        """How many arrows cross, by counting inversions."""
        for row in self.rows:
            self._number(row, position)
        total = 0
        for row in self.rows[:-1]:
            ends = [position[j] for i in row for j in sorted(self.down[i], key=position.__getitem__)]
            total += _inversions(ends)
        return total

    # -- places

    def gap(self, a: int, b: int) -> float:
        """From the middle of an item to the middle of the next one, at least."""
        lanes = a >= len(self.sizes) and b >= len(self.sizes)
        return (self.widths[a] + self.widths[b]) / 2 + (_LANE if lanes else _GAP)

    def spread(self) -> list[float]:
        """The middle of each item across."""
        n = len(self.sizes)
        inner = [i >= n for i in range(len(self.rank))]
        x = straightened(self.rows, self.up, self.down, inner, self.gap, self.lean)
        left = min(at - w / 2 for at, w in zip(x, self.widths, strict=True))
        return [at - left for at in x]

    def placed(self, x: list[float]) -> Placed:
        """The finished drawing."""
        n, at = len(self.sizes), 0.0
        rows, y = list[tuple[float, float]](), [0.0] * n
        for row in self.rows:
            boxes = [i for i in row if i < n]
            height = max((self.sizes[i][1] for i in boxes), default=0.0)
            for i in boxes:
                y[i] = at + self.sizes[i][1] / 2
            rows.append((at, at + height))
            crowd = sum(len(self.down[i]) for i in row)
            at += height + min(_BETWEEN + 1.5 * max(0, crowd - 4), 4 * _BETWEEN)
        lanes = [[x[i] for i in chain] for chain in self.chains]
        width = max(at + w / 2 for at, w in zip(x, self.widths, strict=True))
        return Placed(x[:n], y, self.rank[:n], rows, lanes, width, rows[-1][1])


def _inversions(values: list[float]) -> int:
    """Pairs in the wrong order, by merging."""
    if len(values) < 2:
        return 0
    total, width = 0, 1
    while width < len(values):
        merged: list[float] = []
        for start in range(0, len(values), 2 * width):
            a, b = values[start : start + width], values[start + width : start + 2 * width]
            i = j = 0
            while i < len(a) and j < len(b):
                if b[j] < a[i]:
                    total += len(a) - i
                    merged.append(b[j])
                    j += 1
                else:
                    merged.append(a[i])
                    i += 1
            merged += a[i:] + b[j:]
        values, width = merged, 2 * width
    return total
