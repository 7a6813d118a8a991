"""`associative_scan`: running combinations along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit import ops, tree
from tracejit.control.structured.loops import scan
from tracejit.errors import AxisError, LoopLengthError, ScanResultError
from tracejit.ir.avals import aval_of
from tracejit.tracing import call_user, to_raw, wrap


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Running combinations `e0, fn(e0, e1), fn(fn(e0, e1), e2) …` along `axis` of a tree of arrays.

    `fn` combines two trees like `elems`, with any size along `axis`. On one processor the shortest way is
    one native loop from left to right (from right to left if `reverse`), so that is what runs, and
    `fn` need not be associative for the result to be the one above.

    Raises:
        LoopLengthError: the leaves differ in size along `axis`, or there are none.
        AxisError: a leaf has no such axis.
        ScanResultError: `fn` gives another structure than it takes.
    """
    leaves, structure = tree.flatten(elems)
    raw = [to_raw(x) for x in leaves]
    sizes = {_size(x, axis) for x in raw}
    if len(sizes) != 1:
        found = "there are no arrays" if not sizes else f"the sizes along the axis are {sorted(sizes)}"
        raise LoopLengthError(problem=f"associative_scan: {found}")
    if sizes.pop() < 2:
        return elems
    axes = [axis % len(aval_of(x).shape) for x in raw]
    rows = [ops.shape.moveaxis(x, a, 0) for x, a in zip(raw, axes, strict=True)]
    # Slices keep the axis with size 1: that is what `fn` combines.
    rows = [ops.shape.expand_dims(x, (a + 1,)) for x, a in zip(rows, axes, strict=True)]
    first = [_part(x, -1 if reverse else 0) for x in rows]
    rest = [_rest(x, reverse) for x in rows]

    def step(carry: list[Any], x: list[Any]) -> Any:
        out = call_user(fn, tree.unflatten(structure, carry), tree.unflatten(structure, x))
        new, out_structure = tree.flatten(out)
        if out_structure != structure:
            raise ScanResultError(found=f"{out_structure} from the function of associative_scan")
        return new, new

    _, ys = scan(step, [wrap(x) for x in first], [wrap(x) for x in rest], reverse=reverse)
    outs = [_joined(f, to_raw(y), reverse) for f, y in zip(first, ys, strict=True)]
    outs = [ops.shape.squeeze(y, dimensions=(a + 1,)) for y, a in zip(outs, axes, strict=True)]
    outs = [wrap(ops.shape.moveaxis(y, 0, a)) for y, a in zip(outs, axes, strict=True)]
    return tree.unflatten(structure, outs)


def _size(x: Any, axis: int) -> Any:
    shape = aval_of(x).shape
    if not -len(shape) <= axis < len(shape):
        raise AxisError(op="associative_scan", axis=axis, ndim=len(shape))
    return shape[axis]


def _part(rows: Any, n: int) -> Any:
    size = aval_of(rows).shape[0]
    n %= size
    return ops.shape.squeeze(_slice(rows, n, n + 1), dimensions=(0,))


def _rest(rows: Any, reverse: bool) -> Any:
    size = aval_of(rows).shape[0]
    return _slice(rows, 0, size - 1) if reverse else _slice(rows, 1, size)


def _slice(x: Any, start: int, stop: int) -> Any:
    rank = len(aval_of(x).shape)
    begin, end = (start, *(0,) * (rank - 1)), (stop, *(None,) * (rank - 1))
    return ops.slices.slice(x, start_indices=begin, limit_indices=end)


def _joined(first: Any, ys: Any, reverse: bool) -> Any:
    first = ops.shape.expand_dims(first, (0,))
    return ops.concat.concatenate(*((ys, first) if reverse else (first, ys)), dimension=0)
