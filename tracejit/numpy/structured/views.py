"""Parts of structured arrays that a run has made, beside these in results: views of them, as NumPy's are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container
from typing import Any

from tracejit.numpy.boxes.views import Region
from tracejit.numpy.operands import FIELDS
from tracejit.numpy.structured.array import Structured
from tracejit.tracing import Box


def seen_in(x: Structured, outside: Container[int]) -> tuple[Structured, Callable[[Any], Any]] | None:
    """Another array of the run in whose memory `x` lies, and what makes NumPy's view of this; None if there is none, or
    only the program knows which part it is. `outside`: the storages of other arrays, by identity."""
    around = x._tj_around and x._tj_around()
    if around is not None:
        name = next((n for n, c in around._tj_columns.items() if c is x), None)
        return None if name is None else (around, functools.partial(_field, name))
    columns = x._tj_columns
    if not all(
        type(c) is Box and c.storage in FIELDS and id(c.storage) not in outside for c in columns.values()
    ):
        return None
    found = {name: FIELDS[c.storage] for name, c in columns.items()}
    owner = next(iter(found.values()))[0]()
    known = owner is not None and owner is not x and all(f[0]() is owner for f in found.values())
    if not known or any(name != f[1] for name, f in found.items()):
        return None
    places = {_place(c, len(x.dtype[name].shape)) for name, c in columns.items()}
    if len(places) > 1 or None in places:
        return None
    names = None if tuple(columns) == owner.dtype.names else list(columns)
    kind = None if x._tj_record or x._tj_kind is owner._tj_kind else x._tj_kind
    return owner, functools.partial(_part, names, places.pop(), kind)


def _field(name: str, array: Any) -> Any:
    return array[name]


def _part(names: list[str] | None, place: Any, kind: Any, array: Any) -> Any:
    seen = array if names is None else array[names]
    index = tuple([slice(*p) if type(p) is tuple else p for p in place])
    seen = seen[index] if index else seen[...]
    return seen if kind is None else seen.view(kind)


def _place(column: Box, inner: int) -> tuple[Any, ...] | None:
    """The index of NumPy's by which a column shows a part of its storage, of which the last `inner` dimensions are
    those of the field; slices are tuples. None if that is not known."""
    if not column.chain:
        return ()
    region = column.chain[0]
    if len(column.chain) > 1 or type(region) is not Region or not region.is_static:
        return None
    whole = range(len(region.base) - inner, len(region.base))
    kept = [a for a in region.axes if a is not None]
    known = (
        all(type(n) is int for n in region.starts) and kept == sorted(kept) and len(kept) == len(region.axes)
    )
    if not known or any(region.sizes[a] != region.base[a] or region.steps[a] != 1 for a in whole):
        return None
    found: list[Any] = []
    for a in range(len(region.base) - inner):
        start, size, step = region.starts[a], region.sizes[a], region.steps[a]
        end: Any = start + size * step  # type: ignore[operator]
        found.append(start if a not in kept else (start, None if end < 0 else end, step))
    return tuple(found)
