"""A report as an HTML table, for notebooks and files."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from tracejit.api.explaining.findings import Finding
from tracejit.api.explaining.words import TOPICS

#: Colours are those of what is around it, light or dark.
_STYLE = """<style>
.tracejit-explain{font:13px/1.45 system-ui,sans-serif;max-width:1100px}
.tracejit-explain p{font-size:15px;margin:4px 0 8px}
.tracejit-explain summary{cursor:pointer;font-weight:600}
.tracejit-explain ul{margin:2px 0 8px;padding-left:26px}
.tracejit-explain code{font:12px/1.45 ui-monospace,'DejaVu Sans Mono',monospace;background:none;white-space:pre-wrap}
.tracejit-explain table{font:inherit;border-collapse:collapse;width:100%;margin:10px 0}
.tracejit-explain td,.tracejit-explain th{text-align:left;vertical-align:top;padding:3px 14px 3px 0;\
border-bottom:1px solid #8883}
.tracejit-explain thead th{font-weight:500;opacity:.7}
.tracejit-explain th[colspan]{padding-top:14px;border-bottom:1px solid #8888}
</style>"""


def page(
    title: str, facts: Iterable[tuple[str, Sequence[str]]], findings: Sequence[Finding], picture: str = ""
) -> str:
    """A headline, lists of facts under their titles, one table of findings by topics, and a picture to open."""
    parts = [f"<div class='tracejit-explain'>{_STYLE}<p><b>{html.escape(title)}</b></p>"]
    for name, items in facts:
        if items:
            rows = "".join(f"<li><code>{html.escape(item)}</code></li>" for item in items)
            parts.append(f"<details open><summary>{html.escape(name)}</summary><ul>{rows}</ul></details>")
    if findings:
        head = "".join(f"<th>{t}</th>" for t in ("what", "line", "why", "what to do"))
        parts.append(f"<table><thead><tr>{head}</tr></thead>")
        for topic, name in TOPICS.items():
            mine = [f for f in findings if f.topic == topic]
            if mine:
                parts.append(f"<tr><th colspan='4'>{html.escape(name)}</th></tr>")
            parts += map(_row, mine)
        parts.append("</table>")
    if picture:
        parts.append(f"<details><summary>picture</summary>{picture}</details>")
    return "".join([*parts, "</div>"])


def _row(f: Finding) -> str:
    cells = (f"<code>{html.escape(f.what)}</code>", *map(html.escape, (f.where, f.why, f.remedy)))
    return f"<tr>{''.join(f'<td>{c}</td>' for c in cells)}</tr>"
