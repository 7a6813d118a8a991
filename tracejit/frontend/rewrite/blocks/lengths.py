"""Arrays whose lengths change from step to step of a loop, or are others in the two branches of an `if`.

In a loop such an array is carried in memory of the length that it has before the loop, which it must not exceed, with
its present length beside it; after branches it has memory for the longer one. Arrays whose lengths are one number
before each step, or in each branch, have one such number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.frontend.rewrite.blocks.identity import Rows
from tracejit.frontend.rewrite.blocks.slots import Key
from tracejit.frontend.rewrite.blocks.state import Form, Leaf
from tracejit.frontend.rewrite.blocks.terms import Entry, NotNative, TypeChange
from tracejit.interpreters.stage import ROOM, StageTrace
from tracejit.ir.avals import Aval, Dim, DimSize, aval_of
from tracejit.numpy import lengths
from tracejit.numpy.boxes import extents
from tracejit.tracing import use_trace

Axis = tuple[Key, int]


class Chosen:
    """The lengths of arrays after two branches, chosen as their elements are."""

    def __init__(self) -> None:
        self.sizes: dict[
            tuple[Any, ...], tuple[Callable[[], Any], Any]
        ] = {}  # of each pair, held for its identity

    def of(
        self, raws: tuple[Any, Any], traces: Sequence[StageTrace], rows: Rows
    ) -> tuple[Any, Any, Callable[[Any], Any]] | None:
        """The arrays in memory of one shape, and what cuts the one that is chosen; None where that cannot be."""
        shapes = [aval_of(r).shape for r in raws]
        if len(shapes[0]) != len(shapes[1]):
            return None
        memory: list[Any] = list(shapes[0])
        sizes: dict[int, Callable[[], Any]] = {}
        for n, pair in enumerate(zip(*shapes, strict=True)):
            if pair[0] == pair[1]:
                continue
            bounds = [extents.capacity(d) for d in pair]
            if None in bounds or max(bounds) > ROOM:  # type: ignore[type-var]
                return None
            memory[n] = max(bounds)  # type: ignore[type-var]
            sizes[n] = self._size(pair, rows)
        kept = []
        for raw, trace in zip(raws, traces, strict=True):
            with use_trace(trace):
                kept.append(lengths.padded(raw, tuple(memory)))

        def cut(chosen: Any) -> Any:
            shape = [Dim(sizes[n](), d) if n in sizes else d for n, d in enumerate(memory)]
            return lengths.cut(chosen, tuple(shape))

        return *kept, cut

    def _size(self, pair: Sequence[DimSize], rows: Rows) -> Callable[[], Any]:
        numbers = [extents.of_dim(d) for d in pair]
        key = tuple([n if type(n) is int else id(n) for n in numbers])
        if key not in self.sizes:
            first, second = map(extents.operand, numbers)
            self.sizes[key] = rows.add(first, second, np.dtype(np.int64)), numbers
        return self.sizes[key][0]


class Lengths:
    """The axes of a carry that change. `known_too`: also those whose lengths are known in each step."""

    def __init__(self) -> None:
        self.known_too = False
        self.first: dict[Axis, DimSize] = {}  # the lengths before the loop, of those that change
        self.groups: list[list[Axis]] = []  # axes with one length
        self.vars: list[Any] = []  # those lengths before a step
        self.shapes: dict[Key, Any] = {}  # of the arrays before a step
        self.outs: dict[Key, Any] = {}  # what is carried on of an array
        self.ends: list[Any] = []  # the lengths after a step

    # -- what changes

    def allow(self, key: Key, first: Aval, now: Aval) -> bool:
        """Whether an array may have another type after a step: one whose lengths, if they change, are carried. It is
        staged again where they were not."""
        before = self.shapes.get(key, first.shape)
        if before == now.shape:
            return True
        if len(before) != len(now.shape):
            return False
        axes = [n for n, (a, b) in enumerate(zip(before, now.shape, strict=True)) if a != b]
        for n in axes:
            if (key, n) in self.first:
                continue
            bound = extents.capacity(first.shape[n])
            changes = self.known_too or isinstance(now.shape[n], Dim) or isinstance(before[n], Dim)
            if bound is None or bound > ROOM or not changes:
                return not (first.is_static or now.is_static)  # what carries it on says what is wrong
            self._add((key, n), first.shape[n])
        return True

    def _add(self, axis: Axis, first: DimSize) -> None:
        group = next((g for g in self.groups if self.first[g[0]] == first), None)
        self.first[axis] = first
        if group is None:
            self.groups.append([axis])
        else:
            group.append(axis)

    @property
    def count(self) -> int:
        """How many axes there are."""
        return len(self.first)

    # -- before the loop

    def _memory(self, key: Key, shape: Any) -> Any:
        """The shape of what is carried of an array."""
        return tuple(
            extents.capacity(self.first[key, n]) if (key, n) in self.first else d for n, d in enumerate(shape)
        )

    def start(self, key: Key, raw: Any) -> Any:
        """What is carried of an array, as it is before the loop."""
        return lengths.padded(raw, self._memory(key, aval_of(raw).shape))

    def starts(self) -> list[Any]:
        """The lengths before the loop."""
        return [extents.operand(extents.of_dim(self.first[g[0]])) for g in self.groups]

    def bounds(self) -> list[tuple[int, int]]:
        """What the lengths can be."""
        return [(0, extents.capacity(self.first[g[0]]) or 0) for g in self.groups]

    # -- a step, and after the loop

    def enter(self, variables: list[Any]) -> None:
        """A step begins, with these lengths."""
        self.vars, self.shapes, self.outs, self.ends = variables, {}, {}, []

    def array(self, key: Key, carried: Any, sizes: list[Any] | None = None) -> Any:
        """The array of what is carried of it, with these lengths, or those before the step."""
        sizes = self.vars if sizes is None else sizes
        shape = list(aval_of(carried).shape)
        for g, size in zip(self.groups, sizes, strict=True):
            for k, n in g:
                if k == key:
                    shape[n] = Dim(size, extents.capacity(self.first[k, n]))
        out = lengths.cut(carried, tuple(shape))
        self.shapes.setdefault(key, aval_of(out).shape)
        return out

    def leave(self, entries: Mapping[str, Entry], found: Mapping[str, tuple[Form, Any]]) -> bool:
        """Find what is carried on after a step; False if it must be staged again, since lengths differ that were
        thought to be equal. Raises NotNative."""
        after = {(key, n): self._after(key, n, entries, found) for key, n in self.first}
        groups: list[list[Axis]] = []
        for g in self.groups:
            parts: list[list[Axis]] = []
            for axis in g:
                same = next(
                    (p for p in parts if after[p[0]] is after[axis] or _equal(after[p[0]], after[axis])), None
                )
                parts.append([axis]) if same is None else same.append(axis)
            groups += parts
        if len(groups) > len(self.groups):
            self.groups = groups
            return False
        self.ends = [extents.operand(after[g[0]]) for g in self.groups]
        for name, n in {key for key, _ in self.first}:
            if name in found:
                raw = found[name][0].dynamic[n].raw
                self.outs[name, n] = lengths.padded(raw, self._memory((name, n), aval_of(raw).shape))
        return True

    def _after(
        self, key: Key, n: int, entries: Mapping[str, Entry], found: Mapping[str, tuple[Form, Any]]
    ) -> Any:
        name, place = key
        if name not in found:
            return next(v for g, v in zip(self.groups, self.vars, strict=True) if (key, n) in g)
        d = aval_of(found[name][0].dynamic[place].raw).shape[n]
        most, bound = extents.capacity(d), extents.capacity(self.first[key, n])
        if most is None or bound is None or most > bound:
            before = entries[name].form
            assert before is not None
            raise TypeChange(name, before.describe(), found[name][0].describe())
        return extents.of_dim(d)


def _equal(a: Any, b: Any) -> bool:
    return type(a) is int and type(b) is int and a == b


def known_size(name: str, leaf: Leaf) -> Any:
    """The raw value of a leaf whose shape is known. Raises NotNative."""
    if not aval_of(leaf.raw).is_static:
        raise NotNative(f"`{name}` has a size that is computed in it", name=name)
    return leaf.raw
