"""Rules that close over tracers, converted: what they close over becomes operands.

A rule runs when its function is differentiated. By then a tracer that it closes
over may have become a variable of an enclosing jaxpr, so such rules are staged
when the function is called.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tracejit import tree
from tracejit.control.custom.zeros import zero_or
from tracejit.control.regions.rules import differentiable, flags, pick, spread
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import arg_avals, stage
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Jaxpr, Var
from tracejit.ir.values import Value, Zero
from tracejit.tracing import Box

_DEPTH = 4


def closes_over_tracers(*functions: Any) -> bool:
    """Whether a function's cells, defaults or partial arguments hold something that is traced."""
    return any(_holds_tracer(f, _DEPTH) for f in functions)


def _holds_tracer(x: Any, depth: int) -> bool:
    if type(x) is Box:
        return isinstance(x.storage.value, Value)
    if isinstance(x, Value):
        return True
    if depth == 0:
        return False
    if isinstance(x, functools.partial):
        return any(_holds_tracer(y, depth - 1) for y in (x.func, *x.args, *x.keywords.values()))
    if isinstance(x, (tuple, list, dict)):
        return any(_holds_tracer(y, depth - 1) for y in tree.leaves(x))
    inner = [*(getattr(x, "__defaults__", None) or ()), *_cell_contents(x)]
    return any(_holds_tracer(y, depth - 1) for y in inner)


def _cell_contents(f: Any) -> list[Any]:
    out = []
    for cell in getattr(f, "__closure__", None) or ():
        try:
            out.append(cell.cell_contents)
        except ValueError:  # not filled yet
            continue
    return out


def with_ignored(jaxpr: Jaxpr, at: int, values: Sequence[Any]) -> Jaxpr:
    """`jaxpr` with inputs for `values`, from input `at`, that it doesn't look at."""
    ignored = tuple(Var(None, aval_of(v)) for v in values)
    return Jaxpr((*jaxpr.invars[:at], *ignored, *jaxpr.invars[at:]), jaxpr.eqns, jaxpr.outs, jaxpr.name)


def _all_static(values: Sequence[Any]) -> bool:
    return all(aval_of(v).is_static for v in values)


class StagedRule:
    """A jvp rule as a jaxpr over (*extra, *primals, *tangents); `values` are the extra operands."""

    def __init__(self, rule: Any, raw: Sequence[Any]) -> None:
        self.call = rule.call
        self.inexact = [differentiable(x) for x in raw]
        self.nonzero: tuple[bool, ...] = ()
        n = len(raw)

        def fn(*args: Any) -> list[Any]:
            zeros = [Zero(aval_of(x).tangent()) for x in args[:n]]
            outs, ts = rule(args[:n], spread(args[n:], self.inexact, zeros))
            self.nonzero = flags(ts)
            return [*outs, *pick(ts, self.nonzero)]

        self.jaxpr, self.values = stage(fn, arg_avals([*raw, *pick(raw, self.inexact)]), self.call.name)
        self.extra = len(self.values)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        ts = [zero_or(t, False) for t in pick(tangents[self.extra :], self.inexact)]
        outs = eval_jaxpr(self.jaxpr, [*primals, *ts])
        values = outs[: len(self.nonzero)]
        return values, spread(outs[len(values) :], self.nonzero, [Zero(aval_of(o).tangent()) for o in values])


class StagedRules:
    """fwd and bwd rules as jaxprs; `values` are the extra operands of both."""

    def __init__(self, rule: Any, raw: Sequence[Any], out_avals: Sequence[Aval]) -> None:
        self.call = rule.call
        avals = [aval_of(x).tangent() for x in raw]
        known: dict[str, Any] = {}

        def fwd(*args: Any) -> list[Any]:
            outs, residuals, known["info"] = rule.fwd(args, [differentiable(x) for x in args])
            known["residuals"] = len(residuals)
            return [*outs, *residuals]

        self.forward, first = stage(fwd, arg_avals(raw), self.call.name)
        self.num_outs = len(self.forward.outs) - known["residuals"]
        self.inexact = [a == a.tangent() for a in out_avals]
        self.nonzero: tuple[bool, ...] = ()
        count = known["residuals"]

        def bwd(*args: Any) -> list[Any]:
            zeros = [Zero(a.tangent()) for a in out_avals]
            outs = rule.bwd(known["info"], args[:count], spread(args[count:], self.inexact, zeros), avals)
            self.nonzero = flags(outs)
            return pick(outs, self.nonzero)

        residuals = [a.aval for a in self.forward.outs[self.num_outs :]]
        self.backward, second = stage(bwd, [*residuals, *pick(out_avals, self.inexact)], self.call.name)
        self.values = [*first, *second]
        self.num_first = len(first)
        self.extra = len(self.values)

    def fwd(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any], Any]:
        """Outputs, and as residuals the rule's own and what bwd closes over."""
        second = primals[self.num_first : self.extra]
        outs = eval_jaxpr(self.forward, [*primals[: self.num_first], *primals[self.extra :]])
        return outs[: self.num_outs], [*second, *outs[self.num_outs :]], None

    def bwd(
        self, info: Any, residuals: Sequence[Any], cts: Sequence[Any], avals: Sequence[Aval]
    ) -> list[Any]:
        given = [zero_or(c, False) for c in pick(cts, self.inexact)]
        outs = eval_jaxpr(self.backward, [*residuals, *given])
        zeros = [Zero(a) for a in avals]
        return [*zeros[: self.extra], *spread(outs, self.nonzero, zeros[self.extra :])]


class _Staging(threading.local):
    """The rules that are being staged in this thread: most call the function that they belong to."""

    def __init__(self) -> None:
        self.rules: list[Any] = []


_staging = _Staging()


def convert(
    make: Callable[[], Any], functions: Sequence[Any], jaxpr: Jaxpr, consts: Sequence[Any], raw: Sequence[Any]
) -> tuple[Any, Jaxpr, list[Any]] | None:
    """(staged rule, jaxpr, consts) with what the rules close over among the constants, or None if
    the rules close over nothing that is traced. `make` stages the rule."""
    if functions[0] in _staging.rules or not closes_over_tracers(*functions) or not _all_static(raw):
        return None
    _staging.rules.append(functions[0])
    try:
        rule = make()
    finally:
        _staging.rules.pop()
    if not _all_static(rule.values):
        return None
    return rule, with_ignored(jaxpr, len(consts), rule.values), [*consts, *rule.values]
