"""Expansion: composite ops are replaced by the ops that they are formulas of, times by the integers that they are."""

from __future__ import annotations

from typing import Any

from tracejit import dtypes
from tracejit.interpreters.closed import with_constants
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.stage import StageTrace, jaxpr_arg_avals, make_args
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Jaxpr, sub_jaxprs
from tracejit.ir.kernel import Composite
from tracejit.ir.primitive import Op
from tracejit.ops.creation import times
from tracejit.tracing import current_trace, new_trace


class _Expander(StageTrace):
    """Staging in which a composite op is its formula, times are integers, and the bodies of regions are expanded."""

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if dtypes.TIMES:
            args = tuple(map(times.as_integers, args))
            params = {name: times.as_integers(p) for name, p in params.items()}
            if op.name == "bitcast" and aval_of(args[0]).dtype == params["dtype"]:
                return args[0]
        if isinstance(op.kernel, Composite):
            done = op.kernel.fn(*args, **params)
            if done is not None:
                return done
        return self.record(op, args, {name: _expanded(p) for name, p in params.items()})


def _expanded(param: Any) -> Any:
    if isinstance(param, Jaxpr):
        return expand(param)
    if type(param) is tuple and any(isinstance(p, Jaxpr) for p in param):
        return tuple([expand(p) if isinstance(p, Jaxpr) else p for p in param])
    return param


def expand(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` without composite ops that have a formula, and without times; the same object if there are none."""
    return _expand(jaxpr) if _has_composites(jaxpr) else jaxpr


def _has_composites(jaxpr: Jaxpr) -> bool:
    return times.occur(jaxpr) or any(
        isinstance(e.op.kernel, Composite) or any(map(_has_composites, sub_jaxprs(e.params)))
        for e in jaxpr.eqns
    )


@memoize_by_jaxpr
def _expand(jaxpr: Jaxpr) -> Jaxpr:
    trace = _Expander(current_trace(), jaxpr.name)
    avals = [times.as_integers(a) for a in jaxpr_arg_avals(jaxpr)]
    args = make_args(trace, avals, [v.bounds for v in jaxpr.invars])
    with new_trace(trace):
        outs = [times.as_integers(x) for x in eval_jaxpr(jaxpr, args)]
        return with_constants(*trace.freeze(args, outs))
