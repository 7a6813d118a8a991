"""The drawing of a program as data: what every writer of a format reads, and what a `.json` file has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from tracejit.records import record


@record(frozen=True)
class Line:
    """A line of the user's source: the file, number, text, and the columns of the expression (0, 0: unknown)."""

    file: str
    number: int
    text: str = ""
    start: int = 0
    stop: int = 0

    @property
    def short(self) -> str:
        """The file's name and the number."""
        return f"{self.file.replace(chr(92), '/').rpartition('/')[2]}:{self.number}"


@record(frozen=True)
class Port:
    """A value that a node has as a result: its name in the printed program, the user's name for it ('' if none is
    known), its type as it is printed, dtype, shape (numbers, or text where only a run knows), and bytes (None there).

    `residual`: the derivative half reads it. `stored`: where the compiled program keeps it, '' if nowhere; then it
    is computed where it is read."""

    name: str
    user: str
    type: str
    dtype: str
    shape: tuple[int | str, ...]
    bytes: int | None
    residual: bool = False
    stored: str = ""


@record()
class Node:
    """One equation, or an input, constant or output of a program.

    kind: 'input', 'constant', 'equation', 'output'. `title`: the primitive's name with the numbers among its operands,
    or the name of an input. `operands`: the names of the operands as the printed program has them. `order`: how
    many reverse modes made it, 0 for the program that was written. `text`: the printed equation. `nests`: numbers of
    the loop nests of the compiled program in which it is computed. `regions`: the programs that it holds. `change`:
    what the pass before this stage did, 'added', 'rewritten', or '' for nothing; `was`: the printed equation that was
    rewritten.
    """

    id: str
    kind: str
    title: str
    op: str = ""
    ports: tuple[Port, ...] = ()
    operands: tuple[str, ...] = ()
    params: dict[str, str] = field(default_factory=dict)
    line: Line | None = None
    order: int = 0
    effects: tuple[str, ...] = ()
    text: str = ""
    nests: tuple[int, ...] = ()
    regions: tuple[Region, ...] = ()
    change: str = ""
    was: str = ""


@record(frozen=True)
class Removed:
    """An equation that the pass before this stage took away: the id that it had, its title, text and line."""

    id: str
    title: str
    text: str
    line: Line | None = None


@record(frozen=True)
class Edge:
    """A value on its way: result `port` of node `source` is operand `operand` of node `target`."""

    source: str
    port: int
    target: str
    operand: int
    residual: bool = False


@record(frozen=True)
class Block:
    """A block of memory of a compiled program: its name in the listing of its loops, kind ('arena', 'stack', ...),
    bytes (None: only a run knows), its place in the arena (None: it is elsewhere), the first and the last of the steps
    in which it is needed (numbers in `Memory.steps`), and what lies in it."""

    name: str
    kind: str
    bytes: int | None
    offset: int | None
    first: int
    last: int
    values: str


@record(frozen=True)
class Step:
    """A nest of loops, or a call: the number of the nest, what it ends with, and what it costs: operations on floats
    with calls of functions, and bytes to and from memory."""

    nest: int
    what: str
    operations: float
    moved: float


@record(frozen=True)
class Memory:
    """What a compiled program stores. `steps`: its nests of loops and its calls, in order. `arena`: the bytes of the
    one block that a call borrows."""

    steps: tuple[Step, ...]
    blocks: tuple[Block, ...]
    arena: int


@record()
class Region:
    """A program that an equation holds: the step of a loop, a branch."""

    label: str
    graph: Graph


@record()
class Graph:
    """A program: nodes in the order of execution, and edges. Nothing but a region's inputs leads into it.

    `since`: the stage before, '' where there is none; `removed`: the equations that it had and this one has not."""

    name: str
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    memory: Memory | None = None
    since: str = ""
    removed: tuple[Removed, ...] = ()

    def walk(self) -> Iterator[Node]:
        """All nodes, those of regions behind the one that holds them."""
        for node in self.nodes:
            yield node
            for region in node.regions:
                yield from region.graph.walk()

    def graphs(self) -> Iterator[Graph]:
        """This one and those of all regions."""
        yield self
        for node in self.nodes:
            for region in node.regions:
                yield from region.graph.graphs()

    def as_dict(self) -> dict[str, Any]:
        """Plain containers, numbers and strings, as a `.json` file has them."""
        return {
            "name": self.name,
            "nodes": [_node(n) for n in self.nodes],
            "edges": [
                {
                    "source": e.source,
                    "port": e.port,
                    "target": e.target,
                    "operand": e.operand,
                    "residual": e.residual,
                }
                for e in self.edges
            ],
            "memory": None if self.memory is None else _memory(self.memory),
            "since": self.since,
            "removed": [
                {"id": r.id, "title": r.title, "text": r.text, "line": _line(r.line)} for r in self.removed
            ],
        }


def _memory(memory: Memory) -> dict[str, Any]:
    names = ("name", "kind", "bytes", "offset", "first", "last", "values")
    return {
        "steps": [
            {"nest": s.nest, "what": s.what, "operations": s.operations, "moved": s.moved}
            for s in memory.steps
        ],
        "blocks": [{name: getattr(b, name) for name in names} for b in memory.blocks],
        "arena": memory.arena,
    }


def _line(line: Line | None) -> dict[str, Any] | None:
    return None if line is None else {"file": line.file, "number": line.number, "text": line.text}


def _node(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "kind": node.kind,
        "title": node.title,
        "op": node.op,
        "ports": [
            {
                "name": p.name,
                "user": p.user,
                "type": p.type,
                "dtype": p.dtype,
                "shape": list(p.shape),
                "bytes": p.bytes,
                "residual": p.residual,
                "stored": p.stored,
            }
            for p in node.ports
        ],
        "operands": list(node.operands),
        "params": node.params,
        "line": _line(node.line),
        "order": node.order,
        "effects": list(node.effects),
        "text": node.text,
        "nests": list(node.nests),
        "change": node.change,
        "was": node.was,
        "regions": [{"label": r.label, "graph": r.graph.as_dict()} for r in node.regions],
    }
