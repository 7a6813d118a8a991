"""A choice of what is kept for large graphs: values are given up one by one, the cheapest for their bytes first."""

from __future__ import annotations

from tracejit.control.plans.graph import Graph

#: Evaluations of the model that one search may take; beyond, several values are given up at a time.
_LOOKS = 400


def greedy(graph: Graph, budget: int) -> tuple[set[int], bool]:
    """The nodes to keep so that the model's peak is at most `budget`, and whether it is.

    From all, give up what costs least for its bytes: its own cost, and that of what is given up already and would be
    computed again for it. What makes the peak higher, since too much is computed again at a time, is taken back. In the
    end what still fits is kept after all, the dearest for its bytes first.
    """
    saved = set(graph.candidates)
    children: list[list[int]] = [[] for _ in graph.nodes]
    for n, node in enumerate(graph.nodes):
        for m in node.needs:
            children[m].append(n)
    peak = graph.evaluate(saved).peak
    settled: set[int] = set()
    share = max(1, len(saved) // _LOOKS)
    while peak > budget:
        open_ = sorted(saved - settled, key=lambda n: _price(graph, children, saved, n))
        if not open_:
            break
        chosen = set(open_[:share])
        now = graph.evaluate(saved - chosen).peak
        if now <= peak:
            saved, peak = saved - chosen, now
        else:
            settled |= chosen
    if peak <= budget:
        saved = _fill(graph, saved, budget, share)
    return saved, peak <= budget


def _price(graph: Graph, children: list[list[int]], saved: set[int], n: int) -> float:
    """The cost for a byte of giving up a node: of itself, and of its neighbours that would run again with it."""
    nodes, cost = graph.nodes, graph.nodes[n].cost
    for near in (lambda m: nodes[m].needs, lambda m: children[m]):
        seen, stack = {n}, list(near(n))
        while stack and len(seen) < 32:
            m = stack.pop()
            if m not in seen and m not in saved:
                seen.add(m)
                cost += nodes[m].cost
                stack += near(m)
    return cost / max(nodes[n].size, 1)


def _fill(graph: Graph, saved: set[int], budget: int, share: int) -> set[int]:
    """Keep after all what still fits."""
    nodes = graph.nodes
    rest = [n for n in graph.candidates if n not in saved and nodes[n].size]
    for n in sorted(rest, key=lambda n: -nodes[n].cost / nodes[n].size)[: _LOOKS // share]:
        if graph.evaluate(saved | {n}).peak <= budget:
            saved = saved | {n}
    return saved
