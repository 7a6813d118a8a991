"""Running reductions along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracejit.ir.jaxpr import Eqn
from tracejit.lowering.loops.nodes import I64
from tracejit.lowering.plan.access import ZERO
from tracejit.lowering.plan.context import loops

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body


def emit_cumulative(body: Body, eqn: Eqn) -> None:
    """Along the last axis with the state in a slot; along others a row at a time, from the row before."""
    shape, axis = eqn.invars[0].aval.shape, eqn.params["axis"]
    if all(d == 1 for d in shape[axis + 1 :]):
        _along_last(body, eqn, axis)
    else:
        _by_rows(body, eqn, axis)


def _along_last(body: Body, eqn: Eqn, axis: int) -> None:
    k, x = body.k, eqn.invars[0]
    form: Any = eqn.op.kernel
    shape, reverse = x.aval.shape, eqn.params["reverse"]
    target = body.place(eqn.outvars[0])
    n = k.lift(body.extent(shape[axis]), I64)
    with loops(body, shape[:axis], vector=False, independent=True) as outer:
        acc = k.slot(form.init(k, x.aval.dtype), "acc")

        def step(i: Any, is_first: bool = False) -> None:
            idx = (*outer, i, *(ZERO for _ in shape[axis + 1 :]))
            new = body.read(x, idx)
            if not is_first:
                new = form.step(k, k.get(acc), new)
            k.set(acc, new)
            body.put(target, idx, new)

        with k.when(k.gt(n, 0)):
            step(_first(k, n, reverse), is_first=True)
        with k.loop(*_rest(k, n, reverse), down=reverse) as i:
            step(i)
    body.define(eqn.outvars[0])


def _first(k: Any, n: Any, reverse: bool) -> Any:
    """Where a running reduction begins: with the element as it is. The identity is not neutral
    to every element: 0 + -0 is 0, and the product of 1 + 0j and an infinite number is NaN."""
    return k.sub(n, 1) if reverse else ZERO


def _rest(k: Any, n: Any, reverse: bool) -> tuple[Any, Any]:
    return (0, k.sub(n, 1)) if reverse else (1, n)


def _by_rows(body: Body, eqn: Eqn, axis: int) -> None:
    k, x = body.k, eqn.invars[0]
    form: Any = eqn.op.kernel
    shape, reverse = x.aval.shape, eqn.params["reverse"]
    target = body.place(eqn.outvars[0])

    n = k.lift(body.extent(shape[axis]), I64)
    with loops(body, shape[:axis], vector=False, independent=True) as outer:
        with k.when(k.gt(n, 0)), loops(body, shape[axis + 1 :]) as inner:
            idx = (*outer, _first(k, n, reverse), *inner)
            body.put(target, idx, body.read(x, idx))
        with k.loop(*_rest(k, n, reverse), down=reverse) as i, loops(body, shape[axis + 1 :]) as inner:
            idx, before = (*outer, i, *inner), (*outer, k.add(i, 1 if reverse else -1), *inner)
            state = k.load(target.buffer, target.at(k, before))
            body.put(target, idx, form.step(k, state, body.read(x, idx)))
    body.define(eqn.outvars[0])
