"""Graphs as SVG files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from tracejit.pictures.changes import counts
from tracejit.pictures.fold import PART
from tracejit.pictures.layout import (
    LABEL,
    SMALL,
    TITLE,
    Arrow,
    Box,
    Drawing,
    Panel,
    layout,
    panel_left,
    text_width,
)
from tracejit.pictures.model import Graph, Node, Port

_MARGIN = 16.0
MONO = "ui-monospace,'SFMono-Regular',Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"

#: Fill, border and text of nodes, by what they are.
COLOURS = {
    "input": ("#e6f4ea", "#4c9461", "#1d4a2b"),
    "constant": ("#f0f0ee", "#8c8c86", "#3d3d39"),
    "output": ("#2f4a6d", "#22375280", "#ffffff"),
    "forward": ("#edf3fc", "#5b87c5", "#17335a"),
    "derivative": ("#fdf0e1", "#d18b3a", "#5a3809"),
    "second": ("#f5e9f7", "#a460ab", "#4d1f53"),
}
#: The same on a dark ground, where pages are shown on one.
DARK = {
    "input": ("#1c3a26", "#4c9461", "#cdebd6"),
    "constant": ("#33332f", "#8c8c86", "#e2e2dc"),
    "output": ("#3f6396", "#7d9fce", "#ffffff"),
    "forward": ("#1b2d47", "#5b87c5", "#d7e5f8"),
    "derivative": ("#43301a", "#d18b3a", "#fbe5c9"),
    "second": ("#3a2440", "#a460ab", "#f0d9f3"),
}
RESIDUAL = "#c2255c"
_TOLD = {
    "input": "input",
    "constant": "captured array",
    "output": "result",
    "forward": "the program",
    "derivative": "made by reverse mode",
    "second": "made by reverse mode twice",
}
#: Sign, colour and words of what a pass did with an equation.
CHANGES = {"added": ("+", "#2b8a3e", "new"), "rewritten": ("≈", "#d9480f", "rewritten")}
#: Colours of loop nests.
NESTS = (
    "#2a9d8f",
    "#e76f51",
    "#5e60ce",
    "#e9b000",
    "#c9184a",
    "#3a86ff",
    "#7f9f3f",
    "#9d4edd",
    "#8d6e63",
    "#0081a7",
)


def kind_of(node: Node) -> str:
    """The key of a node's colours."""
    if node.kind != "equation":
        return node.kind
    return ("forward", "derivative", "second")[min(node.order, 2)]


def is_inlined(node: Node) -> bool:
    """Whether an array is never stored, but computed where it is read. Numbers are in registers."""
    return bool(node.nests) and all(p.shape and not p.stored for p in node.ports) and not node.regions


def svg(graph: Graph, drawing: Drawing | None = None, legend: bool = True) -> str:
    """A graph as an SVG document; `drawing` if it is laid out already."""
    d = layout(graph) if drawing is None else drawing
    notes = list(legend_of(graph)) if legend else []
    width, height = size_of(graph, d, legend)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f"aria-label={quoteattr('Graph of ' + (graph.name or 'a program'))}>",
        f"<style>{style()}</style>",
        _MARKERS,
        f'<rect class="paper" width="{width:.0f}" height="{height:.0f}" rx="8"/>',
        f'<g class="drawing" transform="translate({(width - d.width) / 2:.1f},{_MARGIN})">',
        *inner(d),
        "</g>",
    ]
    if notes:
        parts.append(f'<g class="legend" transform="translate({_MARGIN},{height - 18})">')
        parts += _legend_items(notes)
        parts.append("</g>")
    parts.append("</svg>")
    return "\n".join(parts)


def size_of(graph: Graph, drawing: Drawing, legend: bool = True) -> tuple[float, float]:
    """Width and height of the document."""
    notes = list(legend_of(graph)) if legend else []
    width = max(drawing.width, _legend_width(notes)) + 2 * _MARGIN
    return width, drawing.height + 2 * _MARGIN + (30.0 if notes else 0.0)


def inner(drawing: Drawing) -> Iterator[str]:
    """The elements of a drawing: arrows first, so that boxes lie on them."""
    for arrow in drawing.arrows:
        yield _arrow(arrow)
    for box in drawing.boxes:
        yield from _box(box)


def _arrow(arrow: Arrow) -> str:
    e = arrow.edge
    kind = "edge residual" if e.residual else "edge"
    return f'<path class="{kind}" data-from="{e.source}" data-to="{e.target}" d="{arrow.path}"/>'


def _box(box: Box) -> Iterator[str]:
    node = box.node
    left, top = box.x - box.width / 2, box.y - box.height / 2
    inlined = " inlined" if is_inlined(node) else ""
    yield (
        f'<g class="node {kind_of(node)}{inlined}" id="{node.id}" transform="translate({left:.1f},{top:.1f})">'
        f"<title>{escape(_told(node))}</title>"
    )
    round_ = 12 if node.kind != "equation" else 5
    yield f'<rect class="face" width="{box.width:.1f}" height="{box.height:.1f}" rx="{round_}"/>'
    yield from _nest_marks(box)
    if node.change:
        yield _change_mark(node.change, -2, -3)
    if node.kind != "equation":
        split = text_width(box.lines[0], TITLE)
        yield f'<text class="title" x="11" y="16">{escape(box.lines[0])}</text>'
        yield f'<text class="small" x="{19 + split:.1f}" y="16">{escape(box.lines[1])}</text>'
    else:
        yield f'<text class="title" x="9" y="17">{escape(box.lines[0])}</text>'
        for n, line in enumerate(box.lines[1:]):
            note = " note" if n else ""
            yield f'<text class="small{note}" x="9" y="{31 + 13 * n}">{escape(line)}</text>'
    for panel in box.panels:
        yield from _panel(box, panel)
    yield "</g>"


def _nest_marks(box: Box) -> Iterator[str]:
    """The numbers of the loop nests that compute an equation, at its upper right corner."""
    right = box.width - 6
    for nest in reversed(box.node.nests[:4]):
        wide = 8 + 6 * len(str(nest))
        right -= wide + 2
        yield (
            f'<g class="nest" transform="translate({right:.1f},-7)"><title>loop nest {nest}</title>'
            f'<rect width="{wide}" height="13" rx="4" fill="{NESTS[nest % len(NESTS)]}"/>'
            f'<text x="{wide / 2}" y="10" text-anchor="middle">{nest}</text></g>'
        )


def _change_mark(change: str, x: float, y: float) -> str:
    """What a pass did, at the upper left corner."""
    sign, colour, _ = CHANGES[change]
    return (
        f'<g class="change" transform="translate({x:.1f},{y:.1f})"><circle r="7" fill="{colour}"/>'
        f'<text y="4" text-anchor="middle">{sign}</text></g>'
    )


def _panel(box: Box, panel: Panel) -> Iterator[str]:
    yield f'<g class="panel" transform="translate({panel.x:.1f},{panel.y:.1f})">'
    yield f'<rect class="region" width="{panel.width:.1f}" height="{panel.height:.1f}" rx="6"/>'
    yield f'<text class="label" x="8" y="14">{escape(panel.region.label)}</text>'
    yield f'<g transform="translate({panel_left(panel):.1f},{LABEL:.0f})">'
    yield from inner(panel.drawing)
    yield "</g></g>"


def _told(node: Node) -> str:
    """The text that appears over a node."""
    lines = [node.text or f"{node.kind} {node.title}: {node.ports[0].type}"]
    if node.line and node.op != PART:
        lines.append(f"{node.line.short}: {node.line.text.strip()}")
    for p in node.ports:
        notes = [
            f"{p.bytes:,} bytes" if p.bytes is not None else "",
            "kept for the derivative" * p.residual,
            p.stored,
        ]
        lines.append(f"{p.name}: " + ", ".join(filter(None, notes)))
    if node.change:
        lines.append(f"{CHANGES[node.change][2]}{', it was ' * bool(node.was)}{node.was}")
    return "\n".join(lines)


_MARKERS = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6.5" markerHeight="6.5" orient="auto">'
    '<path d="M0,0.5 L8,4 L0,7.5 z" fill="#7f8fa3"/></marker>'
    '<marker id="tip-residual" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6.5" markerHeight="6.5" orient="auto">'
    f'<path d="M0,0.5 L8,4 L0,7.5 z" fill="{RESIDUAL}"/></marker></defs>'
)


def style() -> str:
    rules = [
        f"text{{font-family:{MONO};dominant-baseline:auto}}",
        ".paper{fill:#ffffff}",
        f".title{{font-size:{TITLE}px;font-weight:600}}",
        f".small{{font-size:{SMALL}px;opacity:.78}}",
        ".note{font-style:italic}",
        f".label{{font-size:{SMALL}px;fill:#5b6675;font-style:italic}}",
        ".edge{fill:none;stroke:#7f8fa3;stroke-width:1.15;marker-end:url(#tip)}",
        f".residual{{stroke:{RESIDUAL};stroke-width:1.5;stroke-dasharray:5 3;marker-end:url(#tip-residual)}}",
        ".region{fill:#ffffff;fill-opacity:.72;stroke:#9aa7b8;stroke-dasharray:3 3}",
        ".nest>text{font-size:9px;font-weight:700;fill:#fff}",
        ".change>text{font-size:12px;font-weight:700;fill:#fff}",
        ".inlined>.face{stroke-dasharray:4 3}",
    ]
    return "".join([*rules, *_faces(COLOURS)])


def dark_style() -> str:
    """Rules for a dark ground, which come behind the others."""
    rules = [
        ".region{fill:#20262e;fill-opacity:.9;stroke:#64707f}",
        ".label{fill:#a9b4c2}",
        ".edge{stroke:#8494a8}",
        ".residual{stroke:#f06595}",
    ]
    return f"@media (prefers-color-scheme:dark){{{''.join([*rules, *_faces(DARK)])}}}"


def _faces(colours: dict[str, tuple[str, str, str]]) -> Iterator[str]:
    for kind, (fill, line, text) in colours.items():
        yield f".{kind}>.face{{fill:{fill};stroke:{line};stroke-width:1.2}}"
        yield f".{kind}>text{{fill:{text}}}"


# ---------------------------------------------------------------- the legend


def legend_of(graph: Graph) -> Iterator[tuple[str, str]]:
    """(kind, words) for what the graph has."""
    kinds = {kind_of(n) for n in graph.walk()}
    for kind, words in _TOLD.items():
        if kind in kinds:
            yield kind, words
    if graph.memory is not None:
        yield "inlined", "computed where it is read"
        yield "nest", "a nest of loops"
    yield from _legend_of_changes(graph)
    kept = [p for n in graph.nodes for p in n.ports if p.residual and n.kind == "equation"]
    if graph.memory is not None:
        kept = [p for p in kept if p.stored]
    if kept:
        yield (
            "residual",
            f"kept for the derivative: {len(kept)} value{'s' * (len(kept) > 1)}, {_size_of(kept)}",
        )


def _size_of(ports: Sequence[Port]) -> str:
    """The bytes of values, as far as they are known before a run."""
    known = [p.bytes for p in ports if p.bytes is not None]
    if len(known) == len(ports):
        return amount(sum(known))
    return f"{amount(sum(known))} and what a run decides" if known else "as large as a run decides"


def _legend_of_changes(graph: Graph) -> Iterator[tuple[str, str]]:
    added, rewritten, removed = counts(graph)
    for kind, count in (("added", added), ("rewritten", rewritten)):
        if count:
            yield kind, f"{count} {CHANGES[kind][2]} since `{graph.since}`"
    if removed:
        yield "removed", f"{removed} removed"


def amount(size: float) -> str:
    """Bytes in words."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size:.0f} bytes"


def _legend_width(notes: list[tuple[str, str]]) -> float:
    return sum(34 + text_width(words, SMALL) for _, words in notes)


def _legend_items(notes: list[tuple[str, str]]) -> Iterator[str]:
    x = 0.0
    for kind, words in notes:
        if kind == "nest":
            yield f'<rect x="{x:.1f}" y="-6" width="14" height="12" rx="4" fill="{NESTS[1]}"/>'
        elif kind == "residual":
            yield f'<path class="edge residual" d="M{x:.1f},0H{x + 18:.1f}"/>'
        elif kind in CHANGES:
            yield _change_mark(kind, x + 7, 0)
        elif kind == "removed":
            yield f'<text class="small" x="{x + 4:.1f}" y="4">−</text>'
        else:
            shown = "forward inlined" if kind == "inlined" else kind
            yield f'<g class="{shown}"><rect class="face" x="{x:.1f}" y="-6" width="14" height="12" rx="3"/></g>'
        yield f'<text class="small" x="{x + 20 + 3 * (kind == "residual"):.1f}" y="4">{escape(words)}</text>'
        x += 34 + text_width(words, SMALL)
