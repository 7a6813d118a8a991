"""One self-contained HTML file: the graph of each stage to move about in, the user's source, and memory over time."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from linecache import getlines
from typing import Any

from tracejit.pictures.changes import counts
from tracejit.pictures.chart import chart
from tracejit.pictures.fold import PART, folded
from tracejit.pictures.layout import HEAD, Drawing, layout, lines_of, panel_left, width_of
from tracejit.pictures.model import Graph, Step
from tracejit.pictures.svg import CHANGES, COLOURS, DARK, amount, dark_style, inner, legend_of, style

_AROUND = 4  # lines of the source before the first one and behind the last one that is shown
_MOST_LINES = 3000
_MOST_NODES = 12_000  # of all stages in a page


def page(name: str, stage: str, stages: Mapping[str, Graph], graphviz: bool = True) -> str:
    """The page; `stage` is shown first. Stages that would make the page too large are left out, except that one."""
    found, total = {}, 0
    for key in sorted(stages, key=lambda s: (s != stage, s not in ("traced", "compiled"))):
        total += sum(1 for _ in stages[key].walk())
        if key == stage or total <= _MOST_NODES:
            found[key] = _stage(stages[key], graphviz)
    data = {
        "name": name,
        "stage": stage,
        "order": [s for s in stages if s in found],
        "files": _files(stages.values()),
        "colours": COLOURS,
        "dark": DARK,
        "marks": CHANGES,
    }
    blocks = "\n".join(
        f'<script type="application/json" class="stage" data-name="{html.escape(s)}">{_safe(found[s])}</script>'
        for s in data["order"]
    )
    return _asset("page.html").format(
        title=html.escape(f"{name or 'a program'} — tracejit"),
        style=_asset("page.css") + style() + dark_style(),
        script=_asset("page.js"),
        data=_safe(json.dumps(data)),
        blocks=blocks,
    )


def frame(text: str, height: int = 560) -> str:
    """A page inside of another one, as notebooks have it: its styles and names stay its own."""
    return (
        f'<iframe srcdoc="{html.escape(text)}" style="width:100%;height:{height}px;border:1px solid #d5dbe3;'
        'border-radius:8px" sandbox="allow-scripts"></iframe>'
    )


@cache
def _asset(name: str) -> str:
    return resources.files("tracejit.pictures").joinpath("web", name).read_text(encoding="utf-8")


def _safe(text: str) -> str:
    """JSON that may stand in a script element."""
    return text.replace("</", "<\\/")


def _stage(graph: Graph, graphviz: bool) -> str:
    shown = folded(graph, opened=True)
    drawing = layout(shown, graphviz)
    return json.dumps(
        {
            "svg": "\n".join(inner(drawing)),
            "layout": _layout(drawing),
            "legend": list(legend_of(graph)),
            "memory": "" if graph.memory is None or not graph.memory.steps else chart(graph.memory),
            "since": graph.since,
            "changes": counts(graph),
            "removed": [
                [r.text, [r.line.file, r.line.number] if r.line else None]
                for g in graph.graphs()
                for r in g.removed
            ],
            "costs": {} if graph.memory is None else {s.nest: _cost(s) for s in graph.memory.steps},
            "nodes": {n.id: _told(n) for n in shown.walk()},
        },
        separators=(",", ":"),
    )


def _cost(step: Step) -> str:
    return f"{step.operations:,.0f} operations, {amount(step.moved)} to and from memory"


def _layout(drawing: Drawing) -> dict[str, Any]:
    """What the page needs to draw again when a box is closed: rows, the boxes in them, and the ends of arrows."""
    return {
        "width": round(drawing.width, 1),
        "rows": [[round(top, 1), round(bottom, 1)] for top, bottom in drawing.rows],
        "boxes": [
            {
                "id": b.node.id,
                "row": b.row,
                "x": round(b.x, 1),
                "w": round(b.width, 1),
                "h": round(b.height, 1),
                "head": HEAD + 13.0 * max(0, len(b.lines) - 2),
                "shut": round(width_of(b.lines, True), 1),
                "panels": [
                    {
                        "x": round(p.x, 1),
                        "w": round(p.width, 1),
                        "left": round(panel_left(p), 1),
                        "inside": _layout(p.drawing),
                    }
                    for p in b.panels
                ],
            }
            for b in drawing.boxes
        ],
        "arrows": [
            [a.edge.source, a.edge.target, round(a.begin, 1), round(a.end, 1), [round(x, 1) for x in a.lanes]]
            for a in drawing.arrows
        ],
    }


def _told(node: Any) -> dict[str, Any]:
    """What the page says of a node when it is chosen."""
    return {
        "title": node.title,
        "label": lines_of(node)[0],
        "kind": node.kind,
        "part": node.op == PART,
        "text": node.text,
        "line": [node.line.file, node.line.number] if node.line else None,
        "order": node.order,
        "change": node.change,
        "was": node.was,
        "effects": node.effects,
        "nests": node.nests,
        "params": node.params,
        "ports": [[p.name, p.user, p.type, p.bytes, p.residual, p.stored] for p in node.ports],
    }


def _files(graphs: Iterable[Graph]) -> list[dict[str, Any]]:
    """The lines of the user's files that equations come from, and those between them."""
    lines: dict[str, set[int]] = {}
    for graph in graphs:
        for node in graph.walk():
            if node.line is not None:
                lines.setdefault(node.line.file, set()).add(node.line.number)
    found = []
    for file, numbers in lines.items():
        text = [line.rstrip("\n") for line in getlines(file)]
        first = max(min(numbers) - _AROUND, 1)
        last = min(max(numbers) + _AROUND, len(text), first + _MOST_LINES)
        found.append({"file": file, "first": first, "lines": text[first - 1 : last], "used": sorted(numbers)})
    return found
