"""What the items of a list are, if all are alike: numbers or arrays, or tuples of as many of them each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import tree
from tracejit.numpy.boxes.layouts import order_of
from tracejit.numpy.boxes.numbers import is_python
from tracejit.numpy.boxes.unsure import is_mixed, is_unsure, may_have_begun
from tracejit.tracing import Box

_PYTHON: dict[type, np.dtype] = {k: np.dtype(k) for k in (bool, int, float, complex)}
_PYTHON[int] = np.dtype(np.int64)
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class Kind(NamedTuple):
    """A number of a dtype: one of Python's, one of NumPy's, or (None) one of either. Or an array of such a `shape`."""

    dtype: np.dtype
    python: bool | None
    shape: tuple[int, ...] = ()


class Items(NamedTuple):
    """The structure of every item, and the kinds of its numbers and arrays."""

    tree: tree.TreeDef
    kinds: tuple[Kind, ...]

    @property
    def columns(self) -> tuple[Kind, ...]:
        """The kinds of what items have in each column."""
        return self.kinds

    @property
    def is_tuple(self) -> bool:
        """Whether an item is a tuple."""
        return not self.tree.is_leaf()

    def leaves(self, x: Any) -> list[Any]:
        """What an item has in each column."""
        return tree.leaves(x)

    def item(self, parts: Sequence[Any]) -> Any:
        """The item that has these numbers and arrays."""
        return tree.unflatten(self.tree, parts)

    @property
    def has_arrays(self) -> bool:
        """Whether an item is an array, or has one."""
        return any(k.shape for k in self.kinds)

    @property
    def nbytes(self) -> int:
        """Bytes that an item takes."""
        return sum(k.dtype.itemsize * math.prod(k.shape) for k in self.kinds)

    def joined(self, other: Items) -> Items | None:
        """What items of both are; None if they are not alike."""
        if self.tree != other.tree or any(
            (a.dtype, a.shape) != (b.dtype, b.shape) for a, b in zip(self.kinds, other.kinds, strict=True)
        ):
            return None
        both = zip(self.kinds, other.kinds, strict=True)
        return Items(self.tree, tuple([a if a == b else a._replace(python=None) for a, b in both]))


def items_of(x: Any) -> Items | None:
    """What the item `x` is; None if it is something else than numbers and arrays."""
    if not _is_plain(x):
        return None
    leaves, structure = tree.flatten(x)
    kinds = [_kind(leaf) for leaf in leaves]
    return None if not kinds or None in kinds else Items(structure, tuple(kinds))  # type: ignore[arg-type]


def common(xs: Iterable[Any]) -> Items | None:
    """What all of `xs` are; None if there are none, or they are not alike."""
    found: Items | None = None
    before: type | None = None
    for x in xs:
        if type(x) is before:  # of all numbers of this class the same is known
            continue
        before = type(x) if type(x) is bool or type(x) is float else None
        mine = items_of(x)
        found = mine if found is None or mine is None else found.joined(mine)
        if found is None:
            return None
    return found


def _is_plain(x: Any) -> bool:
    """Whether `x` is a number or an array, or a tuple of such."""
    return (
        all(map(_is_plain, x))
        if type(x) is tuple
        else type(x) is Box or isinstance(x, (np.generic, *_PYTHON))
    )


def _kind(x: Any) -> Kind | None:
    if is_unsure(x):
        return None if is_mixed(x) else Kind(x.aval.dtype, None)
    if type(x) is Box:
        if x.aval.dtype.kind not in "biufcmM":
            return None
        if x.aval.shape:
            return Kind(x.aval.dtype, False, x.aval.shape) if _can_be_row(x) else None
        known = (x.scalar or x.weak is True) and not may_have_begun(x)
        return Kind(x.aval.dtype, is_python(x)) if known else None
    if isinstance(x, np.generic):
        return Kind(x.dtype, False) if x.dtype.kind in "biufcmM" else None
    if type(x) is int and not _LEAST <= x <= _MOST:
        return None
    return Kind(_PYTHON[type(x)], True) if type(x) in _PYTHON else None


def _can_be_row(x: Box) -> bool:
    """Whether an array can be a row of a larger one: its size is known, and it lies in memory as a row would."""
    return x.aval.is_static and (x.aval.ndim == 1 or order_of(x) is None)
