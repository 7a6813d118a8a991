"""Positions of loops, as programs tell them to bars while they run.

A tick is seen by people only: it may be repeated, as when Python does a call over, and no program is different because
of it. So it has an effect of its own, which keeps it where it is, and nothing else. What it costs is the question
whether a position is told, in each step; a few hundred are, at some microseconds each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.bars.bar import END, OCTAVE, Bar, is_told, mask
from tracejit.control.structured.branches import cond
from tracejit.ir.jaxpr import SHOWN
from tracejit.ir.kernel import UserCode
from tracejit.ir.primitive import NONLINEAR, ZERO_TANGENT
from tracejit.ir.values import Value
from tracejit.ops.building import helpers
from tracejit.tracing import bind, box


def _eval(position: Any, total: Any, *, bar: Bar) -> list[Any]:
    bar.tell(int(position), int(total))
    return []


def _batch(size: Any, args: Any, dims: Any, *, bar: Bar) -> tuple[list[Any], list[int]]:
    """Once for all lanes: the place of the one that is farthest."""
    one = [x if d is None else ops.reduce.reduce_max(x, axes=(0,)) for x, d in zip(args, dims, strict=True)]
    bind(tick_op, *one, bar=bar)
    return [], []


tick_op = helpers.plain(
    name="tick",
    doc="tells a progress bar the position of a loop",
    multi=True,
    type=lambda *_, **__: [],
    eval=_eval,
    jvp=ZERO_TANGENT,
    transpose=NONLINEAR,
    batch=_batch,
    effects=lambda params: frozenset({SHOWN}),
    kernel=UserCode(),
)


def tick(bar: Bar, position: Any, total: Any) -> None:
    """The loop begins its step `position` of `total` (below zero: not known), raw integers that may be traced."""
    if not isinstance(position, Value):
        known = END if isinstance(total, Value) else int(total)
        if is_told(int(position), known):
            _bind(bar, position, total)
        return
    if isinstance(total, Value):
        told = ops.compare.and_(position, _octave(position))
    else:
        told = ops.compare.and_(position, np.int64(mask(0, total)) if total >= 0 else _octave(position))
    cond(box(ops.compare.eq(told, np.int64(0))), lambda: _bind(bar, position, total), lambda: None)


def _octave(position: Any) -> Any:
    """The bits that are zero in positions that are told, where the total is not known."""
    length = ops.arithmetic.sub(np.int64(64), ops.integers.clz(position))
    size = ops.compare.shift_left(np.int64(1), length)
    size = ops.integers.shift_right_logical(size, np.int64((2 * OCTAVE).bit_length() - 1))
    return ops.arithmetic.sub(ops.arithmetic.maximum(size, np.int64(1)), np.int64(1))


def end(bar: Bar) -> None:
    """The loop has ended."""
    tell(bar, END, END)


def tell(bar: Bar, position: int, total: int) -> None:
    """The program tells this position, or the END."""
    _bind(bar, position, total)


def _bind(bar: Bar, position: Any, total: Any) -> None:
    raw = [x if isinstance(x, Value) else np.int64(x) for x in (position, total)]
    bind(tick_op, *raw, bar=bar)
