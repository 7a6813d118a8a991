"""A report as an HTML table, for notebooks and files."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from tracejit.api.explaining.findings import Finding
from tracejit.api.explaining.words import TOPICS

_STYLE = "text-align:left;vertical-align:top;padding:2px 10px 2px 0"


def page(
    title: str, facts: Iterable[tuple[str, Sequence[str]]], findings: Sequence[Finding], picture: str = ""
) -> str:
    """A headline, lists of facts under their titles, one table of findings by topics, and a picture to open."""
    parts = [f"<div class='tracejit-explain'><p><b>{html.escape(title)}</b></p>"]
    for name, items in facts:
        if items:
            rows = "".join(f"<li><code>{html.escape(item)}</code></li>" for item in items)
            parts.append(f"<details open><summary>{html.escape(name)}</summary><ul>{rows}</ul></details>")
    if findings:
        head = "".join(f"<th style='{_STYLE}'>{t}</th>" for t in ("what", "line", "why", "what to do"))
        parts.append(f"<table><tr>{head}</tr>")
        for topic, name in TOPICS.items():
            mine = [f for f in findings if f.topic == topic]
            if mine:
                parts.append(f"<tr><th colspan='4' style='{_STYLE}'>{html.escape(name)}</th></tr>")
            parts += map(_row, mine)
        parts.append("</table>")
    if picture:
        parts.append(f"<details><summary>picture</summary>{picture}</details>")
    return "".join([*parts, "</div>"])


def _row(f: Finding) -> str:
    cells = (f"<code>{html.escape(f.what)}</code>", *map(html.escape, (f.where, f.why, f.remedy)))
    return f"<tr>{''.join(f'<td style={_STYLE!r}>{c}</td>' for c in cells)}</tr>"
