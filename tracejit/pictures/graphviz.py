"""Boxes and arrows placed by Graphviz's `dot`, where that is installed: the same rows and lanes as `layered` gives."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache

from tracejit.pictures.layered import Placed, ranks

Point = tuple[float, float]
_INCH = 72.0
_SECONDS = 5.0
#: Boxes of one program from which on dot is asked, and up to which: few are placed as well without starting a process.
LEAST, MOST = 8, 300
#: Rows that arrows pass in all, up to which dot is asked: its time grows faster than with their square, and these take
#: it a third of a second.
_PASSED = 1500


@cache
def program() -> str | None:
    """The path of `dot`; None if it is not installed."""
    return shutil.which("dot")


def place(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Placed | None:
    """What `layered.place` gives for the same arguments, by dot; None where that is missing, fails or is slow."""
    dot = program()
    row = ranks(len(sizes), edges)
    if dot is None or sum(row[b] - row[a] for a, b in edges) > _PASSED:
        return None
    try:
        done = subprocess.run(
            [dot, "-Tplain", "-y"],
            input=_text(sizes, edges),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
        return _read(done.stdout, sizes, edges)
    except (OSError, subprocess.SubprocessError, LookupError, ValueError):
        return None


def _text(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> str:
    lines = ["digraph {", "graph [nodesep=0.22, ranksep=0.42]; node [shape=box, fixedsize=true, label=x];"]
    for n, (w, h) in enumerate(sizes):
        lines.append(f"n{n} [width={w / _INCH:.4f}, height={h / _INCH:.4f}];")
    lines += [f"n{a}:s -> n{b}:n;" for a, b in edges]
    return "\n".join([*lines, "}"])


def _read(text: str, sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Placed:
    middles: dict[int, Point] = {}
    curves: dict[tuple[int, int], list[list[Point]]] = {}
    for line in text.splitlines():
        words = line.split()
        if words[0] == "node":
            middles[_number(words[1])] = float(words[2]) * _INCH, float(words[3]) * _INCH
        elif words[0] == "edge":
            numbers = [float(w) * _INCH for w in words[4 : 4 + 2 * int(words[3])]]
            points = list(zip(numbers[::2], numbers[1::2], strict=True))
            curves.setdefault((_number(words[1]), _number(words[2])), []).append(points)
    levels = sorted({round(y, 1) for _, y in middles.values()})
    row = [levels.index(round(middles[n][1], 1)) for n in range(len(sizes))]
    lanes = []
    for a, b in edges:
        points = curves[a, b].pop(0)
        lanes.append([_across(points, levels[r]) for r in range(row[a] + 1, row[b])])
    return _moved([middles[n][0] for n in range(len(sizes))], row, _rows(row, sizes, levels), lanes, sizes)


def _number(name: str) -> int:
    return int(name.partition(":")[0].removeprefix("n"))


def _moved(
    x: list[float],
    row: list[int],
    rows: list[Point],
    lanes: list[list[float]],
    sizes: Sequence[tuple[float, float]],
) -> Placed:
    """The drawing from its left side on."""
    passed = [v for lane in lanes for v in lane]
    left = min([at - w / 2 for at, (w, _) in zip(x, sizes, strict=True)] + passed)
    right = max([at + w / 2 for at, (w, _) in zip(x, sizes, strict=True)] + passed)
    y = [rows[r][0] + h / 2 for r, (_, h) in zip(row, sizes, strict=True)]
    moved = [[v - left for v in lane] for lane in lanes]
    return Placed([at - left for at in x], y, row, rows, moved, right - left, rows[-1][1])


def _rows(row: list[int], sizes: Sequence[tuple[float, float]], levels: list[float]) -> list[Point]:
    """Tops and bottoms. Boxes of a row begin at its top, where dot has their middles on one line."""
    high = [0.0] * len(levels)
    for r, (_, h) in zip(row, sizes, strict=True):
        high[r] = max(high[r], h)
    top = levels[0] - high[0] / 2
    return [(y - h / 2 - top, y + h / 2 - top) for y, h in zip(levels, high, strict=True)]


def _across(points: list[Point], y: float) -> float:
    """Where a chain of Bézier curves crosses a height."""
    best, at = math.inf, points[0][0]
    for n in range(0, len(points) - 3, 3):
        p = points[n : n + 4]
        for k in range(17):
            t = k / 16
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
            px = sum(w * q[0] for w, q in zip(weights, p, strict=True))
            py = sum(w * q[1] for w, q in zip(weights, p, strict=True))
            if abs(py - y) < best:
                best, at = abs(py - y), px
    return at
