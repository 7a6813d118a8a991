"""Large graphs in parts: equations that follow each other become one box, which holds them as a region does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tracejit.pictures.model import Edge, Graph, Node, Region

#: Nodes of one program beyond which it is drawn in parts, and how many parts there are then, about.
MANY, PARTS = 400, 90
#: The `op` of a part.
PART = "part"


def folded(graph: Graph, opened: bool) -> Graph:
    """The graph with large programs in parts, of equations that follow each other, and end where a line of the source
    does; the graph itself if nothing in it is large. `opened`: the parts hold their equations; otherwise they are boxes
    that only say how many there are."""
    nodes = [_inside(n, opened) for n in graph.nodes]
    if len(nodes) <= MANY:
        same = all(a is b for a, b in zip(nodes, graph.nodes, strict=True))
        return graph if same else replace(graph, nodes=nodes)
    return _Folding(replace(graph, nodes=nodes), opened).run()


def _inside(node: Node, opened: bool) -> Node:
    regions = tuple(replace(r, graph=folded(r.graph, opened)) for r in node.regions)
    same = all(a.graph is b.graph for a, b in zip(regions, node.regions, strict=True))
    return node if same else replace(node, regions=regions)


_Value = tuple[str, int]  # a node and the number of its result


class _Folding:
    """One program in parts. `home`: node -> the part that it is in. `outs`, `ins`: the values of a part that are read
    outside of it, and those from outside that it reads, with their numbers."""

    def __init__(self, graph: Graph, opened: bool) -> None:
        self.graph, self.opened = graph, opened
        self.nodes = {n.id: n for n in graph.nodes}
        equations = [n for n in graph.nodes if n.kind == "equation"]
        self.parts = [p for p in _split(equations) if len(p) > 1]
        self.home = {n.id: f"part{k}-{p[0].id}" for k, p in enumerate(self.parts) for n in p}
        self.outs: dict[str, dict[_Value, int]] = {name: {} for name in self.home.values()}
        self.ins: dict[str, dict[_Value, int]] = {name: {} for name in self.home.values()}
        for e in graph.edges:
            source, target = self.home.get(e.source), self.home.get(e.target)
            if source != target and source is not None:
                self.outs[source].setdefault((e.source, e.port), len(self.outs[source]))
            if source != target and target is not None:
                self.ins[target].setdefault((e.source, e.port), len(self.ins[target]))

    def run(self) -> Graph:
        made = {self.home[p[0].id]: self.part(p) for p in self.parts}
        nodes: list[Node] = []
        for n in self.graph.nodes:
            home = self.home.get(n.id)
            if home is None:
                nodes.append(n)
            elif home in made:
                nodes.append(made.pop(home))
        return replace(self.graph, nodes=nodes, edges=list(self.edges()))

    def edges(self) -> Iterator[Edge]:
        """The arrows between parts: one for all values from one to another, residuals apart."""
        seen = set()
        for e in self.graph.edges:
            source, target = self.home.get(e.source, e.source), self.home.get(e.target, e.target)
            port = 0 if source in self.outs else e.port
            operand = 0 if target in self.ins else e.operand
            key = (source, port, target, operand, e.residual)
            if source != target and key not in seen:
                seen.add(key)
                yield Edge(*key)

    def part(self, members: Sequence[Node]) -> Node:
        """The box of a part."""
        name = self.home[members[0].id]
        outs, ins = self.outs[name], self.ins[name]
        ports = tuple(self.nodes[i].ports[k] for i, k in outs)
        effects = sorted({e for n in members for e in n.effects})
        nests = tuple(sorted({k for n in members for k in n.nests}))
        node = Node(
            name,
            "equation",
            f"{len(members)} equations, {_lines(members)}",
            PART,
            ports,
            tuple(self.nodes[i].ports[k].name for i, k in ins),
            line=members[0].line,
            order=max(n.order for n in members),
            effects=tuple(effects),
            text=_counted(members),
            nests=nests if self.opened else nests[:1],
            change="rewritten" if any(n.change for n in members) else "",
        )
        if self.opened:
            node.regions = (Region("", self.inside(name, members)),)
        return node

    def inside(self, name: str, members: Sequence[Node]) -> Graph:
        """The equations of a part as a program."""
        graph = Graph(name)
        sources = {}
        for k, (i, port) in enumerate(self.ins[name]):
            given = self.nodes[i].ports[port]
            sources[i, port] = f"{name}.in{k}"
            graph.nodes.append(Node(f"{name}.in{k}", "input", given.user or given.name, ports=(given,)))
        graph.nodes += members
        own = {n.id for n in members}
        for e in self.graph.edges:
            if e.target in own:
                inner = e.source in own
                source, port = (e.source, e.port) if inner else (sources[e.source, e.port], 0)
                graph.edges.append(replace(e, source=source, port=port))
        for k, (i, port) in enumerate(self.outs[name]):
            given = self.nodes[i].ports[port]
            node = Node(f"{name}.out{k}", "output", given.user or given.name, ports=(given,))
            graph.nodes.append(replace(node, order=self.nodes[i].order))
            graph.edges.append(Edge(i, port, node.id, 0))
        return graph


def _split(equations: Sequence[Node]) -> Iterator[list[Node]]:
    """Equations in parts of about the same size, that end with a line of the source and with a half of a derivative."""
    least = max(2, -(-len(equations) // PARTS))
    part: list[Node] = []
    for n in equations:
        if part:
            other_line = n.line != part[-1].line and len(part) >= least
            if other_line or n.order != part[-1].order or len(part) >= 2 * least:
                yield part
                part = []
        part.append(n)
    if part:
        yield part


def _lines(members: Sequence[Node]) -> str:
    """The lines that equations come from, in words."""
    files = {n.line.file for n in members if n.line}
    numbers = [n.line.number for n in members if n.line]
    if len(files) != 1:
        return "several files" if files else "no line known"
    first, last = min(numbers), max(numbers)
    return f"line {first}" if first == last else f"lines {first}–{last}"


def _counted(members: Sequence[Node]) -> str:
    """How many of each primitive."""
    counts: dict[str, int] = {}
    for n in members:
        counts[n.op] = counts.get(n.op, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{op} × {count}" for op, count in ordered)
