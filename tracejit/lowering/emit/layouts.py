"""How the strides of a value are those of matrices: axes that can be taken as one, and copies where they can't."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tracejit.ir.avals import Shape
from tracejit.ir.jaxpr import Atom
from tracejit.lowering.plan.access import ZERO, Index, Stored
from tracejit.lowering.plan.context import loops

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body


def permuted(body: Body, atom: Atom, batch: Any, rows: Any, columns: Any) -> Stored:
    """A copy with the axes in the order batch, rows, columns."""
    order = (*batch, *rows, *columns)
    shape = tuple(atom.aval.shape[n] for n in order)
    target = body.ctx.allocate(body, shape, atom.aval.dtype, "t")
    with loops(body, shape, independent=True) as idx:
        body.put(target, idx, body.read(atom, index_of(atom, (order, idx))))
    places = range(len(batch), len(order))
    got = merge(target, shape, range(len(batch)), places[: len(rows)], places[len(rows) :])
    assert got is not None
    return got


def index_of(atom: Atom, *parts: tuple[Any, Index]) -> Index:
    out: list[Any] = [ZERO] * atom.aval.ndim
    for axes, values in parts:
        for a, i in zip(axes, values, strict=True):
            out[a] = i
    return tuple(out)


def merge(s: Stored, shape: Shape, batch: Any, rows: Any, columns: Any) -> Stored | None:
    """Strides (batch..., row, column) with axes merged; None if BLAS cannot read that."""
    r, c = merged_stride(s, shape, rows), merged_stride(s, shape, columns)
    if r is None or c is None:
        return None
    one_row, one_column = not rows or count(shape, rows) == 1, not columns or count(shape, columns) == 1
    if one_row or one_column:
        step = c if one_row else r
        fits = type(step) is int and step != 0 and (step > 0)
    else:
        fits = (c == 1 and _leads(r, count(shape, columns))) or (r == 1 and _leads(c, count(shape, rows)))
    strides = (*(s.strides[n] for n in batch), r, c)
    return replace(s, strides=strides) if fits else None


def _leads(stride: Any, count: Any) -> bool:
    return type(stride) is not int or stride >= max(1, count)


def count(shape: Shape, axes: Any) -> int:
    return math.prod(shape[n] if type(shape[n]) is int else shape[n].bound or 2 for n in axes)


def merged_stride(s: Stored, shape: Shape, axes: Any) -> Any:
    """The stride of several axes taken as one, or None."""
    long = [n for n in axes if shape[n] != 1]
    if not long:
        return 1
    for a, b in itertools.pairwise(long):
        if type(shape[b]) is not int or s.strides[a] != s.strides[b] * shape[b]:
            return None
    return s.strides[long[-1]]
