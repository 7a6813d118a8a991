"""Lists that a native loop of a known number of steps fills: what each step appends is a row of an array, and the
list holds these rows afterwards.

    for i in range(n):               states, xs = scan(...)
        x = step(x)                  xs.extend(rows(states))
        xs.append(x)

These are lists that nothing else refers to (by reference counts), and of which the body uses no more than appending and
the last items. They hold views of one array (`numpy.boxes.rows`), which what joins the rows again takes whole.
"""

from __future__ import annotations

import collections
import itertools
import sys
from collections.abc import Collection, Iterator
from dataclasses import field
from functools import partial
from typing import Any

from tracejit import ops, tree
from tracejit.frontend.lists.items import common
from tracejit.frontend.lists.options import any_common
from tracejit.frontend.rewrite.blocks.aliases import Aliases
from tracejit.frontend.rewrite.blocks.cells import Cell, Place, get
from tracejit.frontend.rewrite.blocks.containers import flatten
from tracejit.frontend.rewrite.blocks.decisions import capturing
from tracejit.frontend.rewrite.blocks.hidden import Picked
from tracejit.frontend.rewrite.blocks.identity import reached
from tracejit.frontend.rewrite.blocks.state import Leaf
from tracejit.frontend.rewrite.blocks.terms import NotNative, Spec
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Var
from tracejit.ir.references import ONLY_LOCAL
from tracejit.numpy.boxes.rows import Borrowed, grid, rows
from tracejit.numpy.boxes.sharing.references import row_of
from tracejit.numpy.boxes.unsure import may_have_begun
from tracejit.numpy.boxes.views import Region
from tracejit.numpy.operands import nested
from tracejit.records import record
from tracejit.tracing import Box, Storage


class Lists:
    """The lists of a loop that nothing but its function refers to, so that nothing else sees them grow.

    `growing`: by identity, what a loop around this one fills. `tails`: their last items, as far as the loop reads
    them, are carried as names are.
    """

    def __init__(self, spec: Spec, cells: dict[str, Cell], growing: Collection[int] = ()) -> None:
        self.lists: dict[str, list[Any]] = {}
        self.tails: dict[str, Cell] = {}
        self.owners: set[int] = set()
        for name, key, depth in spec.appended:
            found = _own(cells.get(name), key, growing)
            if found is None or len(found[-1]) < depth:
                continue
            label, items = name if key is None else f"{name}[{key!r}]", found[-1]
            self.lists[label] = items
            self.owners |= set(map(id, found))
            del found  # it refers to them
            for n in range(1, depth + 1):
                read, write = partial(list.__getitem__, items, -n), partial(list.__setitem__, items, -n)
                self.tails[f"{label}[-{n}]"] = Place(items, read, write)
        self.mark()

    def forget(self, key: int) -> list[str]:
        """A list, by identity, is not one of them any more; gives the labels of its tails."""
        gone = [label for label, items in self.lists.items() if id(items) == key]
        self.owners.discard(key)
        tails = [t for t in self.tails for label in gone if t.startswith(f"{label}[-")]
        for label in gone:
            del self.lists[label], self.lengths[label]
        for t in tails:
            del self.tails[t]
        return tails

    def mark(self) -> None:
        """What is appended from now on is new."""
        self.lengths = {label: len(items) for label, items in self.lists.items()}

    def appended(self) -> Iterator[tuple[str, list[Any], list[Any]]]:
        """(what messages call it, the list, its new items) of lists that have grown."""
        for label, items in self.lists.items():
            if len(items) > self.lengths[label]:
                yield label, items, items[self.lengths[label] :]


def _own(cell: Cell | None, key: str | None, growing: Collection[int]) -> list[Any] | None:
    """[the list], or [the dict, its list], if nothing but the cell refers to it; else None."""
    x = None if cell is None else get(cell)
    if sys.getrefcount(x) > ONLY_LOCAL + 1 and id(x) not in growing:
        return None
    if key is None:
        return [x] if type(x) is list else None
    y = x.get(key) if type(x) is dict else None
    if type(y) is not list or (sys.getrefcount(y) > ONLY_LOCAL + 1 and id(y) not in growing):
        return None
    return [x, y]


@record()
class Column:
    """A leaf of what every step appends: `fixed`, or rows of an array; `size` of them one after the other.

    `depth`: of lists in which it is. `first`: position in the first step -> an array of before the loop, which the
    first step appends. `source`: the storage of which the steps' arrays are views, `apart`: which share no memory,
    `view`: how they are seen, `outer`: of what they are views in the first step. `array`: one that the step made.
    `twin`: the column, and the position in it, that has the same arrays. `objects`: after the loop, those of all steps.
    """

    fixed: Any = None
    raw: Any = None
    weak: bool = False
    scalar: bool = False
    depth: int = 0
    size: int = 1
    first: dict[int, Any] = field(default_factory=dict)
    source: Storage | None = None
    apart: bool = False
    view: Borrowed | None = None
    outer: list[Storage] = field(default_factory=list)
    array: Box | None = None
    twin: tuple[Column, int] | None = None
    objects: list[Any] = field(default_factory=list)

    def like(self, other: Column) -> bool:
        """Whether both are one column of two items."""
        if self.raw is None or other.raw is None:
            return self.raw is other.raw and self.fixed is other.fixed
        same = (self.weak, self.scalar, self.depth) == (other.weak, other.scalar, other.depth)
        return same and aval_of(self.raw) == aval_of(other.raw) and self.source is other.source

    def fill(self, stacks: Iterator[Any], count: int) -> None:
        """Take the array of all steps, if there is one."""
        if self.twin is not None:
            column, item = self.twin
            self.objects = column.objects[item :: column.size]
            return
        if self.raw is None:
            self.objects = [self.fixed] * (count * self.size)
            return
        stack = next(stacks)
        if self.size > 1:
            stack = ops.shape.reshape(stack, shape=(count * self.size, *aval_of(stack).shape[2:]))
        if self.source is not None:
            self.view = Borrowed(self.apart)
        self.objects = rows(stack, 1 + self.depth, self.weak, self.scalar, self.view)
        for n, x in self.first.items():
            self.objects[n] = x

    def watch(self, *arrays: Box) -> None:
        """The views are copies as long as nothing is written into what they show: that of before the loop, and what
        the step has made as far as it is in `arrays`."""
        if self.view is None or self.source is None:
            return
        outside = [self.source] if self.source.trace.live else []
        for storage in (*outside, *self.outer, *(x.storage for x in arrays)):
            self.view.watch(storage)


@record()
class Group:
    """Items of one structure that every step appends one after the other."""

    tree: Any
    size: int
    columns: list[Column]

    def items(self, count: int) -> Iterator[Any]:
        """Those of `count` steps."""
        if self.tree.is_leaf():
            return iter(self.columns[0].objects)
        leaves = (list(x) for x in zip(*(c.objects for c in self.columns), strict=True))
        nothing = ([] for _ in range(count * self.size))
        return (tree.unflatten(self.tree, x) for x in (leaves if self.columns else nothing))


@record()
class Filled:
    """A list, and what every step appends to it."""

    items: list[Any]
    groups: list[Group]

    @property
    def columns(self) -> list[Column]:
        return [c for g in self.groups for c in g.columns]

    @property
    def raws(self) -> list[Any]:
        return [c.raw for c in self.columns if c.raw is not None]

    @property
    def pure_python(self) -> bool:
        return all(c.weak for c in self.columns if c.raw is not None)

    def extend(self, stacks: Iterator[Any], count: int) -> None:
        """Append the items of all steps."""
        for c in self.columns:
            c.fill(stacks, count)
        found, before = [(g.size, g.items(count)) for g in self.groups], len(self.items)
        for _ in range(count):
            for size, items in found:
                self.items += itertools.islice(items, size)
        capturing().choices.tuples.filled(self.items[before:])


class Collector:
    """Finds out what a staged step has appended, while its frame is still open."""

    def __init__(self, aliases: Aliases, picked: Picked, step: Var) -> None:
        self.aliases, self.frame, self.picked, self.step = aliases, aliases.frame, picked, step
        #: By identity of the storage: what this step appends, and what the next one will.
        self.arrays: dict[int, tuple[Box, Column, int]] = {}
        self.later: set[int] = set()
        self.views: dict[int, list[Column]] = {}  # columns that have views of an array

    def filled(self, lists: Lists) -> list[Filled]:
        """The lists that grow. Raises NotNative."""
        grown = [*lists.appended()]
        if not self.picked.collects((x for _, _, new in grown for x in new), lists.tails):
            self._ask_for_buffers(grown)
        found = [Filled(items, self._groups(label, new, items)) for label, items, new in grown]
        sources = collections.Counter(id(c.source) for f in found for c in f.columns if c.source is not None)
        for column in (c for f in found for c in f.columns):
            column.apart = column.apart and column.size == 1 and sources[id(column.source)] == 1
        if not self.later.isdisjoint(self.arrays):
            raise NotNative("it appends an array that the step before has appended")
        for (name, _), x in self.aliases.after.items():
            array = self.arrays[id(x.storage)][0] if id(x.storage) in self.arrays else x
            if array is not x:
                raise NotNative(f"`{name}` is a part of what it appends to a list", name=name)
        return found

    def _ask_for_buffers(self, grown: list[tuple[str, Any, list[Any]]]) -> None:
        """Which tuples a step appends has to be known: lists whose length the program knows have numbers for that.
        Raises NotNative, or what asks for such a list."""
        tuples = capturing().choices.tuples
        for _, items, new in grown if tuples.numbered else ():
            kinds = any_common(new)
            if kinds is not None and kinds.is_tuple:
                capturing().turn(items, kinds)
        error = NotNative(f"it may append a tuple to `{grown[0][0]}` in many steps, or to another list")
        error.numbers_tuples = not tuples.numbered
        raise error

    def _carried(self, label: str, x: Box, column: Column, item: int) -> None:
        """What the step appends is an array that it has found in a name: one of outside in the first step, then one
        that the step before has made, and not appended."""
        at = self.aliases.found[id(x)]
        column.first[item] = self.aliases.outer[at]
        y = self.aliases.after.get(at)
        several = y is not None and len([*reached(y.storage, y.chain)]) > 1
        if (
            y is None
            or several
            or not self.aliases.is_made(y)
            or id(y.storage) in self.aliases.began | self.later
        ):
            raise NotNative(f"`{at[0]}`, which it appends to `{label}`, may be the same array in many steps")
        self.later.add(id(y.storage))

    def _viewed(self, label: str, base: Storage, column: Column) -> None:
        """Views of an array of the step: of one that it has made, or that it has found in a name."""
        self.views.setdefault(id(base), []).append(column)
        if id(base) not in self.aliases.began:
            return
        for at, x in self.aliases.before.items():
            if x.storage is base:
                y = self.aliases.after.get(at)
                if y is None or not self.aliases.is_made(y) or id(y.storage) in self.aliases.began:
                    raise NotNative(f"`{at[0]}`, of which it appends a view to `{label}`, may not change")
                self.views.setdefault(id(y.storage), []).append(column)
                column.outer.append(self.aliases.outer[at].storage)

    def _again(self, label: str, x: Box, column: Column) -> None:
        """An array that the step has appended before."""
        array, other, item = self.arrays[id(x.storage)]
        if array is not x or column.size > 1 or other is column:
            raise NotNative(f"it appends parts of an array to `{label}` that is in a list already")
        column.raw, column.twin = None, (other, item)

    def _ask_for_numbers(self, label: str, new: list[Any], owner: list[Any]) -> None:
        """A list of arrays that lie in an arena has their numbers. Raises Turned, NotNative."""
        if any(row_of(x) is not None for item in new for x in flatten(item)[0]):
            items = common(new)
            if items is not None:
                capturing().turn(owner, items)  # type: ignore[union-attr]
            raise NotNative(f"it appends arrays to `{label}` that lists of a traced length have")

    def _groups(self, label: str, new: list[Any], owner: list[Any]) -> list[Group]:
        held = {id(x) for x in (*self.frame.before.values(), *self.aliases.values.values())}
        if any(isinstance(x, (list, dict)) and id(x) in held for x in new):
            raise NotNative(f"it appends a list or dict to `{label}` that has a name")
        self._ask_for_numbers(label, new, owner)
        items = [flatten(x, lambda y: grid(y) is not None) for x in new]
        if any(may_have_begun(x) for leaves, _ in items for x in leaves):
            raise NotNative(f"it appends a number to `{label}` that is of one type or another")
        columns = [[self._column(label, x) for x in leaves] for leaves, _ in items]
        alike = all(t == items[0][1] for _, t in items[1:]) and all(
            a.like(b) for row in columns[1:] for a, b in zip(columns[0], row, strict=True)
        )
        if alike and len(new) > 1:
            leaves_of = zip(*(leaves for leaves, _ in items), strict=True)
            merged = [_merged(c, leaves) for c, leaves in zip(columns[0], leaves_of, strict=True)]
            groups = [Group(items[0][1], len(new), merged)]
        else:
            groups = [Group(t, 1, row) for (_, t), row in zip(items, columns, strict=True)]
        for k, (leaves, _) in enumerate(items):
            g, item = (groups[0], k) if len(groups) == 1 else (groups[k], 0)
            for leaf, made, column in zip(leaves, columns[k], g.columns, strict=True):
                if made.source is not None and made.source.trace is self.frame.trace:
                    self._viewed(label, made.source, column)
                if made.array is None:
                    continue
                if id(made.array.storage) in self.arrays:
                    self._again(label, made.array, column)
                    continue
                self.arrays[id(made.array.storage)] = made.array, column, item
                if id(leaf) in self.aliases.found:
                    self._carried(label, leaf, column, item)
        return groups

    def _column(self, label: str, x: Any) -> Column:
        found = grid(x)
        if found is not None:
            whole, depth, first = found
            return self._rows(label, whole, first, depth)
        if type(x) is not Box:
            if Leaf(x).raw is None and type(x) not in (str, bytes):
                raise NotNative(f"it appends {type(x).__name__} objects to `{label}`")
            return Column(x)
        if id(x) in self.aliases.outside:
            return Column(x)
        if not x.aval.is_static:
            raise NotNative(f"what it appends to `{label}` has a size that is computed in it")
        return self._rows(label, x, x, 0)

    def _rows(self, label: str, x: Box, first: Box, depth: int) -> Column:
        """The column of an array or number, or of a list, which has the first item `first`, as one array."""
        column = Column(None, x.read(), first.weak, first.scalar, depth)
        if not first.scalar:
            column.source = self._source(label, x, depth)
            column.apart = self._is_apart(x)
            if id(x) not in self.aliases.found and len([*reached(x.storage, x.chain)]) > 1:
                raise NotNative(f"what it appends to `{label}` may be an array of outside or of another name")
            column.array = x if column.source is None else None
        return column

    def _is_apart(self, x: Box) -> bool:
        """Whether what a step appends shares no memory with what others do: it is of an array of its own, or lies there
        where the number of the step says."""
        if self.aliases.is_made(x):
            return True
        view = x.chain[0] if x.chain else None
        return type(view) is Region and any(
            s is self.step and n == 1 for s, n in zip(view.starts, view.sizes, strict=True)
        )

    def _source(self, label: str, x: Box, depth: int) -> Storage | None:
        """The storage of which an array is a view: one of before the loop or, if it has other elements too, of the
        step; None for an array that the step has made."""
        session: Any = capturing()
        if self.aliases.is_made(x):
            if not x.chain or depth:
                return None
            if not session.copies_views:
                raise NotNative(f"it appends views of arrays to `{label}`, which are updated, or results")
            return x.storage
        if (x.storage.version and id(x.storage) in self.frame.claimed) or not session.copies_views:
            raise NotNative(
                f"it appends views of an array to `{label}`, which is updated in place, or results"
            )
        return x.storage


def _merged(c: Column, leaves: tuple[Any, ...]) -> Column:
    """One column of the same leaf of several items; `c`: that of the first."""
    raw = None if c.raw is None else nested(leaves)
    return Column(c.fixed, raw, c.weak, c.scalar, c.depth, len(leaves), source=c.source)
