"""Forward mode: values carried with their tangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit import dtypes
from tracejit.errors import NotDifferentiableError
from tracejit.interpreters.autodiff.derivative import DerivativeTrace
from tracejit.interpreters.closed import stage_closed
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.stage import jaxpr_arg_avals
from tracejit.ir.avals import aval_of
from tracejit.ir.elsewhere import is_elsewhere, to_host
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.primitive import FROM_JVP, LINEAR, ZERO_TANGENT, Op, Sentinel
from tracejit.ir.values import Value, Zero
from tracejit.ops.building import helpers
from tracejit.tracing import current_trace, new_trace, use_trace


class JVPTracer(Value):
    """A primal of the parent trace and its tangent (never a Zero)."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any) -> None:
        self.trace = trace
        self.aval = aval_of(primal)
        self.primal = primal
        self.tangent = tangent

    def concrete(self) -> Any:
        return concrete(self.primal)


def concrete(raw: Any) -> Any:
    """The array a raw value stands for, if it is known; raises ConcreteValueError otherwise."""
    if isinstance(raw, Value):
        return raw.concrete()
    return to_host(raw)[()] if is_elsewhere(raw) else raw


class JVPTrace(DerivativeTrace):
    """Applies jvp rules under the parent trace."""

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        primals, tangents, some = self._split(args)
        parent = self.parent
        assert parent is not None
        with use_trace(parent):
            if not some:
                return parent.process(op, primals, params)
            if op.linearize is not FROM_JVP and _only_tangents_recorded(parent, primals, tangents):
                out, tangent = op.linearize(parent, primals, tangents, params)  # type: ignore[operator]
            else:
                out, tangent = apply_jvp(op, primals, tangents, params)
        if op.multi:
            return [self.tracer(p, t) for p, t in zip(out, tangent, strict=True)]
        return self.tracer(out, tangent)

    def update(self, op: Op, holder: list[Any], rest: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Functional updates are linear in the updated and the new values, so the primal and the
        tangent are updated separately, each in place if nothing else refers to it."""
        x = holder.pop()
        primals, tangents, some = self._split(rest)
        mine = type(x) is JVPTracer and x.trace is self
        if op.jvp is not LINEAR or not (mine or some):
            return self.process(op, (x, *rest), params)
        primal, tangent = (x.primal, x.tangent) if mine else (x, _full_zeros(x, self.parent))
        del x  # a tracer that nothing else holds goes, and its primal and tangent become ours alone
        parent = self.parent
        assert parent is not None
        ps, ts = [primal], [tangent]
        del primal, tangent
        with use_trace(parent):
            new_t = parent.update(op, ts, linear_operands(primals, tangents), params)
            return self.tracer(parent.update(op, ps, primals, params), new_t)

    def _split(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...], bool]:
        primals, tangents, some = [], [], False
        for a in args:
            if type(a) is JVPTracer and a.trace is self:
                primals.append(a.primal)
                tangents.append(a.tangent)
                some = True
            else:
                primals.append(a)
                tangents.append(None)
        if some:
            tangents = [
                Zero(aval_of(p).tangent()) if t is None else t for p, t in zip(primals, tangents, strict=True)
            ]
        else:
            tangents = [Zero(aval_of(p).tangent()) for p in primals]
        return tuple(primals), tuple(tangents), some

    def tracer(self, primal: Any, tangent: Any) -> Any:
        """The primal alone when its tangent is a known zero."""
        return primal if type(tangent) is Zero else JVPTracer(self, primal, tangent)


def _only_tangents_recorded(parent: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> bool:
    """Whether tangents go to a tape and none of the primals is on it: a derivative rule takes a jvp.

    A loop's own jvp would put the primals, which must be known at once, into one equation with the tangents. Where no
    tangent is on the tape either (a rule asks for a slope), all is known at once."""
    if not hasattr(parent, "bind_linear"):
        return False
    on_tape = [isinstance(x, Value) and x.trace is parent for x in (*primals, *tangents)]
    return any(on_tape[len(primals) :]) and not any(on_tape[: len(primals)])


def _full_zeros(x: Any, parent: Any) -> Any:
    with use_trace(parent):
        return helpers.instantiate(Zero(aval_of(x).tangent()))


def apply_jvp(
    op: Op, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]
) -> tuple[Any, Any]:
    """(out, tangent) by the op's jvp slot, in the current trace; lists if `op.multi`."""
    rule = op.jvp
    if not isinstance(rule, Sentinel):
        return rule(tuple(primals), tuple(tangents), **params)
    if rule is not LINEAR and rule is not ZERO_TANGENT:
        raise NotDifferentiableError(op=op.name, reason=rule.reason)
    process = current_trace().process
    out = process(op, tuple(primals), params)
    if rule is ZERO_TANGENT:
        return out, [Zero(aval_of(o).tangent()) for o in out] if op.multi else Zero(aval_of(out).tangent())
    if all(type(t) is Zero for t in tangents):
        return out, [Zero(aval_of(o).tangent()) for o in out] if op.multi else Zero(aval_of(out).tangent())
    return out, process(op, linear_operands(primals, tangents), params)


def linear_operands(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """The operands of a linear op's tangent equation: tangents, and primals where there are none (indices)."""
    return tuple(
        p if not dtypes.is_inexact(aval_of(p).dtype) else helpers.instantiate(t)
        for p, t in zip(primals, tangents, strict=True)
    )


def jvp_flat(
    fn: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Outputs and tangents (arrays, tracers or Zeros) of `fn(*raw) -> list of raw`."""
    trace = JVPTrace(current_trace())
    ins = [trace.tracer(p, t) for p, t in zip(primals, tangents, strict=True)]
    with new_trace(trace):
        outs = fn(*ins)
    return split_outputs(trace, outs)


def split_outputs(trace: DerivativeTrace, outs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Primals and tangents of the outputs of `trace`'s function."""
    primals, tangents = [], []
    for o in outs:
        mine = isinstance(o, Value) and o.trace is trace
        primals.append(o.primal if mine else o)  # type: ignore[union-attr]
        tangents.append(o.tangent if mine else Zero(aval_of(o).tangent()))  # type: ignore[union-attr]
    return primals, tangents


def instantiate_some(tangents: Sequence[Any], which: bool | Sequence[bool]) -> list[Any]:
    """Materialise the Zeros selected by `which` (float0 ones stay)."""
    flags = [which] * len(tangents) if isinstance(which, bool) else which
    return [
        helpers.instantiate(t) if f and type(t) is Zero and dtypes.is_inexact(t.aval.dtype) else t
        for t, f in zip(tangents, flags, strict=True)
    ]


@memoize_by_jaxpr
def jvp_jaxpr(
    jaxpr: Jaxpr, nonzero: tuple[bool, ...], instantiate: bool | tuple[bool, ...] = False
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The jvp of a jaxpr: (primals, nonzero tangents) -> (outs, nonzero out tangents), and which are nonzero.

    `instantiate` selects output tangents to materialise even when they are zero.
    """
    in_avals = jaxpr_arg_avals(jaxpr)
    tangent_avals = [a.tangent() for a, nz in zip(in_avals, nonzero, strict=True) if nz]
    out_nonzero: list[bool] = []

    def fn(*raw: Any) -> list[Any]:
        primals, given = raw[: len(in_avals)], iter(raw[len(in_avals) :])
        tangents = [
            next(given) if nz else Zero(a.tangent()) for a, nz in zip(jaxpr.in_avals, nonzero, strict=True)
        ]
        outs, ts = jvp_flat(lambda *xs: eval_jaxpr(jaxpr, xs), primals, tangents)
        ts = instantiate_some(ts, instantiate)
        out_nonzero.extend(type(t) is not Zero for t in ts)
        return [*outs, *(t for t in ts if type(t) is not Zero)]

    new = stage_closed(fn, [*in_avals, *tangent_avals], jaxpr.name, _bounds(jaxpr, len(tangent_avals)))
    return new, tuple(out_nonzero)


def _bounds(jaxpr: Jaxpr, extra: int) -> list[Any]:
    return [v.bounds for v in jaxpr.invars] + [None] * extra
