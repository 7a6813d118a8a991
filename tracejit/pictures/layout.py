"""Where the parts of a graph are: boxes, the panels of regions in them, arrows. Numbers are pixels of an SVG."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field

from tracejit.pictures.fold import PART
from tracejit.pictures.graphviz import LEAST, MOST
from tracejit.pictures.graphviz import place as place_by_dot
from tracejit.pictures.layered import Placed, place
from tracejit.pictures.model import Edge, Graph, Node, Region
from tracejit.records import record

TITLE, SMALL = 12.0, 10.0  # sizes of fonts
_WIDE = 0.61  # width of a character of a monospaced font, in its size
_PAD = 9.0
HEAD = 38.0  # height of the head of a box with regions
_PANEL = 12.0  # around a region
LABEL = 18.0  # height of a region's label


@record()
class Box:
    """A node: its middle, its size, and its panels. Coordinates are the drawing's."""

    node: Node
    x: float
    y: float
    width: float
    height: float
    lines: list[str]
    panels: list[Panel] = field(default_factory=list)
    row: int = 0


@record()
class Panel:
    """A region in a box; its corner and size are the box's coordinates, from the box's upper left corner."""

    region: Region
    x: float
    y: float
    width: float
    height: float
    drawing: Drawing


@record()
class Arrow:
    """An edge. `begin` and `end`: how far from the middles of its boxes; `lanes`: where it is across in the rows
    between them; `path`: the `d` attribute of an SVG path, of curves between rows, upright in them."""

    edge: Edge
    begin: float
    lanes: list[float]
    end: float
    path: str


@record()
class Drawing:
    """A laid-out graph. `rows`: the top and the bottom of each."""

    graph: Graph
    boxes: list[Box]
    arrows: list[Arrow]
    rows: list[tuple[float, float]]
    width: float
    height: float


def layout(graph: Graph, graphviz: bool = True) -> Drawing:
    """Lay out a graph, its regions first: each is a box of the program around it. With `graphviz`, dot places the boxes
    where it is installed."""
    boxes = [_box(node, graphviz) for node in graph.nodes]
    at = {box.node.id: n for n, box in enumerate(boxes)}
    edges = [(at[e.source], at[e.target]) for e in graph.edges]
    begins, ends = _ports(graph, boxes, at)
    leans = [b - e for b, e in zip(begins, ends, strict=True)]
    sizes = [(b.width, b.height) for b in boxes]
    suits = graphviz and LEAST <= len(boxes) <= MOST
    placed = (place_by_dot(sizes, edges) if suits else None) or place(sizes, edges, leans)
    for box, x, y, row in zip(boxes, placed.x, placed.y, placed.row, strict=True):
        box.x, box.y, box.row = x, y, row
    if not any(box.panels for box in boxes):
        begins, ends = _sorted_ports(graph, boxes, at, placed)
    arrows = [
        Arrow(
            e, begins[n], placed.lanes[n], ends[n], _path(boxes[a], begins[n], placed, n, boxes[b], ends[n])
        )
        for n, (e, (a, b)) in enumerate(zip(graph.edges, edges, strict=True))
    ]
    return Drawing(graph, boxes, arrows, placed.rows, placed.width, placed.height)


def _path(source: Box, begin: float, placed: Placed, n: int, target: Box, end: float) -> str:
    """The path of arrow `n`: down to the end of its row, through the rows that it passes, to its target."""
    x, y = source.x + begin, source.y + source.height / 2
    parts = [f"M{x:.1f},{y:.1f}"]
    floor = placed.rows[source.row][1]
    if floor > y + 1:
        parts.append(f"V{floor:.1f}")
        y = floor
    for lane, (top, bottom) in zip(placed.lanes[n], placed.rows[source.row + 1 :], strict=False):
        parts += [_curve(x, y, lane, top), f"V{bottom:.1f}"]
        x, y = lane, bottom
    parts.append(_curve(x, y, target.x + end, target.y - target.height / 2))
    return "".join(parts)


def text_width(text: str, size: float) -> float:
    """The width of a line in the monospaced font."""
    return len(text) * size * _WIDE


def lines_of(node: Node) -> list[str]:
    """What is written in a box: a title, then small lines."""
    user = next((p.user for p in node.ports if p.user), "")
    if node.kind != "equation":
        return [node.title, node.ports[0].type]
    title = f"{user} = {node.title}" if user and len(node.ports) == 1 else node.title
    types = [p.type for p in node.ports[:3]] + ["…"] * (len(node.ports) > 3)
    place = f"  :{node.line.number}" if node.line and node.op != PART else ""
    lines = [title, (", ".join(types) or "no result") + place]
    notes = [_EFFECTS.get(e, e) for e in node.effects]
    stored = [f"{p.stored}" for p in node.ports if p.stored]
    return lines + ([", ".join(notes)] if notes else []) + stored[:3]


_EFFECTS = {
    "error": "may raise",
    "ordered": "calls Python, in order",
    "unordered": "calls Python",
    "drawn": "draws random numbers",
    "journal": "prints or logs",
}


def width_of(lines: list[str], can_be_closed: bool = False) -> float:
    """The width of the box of an equation; pages have a button in its first line if it can be closed."""
    title = text_width(lines[0], TITLE) + (58.0 if can_be_closed else 0.0)
    return max(title, *(text_width(s, SMALL) for s in lines[1:])) + 2 * _PAD


def _curve(x: float, y: float, to: float, bottom: float) -> str:
    """From (x, y) down to (to, bottom), upright at both ends."""
    if abs(x - to) < 0.05:
        return f"V{bottom:.1f}"
    bend = max(8.0, (bottom - y) / 2)
    return f"C{x:.1f},{y + bend:.1f} {to:.1f},{bottom - bend:.1f} {to:.1f},{bottom:.1f}"


def _box(node: Node, graphviz: bool) -> Box:
    lines = lines_of(node)
    if node.kind != "equation":
        width = text_width(lines[0], TITLE) + text_width(lines[1], SMALL) + 8
        return Box(node, 0, 0, width + 2 * _PAD + 4, 24.0, lines)
    width = width_of(lines, bool(node.regions))
    height = HEAD + 13.0 * (len(lines) - 2)
    panels, right, bottom = [], _PANEL, 0.0
    for region in node.regions:
        drawing = layout(region.graph, graphviz)
        wide = max(drawing.width, text_width(region.label, SMALL)) + 2 * _PANEL
        panel = Panel(region, right, height, wide, drawing.height + LABEL + 2 * _PANEL, drawing)
        panels.append(panel)
        right += wide + _PANEL
        bottom = max(bottom, panel.height)
    if panels:
        extra = max(0.0, width - right)
        for panel in panels:
            panel.x += extra / 2
            panel.height = bottom
        width, height = max(width, right), height + bottom + _PANEL
    return Box(node, 0, 0, width, height, lines, panels)


def _ports(graph: Graph, boxes: list[Box], at: dict[str, int]) -> tuple[list[float], list[float]]:
    """For each edge how far from the middles of its boxes it begins and ends: at boxes with one region where that has
    the value, otherwise in the middle for now."""
    begins, ends = [], []
    for e in graph.edges:
        begins.append(_outside(boxes[at[e.source]], e.port))
        ends.append(_inside(boxes[at[e.target]], e.operand))
    return begins, ends


def _inside(box: Box, operand: int) -> float:
    """Where operand number so is in a box's region, from the box's middle."""
    if not box.panels:
        return 0.0
    panel = box.panels[-1]
    inputs = [b for b in panel.drawing.boxes if b.node.kind in ("input", "constant")]
    n = operand + len(inputs) - len(box.node.operands)
    if 0 <= n < len(inputs):
        return panel.x + panel_left(panel) + inputs[n].x - box.width / 2
    return text_width(box.lines[0], TITLE) / 2 + _PAD - box.width / 2


def _outside(box: Box, port: int) -> float:
    if not box.panels:
        return 0.0
    panel = box.panels[-1]
    outs = [b for b in panel.drawing.boxes if b.node.kind == "output"]
    return panel.x + panel_left(panel) + outs[port].x - box.width / 2 if port < len(outs) else 0.0


def panel_left(panel: Panel) -> float:
    """Where the drawing of a panel begins, from the panel's left side."""
    return (panel.width - panel.drawing.width) / 2


def _sorted_ports(
    graph: Graph, boxes: list[Box], at: dict[str, int], placed: Placed
) -> tuple[list[float], list[float]]:
    """Ends of arrows side by side on their boxes, in the order in which they come."""
    begins, ends = [0.0] * len(graph.edges), [0.0] * len(graph.edges)
    above: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for n, e in enumerate(graph.edges):
        lanes = placed.lanes[n]
        above[at[e.target]].append((lanes[-1] if lanes else boxes[at[e.source]].x, n))
    for target, arrows in above.items():
        arrows.sort()
        room = boxes[target].width - 2 * _PAD
        for k, (_, n) in enumerate(arrows):
            ends[n] = (k - (len(arrows) - 1) / 2) * min(14.0, room / len(arrows))
    return begins, ends
