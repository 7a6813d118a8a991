"""Boxes in rows: nothing lies on anything else, arrows lead down."""

from __future__ import annotations

import itertools
import random

import pytest

from tracejit.pictures.layered import place


def random_graph(seed: int, n: int) -> tuple[list[tuple[float, float]], list[tuple[int, int]]]:
    r = random.Random(seed)
    sizes = [(r.uniform(20, 200), r.choice([24.0, 38.0, 300.0])) for _ in range(n)]
    edges = [
        (r.randrange(max(0, b - 12 if r.random() < 0.9 else 0), b), b) for b in range(1, n) for _ in range(2)
    ]
    return sizes, edges


def test_rows_with_many_lines_between_them_are_farther_apart() -> None:
    def gap(lines: int) -> float:
        upper, lower = place([(60.0, 30.0)] * (1 + lines), [(0, n) for n in range(1, 1 + lines)]).rows
        return lower[0] - upper[1]

    assert gap(2) == gap(4) < gap(12) < gap(30) and gap(200) == gap(400) <= 4 * gap(2)


@pytest.mark.parametrize("seed", range(6))
def test_boxes_and_arrows_keep_apart(seed: int) -> None:
    sizes, edges = random_graph(seed, 60)
    placed = place(sizes, edges, [random.Random(seed).uniform(-9, 9) for _ in edges])
    rectangles = [
        (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        for x, y, (w, h) in zip(placed.x, placed.y, sizes, strict=True)
    ]
    for n, a in enumerate(rectangles):
        assert a[0] >= -1e-6 and a[2] <= placed.width + 1e-6 and a[3] <= placed.height + 1e-6
        for b in rectangles[:n]:
            assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]
    for (a, _), lanes in zip(edges, placed.lanes, strict=True):
        for x, (top, bottom) in zip(lanes, placed.rows[placed.row[a] + 1 :], strict=False):
            assert not [r for r in rectangles if r[0] <= x <= r[2] and r[1] < bottom and r[3] > top]


@pytest.mark.parametrize("seed", range(3))
def test_arrows_lead_down(seed: int) -> None:
    sizes, edges = random_graph(seed, 40)
    placed = place(sizes, edges)
    for (a, b), lanes in zip(edges, placed.lanes, strict=True):
        assert len(lanes) == placed.row[b] - placed.row[a] - 1
        assert placed.rows[placed.row[a]][1] < placed.y[b] - sizes[b][1] / 2
    assert all(a[1] < b[0] for a, b in itertools.pairwise(placed.rows))


def test_a_chain_is_a_column_and_few_arrows_cross() -> None:
    chain = place([(50.0, 20.0)] * 5, [(n, n + 1) for n in range(4)])
    assert max(chain.x) - min(chain.x) < 1e-9 and chain.width == 50
    ladder = place([(50.0, 20.0)] * 4, [(0, 3), (1, 2)])  # crossed as numbered, not as placed
    assert (ladder.x[0] < ladder.x[1]) == (ladder.x[3] < ladder.x[2])


def test_a_long_arrow_is_straight() -> None:
    sizes = [(50.0, 20.0)] * 12
    placed = place(sizes, [*((n, n + 1) for n in range(11)), (0, 11)])
    assert len({round(x, 6) for x in placed.lanes[-1]}) == 1


def test_thousands_of_boxes() -> None:
    sizes, edges = random_graph(0, 5000)
    placed = place(sizes, edges)
    assert len(placed.x) == 5000 and place([], []).width == 0
