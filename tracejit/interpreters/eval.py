"""Evaluation: the root trace. Ops run at once through NumPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tracejit.config import config
from tracejit.errors import LeakedTracerError
from tracejit.interpreters import nans
from tracejit.ir.primitive import Op
from tracejit.ir.values import Value, origin
from tracejit.tracing import ONLY_LOCAL, Trace, set_root


class EvalTrace(Trace):
    """Runs `op.eval` on arrays. Any tracer that arrives here has outlived its trace."""

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        for a in args:
            if isinstance(a, Value):
                raise LeakedTracerError(value=origin(a))
        return nans.evaluate(op, args, params) if config.checks else op.eval(*args, **params)

    def update(self, op: Op, holder: list[Any], rest: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if config.checks:  # operands are shown as they were
            return self.process(op, (holder.pop(), *rest), params)
        x = holder.pop()
        for a in rest:
            if isinstance(a, Value):
                raise LeakedTracerError(value=origin(a))
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
