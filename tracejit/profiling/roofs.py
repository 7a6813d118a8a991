"""The roofline of a profile: each nest's rate of operations beside what arithmetic and memory allow.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009: a loop
that does `i` operations for each byte that it moves can't do more than min(peak, i * bandwidth) operations a second.
Operations and bytes are those that `cost_analysis` counts; a function such as `exp`, a polynomial, counts as `FUNCTION`
operations. Bytes are counted once a run, so what stays in the cache between runs is above the roof of memory:
nests that touch less than `IN_CACHE` bytes are held to the cache's.
"""

from __future__ import annotations

import html
import math
import os
from collections.abc import Sequence

from tracejit.errors import ProfileSuffixError
from tracejit.interpreters.jit_speeds import Speeds, speeds
from tracejit.profiling.rows import Row
from tracejit.profiling.table import duration, place, short
from tracejit.records import record

IN_CACHE = 1 << 20
FUNCTION = 20
_MEASURED = ("nest", "loop", "blas", "copy", "call")
_WIDE, _HIGH = 860, 520
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 20, 40, 56


@record(frozen=True)
class Point:
    """A nest. `rate`: operations a second; `intensity`: operations a byte; `bandwidth`: bytes a second; `limit`: what
    bounds it, 'memory', 'cache' or 'arithmetic'; `reached`: its rate as a share of that (of bytes, if it has no
    operations)."""

    row: Row
    rate: float
    intensity: float
    bandwidth: float
    limit: str
    reached: float


class Roofline:
    """`print` it, look at it in a notebook, or `save("x.svg")`. `points` and `speeds` are for programs."""

    def __init__(self, rows: Sequence[Row], machine: Speeds | None = None) -> None:
        self.speeds = machine or speeds()
        self.points = [self._point(r) for r in _measured(rows)]

    def _point(self, row: Row) -> Point:
        seconds = row.median  # other work on the machine makes some runs long, and the mean with them
        operations = row.flops + FUNCTION * row.functions
        rate, moved = operations / seconds, row.moved / seconds
        s = self.speeds
        width, name = (s.cache, "cache") if row.moved < IN_CACHE else (s.memory, "memory")
        peak = s.fused if row.kind == "blas" else s.plain
        intensity = operations / row.moved
        if intensity * width < peak:
            return Point(row, rate, intensity, moved, name, moved / width)
        return Point(row, rate, intensity, moved, "arithmetic", rate / peak)

    def __str__(self) -> str:
        s = self.speeds
        threads = f"{s.threads} thread{'s' * (s.threads > 1)}"
        head = (
            f"roofline ({threads}, float64): {giga(s.fused)} Gop/s with products and sums at once, "
            f"{giga(s.plain)} Gop/s otherwise, {giga(s.memory)} GB/s of memory, {giga(s.cache)} GB/s of cache"
        )
        cells = [("", "Gop/s", "GB/s", "op/byte", "bound by", "reached", "time", "what", "line")]
        cells += [
            (
                f"{n}", giga(p.rate), giga(p.bandwidth), f"{p.intensity:.3g}", p.limit, f"{100 * p.reached:.0f} %",
                duration(p.row.total), short(p.row.name), place(p.row),
            )
            for n, p in enumerate(self.points, 1)
        ]  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                c.ljust(w) if n in (4, 7, 8) else c.rjust(w)
                for n, (c, w) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return "\n".join([head, *lines])

    __repr__ = __str__

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture, `x.svg`, or the text, `x.txt`. Raises ProfileSuffixError for another name."""
        name = os.fspath(path)
        if not name.lower().endswith((".svg", ".txt")):
            raise ProfileSuffixError(what="roofline", path=name, forms="x.svg and x.txt")
        text = self.svg() if name.lower().endswith(".svg") else f"{self}\n"
        with open(name, "w", encoding="utf-8") as f:
            f.write(text)

    def _repr_svg_(self) -> str:
        return self.svg()

    def svg(self) -> str:
        """The picture: a disc for each nest, as large as its share of the time."""
        return _Picture(self).text()


def _measured(rows: Sequence[Row]) -> list[Row]:
    """The rows with known work that have no rows of their kind below them, those that take longest first."""
    found = []
    for n, row in enumerate(rows):
        if row.kind not in _MEASURED or row.unknown or not row.moved or row.total <= 0:
            continue
        below = rows[n + 1] if n + 1 < len(rows) and rows[n + 1].depth > row.depth else None
        if below is not None and below.kind == "part":
            below = rows[n + 2] if n + 2 < len(rows) and rows[n + 2].depth > below.depth else None
        if below is None:
            found.append(row)
    return sorted(found, key=lambda r: r.total, reverse=True)


def giga(x: float) -> str:
    """A rate in billions."""
    return f"{x / 1e9:.3g}"


class _Picture:
    """Lengths on logarithmic axes, and the parts of the picture."""

    def __init__(self, roofline: Roofline) -> None:
        self.roof = roofline
        s = roofline.speeds
        shown = [p for p in roofline.points if p.rate > 0 and math.isfinite(p.intensity)]
        ridge = s.fused / s.memory
        xs = [0.05, ridge * 4, *(p.intensity for p in shown)]
        ys = [s.fused * 2, 0.05 * s.memory, *(p.rate for p in shown)]
        self.x0, self.x1 = _decades(min(xs), max(xs))
        self.y0, self.y1 = _decades(min(ys), max(ys))
        self.shown = shown

    def x(self, intensity: float) -> float:
        part = (math.log10(intensity) - self.x0) / (self.x1 - self.x0)
        return _LEFT + part * (_WIDE - _LEFT - _RIGHT)

    def y(self, rate: float) -> float:
        part = (math.log10(rate) - self.y0) / (self.y1 - self.y0)
        return _HIGH - _BOTTOM - part * (_HIGH - _TOP - _BOTTOM)

    def text(self) -> str:
        names = self.shown[:12]
        high = _HIGH + 20 * len(names) + 8
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {high}" width="{_WIDE}" height="{high}" '
            'font-family="system-ui, sans-serif" font-size="12" role="img">',
            "<title>Roofline</title>",
            f'<rect width="{_WIDE}" height="{high}" fill="#ffffff"/>',
            *self.grid(),
            *self.roofs(),
        ]
        whole = sum(p.row.total for p in self.shown) or 1.0
        for n, p in reversed(list(enumerate(self.shown, 1))):
            parts += self.point(n, p, p.row.total / whole)
        for n, p in enumerate(names, 1):
            text = f"{n}  {short(p.row.name)}  {place(p.row)}: {100 * p.reached:.0f} % of {p.limit}"
            parts.append(f'<text x="{_LEFT}" y="{_HIGH + 20 * n - 6}" fill="#333">{html.escape(text)}</text>')
        return "\n".join([*parts, "</svg>"])

    def grid(self) -> list[str]:
        bottom, right = _HIGH - _BOTTOM, _WIDE - _RIGHT
        parts = []
        for e in range(math.ceil(self.x0), math.floor(self.x1) + 1):
            x = self.x(10.0**e)
            parts.append(f'<path d="M{x:.1f} {_TOP}V{bottom}" stroke="#e6e6e6"/>')
            parts.append(
                f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" fill="#555">{10.0**e:g}</text>'
            )
        for e in range(math.ceil(self.y0), math.floor(self.y1) + 1):
            y = self.y(10.0**e)
            parts.append(f'<path d="M{_LEFT} {y:.1f}H{right}" stroke="#e6e6e6"/>')
            parts.append(
                f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{10.0 ** (e - 9):g}</text>'
            )
        middle = (_LEFT + right) / 2
        parts.append(f'<text x="{middle}" y="{bottom + 40}" text-anchor="middle">operations per byte</text>')
        parts.append(
            f'<text transform="translate(18 {(_TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">'
            "10^9 operations per second</text>"
        )
        return parts

    def roofs(self) -> list[str]:
        s = self.roof.speeds
        threads = f"{s.threads} thread{'s' * (s.threads > 1)}"
        parts = [
            f'<text x="{_LEFT}" y="22" font-size="15">Roofline of this machine, {threads}, float64</text>'
        ]
        for peak, name in ((s.fused, "products and sums at once"), (s.plain, "sums")):
            start = max(10.0**self.x0, peak / s.cache)
            path = f"M{self.x(start):.1f} {self.y(peak):.1f}H{_WIDE - _RIGHT}"
            label = f"{name}: {giga(peak)} Gop/s"
            below = 14 if name == "sums" else -6
            parts.append(f'<path d="{path}" stroke="#444" fill="none" stroke-width="1.5"/>')
            at = f'x="{_WIDE - _RIGHT - 4}" y="{self.y(peak) + below:.1f}"'
            parts.append(f'<text {at} text-anchor="end" fill="#444">{label}</text>')
        for width, name, color in ((s.memory, "memory", "#b4451f"), (s.cache, "cache", "#1f6fb4")):
            start, stop = 10.0**self.x0, s.fused / width
            start = max(start, 10.0**self.y0 / width)
            x0, y0, x1, y1 = self.x(start), self.y(start * width), self.x(stop), self.y(s.fused)
            parts.append(
                f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{color}" fill="none" stroke-width="1.5"/>'
            )
            at = 0.06 if name == "cache" else 0.12
            x, y = x0 + at * (x1 - x0), y0 + at * (y1 - y0)
            angle = math.degrees(math.atan2(y1 - y0, x1 - x0))
            parts.append(
                f'<text transform="translate({x:.1f} {y - 6:.1f}) rotate({angle:.1f})" fill="{color}">'
                f"{name}: {giga(width)} GB/s</text>"
            )
        return parts

    def point(self, n: int, p: Point, share: float) -> list[str]:
        x, y, radius = self.x(p.intensity), self.y(p.rate), 5 + 13 * math.sqrt(share)
        color = {"memory": "#b4451f", "cache": "#1f6fb4"}.get(p.limit, "#444")
        about = html.escape(f"{p.row.name} {place(p.row)}: {giga(p.rate)} Gop/s, {giga(p.bandwidth)} GB/s")
        return [
            f'<g><title>{about}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{color}" '
            f'fill-opacity="0.35" stroke="{color}"/>',
            f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" fill="#111">{n}</text></g>',
        ]


def _decades(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis, with some room."""
    return math.log10(low) - 0.15, math.log10(high) + 0.1
