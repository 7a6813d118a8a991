"""The search for what a derivative keeps within a budget: the model proposes, and a real program is measured.

The bytes are those of `memory_analysis`: of all that lies between arguments and results of a program that evaluates
the function and its derivative, at the worst moment. Proposals come from the integer programme where the graph is small
(`integer`), else from `greedy`. Fusion makes programs smaller than the model says, and alignment larger, so that the
model's budget is moved until the program fits; then values are kept after all as long as it still does.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tracejit.control.plans.again import Halves, recomputing
from tracejit.control.plans.graph import Graph, graph_of
from tracejit.control.plans.greedy import Descent
from tracejit.control.plans.integer import MOST, best
from tracejit.control.plans.late import late
from tracejit.control.plans.weights import room, work
from tracejit.control.regions.rules import Typed, build
from tracejit.interpreters import jit
from tracejit.interpreters.autodiff.transpose import transpose_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.ir.jaxpr import Jaxpr, Literal
from tracejit.records import record

#: Programs that are measured for one plan at most: to find one that fits, and to make it better.
_TRIES, _BETTER = 7, 96
_WORTH = 300_000  # programs that are measured to make a plan better, times the square of their equations
_FEW = 16  # candidates up to which all choices are tried, as long as that goes
_SWAPS = 400  # pairs of values up to which one is kept for another


@record(frozen=True)
class Found:
    """A plan. `saved`: variables of the first half that are kept; `bytes`: what the program needs; `cost`: of what is
    computed again, in `weights`; `least`: the fewest bytes that were seen; `again`: equations that run again."""

    saved: tuple[Any, ...]
    bytes: int
    cost: float
    least: int
    again: int

    def fits(self, budget: int) -> bool:
        """Whether it stays within a budget."""
        return self.bytes <= budget


class Problem:
    """A linearized function: `forward` gives num_outs results and residuals, which `linear` takes before tangents."""

    def __init__(
        self,
        forward: Jaxpr,
        linear: Jaxpr,
        num_outs: int,
        nonzero: tuple[bool, ...],
        guard: Callable[[Any], Any],
    ) -> None:
        self.forward, self.linear, self.num_outs = forward, linear, num_outs
        self.nonzero, self.guard = nonzero, guard
        count = len(forward.outs) - num_outs
        given = (*(False for _ in range(count)), *(True for _ in linear.invars[count:]))
        back, _ = transpose_jaxpr(linear, given, (True,) * len(linear.outs))
        self.graph: Graph = graph_of(forward, num_outs, back)
        self._measured: dict[frozenset[int], int] = {}

    def variables(self, nodes: Collection[int]) -> list[Any]:
        """What the nodes give."""
        return [v for n in sorted(nodes) for v in self.graph.nodes[n].outs]

    def halves(self, saved: Sequence[Any]) -> Halves:
        """The two halves, with these variables kept."""
        return recomputing(self.forward, self.linear, self.num_outs, self.nonzero, saved, self.guard)

    def summary(self, found: Found) -> tuple[tuple[tuple[str, str, int], ...], int, float]:
        """What is kept, as (operation and type, line, bytes), how many operations run again, and the share of their
        cost in that of the first half."""
        made = {v: e for e in self.forward.eqns for v in e.outvars}
        kept = [(f"{made[v].op.name} {v.aval}", str(made[v].source or ""), room(v.aval)) for v in found.saved]
        total = sum(work(e) for e in self.forward.eqns) or 1.0
        return tuple(kept), found.again, found.cost / total

    def measure(self, nodes: Collection[int]) -> int:
        """The bytes that the whole derivative needs in between, where the nodes are kept."""
        key = frozenset(nodes)
        if key not in self._measured:
            self._measured[key] = measured(self.halves(self.variables(nodes)), self.num_outs, self.forward)
        return self._measured[key]


def measured(halves: Halves, num_outs: int, forward: Jaxpr) -> int:
    """The bytes between arguments and results of a program of both halves."""
    reads, first = halves.reads, halves.forward
    known = sum(reads) + len(first.outs) - num_outs
    linear = (*(False for _ in range(known)), *(True for _ in halves.linear.invars[known:]))
    back, _ = transpose_jaxpr(halves.linear, linear, (True,) * len(halves.linear.outs))
    back = late(back, known)
    cts = back.invars[known:]

    def both(*args: Any) -> list[Any]:
        primals, given = args[: len(forward.invars)], args[len(forward.invars) :]
        outs = eval_jaxpr(first, primals)
        read = [x for x, r in zip(primals, reads, strict=True) if r]
        return [*outs[:num_outs], *eval_jaxpr(back, [*read, *outs[num_outs:], *given])]

    return jit.temporary_bytes(build(both, [*forward.invars, *(Typed(v.aval) for v in cts)], forward.name))


def plan(problem: Problem, budget: int) -> Found:
    """What to keep so that the derivative needs at most `budget` bytes, at the least cost that was found; if no plan
    fits, that which needs least."""
    graph = problem.graph
    everything = set(graph.candidates)
    bytes_ = problem.measure(everything)
    if bytes_ <= budget:
        return _found(problem, everything, bytes_, bytes_)
    descent = Descent(graph)
    search = _Search(problem, budget, everything)
    low, high = 0.0, float(graph.evaluate(everything).peak)
    for n in range(_TRIES):
        wanted = min(float(budget), 0.9 * high) if n == 0 else 0.5 * (low + high)
        if search.offer(_propose(graph, descent, int(wanted))):
            low = wanted
        else:
            high = wanted
        if high - low < 0.03 * budget:
            break
    if search.fitting is None:
        return _found(problem, search.smallest, search.least, search.least)
    search.improve()
    if len(graph.candidates) <= _FEW:
        search.from_above(everything)
    return _found(problem, search.fitting, problem.measure(search.fitting), search.least)


class _Search:
    """What has been tried: the cheapest nodes to keep that fit, and those that need least."""

    def __init__(self, problem: Problem, budget: int, nodes: set[int]) -> None:
        self.problem, self.budget = problem, budget
        self.smallest, self.least = nodes, problem.measure(nodes)
        self.fitting: set[int] | None = None
        self.cost = math.inf
        self.looks = max(4, min(_BETTER, _WORTH // max(len(problem.graph.nodes) ** 2, 1)))

    def offer(self, nodes: set[int]) -> bool:
        """Whether keeping these nodes fits; the cheapest that does is remembered."""
        bytes_ = self.problem.measure(nodes)
        if bytes_ < self.least:
            self.smallest, self.least = nodes, bytes_
        cost = self.problem.graph.evaluate(nodes).cost
        if bytes_ <= self.budget and cost < self.cost:
            self.fitting, self.cost = nodes, cost
        return bytes_ <= self.budget

    def improve(self) -> None:
        """Keep one more node, or one for another, as long as that is cheaper and fits."""
        graph, left = self.problem.graph, self.looks
        while left > 0:
            nodes = self.fitting or set()
            rest = [n for n in graph.candidates if n not in nodes and graph.nodes[n].size]
            more = [nodes | {n} for n in rest]
            swaps = (
                [nodes - {m} | {n} for n in rest for m in nodes] if len(rest) * len(nodes) <= _SWAPS else []
            )
            costs = [(graph.evaluate(c).cost, k, c) for k, c in enumerate((*more, *swaps))]
            cheaper = sorted((x for x in costs if x[0] < self.cost), key=lambda x: x[:2])
            for _, _, c in cheaper[: max(left, 0)]:
                left -= 1
                if self.offer(c):
                    break
            else:
                return

    def from_above(self, nodes: set[int]) -> None:
        """Give up one node more at a time, the cheapest choices first, until one fits: that is the best there is, if
        it is found soon enough."""
        graph = self.problem.graph
        heap, seen, count = [(graph.evaluate(nodes).cost, 0, nodes)], {frozenset(nodes)}, 0
        for _ in range(self.looks):
            if not heap or heap[0][0] >= self.cost:
                return
            _, _, nodes = heapq.heappop(heap)
            if self.offer(nodes):
                return
            for n in nodes:
                less = nodes - {n}
                if frozenset(less) not in seen:
                    seen.add(frozenset(less))
                    count += 1
                    heapq.heappush(heap, (graph.evaluate(less).cost, count, less))


def _propose(graph: Graph, descent: Descent, budget: int) -> set[int]:
    """Nodes to keep by the model."""
    by_greed, fits = descent.choose(budget)
    if len(graph.candidates) > MOST or budget <= 0:
        return by_greed
    nodes = best(graph, budget)
    if nodes is None:
        return by_greed
    verdict = graph.evaluate(nodes)
    if verdict.peak <= budget and (not fits or verdict.cost <= graph.evaluate(by_greed).cost):
        return nodes
    return by_greed


def _found(problem: Problem, nodes: set[int], bytes_: int, least: int) -> Found:
    saved = problem.variables(nodes)
    residuals = {a for a in problem.forward.outs[problem.num_outs :] if type(a) is not Literal}
    made = {v for e in problem.forward.eqns for v in e.outvars}
    if nodes == set(problem.graph.candidates):  # everything: the residuals themselves
        saved = [v for v in dict.fromkeys(problem.forward.outs[problem.num_outs :]) if v in residuals & made]
    verdict = problem.graph.evaluate(nodes)
    return Found(tuple(saved), bytes_, verdict.cost, least, verdict.again)
