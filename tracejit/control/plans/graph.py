"""The model of a derivative: what is alive when, if some values are kept and others are computed again.

A node is an equation of the first half that residuals depend on, or one that makes coefficients of them in the second.
The second half is a row of steps, each of which reads nodes. What is not kept is computed again once, right before the
first step that needs it (`late`). Light nodes, which are computed where they are read, need no memory but that of what
they are computed from.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Any

from tracejit.control.plans.late import anchored
from tracejit.control.plans.weights import is_light, room, work
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, has_side_effects
from tracejit.records import record


@record(eq=False)
class Node:
    """An equation that may run again. `outs`: those of its results that matter; `size`: their bytes; `light`: it needs
    none if it runs again; `needs`: nodes that it reads; `fixed`: it must not run again."""

    eqn: Eqn
    outs: list[Any]
    cost: float
    size: int
    light: bool
    needs: list[int] = field(default_factory=list)
    fixed: bool = False
    keepable: bool = True


@record(frozen=True)
class Verdict:
    """What a choice comes to by the model: bytes at the worst moment, the cost of what is computed again, and how many
    equations that are (light ones not counted)."""

    peak: int
    cost: float
    again: int


@record(eq=False)
class Graph:
    """`nodes` in the order of the program; `steps`: the nodes that each step of the second half reads; `base`: bytes of
    cotangents in each; `forward`: bytes that are alive behind each node in the first half, and `alive` the nodes."""

    nodes: list[Node]
    steps: list[list[int]]
    base: list[int]
    forward: list[int]
    alive: list[set[int]]

    @property
    def candidates(self) -> list[int]:
        """The nodes that may be kept or not."""
        return [n for n, node in enumerate(self.nodes) if node.keepable and not node.fixed]

    def sources(self, saved: Collection[int]) -> list[tuple[int, ...]]:
        """For each node what is in memory when it is read: itself, or what a light one is computed from."""
        found: list[tuple[int, ...]] = []
        for n, node in enumerate(self.nodes):
            if n in saved or not node.light:
                found.append((n,))
            else:
                found.append(tuple(dict.fromkeys(s for m in node.needs for s in found[m])))
        return found

    def evaluate(self, saved: Collection[int]) -> Verdict:
        """What it comes to if the nodes `saved` are kept. `fixed` ones always are."""
        nodes = self.nodes
        saved = {*saved, *(n for n, node in enumerate(nodes) if node.fixed)}
        sources = self.sources(saved)
        events: list[int] = []  # the bytes of cotangents at each: a node that runs again, or a step
        made: dict[int, int] = {}  # node -> the event that makes it
        last = dict.fromkeys(saved, -1)
        cost = 0.0

        def read(ns: Sequence[int], base: int) -> None:
            for s in {s for n in ns for s in sources[n]}:
                last[s] = len(events)
            events.append(base)

        for uses, base in zip(self.steps, self.base, strict=True):
            stack = list(reversed(uses))
            while stack:
                n = stack[-1]
                missing = [m for m in nodes[n].needs if m not in saved and m not in made]
                if n in saved or n in made:
                    stack.pop()
                elif missing:
                    stack += missing
                else:
                    made[n] = len(events)
                    cost += nodes[n].cost
                    if nodes[n].light:
                        made[n] = -1
                    else:
                        read(nodes[n].needs, base)
                        last[n] = made[n]
                    stack.pop()
            read(uses, base)
        peak = max(self._forward_peak(saved), self._backward_peak(saved, made, last, events))
        return Verdict(peak, cost, sum(not nodes[n].light for n in made))

    def _backward_peak(
        self, saved: set[int], made: dict[int, int], last: dict[int, int], events: list[int]
    ) -> int:
        change = [0] * (len(events) + 1)
        for n, end in last.items():
            start = 0 if n in saved else made[n]
            change[start] += self.nodes[n].size
            change[max(end, start) + 1 if end >= 0 else 0] -= self.nodes[n].size
        peak = total = 0
        for delta, base in zip(change, events, strict=False):
            total += delta
            peak = max(peak, total + base)
        return peak

    def _forward_peak(self, saved: set[int]) -> int:
        peak = kept = 0
        for n, (bytes_, alive) in enumerate(zip(self.forward, self.alive, strict=True)):
            if n in saved:
                kept += self.nodes[n].size
            peak = max(peak, bytes_ + kept - sum(self.nodes[m].size for m in alive if m in saved))
        return peak


def graph_of(forward: Jaxpr, num_outs: int, back: Jaxpr) -> Graph:
    """The graph of a first half, whose results behind num_outs are residuals, and of the second half, which takes the
    residuals and then cotangents."""
    count = len(forward.outs) - num_outs
    named: dict[Any, Any] = dict(zip(back.invars, forward.outs[num_outs:], strict=False))
    steps = anchored(back, count)
    dependent = set(steps)
    free = [e for e in back.eqns if e not in dependent]
    made: dict[Any, int] = {}
    nodes: list[Node] = []
    for eqns, keepable in ((forward.eqns, True), (free, False)):
        for e in eqns:
            atoms = [named.get(a, a) for a in e.invars if type(a) is not Literal]
            needs = list(dict.fromkeys(made[a] for a in atoms if type(a) is not Literal and a in made))
            nodes.append(Node(e, [], work(e), 0, is_light(e), needs, has_side_effects(e.effects), keepable))
            made.update(dict.fromkeys(e.outvars, len(nodes) - 1))
    reads = [[named.get(a, a) for a in e.invars if type(a) is not Literal] for e in steps]
    _mark(nodes, made, reads, named, forward.eqns)
    uses = [
        list(dict.fromkeys(made[a] for a in atoms if type(a) is not Literal and a in made)) for atoms in reads
    ]
    forward_bytes, alive = _alive(nodes, made, forward, num_outs)
    return Graph(nodes, uses, _cotangents(steps, back), forward_bytes, alive)


def _mark(
    nodes: list[Node], made: dict[Any, int], reads: list[list[Any]], named: Any, first: Sequence[Eqn]
) -> None:
    """Find what each node has to give, and its size."""
    wanted = {a for atoms in reads for a in atoms if type(a) is not Literal}
    for n in reversed(range(len(nodes))):
        node = nodes[n]
        node.outs = [v for v in node.eqn.outvars if v in wanted]
        node.size = sum(room(v.aval) for v in node.outs)
        node.keepable = node.keepable and bool(node.outs) and all(v.aval.is_static for v in node.outs)
        if node.outs and not node.fixed:
            wanted.update(named.get(a, a) for a in node.eqn.invars if type(a) is not Literal)
    # What is as large as all that it is read from is better made of these again, which costs little.
    sources: list[set[int]] = []
    for n, node in enumerate(nodes):
        below = {s for m in node.needs for s in sources[m]}
        sources.append(below if node.light else {n})
        if node.light and node.size >= sum(nodes[m].size for m in below):
            node.keepable = False
    _prune(nodes, {made[a] for atoms in reads for a in atoms if type(a) is not Literal and a in made})


def _prune(nodes: list[Node], read: set[int]) -> None:
    """What only one other node is computed from is better given up for that, if that is no larger."""
    readers: dict[int, list[int]] = {}
    for n, node in enumerate(nodes):
        for m in node.needs if node.outs else ():
            readers.setdefault(m, []).append(n)
    for n in reversed(range(len(nodes))):
        mine = readers.get(n, [])
        if (
            n not in read
            and len(mine) == 1
            and nodes[mine[0]].keepable
            and nodes[mine[0]].size <= nodes[n].size
        ):
            nodes[n].keepable = False


def _alive(
    nodes: list[Node], made: dict[Any, int], forward: Jaxpr, num_outs: int
) -> tuple[list[int], list[set[int]]]:
    """Bytes that are alive behind each node of the first half, and which nodes they are of."""
    last: dict[int, int] = {}
    total = len(nodes)
    first = len(forward.eqns)
    for n in reversed(range(first)):
        end = last.get(n, n)
        for m in nodes[n].needs:
            last[m] = max(last.get(m, 0), end if nodes[n].light else n)
    results = {a for a in forward.outs[:num_outs] if type(a) is not Literal}
    sizes = [
        0 if n.light else sum(room(v.aval) for v in n.eqn.outvars if v not in results) for n in nodes[:first]
    ]
    bytes_, alive = [0] * total, [set[int]() for _ in range(total)]
    for n, size in enumerate(sizes):
        for at in range(n, last.get(n, n) + 1) if size else ():
            bytes_[at] += size
            if nodes[n].size:
                alive[at].add(n)
    return bytes_, alive


def _cotangents(steps: list[Eqn], back: Jaxpr) -> list[int]:
    """Bytes of cotangents in each step, those that are results of the program not counted."""
    results = {a for a in back.outs if type(a) is not Literal}
    place = {e: n for n, e in enumerate(steps)}
    last: dict[Any, int] = {}
    for e in reversed(steps):
        for a in e.invars:
            if type(a) is not Literal:
                end = max((last.get(v, 0) for v in e.outvars), default=0) if is_light(e) else place[e]
                last[a] = max(last.get(a, 0), end, place[e])
    base = [0] * len(steps)
    for e in steps:
        size = 0 if is_light(e) else sum(room(v.aval) for v in e.outvars if v not in results)
        end = max((last.get(v, 0) for v in e.outvars), default=0)
        for at in range(place[e], max(end, place[e]) + 1) if size else ():
            base[at] += size
    return base
