"""The trace that records a linear program of tangents; what touches no tangent runs in its parent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.interpreters.autodiff.jvp import (
    apply_jvp,
)
from tracejit.interpreters.autodiff.provenance import Made
from tracejit.interpreters.stage import StageTrace, arg_avals, captured, make_args
from tracejit.ir.avals import Dim, aval_of
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.ir.jaxpr import Literal, Var
from tracejit.ir.primitive import FROM_JVP, Op
from tracejit.ir.values import Value, Zero
from tracejit.ops.building import helpers
from tracejit.tracing import Trace, check_live, new_trace, use_trace


class Residual:
    """A value of the parent trace in a linear equation."""

    __slots__ = ("aval", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.aval = aval_of(value)


class TangentTrace(StageTrace):
    """Records what depends on tangents; everything else runs in the parent. `made` says how.

    `lasting`: the ids of the values of a region's body that are the same in each of its steps, so that a residual
    that is read from them needs no memory; None where no loop is around, and keeping any value is keeping it once.
    """

    def __init__(self, parent: Trace | None) -> None:
        super().__init__(parent)
        self.made = Made()
        self.lasting: set[int] | None = None

    def lasts(self, values: Sequence[Any]) -> tuple[bool, ...]:
        """Which values are there when the derivative runs, kept or not."""
        if self.lasting is None:
            return (True,) * len(values)
        return tuple(not isinstance(x, Value) or id(x) in self.lasting for x in values)

    def lasts_in(self, values: Sequence[Any]) -> tuple[bool, ...] | None:
        """The same for a region that runs once where this program does: None where no loop is around."""
        return None if self.lasting is None else self.lasts(values)

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        for a in args:
            if type(a) is Var and a.trace is self:
                return (
                    self.record(op, args, params)
                    if op.linearize is FROM_JVP
                    else self._region(op, args, params)
                )
        parent = self.parent
        assert parent is not None
        with use_trace(parent):
            out = parent.process(op, args, params)
        self.made.note(op, args, params, out)
        return out

    def _region(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """A region that a derivative rule has written, over tangents. Where it computes primals beside them, such
        as a loop that carries both, these must be known at once: it is linear, so it is its own derivative at
        zero."""
        mine = [type(a) is Var and a.trace is self for a in args]
        tangents = tuple([a if m else Zero(aval_of(a).tangent()) for a, m in zip(args, mine, strict=True)])
        if not self._is_mixed(op, args, tangents, params):
            return self.record(op, args, params)
        with use_trace(self):
            zeros = [helpers.instantiate(Zero(a.aval)) if m else a for a, m in zip(args, mine, strict=True)]
            values, outs = op.linearize(self, tuple(zeros), tangents, params)  # type: ignore[operator]
        return [v if type(t) is Zero else t for v, t in zip(values, outs, strict=True)]

    def _is_mixed(self, op: Op, args: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> bool:
        """Whether some of a region's outputs do not depend on the tangents: its jvp rule says so."""
        trace = StageTrace(self)
        with new_trace(trace):
            primals = make_args(trace, arg_avals(args))
            given = [t if type(t) is Zero else p for t, p in zip(tangents, primals, strict=True)]
            return any(type(t) is Zero for t in apply_jvp(op, primals, given, params)[1])

    def lift(self, x: Any) -> Any:
        if type(x) is Var and x.trace is self:
            return x
        if isinstance(x, Value):
            check_live(x)
            return Residual(captured(x) if x.trace.level >= self.level else x)
        is_number = np.ndim(x) == 0 and not is_elsewhere(x)
        return Literal(np.asarray(x).dtype.type(x)) if is_number else Residual(x)

    # A repeated number is known here as any array is: what would be recorded for it is no tangent.
    _operand = lift

    def record(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        out = super().record(op, args, params)
        for v in out if op.multi else (out,):
            if not v.aval.is_static:
                v.aval = v.aval.with_shape(tuple(_plain_dim(d) for d in v.aval.shape))
        return out

    bind_linear = record


def _plain_dim(d: Any) -> Any:
    return Dim(d.var.value, d.bound) if isinstance(d, Dim) and type(d.var) is Residual else d
