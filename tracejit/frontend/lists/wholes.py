"""What builtins do with all items of a list of traced length, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import control, ops
from tracejit.frontend.lists.buffers import Buffer
from tracejit.frontend.lists.columns import raw_of
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.tracing import box


def total(xs: Buffer, start: Any) -> Any:
    """`sum`."""
    dtype = xs.tj_items.kinds[0].dtype
    if type(start) is not int or start or dtype.kind == "b":
        raise xs.tj_refusal("the sum with another start")
    _some(xs, "the sum of a list without items")
    return _fold(xs, box(dtype.type(0)), lambda a, b: a + b)


def extremum(xs: Buffer, better: Callable[[Any, Any], Any]) -> Any:
    """`min` or `max`; `better(x, best)` is the new best one."""
    _some(xs, "the least or greatest of no items")
    return _fold(xs, xs.tj_item(0), lambda best, x: better(x, best))


def _some(xs: Buffer, what: str) -> None:
    leave_if(ops.compare.eq(raw_of(xs.tj_number()), np.int64(0)), what)


def _fold(xs: Buffer, first: Any, step: Callable[[Any, Any], Any]) -> Any:
    """`first`, combined with all items in their order."""
    (python,) = xs.tj_python if xs.tj_items.tree.is_leaf() else (None,)
    if not isinstance(python, bool):
        raise xs.tj_refusal("the items, which are of several types,")

    def combined(carry: Any, x: Any) -> Any:
        out = step(box(carry.read(), weak=python), box(x.read(), weak=python))
        return box(out.read()), None

    out = control.structured.loops.scan(combined, box(first.read()), xs.tj_array())[0]
    return box(out.read(), weak=python)
