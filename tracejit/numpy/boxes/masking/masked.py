"""Reading and writing under traced masks: x[mask] = values, x[np.nonzero(mask)], y[y > 2]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import MaskCountError
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.masking.masks import mask_of, same_value, spread
from tracejit.numpy.boxes.masking.selected import Selected, boxed, nonzero, selection, widened
from tracejit.numpy.operands import cast, dtype_of, has_box, nested, raw, shape_of
from tracejit.records import record
from tracejit.tracing import Box, current_trace, wrap


def masked_write(part: Any, first: int, value: Any, new: Any) -> Any:
    """`part` with `new` where the raw boolean value holds: x[mask] = new."""
    shape, dtype = shape_of(part), dtype_of(part)
    own = selection(new)
    if own is not None and own.first == first and same_value(own.mask.value, value):
        new = own.full
    else:
        new = _in_place(raw(new), first, value, shape)
        if new is None:
            return part
    new = cast(new, dtype)
    new = ops.shape.broadcast_to(new, shape) if shape_of(new) else new
    return ops.compare.select(spread(value, first, shape), new, part)


def _in_place(new: Any, first: int, value: Any, shape: Any) -> Any:
    """Values for the selected elements, moved to where these are; None if there are none.

    Raises MaskCountError, if need be when the program runs, unless there is one, or one for each."""
    have, rank = shape_of(new), len(shape_of(value))
    after = len(shape) - first - rank
    spot = len(have) - after - 1
    if spot < 0:
        return new
    if spot > first and all(d == 1 for d in have[: spot - first]):  # NumPy drops leading ones here
        new = ops.shape.squeeze(new, dimensions=tuple(range(spot - first)))
        have, spot = have[spot - first :], first
    if have[spot] == 1:
        return widened(new, spot, rank)
    mask = mask_of(value)
    if extents.of_dim(have[spot]) is not mask.dim.var:
        _require_count(have[spot], mask.dim.var)
    return None if have[spot] == 0 else ops.gather.take(new, mask.ranks(), spot)


@record(frozen=True)
class CountFailure:
    """Makes the exception of an assignment of too many or too few values, from the details of a check
    of the one number against the other one plus one. `given` is the number of values, if it is static."""

    given: int | None
    more: bool

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        if self.more:
            return MaskCountError(given=details[0], count=details[1] - 1, where=where)
        given = details[1] - 1 if self.given is None else self.given
        return MaskCountError(given=given, count=details[0], where=where)


def _require_count(size: Any, count: Any) -> None:
    given = extents.of_dim(size)
    static = given if type(given) is int else None
    number = np.int64(given) if static is not None else given
    check = ops.index_check.check_index
    check(number, size=extents.add(count, 1), axis=0, failure=CountFailure(static, True))
    check(count, size=extents.add(given, 1), axis=0, failure=CountFailure(static, False))


def as_mask(index: Any, shape: Any) -> Any:
    """`np.nonzero(mask)` as an index is the mask itself, if it covers the dimensions that it indexes."""
    entries = index if type(index) is tuple else (index,)
    found = selection(entries[0]) if entries else None
    if found is None or found.along is None:
        return index
    mask = shape_of(found.mask.value)
    used = [selection(e) for e in entries[: len(mask)]]
    whole = len(used) == len(mask) == len(entries) and all(
        s is not None and s.along == n and s.like(found) for n, s in enumerate(used)
    )
    return wrap(found.mask.value) if whole and shape[: len(mask)] == mask else index


def places_of_masks(index: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index with traced masks as the integers where they hold, if there are other integers (or masks)."""
    index = tuple(wrap(nested(e)) if isinstance(e, (list, tuple)) and has_box(e) else e for e in index)
    traced = [_is_traced_mask(e) for e in index]
    integers = [
        t or isinstance(e, (int, np.integer, list, np.ndarray)) or type(e) is Box
        for t, e in zip(traced, index, strict=True)
    ]
    if sum(integers) < 2 or not any(traced):
        return index
    out: list[Any] = []
    for t, e in zip(traced, index, strict=True):
        out += nonzero(raw(e)) if t else [e]
    return tuple(out)


def _is_traced_mask(e: Any) -> bool:
    if type(e) is not Box or e.aval.dtype.kind != "b" or not e.aval.shape:
        return False
    return selection(e) is None and extents.known(e.read()) is None


def indices(index: Any) -> tuple[Selected, Any] | None:
    """An index whose only arrays are integers selected by one mask: the selection, and the index with
    arrays of the mask's shape instead (0 where it does not hold)."""
    entries = index if type(index) is tuple else (index,)
    found = [s for s in map(selection, entries) if s is not None]
    if not found or any(type(e) is Box and e.aval.shape and selection(e) is None for e in entries):
        return None
    s = found[0]
    fits = all(o.ndim == 1 and o.like(s) and dtype_of(o.full).kind in "iu" for o in found)
    if not fits or any(isinstance(e, (list, np.ndarray)) or e is None for e in entries):
        return None
    new = tuple(e if selection(e) is None else wrap(selection(e).filled(0)) for e in entries)  # type: ignore[union-attr]
    return s, new


def selected_by(index: Any) -> bool:
    """Whether an index is, or holds, what a mask selected."""
    if type(index) is tuple:
        return any(selection(e) is not None for e in index)
    return selection(index) is not None


def again(x: Any, index: Any) -> tuple[Selected, Selected] | None:
    """The selections of `y[y > 2]`, if a mask selected `y` and the index is by the same one."""
    own, by = selection(x), selection(index)
    if own is None or by is None or by.ndim != 1 or dtype_of(by.full).kind != "b" or by.first != own.first:
        return None
    return (own, by) if same_value(own.mask.value, by.mask.value) else None


def narrowed(own: Selected, by: Selected) -> Box:
    """`y[y > 2]` of what a mask selected."""
    return boxed(own.full, own.first, mask_of(ops.compare.and_(own.mask.value, by.full)))


def write_in_place(x: Any, index: Any, value: Any, check: Callable[..., None]) -> bool:
    """`y[...] = value` and `y[y > 2] = value` where `y` is a selection whose elements need not move;
    False if it is something else. `check(storage, raw)` refuses values of inner traces."""
    own, new = selection(x), selection(value)
    if own is None or current_trace() is not own.trace:
        return False
    if index is Ellipsis or (type(index) is slice and index == slice(None)):
        if new is None or not own.like(new):
            return False
        full = new.full
    else:
        pair = again(x, index)
        if pair is None:
            return False
        where = ops.compare.and_(own.mask.value, pair[1].full)
        full = masked_write(own.full, own.first, where, value)
    check(own, full)
    own.replaced(full)
    return True
