"""Evaluation: the root trace. Ops run at once through NumPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tracejit.config import config
from tracejit.errors import DynamicExtentError, LeakedTracerError, ShapeError
from tracejit.errors.refusals import attempt
from tracejit.interpreters import nans
from tracejit.ir.avals import aval_of
from tracejit.ir.elsewhere import TYPES
from tracejit.ir.primitive import Op
from tracejit.ir.references import ONLY_LOCAL
from tracejit.ir.values import Value, origin
from tracejit.lazily import LazyModule
from tracejit.tracing import Trace, set_root

_eager: Any = LazyModule("tracejit.interpreters.jit_cuda.eager")

#: Operations with dtypes of operands that their type rules take.
_taken: set[tuple[Any, ...]] = set()
_MOST = 1 << 14


def judge(op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> None:
    """Raise what the type rule raises for operands of these dtypes, which eager code asks once: NumPy and SciPy
    take some that the operation does not have, and cast them silently."""
    try:
        key = _key(op, args, params)
    except AttributeError:
        return  # one of Python's numbers
    if key not in _taken:
        if params.get("jaxpr", op) is None:
            return  # a function that is not staged: its types are those of what it gives
        try:
            with attempt(DynamicExtentError):
                op.type(*map(aval_of, args), **params)
        except (ShapeError, DynamicExtentError):
            pass  # shapes that are traced elsewhere have values here; NumPy judges these
        if len(_taken) >= _MOST:
            _taken.clear()
        _taken.add(key)


def _key(op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
    if len(args) == 2 and not params:
        a, b = args
        return op, a.dtype.num, b.dtype.num
    if len(args) == 1 and not params:
        return op, args[0].dtype.num
    return op, *[a.dtype.num for a in args], params.get("dtype")


def _leaked(x: Value) -> LeakedTracerError:
    """Says that a tracer has outlived its trace, or is used in another thread, which that trace is told."""
    error = LeakedTracerError(value=origin(x))
    if x.trace is not None and x.trace.live:
        x.trace.elsewhere = error
    return error


class EvalTrace(Trace):
    """Runs `op.eval` on arrays. Any tracer that arrives here has outlived its trace."""

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        for a in args:
            if isinstance(a, Value):
                raise _leaked(a)
        judge(op, args, params)
        if TYPES and not TYPES.isdisjoint(map(type, args)):
            return _eager.evaluate(op, args, params)
        return nans.evaluate(op, args, params) if config.checks else op.eval(*args, **params)

    def update(self, op: Op, holder: list[Any], rest: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if config.checks or type(holder[0]) in TYPES:  # operands are shown as they were
            return self.process(op, (holder.pop(), *rest), params)
        x = holder.pop()
        for a in rest:
            if isinstance(a, Value):
                raise _leaked(a)
        if TYPES and not TYPES.isdisjoint(map(type, rest)):
            return self.process(op, (x, *rest), params)
        judge(op, (x, *rest), params)
        if (
            type(x) is np.ndarray
            and sys.getrefcount(x) <= ONLY_LOCAL
            and x.flags.owndata
            and x.flags.writeable
        ):
            return op.inplace(x, *rest, **params)  # type: ignore[operator]
        return op.eval(x, *rest, **params)


ROOT = EvalTrace(None)
set_root(ROOT)
