"""What builtins do with all items of a list of traced length, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import control, ops
from tracejit.frontend.lists.buffers import Buffer
from tracejit.frontend.lists.columns import raw_of
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.tracing import box, new_array


def total(xs: Buffer, start: Any) -> Any:
    """`sum`."""
    dtype, _, shape = xs.tj_items.kinds[0]
    if type(start) is not int or start or dtype.kind == "b":
        raise xs.tj_refusal("the sum with another start")
    _some(xs, "the sum of a list without items")
    return _fold(xs, new_array(np.zeros(shape, dtype)) if shape else box(dtype.type(0)), lambda a, b: a + b)


def extremum(xs: Buffer, better: Callable[[Any, Any], Any]) -> Any:
    """`min` or `max`; `better(x, best)` is the new best one."""
    xs.tj_only_numbers("the least or greatest array")
    _some(xs, "the least or greatest of no items")
    return _fold(xs, xs.tj_item(0), lambda best, x: better(x, best))


def _some(xs: Buffer, what: str) -> None:
    leave_if(ops.compare.eq(raw_of(xs.tj_number()), np.int64(0)), what)


def _fold(xs: Buffer, first: Any, step: Callable[[Any, Any], Any]) -> Any:
    """`first`, combined with all items in their order."""
    (python,) = xs.tj_python if xs.tj_items.tree.is_leaf() else (None,)
    if not isinstance(python, bool):
        raise xs.tj_refusal("the items, which are of several types,")

    def made(raw: Any, weak: bool = python) -> Any:
        return new_array(raw) if xs.tj_items.has_arrays else box(raw, weak=weak)

    def combined(carry: Any, x: Any) -> Any:
        return made(step(made(carry.read()), made(x.read())).read(), False), None

    out = control.structured.loops.scan(combined, made(first.read(), False), xs.tj_array())[0]
    return made(out.read())
