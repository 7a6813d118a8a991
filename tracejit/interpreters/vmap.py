"""Batching: values carried with the position of their batch dimension."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.errors import ConcreteValueError, DynamicExtentError, ShapeError
from tracejit.errors.refusals import attempt
from tracejit.interpreters.closed import stage_closed
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.stage import jaxpr_arg_avals
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import DRAWN, Jaxpr, effects_of, sub_jaxprs
from tracejit.ir.primitive import Op
from tracejit.ir.values import Value
from tracejit.ops.building import helpers
from tracejit.tracing import Trace, current_trace, new_trace, use_trace


class BatchTracer(Value):
    """`value` of the parent trace with a batch dimension at `dim`; `aval` is one element's type."""

    __slots__ = ("dim", "value")

    def __init__(self, trace: BatchTrace, value: Any, dim: int) -> None:
        aval = aval_of(value)
        self.trace = trace
        self.aval = aval.with_shape(aval.shape[:dim] + aval.shape[dim + 1 :])
        self.value = value
        self.dim = dim

    def concrete(self) -> Any:
        raise ConcreteValueError(aval=f"{self.aval} (one lane of a vmap)")


class BatchTrace(Trace):
    """Applies batch rules under the parent trace. `size` is an int or a Dim. With `last`, batch axes
    are the last ones as far as rules leave them there, and where arrays are made of scalars. With `numbers`, Python's
    numbers stay such to the user's code."""

    def __init__(
        self, parent: Trace, size: Any, axis_name: Any = None, last: bool = False, numbers: bool = False
    ) -> None:
        super().__init__(parent)
        self.numbers = numbers
        self.size = size
        self.axis_name = axis_name
        self.last = last

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        values, dims, some = [], [], False
        for a in args:
            if type(a) is BatchTracer and a.trace is self:
                values.append(a.value)
                dims.append(a.dim)
                some = True
            else:
                values.append(a)
                dims.append(None)
        named = self.axis_name is not None and _uses(params, self.axis_name)
        parent = self.parent
        assert parent is not None
        with use_trace(parent):
            if not some and not named and DRAWN not in effects_of(op, params):
                return parent.process(op, args, params)
            outer, _processing.axis_name = _processing.axis_name, self.axis_name
            try:
                if "axis_name" in params:
                    params = {**params, "matched": named}
                out, dim = self._batched(op, tuple(values), tuple(dims), params)
                if self.last and not op.multi and _are_scalars(values, dims):
                    out, dim = _to_last(out, dim)
            finally:
                _processing.axis_name = outer
        if op.multi:
            return [self.tracer(o, d) for o, d in zip(out, dim, strict=True)]
        return self.tracer(out, dim)

    def _batched(self, op: Op, values: Any, dims: Any, params: dict[str, Any]) -> tuple[Any, Any]:
        """The results of an op's batch rule; of each lane by itself, where a rule needs a size that only the program
        knows."""
        if type(self.size) is int:
            return op.batch(self.size, values, dims, **params)
        try:
            with attempt(TypeError, ShapeError):
                return op.batch(self.size, values, dims, **params)
        except (TypeError, ShapeError):
            outs, out_dims = _Lanes.one_by_one(op, self.size, values, dims, params)
            return (outs, out_dims) if op.multi else (outs[0], out_dims[0])

    def tracer(self, value: Any, dim: int | None) -> Any:
        return value if dim is None else BatchTracer(self, value, dim)


def _are_scalars(values: Sequence[Any], dims: Sequence[int | None]) -> bool:
    """Whether each batched operand is one number for each example."""
    return all(d is None or aval_of(x).ndim == 1 for x, d in zip(values, dims, strict=True))


def _to_last(x: Any, dim: Any) -> tuple[Any, Any]:
    """`x` with its batch axis, if it has one, as the last one; and where it is."""
    if dim is None:
        return x, None
    end = aval_of(x).ndim - 1
    return helpers.move_batch_axis(x, dim, end), end


def _uses(params: dict[str, Any], name: Any) -> bool:
    """Whether an op, or one in its regions, communicates over the axis `name`."""
    if params.get("axis_name") == name:
        return True
    return any(_uses(e.params, name) for sub in sub_jaxprs(params) for e in sub.eqns)


class _Lanes:
    """How ops are applied to each lane by itself: a loop, which rooms above this one know (`control.regions.lanes`)."""

    one_by_one: Callable[..., tuple[list[Any], list[int]]]


def apply_to_lanes(one_by_one: Callable[..., tuple[list[Any], list[int]]]) -> None:
    """Let `one_by_one(op, size, values, dims, params)` give the results of an op for each lane by itself."""
    _Lanes.one_by_one = staticmethod(one_by_one)  # type: ignore[assignment]


class _Processing(threading.local):
    axis_name: Any = None


_processing = _Processing()


def processing_axis() -> Any:
    """The axis name of the vmap whose batch rule is running: regions batch their bodies with it."""
    return _processing.axis_name


def batch_flat(
    fn: Callable[..., Sequence[Any]],
    size: Any,
    args: Sequence[Any],
    dims: Sequence[int | None],
    axis_name: Any = None,
    last: bool = False,
    numbers: bool = False,
) -> tuple[list[Any], list[int | None]]:
    """Outputs of `fn(*raw) -> list of raw` mapped over `dims` of `args`, and their batch dims. With `last` and
    `numbers` see `BatchTrace`."""
    trace = BatchTrace(current_trace(), size, axis_name, last, numbers)
    ins = [trace.tracer(x, d) for x, d in zip(args, dims, strict=True)]
    with new_trace(trace):
        outs = fn(*ins)
    values, out_dims = [], []
    for o in outs:
        mine = type(o) is BatchTracer and o.trace is trace
        values.append(o.value if mine else o)
        out_dims.append(o.dim if mine else None)
    return values, out_dims


def batch_jaxpr(
    jaxpr: Jaxpr,
    size: Any,
    batched: tuple[bool, ...],
    force_out: bool | tuple[bool, ...] = False,
    axis_name: Any = None,
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """`jaxpr` with a batch dimension of `size` at axis 0 of the inputs marked by `batched`; and
    which outputs have one (also at axis 0). `force_out` broadcasts outputs that would not.

    Raises DynamicExtentError for a size that only the program knows: jaxprs close over nothing."""
    if type(size) is not int:
        raise DynamicExtentError(
            op="vmap", problem="a region can't be mapped over an axis whose size is traced"
        )
    return _batch_jaxpr(jaxpr, size, batched, force_out, axis_name)


@memoize_by_jaxpr
def _batch_jaxpr(
    jaxpr: Jaxpr, size: int, batched: tuple[bool, ...], force_out: bool | tuple[bool, ...], axis_name: Any
) -> tuple[Jaxpr, tuple[bool, ...]]:
    out_batched: list[bool] = []
    forced = [force_out] * len(jaxpr.outs) if isinstance(force_out, bool) else force_out

    def fn(*raw: Any) -> list[Any]:
        dims = [0 if b else None for b in batched]
        outs, out_dims = batch_flat(lambda *xs: eval_jaxpr(jaxpr, xs), size, raw, dims, axis_name)
        outs = [batch_to_front(o, d, size, f) for o, d, f in zip(outs, out_dims, forced, strict=True)]
        out_batched.extend(d is not None or f for d, f in zip(out_dims, forced, strict=True))
        return outs

    avals = [_batched(a, size) if b else a for a, b in zip(jaxpr_arg_avals(jaxpr), batched, strict=True)]
    bounds = [None if b else v.bounds for v, b in zip(jaxpr.invars, batched, strict=True)]
    return stage_closed(fn, avals, jaxpr.name, bounds), tuple(out_batched)


def _batched(aval: Aval, size: int) -> Aval:
    return aval.with_shape((size, *aval.shape))


def batch_to_front(x: Any, dim: int | None, size: Any, force: bool = True) -> Any:
    """`x` with its batch dimension at axis 0; unbatched values are broadcast if `force`."""
    if dim is None and not force:
        return x
    return helpers.to_batch_axis(x, dim, 0, size)
