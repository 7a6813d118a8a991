"""What a pass did: which equations of a stage are new, or say something else than in the stage before."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Any

from tracejit.pictures.model import Graph, Node, Removed

_Value = tuple[str, int] | str  # a node and the number of its result, or what is written in its place
_Keys = Iterable[Any]


def mark(since: str, before: Graph, after: Graph) -> None:
    """Tell the nodes of `after` what became of them since the stage `since`, whose graph is `before`.

    Passes make new equations where an operand has a new name, so that equations are told apart by what they are: first
    those with the same operation, parameters, types and expression of the source are paired, in their order; then those
    left over that come from one expression and give the same type, which were rewritten. A pair is the same if its
    operands are pairs, too: what reads something else was rewritten, what reads a rewritten equation was not.
    """
    _Comparison(since, before, after, (), ()).run()


def counts(graph: Graph) -> tuple[int, int, int]:
    """How many equations were added, rewritten and removed, those of regions too."""
    changes = [n.change for n in graph.walk()]
    removed = sum(len(g.removed) for g in graph.graphs())
    return changes.count("added"), changes.count("rewritten"), removed


class _Comparison:
    """Of one program. `pairs`: ids of nodes of `after` -> ids of `before`; `old_reads`, `new_reads`: what the equation
    around a region reads, as values of the stage before."""

    def __init__(
        self,
        since: str,
        before: Graph,
        after: Graph,
        old_reads: Sequence[_Value],
        new_reads: Sequence[_Value],
    ) -> None:
        self.since, self.before, self.after = since, before, after
        self.old = {n.id: n for n in before.nodes}
        self.old_operands, self.new_operands = _operands(before), _operands(after)
        self.pairs: dict[str, str] = {}
        self.pair_inputs(old_reads, new_reads)
        old, new = _equations(before), _equations(after)
        for key in (_what, _place, _loop):
            self.pair(new, map(key, new), old, map(key, old))

    def run(self) -> None:
        for node in _equations(self.after):
            self.compare(node)
        gone = set(self.pairs.values())
        self.after.since = self.since
        self.after.removed = tuple(
            Removed(n.id, n.title, n.text, n.line) for n in _equations(self.before) if n.id not in gone
        )

    def compare(self, node: Node) -> None:
        if node.id not in self.pairs:
            node.change = "added"
            return
        was = self.old[self.pairs[node.id]]
        operands, old = self.new_operands[node.id], self.old_operands[was.id]
        reads = [(self.pairs.get(v[0], ""), v[1]) if isinstance(v, tuple) else v for v in operands]
        if _what(was) != _what(node) or reads != old:
            node.change, node.was = "rewritten", was.text
        for one, other in zip(was.regions, node.regions, strict=False):
            _Comparison(self.since, one.graph, other.graph, old, reads).run()

    def pair(self, new: list[Node], new_keys: _Keys, old: list[Node], old_keys: _Keys) -> None:
        """Pair nodes without another one that have the same key, in their order; None is no key."""
        gone, left = set(self.pairs.values()), defaultdict[Any, deque[str]](deque)
        for node, key in zip(old, old_keys, strict=True):
            if node.id not in gone:
                left[key].append(node.id)
        for node, key in zip(new, new_keys, strict=True):
            if node.id not in self.pairs and key is not None and left[key]:
                self.pairs[node.id] = left[key].popleft()

    def pair_inputs(self, old_reads: Sequence[_Value], new_reads: Sequence[_Value]) -> None:
        """Inputs and constants: those that are given the same value, those of one name, then by their order from both
        ends, since something may be put in between."""
        old, new = _inputs(self.before), _inputs(self.after)
        self.pair(new, _last(new_reads, len(new)), old, _last(old_reads, len(old)))
        self.pair(new, map(_named, new), old, map(_named, old))
        gone = set(self.pairs.values())
        old, new = [n for n in old if n.id not in gone], [n for n in new if n.id not in self.pairs]
        for at in (0, -1):
            while old and new and old[at].ports[0].type == new[at].ports[0].type:
                self.pairs[new.pop(at).id] = old.pop(at).id


def _equations(graph: Graph) -> list[Node]:
    return [n for n in graph.nodes if n.kind == "equation"]


def _inputs(graph: Graph) -> list[Node]:
    return [n for n in graph.nodes if n.kind in ("input", "constant")]


def _last(reads: Sequence[_Value], count: int) -> list[Any]:
    """What the inputs of a region are given: the last operands around it, None for what it has of its own."""
    return [*[None] * (count - len(reads)), *reads[max(len(reads) - count, 0) :]]


def _named(node: Node) -> Any:
    port = node.ports[0]
    return (port.user, port.type) if port.user else None


def _what(node: Node) -> Any:
    return node.op, tuple(node.params.items()), *_place(node)


def _place(node: Node) -> Any:
    line = node.line
    where = (line.file, line.number, line.start, line.stop) if line else None
    return where, node.order, tuple(p.type for p in node.ports)


def _loop(node: Node) -> Any:
    """A loop or a branch stays one when it is given, or gives, something else."""
    return (node.op, node.line, node.order) if node.regions else None


def _operands(graph: Graph) -> dict[str, list[_Value]]:
    """What each node reads; a number stands for itself."""
    found: dict[str, list[_Value]] = {n.id: list(n.operands) for n in graph.nodes}
    for e in graph.edges:
        found[e.target][e.operand] = (e.source, e.port)
    return found
