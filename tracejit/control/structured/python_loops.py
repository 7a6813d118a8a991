"""Loops in Python, one step after the other: what `lax` loops are under `disable_jit`.

The user's functions are called with the values themselves, so that `print` and a debugger work in
them; while something is transformed (not recorded), with the boxes of that transformation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops, tree
from tracejit.config import config
from tracejit.control.regions.concrete import concrete
from tracejit.control.regions.staging import Leaves, convert, flatten
from tracejit.control.structured.carry import Carry, after_step
from tracejit.errors import ConcreteValueError, ScanResultError
from tracejit.interpreters.stage import is_staging
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.tracing import NUMPYS, box, call_user, is_tracing, to_raw, wrap


def applies() -> bool:
    """Whether loops run in Python now: jit is disabled, and no program is being recorded."""
    return config.disable_jit and not is_staging()


def scan(
    f: Callable[..., Any], carry: Carry, rows: Leaves, length: int, reverse: bool, unpair: Callable[..., Any]
) -> tuple[Any, Any]:
    """`lax.scan` over at least one step; `unpair(out)` is the pair (carry, y) that `f` gave."""
    kept: list[Leaves] = []
    for k in range(length - 1, -1, -1) if reverse else range(length):
        x = tree.unflatten(rows.tree, [_row(x, k) for x in rows.raw])
        new, y = unpair(call_user(f, _values(carry), x))
        carry = after_step(carry, flatten(new), "scan")
        kept.append(flatten(y))
    if reverse:
        kept.reverse()
    first = kept[0]
    if any(y.tree != first.tree for y in kept):
        raise ScanResultError(found="tree that changes from step to step")
    return _results(carry), tree.unflatten(
        first.tree, [wrap(_stacked([y.raw[n] for y in kept])) for n in range(len(first.raw))]
    )


def fori_loop(f: Callable[..., Any], carry: Carry, indices: range, index: Callable[[int], Any]) -> Any:
    """`lax.fori_loop`; the body gets `index(i)` for `i`."""
    for i in indices:
        carry = after_step(carry, flatten(call_user(f, index(i), _values(carry))), "fori_loop")
    return _results(carry)


def while_loop(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], carry: Carry
) -> tuple[Carry, Any, bool]:
    """`lax.while_loop`: (last carry, result, True); or, where lanes of a vmap go on differently from some
    step on, (the carry there, None, False)."""
    while True:
        go_on = _known(cond(_values(carry)))
        if go_on is None:
            return carry, None, False
        if not go_on:
            return carry, _results(carry), True
        carry = after_step(carry, flatten(call_user(body, _values(carry))), "while_loop")


def branch(f: Callable[..., Any], operands: Any) -> Any:
    """The branch of `lax.cond` or `lax.switch` that is taken."""
    out = flatten(call_user(f, *_values(Carry.of(operands))))
    return _results(Carry(out.raw, out.weak, out.tree))


def _known(pred: Any) -> bool | None:
    """The value of a predicate if it is known."""
    raw = to_raw(pred)
    try:
        return bool(raw.concrete() if isinstance(raw, Value) else raw)
    except ConcreteValueError:
        return None


def _values(carry: Carry) -> Any:
    """The carry as the user's function gets it: its own copies."""
    leaves = [concrete(x, w) for x, w in zip(carry.raw, carry.weak, strict=True)]
    return tree.unflatten(carry.tree, leaves)


def _row(x: Any, k: int) -> Any:
    """Slice `k` of a leaf of xs."""
    if isinstance(x, Value) or is_tracing():
        return box(box(x)[k].read())
    return concrete(x[k])


def _stacked(rows: list[Any]) -> Any:
    """The rows of one output as one array."""
    dtype = np.result_type(*(aval_of(r).dtype for r in rows))
    rows = [convert(r, dtype) for r in rows]
    if not any(isinstance(r, Value) for r in rows):
        return np.stack(rows)
    rows = [ops.shape.expand_dims(r, dimensions=(0,)) for r in rows]
    return ops.concat.concatenate(*rows, dimension=0)


def _results(carry: Carry) -> Any:
    """The last carry as the loop's result."""
    return tree.unflatten(
        carry.tree, [wrap(x, w and NUMPYS) for x, w in zip(carry.raw, carry.weak, strict=True)]
    )
