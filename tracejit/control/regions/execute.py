"""Running a region op on arrays: as a native program of one equation, or in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.config import config
from tracejit.interpreters import jit, nans
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.stage import StageTrace, make_args
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.primitive import Op
from tracejit.tracing import new_trace, use_trace


def evaluate(
    op: Op,
    python: Callable[..., Sequence[Any]],
    args: tuple[Any, ...],
    params: dict[str, Any],
    avals: tuple[Aval, ...] | None = None,
) -> list[Any]:
    """The outputs of the one equation `op(*args)`: compiled, or by `python` if jit is disabled.

    Compiled once for each set of types (`avals`, for more of them at once) and sub-jaxprs.
    """
    with use_trace(ROOT):
        if config.disable_jit or nans.one_by_one():
            return list(python(*args, **params))
        avals = tuple(map(aval_of, args)) if avals is None else avals
        return list(jit.execute(_program(op, avals, tuple(params.items())), args))


@functools.lru_cache(maxsize=512)
def _program(op: Op, avals: tuple[Aval, ...], items: tuple[tuple[str, Any], ...]) -> Jaxpr:
    trace = StageTrace(ROOT, op.name)
    invars = make_args(trace, avals)
    with new_trace(trace):
        outs = trace.record(op, tuple(invars), dict(items))
        return trace.freeze(invars, outs)[0]
