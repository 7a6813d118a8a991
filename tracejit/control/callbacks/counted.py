"""Entries that are done as often as a number says which the program computes: warnings that depend on values.

Only people see them. They keep their place and may happen again, as positions of loops do (`structured.ticks`), so that
no transformation refuses a program because of them. Where there is nothing to do, they cost a comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.callbacks.journal import Entry, for_numbers
from tracejit.control.callbacks.ops import debug_callback_op
from tracejit.control.structured.branches import cond
from tracejit.ir.jaxpr import SHOWN, Jaxpr, sub_jaxprs
from tracejit.ir.kernel import Composite
from tracejit.ir.primitive import NONLINEAR, ZERO_TANGENT
from tracejit.ops.building import helpers
from tracejit.tracing import bind, box


class Counted(Entry):
    """An entry without values of the program that is done so many times as the number says that it is given."""

    effect = SHOWN

    def direct(self, *arrays: Any) -> None:
        (times,) = arrays
        for _ in range(int(times)):
            super().direct()

    def for_numbers(self, count: int, keep: Callable[[BaseException, bool], None]) -> Callable[..., Any]:
        return for_numbers(self.direct, count, keep)


def _eval(times: Any, *, callback: Counted) -> list[Any]:
    return callback(times)


def _batch(size: Any, args: Any, dims: Any, *, callback: Counted) -> tuple[list[Any], list[int]]:
    """Once for all lanes: as often as in all of them together."""
    (times,), (dim,) = args, dims
    bind(counted_op, times if dim is None else ops.reduce.reduce_sum(times, axes=(dim,)), callback=callback)
    return [], []


def _formula(times: Any, *, callback: Counted) -> list[Any]:
    def act() -> None:
        bind(debug_callback_op, times, callback=callback, ordered=True)

    cond(box(ops.compare.gt(times, np.int64(0))), act, lambda: None)
    return []


counted_op = helpers.plain(
    name="counted",
    doc="does something that only people see as often as a number says",
    multi=True,
    type=lambda *_, **__: [],
    eval=_eval,
    jvp=ZERO_TANGENT,
    transpose=NONLINEAR,
    batch=_batch,
    effects=lambda params: frozenset({SHOWN}),
    kernel=Composite(_formula),
)


def enter(entry: Counted, times: Any) -> None:
    """Make `entry` part of what is being traced, to be done `times` times, a raw integer."""
    bind(counted_op, times, callback=entry)


def occurs(jaxpr: Jaxpr) -> bool:
    """Whether a program has such entries."""
    return SHOWN in jaxpr.effects and any(
        eqn.op is counted_op or any(map(occurs, sub_jaxprs(eqn.params))) for eqn in jaxpr.eqns
    )
