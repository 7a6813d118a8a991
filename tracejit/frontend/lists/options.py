"""What the items of a list are if they are of several types: variants, each with the number of its form.

trades.append(("buy", k, price))     a column says which of the forms an item has, and each number of each form
trades.append(("sell", k, 2))        has a column of its own; where an item does not have that form there is a zero
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from tracejit import ops
from tracejit.errors import BufferedListError
from tracejit.frontend import active
from tracejit.frontend.lists.items import Items, Kind, common, items_of
from tracejit.frontend.variants import node
from tracejit.records import record
from tracejit.tracing import STATE, Box, box

_I64, _F64 = np.dtype(np.int64), np.dtype(float)


@record(frozen=True)
class Options:
    """Items that have one of `forms` each. It is asked for columns as `Items` are, and for nothing else."""

    forms: tuple[node.Form, ...]

    has_arrays = False

    @property
    def columns(self) -> tuple[Kind, ...]:
        """The kinds of the numbers in each column; the first one has the numbers of the forms."""
        return (Kind(_I64, True), *(Kind(n.dtype, n.weak) for n in node.all_slots(self.forms)))

    @property
    def nbytes(self) -> int:
        """Bytes that an item takes."""
        return sum(k.dtype.itemsize for k in self.columns)

    @property
    def is_tuple(self) -> bool:
        """Whether an item may be a tuple."""
        return any(isinstance(f, node.Parts) for f in self.forms)

    @property
    def kinds(self) -> NoReturn:
        raise BufferedListError(what="items of several types in this way,")

    tree = kinds

    def leaves(self, x: Any) -> list[Any]:
        """What an item has in each column."""
        kinds = zip(node.rows(x, self.forms), self.columns, strict=True)
        return [box(raw, weak=bool(kind.python)) for raw, kind in kinds]

    @property
    def is_numbered(self) -> bool:
        """Whether the tuples among the items have numbers that say which they are (`numbered`)."""
        return any(isinstance(f, node.Parts) and f.numbered for f in self.forms)

    def item(self, numbers: Sequence[Any], once: Any = None) -> Any:
        """The item that has these numbers, boxes or real ones; `once`: the tuples of a call."""
        if all(type(x) is Box for x in numbers):
            return node.of_rows(self.forms, [x.read() for x in numbers], self.is_tuple)
        return node.of_numbers(self.forms, numbers, once)

    def compared(self) -> int | None:
        """How many numbers decide the order of items: 1 of numbers, and of tuples as many as all of them have. None if
        they have no order, or one that takes more to know."""
        sizes = {len(f.of) if isinstance(f, node.Parts) else 0 for f in self.forms}
        parts = [p for f in self.forms for p in (f.of if isinstance(f, node.Parts) else (f,))]
        known = all(isinstance(p, node.Number) and p.dtype.kind in "bif" for p in parts)
        return max(1, *sizes) if known and len(sizes) == 1 and not self.is_numbered else None

    def ordered(self, row: Sequence[Any]) -> list[Any]:
        """The raw numbers that decide the order of an item, of the raw numbers that it has in the columns."""
        count, out = self.compared() or 0, []
        for k in range(count):
            mine: list[Any] = [(f.of[k] if isinstance(f, node.Parts) else f) for f in self.forms]
            floats = any(n.dtype.kind == "f" for n in mine)
            keys = [
                _key(row[1 + n * count + k], number.dtype, floats) for n, number in enumerate(mine)
            ]  # of each form
            found = keys[0]
            for n, key in enumerate(keys[1:], 1):
                is_this = ops.compare.eq(row[0], np.int64(n))
                found = [ops.compare.select(is_this, a, b) for a, b in zip(key, found, strict=True)]
            out += found
        return out

    def joined(self, other: Items | Options) -> Options | None:
        """What items of both are; None if that can't be."""
        return _options(self.forms, _forms(other))


def _key(raw: Any, dtype: np.dtype, floats: bool) -> list[Any]:
    """A number as Python compares it with others; beside `floats` an integer is the nearest one of these, and what it
    has more than that."""
    if not floats:
        return [ops.create.convert(raw, _I64)]
    near = ops.create.convert(raw, _F64)
    if dtype.kind == "f":
        return [near, np.float64(0)]
    whole = ops.create.convert(raw, _I64)
    beyond = ops.compare.ge(
        near, np.float64(2.0**63)
    )  # of numbers below this, which is no integer of 64 bits
    last = np.int64(np.iinfo(np.int64).max)
    inside = ops.create.convert(ops.compare.select(beyond, np.float64(0), near), _I64)
    rest = ops.create.convert(ops.arithmetic.sub(whole, ops.compare.select(beyond, last, inside)), _F64)
    return [near, ops.arithmetic.sub(rest, ops.create.convert(beyond, _F64))]


def any_items(x: Any) -> Items | Options | None:
    """What the item `x` is, be it of several types."""
    found = items_of(x)
    return found if found is not None or not _may_be() else _options(node.forms_of(x))


def any_common(xs: Iterable[Any]) -> Items | Options | None:
    """What all of `xs` are, be they of several types; None if there are none, or something else."""
    xs = list(xs)
    found = common(xs)
    if found is not None or not xs or not _may_be():
        return found
    return _options(*map(node.forms_of, xs))


def joined(a: Items | Options, b: Items | Options) -> Items | Options | None:
    """What items of both are, be they of several types then; None if that can't be."""
    found = a.joined(b) if isinstance(a, Items) and isinstance(b, Items) else None
    return found if found is not None or not _may_be() else _options(_forms(a), _forms(b))


def _may_be() -> bool:
    session = active.session()  # what Numba compiled has lists of one type
    return session is not None and not session.plain_lists and STATE.numbers is None


def _forms(items: Items | Options) -> tuple[node.Form, ...] | None:
    if isinstance(items, Options):
        return items.forms
    if items.has_arrays or any(k.dtype.kind not in "biufc" for k in items.kinds):
        return None
    numbers = [_number(k) for k in items.kinds]
    if items.tree.is_leaf():
        return (numbers[0],)
    flat = all(child.is_leaf() for child in items.tree.children())
    return (node.Parts(tuple(numbers), active.session().choices.tuples.numbered),) if flat else None


def _number(kind: Kind) -> node.Form:
    if kind.python is None:
        return node.Unsure((node.Number(kind.dtype, False), node.Number(np.dtype(bool), True)))
    return node.Number(kind.dtype, kind.python)


def _options(*forms: tuple[node.Form, ...] | None) -> Options | None:
    """Items of these forms, in their order; None if there are too many, or of something else."""
    found: tuple[node.Form, ...] | None = ()
    for mine in forms:
        found = node.joined(found, mine)
    if not found:
        return None
    active.session().used_options = True
    return Options(found)
