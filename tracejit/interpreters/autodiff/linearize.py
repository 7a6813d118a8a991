"""Linearization: primals run in the parent trace, tangents are recorded as a linear program (the tape).

One path serves eager gradients, staged ones and jaxprs: an op's jvp rule (or its
`linearize` slot) runs with tangent variables; what it computes from primals
happens in the parent at once, what touches a tangent is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.interpreters.autodiff.derivative import DerivativeTrace
from tracejit.interpreters.autodiff.jvp import (
    apply_jvp,
    concrete,
    instantiate_some,
    linear_operands,
    split_outputs,
)
from tracejit.interpreters.autodiff.tangents import TangentTrace
from tracejit.interpreters.autodiff.tape import Tape
from tracejit.interpreters.closed import holding, with_constants
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.stage import StageTrace, jaxpr_arg_avals, make_args
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Jaxpr, Var
from tracejit.ir.lent import kept
from tracejit.ir.primitive import FROM_JVP, LINEAR, Op
from tracejit.ir.values import Value, Zero
from tracejit.tracing import Trace, current_trace, new_trace, use_trace


class LinearizeTracer(Value):
    """A primal of the parent trace and its tangent, a variable of the tape."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: LinearizeTrace, primal: Any, tangent: Var, aval: Aval | None = None) -> None:
        self.trace = trace
        self.aval = aval_of(primal) if aval is None else aval
        self.primal = primal
        self.tangent = tangent

    def concrete(self) -> Any:
        return concrete(self.primal)


class LinearizeTrace(DerivativeTrace):
    """Primals in the parent, tangents on the tape `self.tape`."""

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.tape = TangentTrace(parent)
        self.tape.level = self.level

    def arg(self, primal: Any, aval: Aval) -> LinearizeTracer:
        """A new linear input at `primal`; `aval` is the tangent's type."""
        return LinearizeTracer(self, primal, Var(self.tape, aval))

    def lend(self, x: np.ndarray) -> np.ndarray:
        found = super().lend(x)
        return kept(x) if found is x else found

    def _split(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any], bool]:
        primals, tangents, some = [], [], False
        for a in args:
            if type(a) is LinearizeTracer and a.trace is self:
                primals.append(a.primal)
                tangents.append(a.tangent)
                some = True
            else:
                primals.append(a)
                tangents.append(None)
        return tuple(primals), tangents, some

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        primals, tangents, some = self._split(args)
        parent = self.parent
        assert parent is not None
        if not some:
            with use_trace(parent):
                return parent.process(op, primals, params)
        full = tuple(
            [Zero(aval_of(p).tangent()) if t is None else t for p, t in zip(primals, tangents, strict=True)]
        )
        with use_trace(self.tape):
            if op.linearize is FROM_JVP:
                out, tangent = apply_jvp(op, primals, full, params)
            else:
                out, tangent = op.linearize(self.tape, primals, full, params)  # type: ignore[operator]
        if op.multi:
            return [self.tracer(o, t) for o, t in zip(out, tangent, strict=True)]
        return self.tracer(out, tangent)

    def update(self, op: Op, holder: list[Any], rest: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Linear updates only: the primal in place where nothing else refers to it, the tangent recorded."""
        x = holder.pop()
        primals, tangents, some = self._split(rest)
        mine = type(x) is LinearizeTracer and x.trace is self
        if op.jvp is not LINEAR or not (mine or some):
            if not (mine or some):
                self.tape.made.forget(x)
                back = [x]
                del x
                with use_trace(self.parent):  # type: ignore[arg-type]
                    return self.parent.update(op, back, primals, params)  # type: ignore[union-attr]
            return self.process(op, (x, *rest), params)
        primal, tangent = (x.primal, x.tangent) if mine else (x, Zero(aval_of(x).tangent()))
        del x  # a tracer that nothing else holds goes, and its primal becomes ours alone
        self.tape.made.forget(primal)
        back = [primal]
        full = [
            Zero(aval_of(p).tangent()) if t is None else t for p, t in zip(primals, tangents, strict=True)
        ]
        with use_trace(self.tape):
            operands = linear_operands((primal, *primals), (tangent, *full))
            del primal
            new_tangent = self.tape.record(op, operands, params)
        with use_trace(self.parent):  # type: ignore[arg-type]
            return self.tracer(self.parent.update(op, back, primals, params), new_tangent)  # type: ignore[union-attr]

    def tracer(self, primal: Any, tangent: Any) -> Any:
        return primal if type(tangent) is Zero else LinearizeTracer(self, primal, tangent)


def linearize_flat(
    fn: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    nonzero: Sequence[bool],
    free: Sequence[bool] | None = None,
    lasting: Sequence[bool] | None = None,
) -> tuple[list[Any], Tape]:
    """Outputs of `fn(*raw) -> list of raw` at `primals` and the tape of its derivative there.

    `free` marks the primals that it costs nothing to keep, for residuals to be made again from; if all
    are, so are the outputs. `lasting`: see `TangentTrace.lasting`.
    """
    trace = LinearizeTrace(current_trace())
    if lasting is not None:
        trace.tape.lasting = {id(p) for p, lasts in zip(primals, lasting, strict=True) if lasts}
    ins = [trace.arg(p, aval_of(p).tangent()) if nz else p for p, nz in zip(primals, nonzero, strict=True)]
    invars = [t.tangent for t, nz in zip(ins, nonzero, strict=True) if nz]
    with new_trace(trace):
        outs = fn(*ins)
    trace.tape.live = False
    values, tangents = split_outputs(trace, outs)
    tape = Tape(trace.tape, invars, trace.tape.eqns, tangents)
    if free is None:
        return values, tape
    cheap = [p for p, f in zip(primals, free, strict=True) if f]
    return values, tape.slim([*cheap, *values] if all(free) else cheap)


@memoize_by_jaxpr
def linearize_jaxpr(
    jaxpr: Jaxpr,
    nonzero: tuple[bool, ...],
    instantiate: bool | tuple[bool, ...] = False,
    free: tuple[bool, ...] | None = None,
    lasting: tuple[bool, ...] | None = None,
) -> tuple[Jaxpr, Jaxpr, tuple[bool, ...], int]:
    """(forward, linear, out_nonzero, num_residuals) of a jaxpr.

    forward: primals -> (*outs, *residuals); linear: (*residuals, *nonzero tangents) -> nonzero
    out tangents (those selected by `instantiate` included, as zeros if need be). `free` marks the inputs
    that it costs nothing to keep (all of them if it is None), `lasting` those that are there when the derivative
    runs, kept or not. Arrays of users' rules are constants of both.
    """
    free = (True,) * len(jaxpr.invars) if free is None else free
    stage = StageTrace(current_trace(), jaxpr.name)
    args = make_args(stage, jaxpr_arg_avals(jaxpr), [v.bounds for v in jaxpr.invars])
    with new_trace(stage):
        outs, tape = linearize_flat(lambda *xs: eval_jaxpr(jaxpr, xs), args, nonzero, free, lasting)
        tape = _instantiate_outs(tape, instantiate)
        linear, residuals = tape.freeze(jaxpr.name)
        known = [stage.constant_of(x) if type(x) is Var else x for x in residuals]
        arrays = {n: x for n, x in enumerate(known) if isinstance(x, np.ndarray)}
        residuals = [x for n, x in enumerate(residuals) if n not in arrays]
        forward = with_constants(*stage.freeze(args, [*outs, *residuals]))
    linear = holding(linear, arrays)
    return forward, linear, tuple(type(t) is not Zero for t in tape.outs), len(residuals)


def _instantiate_outs(tape: Tape, which: bool | Sequence[bool]) -> Tape:
    return Tape(tape.trace, tape.invars, tape.entries, instantiate_some(tape.outs, which), tape.prologue)
