"""Graphs in Graphviz's language, which Graphviz, pydot, networkx and many viewers read."""

from __future__ import annotations

from collections.abc import Iterator

from tracejit.pictures.layout import lines_of
from tracejit.pictures.model import Graph, Node
from tracejit.pictures.svg import COLOURS, RESIDUAL, kind_of


def dot(graph: Graph) -> str:
    """The graph as a `.dot` file. Regions are clusters, into which dotted arrows lead."""
    lines = [
        f"digraph {_quoted(graph.name or 'program')} {{",
        "  graph [compound=true, fontname=monospace, nodesep=0.25, ranksep=0.4];",
        "  node [shape=box, style=filled, fontname=monospace, fontsize=11, height=0.3];",
        '  edge [color="#7f8fa3", arrowsize=0.7];',
    ]
    lines += [f"  {line}" for line in _body(graph)]
    return "\n".join([*lines, "}"]) + "\n"


def _body(graph: Graph) -> Iterator[str]:
    names = {node.id: _name(node) for node in graph.nodes}
    for node in graph.nodes:
        yield from _node(node)
    for e in graph.edges:
        style = f' [color="{RESIDUAL}", style=dashed]' if e.residual else ""
        yield f"{names[e.source]} -> {names[e.target]}{style};"


def _name(node: Node) -> str:
    """What the node is called: Netron shows names, and no labels."""
    return _quoted(f"{node.id}: {node.op or node.title}")


def _node(node: Node) -> Iterator[str]:
    fill, line, text = (c[:7] for c in COLOURS[kind_of(node)])
    lines = lines_of(node)
    shape = ', style="filled,rounded"' if node.kind != "equation" else ""
    label = _quoted(" ".join(lines) if node.kind != "equation" else "\n".join(lines))
    tip = _quoted(node.text or lines[0])
    yield (
        f'{_name(node)} [label={label}, tooltip={tip}, fillcolor="{fill}", color="{line}", fontcolor="{text}"{shape}];'
    )
    for n, region in enumerate(node.regions):
        yield f"subgraph {_quoted(f'cluster_{node.id}_{n}')} {{"
        yield f"  label={_quoted(f'{lines[0]}: {region.label}')}; style=dashed;"
        for inner in _body(region.graph):
            yield f"  {inner}"
        yield "}"
        yield from _ties(node, n)


def _ties(node: Node, n: int) -> Iterator[str]:
    """A dotted arrow from an equation into its region."""
    inner = node.regions[n].graph.nodes
    first = next((i for i in inner if i.kind == "input"), None)
    if first is not None:
        yield f"{_name(node)} -> {_name(first)} [style=dotted, arrowhead=none];"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
