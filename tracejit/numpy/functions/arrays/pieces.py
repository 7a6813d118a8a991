"""piecewise: functions of the elements that conditions select."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import control, ops
from tracejit.errors import ArgumentError, DynamicExtentError
from tracejit.errors.refusals import attempt
from tracejit.interpreters.core import eval_jaxpr
from tracejit.numpy.boxes import extents
from tracejit.numpy.dispatch import implements
from tracejit.numpy.functions.arrays.shaping import box_of
from tracejit.numpy.operands import cast, dtype_of, filled, nested, raw, shape_of
from tracejit.tracing import Box, bind, new_array


@implements(np.piecewise, "piecewise")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Functions chosen by conditions, of which the last one that holds counts: each is given the elements
    where its condition holds, if there are any."""
    value = raw(x)
    shape, count = shape_of(value), len(funclist)
    masks = _masks(condlist, shape)
    n = len(masks)
    if count == n + 1:
        masks.append(_otherwise(masks))
    elif count != n:
        raise ArgumentError(
            name="piecewise", problem=f"with {n} condition(s), either {n} or {n + 1} functions are expected"
        )
    if not shape:  # what a condition selects is one element or none
        value, masks = _row(value), [_row(m) for m in masks]
    out = filled(0, dtype_of(value), shape_of(value))
    for mask, f in zip(masks, funclist, strict=True):
        step = (lambda xs, f=f: f(xs, *args, **kw)) if callable(f) else None
        out = _filled_in(out, value, mask, step, f)
    return new_array(out if shape else ops.shape.reshape(out, shape=()))


def _masks(condlist: Any, shape: Any) -> list[Any]:
    """The conditions as raw booleans; one alone need not be in a list."""
    many = isinstance(condlist, (list, tuple)) or np.ndim(condlist) > 0
    if not many or (shape and not _is_array(condlist[0])):
        condlist = [condlist]
    return [cast(nested(c) if isinstance(c, (list, tuple)) else raw(c), np.dtype(bool)) for c in condlist]


def _is_array(x: Any) -> bool:
    return isinstance(x, (list, np.ndarray)) or (type(x) is Box and not x.scalar)


def _otherwise(masks: list[Any]) -> Any:
    """Where none of the conditions holds."""
    any_of = masks[0]
    for m in masks[1:]:
        any_of = ops.compare.or_(any_of, m)
    return ops.compare.not_(any_of)


def _row(value: Any) -> Any:
    return ops.shape.reshape(value, shape=(1,))


def _filled_in(out: Any, x: Any, mask: Any, step: Callable[..., Any] | None, value: Any) -> Any:
    """`out` with `step(x[mask])`, or `value` if there is no step, where the mask holds."""
    known = extents.known(mask)
    selected = mask if known is None else known
    if step is None:
        return _written(out, selected, value)
    if known is not None:
        return _written(out, known, step(new_array(x)[known])) if np.any(known) else out

    def chosen() -> Any:
        return box_of(_written(out, mask, step(box_of(x)[box_of(mask)])))

    return _where_any(mask, chosen, out)


def _written(out: Any, mask: Any, value: Any) -> Any:
    holder = new_array(out)
    holder[mask if isinstance(mask, np.ndarray) else box_of(mask)] = value
    return holder.read()


def _where_any(mask: Any, chosen: Callable[[], Any], out: Any) -> Any:
    """`chosen()`, as a branch that is taken if there are elements where that matters: if it may raise, or has
    effects."""
    stage = control.regions.staging.stage_user
    staged = [stage(f, [], [], [], "piecewise") for f in (lambda: box_of(out), chosen)]
    if not staged[1].jaxpr.effects:
        try:
            with attempt(DynamicExtentError):
                return eval_jaxpr(staged[1].jaxpr, staged[1].consts)[0]
        except DynamicExtentError:  # elements move, and their number differs between the examples of a vmap
            pass
    consts, branches = control.structured.branches.common_consts(staged)
    some = ops.reduce.reduce_or(mask, axes=tuple(range(len(shape_of(mask)))))
    return bind(control.cond.op.cond_op, some, *consts, branches=tuple(branches))[0]
