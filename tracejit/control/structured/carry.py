"""Carries of loops: what goes in must come out with the same structure and types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.control.regions.staging import Leaves, Staged, convert, flatten, with_output_dtypes
from tracejit.errors import CarryStructureError, CarryTypeError
from tracejit.ir.avals import Aval, aval_of
from tracejit.records import record

# Python scalars among the carry may be promoted bool -> int -> float -> complex.
_MAX_PROMOTIONS = 5


@record(frozen=True)
class Carry:
    """The carry's start as raw values. `weak` leaves are Python scalars: they take the type they get."""

    raw: list[Any]
    weak: list[bool]
    tree: Any

    @classmethod
    def of(cls, init: Any) -> Carry:
        leaves = flatten(init, "carry")
        return cls(leaves.raw, leaves.weak, leaves.tree)


def stable(
    carry: Carry, run: Callable[[Carry], Staged], op: str, carry_tree: Callable[[Staged], Any]
) -> tuple[Carry, Staged]:
    """Stage a body until its carry comes out with the types it went in with.

    `run(carry)` stages the body, whose first outputs are the carry with structure
    `carry_tree(staged)`. Python scalars at the start adopt the type they get.

    Raises:
        CarryStructureError, CarryTypeError: it can't be.
    """
    for _ in range(_MAX_PROMOTIONS):
        staged = run(carry)
        found = carry_tree(staged)
        if found != carry.tree:
            raise _other_structure(carry, found, op)
        new = _adopted(carry, staged, op)
        if new is carry:
            return carry, _fitted(carry, staged)
        carry = new
    raise AssertionError("promotion of a carry does not end")


def _adopted(carry: Carry, staged: Staged, op: str) -> Carry:
    """The carry with Python scalars promoted to what the body gives for them."""
    raw, weak = list(carry.raw), list(carry.weak)
    for n, (x, out) in enumerate(zip(carry.raw, staged.out_avals, strict=False)):
        before, out_weak = aval_of(x), staged.weak[n]
        if not _same_shape(before, out):
            raise _refusal(carry, n, before, out, op)
        target = promoted(before.dtype, carry.weak[n], out.dtype, out_weak)
        if target is None:
            raise _refusal(carry, n, before, out, op)
        raw[n] = convert(x, target)
        weak[n] = carry.weak[n] and out_weak
    changed = weak != carry.weak or any(a is not b for a, b in zip(raw, carry.raw, strict=True))
    return replace(carry, raw=raw, weak=weak) if changed else carry


def after_step(carry: Carry, out: Leaves, op: str) -> Carry:
    """The carry that follows `carry` when a step gave `out`.

    Raises:
        CarryStructureError, CarryTypeError: it has another structure or other types.
    """
    if out.tree != carry.tree:
        raise _other_structure(carry, out.tree, op)
    raw = []
    for n, x in enumerate(out.raw):
        before, after = aval_of(carry.raw[n]), aval_of(x)
        target = promoted(before.dtype, carry.weak[n], after.dtype, out.weak[n])
        if target is None or not _same_shape(before, after):
            raise _refusal(carry, n, before, after, op)
        raw.append(convert(x, target))
    weak = [a and b for a, b in zip(carry.weak, out.weak, strict=True)]
    return Carry(raw, weak, carry.tree)


def promoted(before: np.dtype, weak: bool, after: np.dtype, after_weak: bool) -> Any:
    """The dtype of a carry that goes in and comes out with these; None if there is none."""
    if before == after:
        return before
    if weak and after_weak:
        return np.result_type(before, after)
    if weak:
        return after if _scalar_fits(before, after) else None
    return before if after_weak and _scalar_fits(after, before) else None


def _scalar_fits(scalar: np.dtype, other: np.dtype) -> bool:
    """Whether a Python scalar of the kind of `scalar` adopts dtype `other`."""
    return np.result_type(scalar.type(0).item(), other) == other


def _same_shape(before: Aval, after: Aval) -> bool:
    """Static extents are equal and dynamic ones are the same integer: a constant or carry of the body."""
    if before.is_static or after.is_static:
        return before.shape == after.shape
    return len(before.shape) == len(after.shape)


def _refusal(carry: Carry, n: int, before: Aval, after: Aval, op: str) -> CarryTypeError:
    path = tree.paths(carry.tree, "carry")[n]
    return CarryTypeError(op=op, path=path, before=str(before), after=str(after))


def _other_structure(carry: Carry, found: Any, op: str) -> CarryStructureError:
    """The error, with the first leaf that is in only one of the structures."""
    before, after = (tree.paths(t, "carry") for t in (carry.tree, found))
    gone, new = [p for p in before if p not in after], [p for p in after if p not in before]
    which = f" ({gone[0]} is missing)" if gone else f" ({new[0]} is new)" if new else ""
    return CarryStructureError(op=op, before=tree.show(carry.tree), after=tree.show(found) + which)


def _fitted(carry: Carry, staged: Staged) -> Staged:
    """Outputs that are Python scalars, converted to the carry's types."""
    wanted = [aval_of(x).dtype for x in carry.raw]
    wanted += [a.dtype for a in staged.out_avals[len(wanted) :]]
    return with_output_dtypes(staged, wanted)
