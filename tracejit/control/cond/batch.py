"""A batched predicate: all branches run and the results are selected.

Only where that is harmless and cheap (see `harmless`), or where lanes talk to
each other by collectives; otherwise every lane runs its own branch (lanes.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.regions.axes import processing_axis
from tracejit.control.regions.effects import refuse_effects
from tracejit.control.regions.rules import build
from tracejit.interpreters.core import eval_jaxpr, read
from tracejit.interpreters.vmap import batch_jaxpr
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ops.building import helpers
from tracejit.tracing import bind

Branches = tuple[Jaxpr, ...]

# Ops whose values and derivatives are finite wherever their operands are: running them in
# lanes that don't take the branch can't make a NaN.
_HARMLESS = frozenset(
    (
        *(
            "add",
            "sub",
            "mul",
            "scale",
            "neg",
            "abs",
            "sign",
            "square",
            "maximum",
            "minimum",
            "sin",
            "cos",
            "tanh",
        ),
        *(
            "logistic",
            "real",
            "imag",
            "conj",
            "complex",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "and_",
            "or_",
            "xor",
        ),
        *(
            "not_",
            "select",
            "convert_element_type",
            "stop_gradient",
            "copy",
            "iota",
            "full",
            "reshape",
            "transpose",
        ),
        *("broadcast_in_dim", "squeeze", "expand_dims", "rev", "slice"),
    )
)
_SMALL = 24


def harmless(branches: Branches) -> bool:
    """Whether running every branch in every lane is cheap and can't raise or make NaNs."""
    return all(len(b.eqns) <= _SMALL and all(e.op.name in _HARMLESS for e in b.eqns) for b in branches)


def batch_select(size: Any, args: Any, dims: Any, branches: Branches) -> tuple[list[Any], list[int]]:
    """All branches on all lanes; the outputs of the one that each lane takes."""
    refuse_effects(
        "cond",
        branches,
        "there is a callback in it, but its lanes talk by collectives, so that each runs all branches",
    )
    index = helpers.move_batch_axis(args[0], dims[0], 0)
    moved = helpers.batch_axes_first(args[1:], dims[1:])
    batched = tuple(d is not None for d in dims[1:])
    axis = processing_axis()
    rows = [eval_jaxpr(batch_jaxpr(without_checks(b), size, batched, True, axis)[0], moved) for b in branches]
    outs = rows[-1]
    for n in range(len(branches) - 2, -1, -1):
        outs = [select_lanes(_is(index, n), x, y) for x, y in zip(rows[n], outs, strict=True)]
    return outs, [0] * len(outs)


def _is(index: Any, n: int) -> Any:
    """Lanes of branch `n` (for the last but one of two: the lanes where the predicate is false)."""
    if aval_of(index).dtype == np.bool_:
        return ops.compare.not_(index)
    return ops.compare.eq(index, n)


def select_lanes(pred: Any, x: Any, y: Any) -> Any:
    """`x` in the lanes (axis 0) where `pred` holds, `y` elsewhere."""
    shape = aval_of(x).shape
    if len(shape) > 1:
        pred = ops.shape.expand_dims(pred, dimensions=tuple(range(1, len(shape))))
        pred = ops.shape.broadcast_to(pred, shape)
    return ops.compare.select(pred, x, y)


def without_checks(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with indices clamped instead of checked, and matrices too (`check`), in its regions as well."""
    if "error" not in jaxpr.effects:
        return jaxpr

    def fn(*args: Any) -> list[Any]:
        env = dict(zip(jaxpr.invars, args, strict=True))
        for eqn in jaxpr.eqns:
            values = [read(env, a) for a in eqn.invars]
            if eqn.op.name == "check_index":
                outs: Any = _clamped(*values, size=eqn.params["size"])
            else:
                params = {k: k != "check" and _unchecked(p) for k, p in eqn.params.items()}
                outs = bind(eqn.op, *values, **params)
            env.update(zip(eqn.outvars, outs if eqn.op.multi else (outs,), strict=True))
        return [read(env, a) for a in jaxpr.outs]

    return build(fn, jaxpr.invars, jaxpr.name)


def _unchecked(param: Any) -> Any:
    if isinstance(param, Jaxpr):
        return without_checks(param)
    return tuple(map(_unchecked, param)) if isinstance(param, tuple) else param


def _clamped(i: Any, *sizes: Any, size: int | None) -> Any:
    n = sizes[0] if size is None else np.int64(size)
    i = ops.create.convert_element_type(i, dtype=np.dtype(np.int64))
    n = helpers.broadcast_like(n, aval_of(i).shape)
    zero, one = np.int64(0), np.int64(1)
    i = ops.compare.select(ops.compare.lt(i, zero), ops.arithmetic.add(i, n), i)
    return ops.arithmetic.maximum(ops.arithmetic.minimum(i, ops.arithmetic.sub(n, one)), zero)
