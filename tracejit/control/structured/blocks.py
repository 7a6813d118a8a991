"""Loops in blocks: scans that keep few states for their derivative, and maps over batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops, tree
from tracejit.control.call.checkpoint import checkpoint
from tracejit.interpreters.vmap import batch_flat, batch_to_front
from tracejit.ir.avals import aval_of
from tracejit.tracing import call_user, to_raw, wrap

#: States kept a level by `checkpoint='log'`. Every level costs one more forward pass in reverse mode:
#: a million steps are five levels, so at most 80 states and six forward passes instead of a million and one.
STATES = 16

Step = Callable[[Any, Any], tuple[Any, Any]]
Scan = Callable[..., tuple[Any, Any]]


def checkpointed_scan(
    scan: Scan, f: Step, init: Any, xs: Any, length: int, reverse: bool, states: int
) -> tuple[Any, Any]:
    """`scan(f, init, xs, length, reverse)` as scans of scans, `states` steps long at most, whose blocks are
    checkpoints: reverse mode keeps the states at their starts and computes the others again.

    The recursive form of Griewank and Walther's checkpointing (2000), with blocks of equal size.
    """
    if length <= states:
        return scan(f, init, xs, length=length, reverse=reverse)
    size = states
    while size * states < length:
        size *= states
    count, rest = divmod(length, size)

    @checkpoint
    def block(carry: Any, rows: Any) -> Any:
        return checkpointed_scan(scan, f, carry, rows, size, reverse, states)

    def over_blocks(carry: Any) -> tuple[Any, Any]:
        carry, ys = scan(block, carry, _blocks(xs, count, size), length=count, reverse=reverse)
        return carry, _joined_blocks(ys, count * size)

    def over_rest(carry: Any) -> tuple[Any, Any]:
        return checkpointed_scan(scan, f, carry, _rows(xs, count * size, length), rest, reverse, states)

    if not rest:
        return over_blocks(init)
    if reverse:
        carry, last = over_rest(init)
        carry, first = over_blocks(carry)
    else:
        carry, first = over_blocks(init)
        carry, last = over_rest(carry)
    return carry, tree.map(_concatenate, first, last)


def batched_map(scan: Scan, f: Callable[[Any], Any], xs: Any, length: int, batch_size: int) -> Any:
    """`f` mapped over the leading axis of `xs`: a scan over batches of `batch_size` rows, each at once."""
    size = min(batch_size, length)
    count = length // size if size else 0
    outs = []
    if count:
        _, ys = scan(lambda c, x: (c, _at_once(f, x, size)), None, _blocks(xs, count, size), length=count)
        outs.append(_joined_blocks(ys, count * size))
    rest = length - count * size
    if rest or not count:
        outs.append(_at_once(f, _rows(xs, count * size, length), rest))
    return outs[0] if len(outs) == 1 else tree.map(_concatenate, *outs)


def _at_once(f: Callable[[Any], Any], rows: Any, size: int) -> Any:
    leaves, structure = tree.flatten(rows)
    found: list[Any] = []

    def flat(*raw: Any) -> list[Any]:
        out, out_tree = tree.flatten(call_user(f, tree.unflatten(structure, [wrap(x) for x in raw])))
        found.append(out_tree)
        return [to_raw(x) for x in out]

    values, dims = batch_flat(flat, size, [to_raw(x) for x in leaves], [0] * len(leaves))
    whole = [batch_to_front(v, d, size) for v, d in zip(values, dims, strict=True)]
    return tree.unflatten(found[0], [wrap(x) for x in whole])


# ---------------------------------------------------------------- rows of trees


def _rows(xs: Any, start: int, stop: int) -> Any:
    return tree.map(lambda x: wrap(_cut(to_raw(x), start, stop)), xs)


def _cut(x: Any, start: int, stop: int) -> Any:
    if isinstance(x, np.ndarray):
        return x[start:stop]
    ndim = len(aval_of(x).shape)
    begin, end = (start, *(0,) * (ndim - 1)), (stop, *(None,) * (ndim - 1))
    return ops.slices.slice(x, start_indices=begin, limit_indices=end)


def _blocks(xs: Any, count: int, size: int) -> Any:
    """The first count * size rows with the leading axis split in two."""

    def split(x: Any) -> Any:
        raw = _cut(to_raw(x), 0, count * size)
        return wrap(ops.shape.reshape(raw, shape=(count, size, *aval_of(raw).shape[1:])))

    return tree.map(split, xs)


def _joined_blocks(ys: Any, length: int) -> Any:
    def join(y: Any) -> Any:
        raw = to_raw(y)
        return wrap(ops.shape.reshape(raw, shape=(length, *aval_of(raw).shape[2:])))

    return tree.map(join, ys)


def _concatenate(a: Any, b: Any) -> Any:
    return wrap(ops.concat.concatenate(to_raw(a), to_raw(b), dimension=0))
