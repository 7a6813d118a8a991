"""The search for what a derivative keeps within a budget: the model proposes, and a real program is measured.

The bytes are those of `memory_analysis`: of all that lies between arguments and results of a program that evaluates
the function and its derivative, at the worst moment. Proposals come from the integer programme where the graph is small
(`integer`), else from `greedy`. Fusion makes programs smaller than the model says, and alignment larger, so that the
model's budget is moved until the program fits; then values are kept after all as long as it still does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from tracejit.control.plans.again import Halves, recomputing
from tracejit.control.plans.graph import Graph, graph_of
from tracejit.control.plans.greedy import greedy
from tracejit.control.plans.integer import MOST, best
from tracejit.control.plans.late import late
from tracejit.control.regions.rules import Typed, build
from tracejit.interpreters import jit
from tracejit.interpreters.autodiff.transpose import transpose_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.ir.jaxpr import Jaxpr, Literal
from tracejit.records import record

#: Programs that are measured for one plan at most: to find one that fits, and to make it better.
_TRIES, _BETTER = 8, 24


@record(frozen=True)
class Found:
    """A plan. `saved`: variables of the first half that are kept; `bytes`: what the program needs; `cost`: of what is
    computed again, in `weights`; `least`: the fewest bytes that were seen."""

    saved: tuple[Any, ...]
    bytes: int
    cost: float
    least: int

    def fits(self, budget: int) -> bool:
        """Whether it stays within a budget."""
        return self.bytes <= budget


class Problem:
    """A linearized function: `forward` gives num_outs results and residuals, which `linear` takes before tangents."""

    def __init__(
        self, forward: Jaxpr, linear: Jaxpr, num_outs: int, nonzero: tuple[bool, ...], guard: Callable[[Any], Any]
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

    def halves(self, saved: Collection[Any]) -> Halves:
        """The two halves, with these variables kept."""
        return recomputing(self.forward, self.linear, self.num_outs, self.nonzero, saved, self.guard)

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
    everything = {n for n in graph.candidates}
    bytes_ = problem.measure(everything)
    if bytes_ <= budget:
        return _found(problem, everything, bytes_, bytes_)
    fitting, least, best_known = None, bytes_, everything
    wanted = float(budget)
    for _ in range(_TRIES):
        nodes, fits = _propose(graph, int(wanted))
        bytes_ = problem.measure(nodes)
        if bytes_ < least:
            least, best_known = bytes_, nodes
        if bytes_ <= budget:
            fitting = nodes
            break
        if not fits and wanted <= 0.5 * budget:
            break
        wanted *= min(0.97, 0.5 + 0.5 * budget / bytes_)
    if fitting is None:
        return _found(problem, best_known, least, least)
    nodes = _better(problem, fitting, budget)
    return _found(problem, nodes, problem.measure(nodes), min(least, problem.measure(nodes)))


def _propose(graph: Graph, budget: int) -> tuple[set[int], bool]:
    """Nodes to keep by the model, and whether that fits by the model."""
    by_greed, fits = greedy(graph, budget)
    if len(graph.candidates) > MOST or budget <= 0:
        return by_greed, fits
    nodes = best(graph, budget)
    if nodes is None:
        return by_greed, fits
    verdict = graph.evaluate(nodes)
    if verdict.peak <= budget and (not fits or verdict.cost <= graph.evaluate(by_greed).cost):
        return nodes, True
    return by_greed, fits


def _better(problem: Problem, nodes: set[int], budget: int) -> set[int]:
    """Keep after all what still fits, those first that save most for their bytes."""
    graph = problem.graph
    rest = [n for n in graph.candidates if n not in nodes and graph.nodes[n].size]
    for n in sorted(rest, key=lambda n: -graph.nodes[n].cost / graph.nodes[n].size)[:_BETTER]:
        more = nodes | {n}
        if graph.evaluate(more).cost < graph.evaluate(nodes).cost and problem.measure(more) <= budget:
            nodes = more
    return nodes


def _found(problem: Problem, nodes: set[int], bytes_: int, least: int) -> Found:
    saved = problem.variables(nodes)
    residuals = {a for a in problem.forward.outs[problem.num_outs :] if type(a) is not Literal}
    made = {v for e in problem.forward.eqns for v in e.outvars}
    if nodes == set(problem.graph.candidates):  # everything: the residuals themselves
        saved = [v for v in dict.fromkeys(problem.forward.outs[problem.num_outs :]) if v in residuals & made]
    return Found(tuple(saved), bytes_, problem.graph.evaluate(nodes).cost, least)
