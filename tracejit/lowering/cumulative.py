"""Running reductions along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracejit.ir.jaxpr import Eqn
from tracejit.lowering.access import ZERO, Index
from tracejit.lowering.context import loops
from tracejit.lowering.loopir import I64

if TYPE_CHECKING:
    from tracejit.lowering.emit import Body


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
    target = body.place(eqn.outvars[0])
    with loops(body, x.aval.shape[:axis], vector=False) as outer:
        acc = k.slot(form.init(k, x.aval.dtype), "acc")
        with k.loop(0, body.extent(x.aval.shape[axis]), down=eqn.params["reverse"]) as i:
            idx = (*outer, i, *(ZERO for _ in x.aval.shape[axis + 1 :]))
            new = form.step(k, k.get(acc), body.read(x, idx))
            k.set(acc, new)
            body.put(target, idx, new)
    body.define(eqn.outvars[0])


def _by_rows(body: Body, eqn: Eqn, axis: int) -> None:
    k, x = body.k, eqn.invars[0]
    form: Any = eqn.op.kernel
    shape, reverse = x.aval.shape, eqn.params["reverse"]
    target = body.place(eqn.outvars[0])

    def step(idx: Index, state: Any) -> None:
        body.put(target, idx, form.step(k, state, body.read(x, idx)))

    n = k.lift(body.extent(shape[axis]), I64)
    with loops(body, shape[:axis], vector=False) as outer:
        first = k.sub(n, 1) if reverse else ZERO
        with k.when(k.gt(n, 0)), loops(body, shape[axis + 1 :]) as inner:
            step((*outer, first, *inner), form.init(k, x.aval.dtype))
        start, stop = (0, k.sub(n, 1)) if reverse else (1, n)
        with k.loop(start, stop, down=reverse) as i, loops(body, shape[axis + 1 :]) as inner:
            before = (*outer, k.add(i, 1 if reverse else -1), *inner)
            step((*outer, i, *inner), k.load(target.buffer, target.at(k, before)))
    body.define(eqn.outvars[0])
