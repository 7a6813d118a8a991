"""A choice of what is kept for large graphs: values are given up one by one, the cheapest for their bytes first."""

from __future__ import annotations

from tracejit.control.plans.graph import Graph

#: Evaluations of the model that one descent may take; beyond, several values are given up at a time.
_LOOKS = 200
_FILLED = 20  # values that are tried to be kept after all


class Descent:
    """The choices from keeping all to the least peak that is found.

    From all, what costs least for its bytes is given up: its own cost, and that of what is given up already and would
    be computed again for it. What makes the peak higher, since too much is computed again at a time, is taken back.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.children: list[list[int]] = [[] for _ in graph.nodes]
        for n, node in enumerate(graph.nodes):
            for m in node.needs:
                self.children[m].append(n)
        #: (peak by the model, nodes that are kept), with ever lower peaks.
        self.choices: list[tuple[int, frozenset[int]]] = []
        self._descend()

    def choose(self, budget: int) -> tuple[set[int], bool]:
        """The first choice whose peak is at most `budget`, and whether there is one. What still fits is kept after
        all, the dearest for its bytes first."""
        found = next((saved for peak, saved in self.choices if peak <= budget), None)
        if found is None:
            return set(self.choices[-1][1]), False
        graph, saved = self.graph, set(found)
        rest = [n for n in graph.candidates if n not in saved and graph.nodes[n].size]
        for n in sorted(rest, key=lambda n: -graph.nodes[n].cost / graph.nodes[n].size)[:_FILLED]:
            if graph.evaluate(saved | {n}).peak <= budget:
                saved.add(n)
        return saved, True

    def _descend(self) -> None:
        saved = set(self.graph.candidates)
        peak = self.graph.evaluate(saved).peak
        self.choices.append((peak, frozenset(saved)))
        settled: set[int] = set()
        share = max(1, len(saved) // _LOOKS)
        while open_ := sorted(saved - settled, key=lambda n: (self._price(saved, n), n)):
            chosen = set(open_[:share])
            now = self.graph.evaluate(saved - chosen).peak
            if now > peak:
                settled |= chosen
                continue
            saved = saved - chosen
            if now < peak:
                peak = now
                self.choices.append((peak, frozenset(saved)))

    def _price(self, saved: set[int], n: int) -> float:
        """The cost for a byte of giving up a node: of itself, and of its neighbours that would run again with it."""
        nodes, cost = self.graph.nodes, self.graph.nodes[n].cost
        for near in (lambda m: nodes[m].needs, lambda m: self.children[m]):
            seen, stack = {n}, list(near(n))
            while stack and len(seen) < 32:
                m = stack.pop()
                if m not in seen and m not in saved:
                    seen.add(m)
                    cost += nodes[m].cost
                    stack += near(m)
        return cost / max(nodes[n].size, 1)
