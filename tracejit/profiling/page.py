"""A profile as a page of HTML that needs nothing else: table, slices of time, roofline, and source beside its times."""

from __future__ import annotations

import html
import json
import linecache
import os
import string
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tracejit.profiling.roofs import Roofline
from tracejit.profiling.rows import Row, by_line
from tracejit.profiling.session import Recording
from tracejit.profiling.table import HEADS, Table, duration
from tracejit.profiling.traces import slices_of, thread_name

_MOST_SLICES = 60_000
_MOST_ROWS = 200
_AROUND = 6  # lines of source above the first and below the last that have times
_APART = 30  # lines without times between two that are left out


def page(rows: Sequence[Row], recording: Recording) -> str:
    """The page."""
    table = Table(rows, recording, _MOST_ROWS)
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in table.notes())
    whole = string.Template(_template())
    data = json.dumps(_slices(recording), separators=(",", ":")).replace("<", "\\u003c")
    return whole.substitute(
        summary=f"<p>{html.escape(table.title())}</p>",
        table=_table(table),
        notes=notes,
        roofline=_roofline(rows),
        source=_source(rows, recording.seconds - table.again),
        data=data,
    )


def framed(text: str) -> str:
    """A page inside of another, as notebooks show it."""
    return f'<iframe srcdoc="{html.escape(text)}" style="width:100%;height:640px;border:0"></iframe>'


def _template() -> str:
    path = os.path.join(os.path.dirname(__file__), "page.html")
    return __loader__.get_data(path).decode()  # type: ignore[name-defined]  # also from an archive


def _table(table: Table) -> str:
    left, shown = (3, 8, 9), (*HEADS[:3], "", *HEADS[3:])
    heads = "".join(f'<th class="{"what" if n in left else ""}">{h}</th>' for n, h in enumerate(shown))
    longest = max((r.own for r in table.rows), default=0.0) or 1.0
    body = []
    for row, cells in zip(table.rows, table.lines(), strict=True):
        tds = [f"<td>{html.escape(c)}</td>" for c in cells[:7]]
        tds.insert(
            3, f'<td class="what"><span class="bar" style="width:{60 * row.own / longest:.1f}px"></span></td>'
        )
        name = html.escape(cells[7].strip())
        about = html.escape(row.what)
        tds.append(
            f'<td class="what" style="padding-left:{8 + 16 * row.depth}px" title="{about}">{name}</td>'
        )
        link = f'<a href="#{_anchor(row.file, row.line)}">{html.escape(cells[8])}</a>' if row.file else ""
        tds.append(f'<td class="what">{link}</td>')
        kind = ' class="function"' if row.kind == "call" else ""
        body.append(f"<tr{kind}>{''.join(tds)}</tr>")
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _roofline(rows: Sequence[Row]) -> str:
    roofline = Roofline(rows)
    if not roofline.points:
        return "<p>There are no nests of loops of which is known what they do.</p>"
    return f'<div class="roof">{roofline.svg()}</div>'


def _slices(recording: Recording) -> dict[str, Any]:
    """What the script draws: for each thread (name, start, stop, depth) of its slices, and what the names are."""
    names: dict[Any, int] = {}
    threads: dict[int, list[list[int]]] = defaultdict(list)
    slices = slices_of(recording)
    if len(slices) > _MOST_SLICES:  # the longest ones
        least = sorted((s.stop - s.start for s in slices), reverse=True)[_MOST_SLICES]
        slices = [s for s in slices if s.stop - s.start > least]
    for s in slices:
        place = f"{s.file}:{s.line}" if s.file else ""
        key = s.name, s.kind, place, s.what
        number = names.setdefault(key, len(names))
        threads[s.thread].append([number, s.start - recording.start, s.stop - recording.start, s.depth])
    return {
        "end": int(recording.seconds * 1e9),
        "names": list(names),
        "threads": [
            {"name": thread_name(recording, thread, n), "slices": found}
            for n, (thread, found) in enumerate(threads.items(), 1)
        ],
    }


# ---------------------------------------------------------------- source


def _anchor(file: str, line: int) -> str:
    return html.escape(f"{os.path.basename(file)}-{line}", quote=True)


def _source(rows: Sequence[Row], seconds: float) -> str:
    times: dict[str, dict[int, float]] = defaultdict(dict)
    for (file, line), own in by_line(rows).items():
        times[file][line] = own
    parts = []
    for file, lines in sorted(times.items(), key=lambda item: -sum(item[1].values())):
        text = linecache.getlines(file)
        if not text:
            continue
        parts.append(f"<h3>{html.escape(file)}</h3>")
        longest = max(lines.values()) or 1.0
        for first, last in _pieces(sorted(lines), len(text)):
            shown = [
                _line(file, n, text[n - 1], lines.get(n), longest, seconds) for n in range(first, last + 1)
            ]
            parts.append(f'<div class="source">{"".join(shown)}</div><br>')
    return "".join(parts) or "<p>The source is not there.</p>"


def _pieces(lines: list[int], count: int) -> list[tuple[int, int]]:
    """The first and last lines of the parts of a file that are shown."""
    found: list[tuple[int, int]] = []
    for n in lines:
        first, last = max(n - _AROUND, 1), min(n + _AROUND, count)
        if found and first <= found[-1][1] + _APART:
            found[-1] = found[-1][0], max(last, found[-1][1])
        elif first <= last:
            found.append((first, last))
    return found


def _line(file: str, n: int, text: str, own: float | None, longest: float, seconds: float) -> str:
    """A line of source with its time and its share."""
    share, color = "", ""
    if own:
        share = f"{100 * own / (seconds or 1):.1f} %"
        color = f' style="background:rgba(220,110,50,{0.06 + 0.4 * own / longest:.2f})"'
    cells = (("t", duration(own) if own else ""), ("t", share), ("n", str(n)), ("c", text.rstrip("\n")))
    spans = "".join(f'<span class="{c}">{html.escape(t)}</span>' for c, t in cells)
    return f'<div id="{_anchor(file, n)}"{color}>{spans}</div>'
