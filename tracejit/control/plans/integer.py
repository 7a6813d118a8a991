"""The best choice of what is kept, for small graphs: an integer programme, solved by HiGHS.

Jain and others, "Checkmate" (2020), for the case that each value is computed again once at most. Variables are whether
a node is kept (k, an integer), and for each step t whether it has been computed again by then (p) and is in memory (l):

    p[t,v] >= 1 - k[v]                          where step t, or one before it, reads v
    p[t,u] >= p[t,v] - k[u]                     where v is computed from u
    l[t,v] >= p[t,v]                            while a step from t on reads v
    l[t,u] >= p[t,u] + p[T,v] - p[t-1,v] - 1    while what is computed from u is still to come
    sum of l and k over nodes alive at t <= budget

and the cost of all that is computed again, the sum of cost * p[T,v], is to be the least. p and l are 0 or 1 where k is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.control.plans._lazy import optimize, sparse
from tracejit.control.plans.graph import Graph

#: Candidates up to which it is worth while, and seconds that it may take.
MOST, SECONDS = 60, 1.0


def best(graph: Graph, budget: int) -> set[int] | None:
    """The nodes to keep at the least cost so that the model's peak is at most `budget`; None if there are none, or the
    solver has not found out in time."""
    programme = _Programme(graph, budget)
    matrix, least = programme.constraints()
    if matrix is None:
        return set()
    bounds = optimize.Bounds(0, 1)
    rows = optimize.LinearConstraint(matrix, least, np.inf)
    found = optimize.milp(
        programme.costs(),
        constraints=rows,
        integrality=programme.integral(),
        bounds=bounds,
        options={"time_limit": SECONDS, "mip_rel_gap": 0.01},
    )
    if found.x is None:
        return None
    return {n for n, place in programme.kept.items() if found.x[place] > 0.5}


class _Programme:
    """The variables and rows. Light nodes have no memory of their own when they run again: who reads one reads what it
    is computed from, so that these have to be there until then."""

    def __init__(self, graph: Graph, budget: int) -> None:
        self.graph = graph
        self.budget = budget
        self.steps = [n for n, uses in enumerate(graph.steps) if uses]
        needed = sorted(_needed(graph))
        self.kept = {n: i for i, n in enumerate(n for n in needed if graph.nodes[n].keepable)}
        count = len(self.kept)
        pairs = [(t, n) for t in range(len(self.steps)) for n in needed]
        self.again = {pair: count + i for i, pair in enumerate(pairs)}
        count += len(self.again)
        self.alive = {key: count + i for i, key in enumerate(self.again)}
        self.size = count + len(self.alive)
        self.needed = needed
        self.rows: list[tuple[dict[int, float], float]] = []

    def costs(self) -> Any:
        c = np.zeros(self.size)
        last = len(self.steps) - 1
        for n in self.needed:
            c[self.again[last, n]] = self.graph.nodes[n].cost
        # Of two choices that cost the same the smaller one; large numbers are bad for the solver.
        for n, place in self.kept.items():
            c[place] = 1e-6 * self.graph.nodes[n].size
        return c / max(c.max(), 1.0)

    def integral(self) -> Any:
        out = np.zeros(self.size)
        out[list(self.kept.values())] = 1
        return out

    def constraints(self) -> tuple[Any, Any]:
        """(matrix, least): matrix @ x >= least."""
        if not self.steps or not self.kept:
            return None, None
        for n, place in self.kept.items():
            if self.graph.nodes[n].fixed:
                self.add(1, (place, 1))
        self._run_again()
        self._stay()
        self._fit()
        places = [(r, c, x) for r, (row, _) in enumerate(self.rows) for c, x in row.items()]
        rows, columns, values = zip(*places, strict=True)
        matrix = sparse.csr_array((values, (rows, columns)), shape=(len(self.rows), self.size))
        return matrix, np.array([least for _, least in self.rows])

    def add(self, least: float, *terms: tuple[int | None, float]) -> None:
        row: dict[int, float] = {}
        for place, factor in terms:
            if place is not None:
                row[place] = row.get(place, 0.0) + factor
        if row:
            self.rows.append((row, least))

    def _run_again(self) -> None:
        nodes = self.graph.nodes
        read: set[int] = set()
        for t, step in enumerate(self.steps):
            read |= set(self.graph.steps[step])
            for n in self.needed:
                p = self.again[t, n]
                if n in read:
                    self.add(1, (p, 1), (self.kept.get(n), 1))
                if t:
                    self.add(0, (p, 1), (self.again[t - 1, n], -1))
                for m in nodes[n].needs:
                    self.add(0, (self.again[t, m], 1), (p, -1), (self.kept.get(m), 1))

    def _stay(self) -> None:
        """What is in memory: kept or computed, and still to be read by a step or for something."""
        nodes, last = self.graph.nodes, len(self.steps) - 1
        end: dict[int, int] = {}
        for t, step in enumerate(self.steps):
            end.update(dict.fromkeys(self.graph.steps[step], t))
        for n in self.needed:
            for t in range(end.get(n, -1) + 1):
                self.add(0, (self.alive[t, n], 1), (self.again[t, n], -1))
                self.add(0, (self.alive[t, n], 1), (self.kept.get(n), -1))
            # m has to be there until n is computed; until n is read, if that is light
            for m in nodes[n].needs:
                for t in range(last + 1):
                    before = self.again.get((t - 1, n))
                    for there in (self.again[t, m], self.kept.get(m)):
                        if there is not None:
                            self.add(
                                -1, (self.alive[t, m], 1), (there, -1), (self.again[last, n], -1), (before, 1)
                            )
                    if nodes[n].light:
                        # alive[n] of a light node means that it is read: it is recomputed then, unless kept.
                        self.add(0, (self.alive[t, m], 1), (self.alive[t, n], -1), (self.kept.get(n), 1))

    def _fit(self) -> None:
        nodes, graph = self.graph.nodes, self.graph
        for t, step in enumerate(self.steps):
            between = graph.base[self.steps[t - 1] + 1 : step + 1] if t else graph.base[: step + 1]
            free = self.budget - max(between, default=0)
            terms = []
            for n in self.needed:
                if nodes[n].size:
                    # A light node has memory only if it is kept: as long as it is read, no longer.
                    place = self.kept.get(n) if nodes[n].light else self.alive[t, n]
                    terms.append((place, -nodes[n].size / self.budget))
            self.add(-free / self.budget, *terms)
        for n, alive in enumerate(graph.alive):
            here = [m for m in self.kept if m <= n and m not in alive and nodes[m].size]
            self.add(
                (graph.forward[n] - self.budget) / self.budget,
                *((self.kept[m], -nodes[m].size / self.budget) for m in here),
            )


def _needed(graph: Graph) -> set[int]:
    """The nodes that steps need, if nothing is kept."""
    found: set[int] = set()
    stack = [n for uses in graph.steps for n in uses]
    while stack:
        n = stack.pop()
        if n not in found:
            found.add(n)
            stack += graph.nodes[n].needs
    return found
