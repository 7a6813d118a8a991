"""The terms in which a loop is staged: what the rewriter says of it, what a step finds, why it can't be staged."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterable, Iterator
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from tracejit import ops
from tracejit.errors import NumberError
from tracejit.frontend.lists.arenas import are_used, refer
from tracejit.frontend.rewrite.blocks.containers import NONE, parts
from tracejit.frontend.rewrite.blocks.state import Form, Leaf
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Var
from tracejit.numpy.boxes.unsure import unsure
from tracejit.records import record
from tracejit.tracing import Box


class Spec(NamedTuple):
    """What the rewriter says of a loop or branch."""

    kind: str
    line: int
    keep: tuple[str, ...] = ()
    anew: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    globals: tuple[str, ...] = ()
    through: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()  # may be read where they are unbound, and have no flag (`source.bound`)
    appended: tuple[tuple[str, str | None, int], ...] = ()


class NotNative(Exception):
    """A loop or branch can't be staged. `peel`: it may be after its first step has run in Python. `numbers_tuples`: it
    may be where tuples have numbers."""

    numbers_tuples = False

    def __init__(self, reason: str, peel: bool = False, name: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.peel = peel
        self.name = name


@record()
class Entry:
    """A name as a step finds it: `put` into its cell, made of `leaves` (inputs), or as it is outside."""

    value: Any
    form: Form | None  # None: not bound, or the object of outside itself
    inits: list[Any] = field(default_factory=list)
    weak: list[bool] = field(default_factory=list)


def begun(entries: dict[str, Entry], args: Iterable[Var], first: Container[str]) -> frozenset[Var]:
    """The inputs `args` of a step that begin as Python's numbers of another type; not those of the names `first`, which
    only steps assign."""
    given = iter(args)
    found: list[Var] = []
    for name, e in entries.items():
        for n, start in enumerate(e.inits):
            var = next(given)
            before = e.form.dynamic[n] if e.form is not None and name not in first else None
            if before is not None and before.weak and e.weak[n]:
                found += [var] if aval_of(before.raw).dtype != aval_of(start).dtype else []
    return frozenset(found)


def found(e: Entry, raws: Iterable[Any], trace: StageTrace, position: Var | None) -> list[Box]:
    """What a step finds in a name, which is made of `raws`: where it began as one of Python's numbers, and steps make
    it one of NumPy's, the first step of `trace` has the former. `position`: that of the step, None for other names."""
    assert e.form is not None
    leaves = [f.rebuilt(x, w) for f, x, w in zip(e.form.dynamic, raws, e.weak, strict=True)]
    if position is None:
        return leaves
    return [_begun(x, f, trace, position) for x, f in zip(leaves, e.form.dynamic, strict=True)]


def _begun(x: Box, before: Leaf, trace: StageTrace, position: Var) -> Box:
    if not before.weak or x.weak or not x.scalar:
        return x
    if trace.first is None:
        trace.first = ops.compare.eq(position, np.int64(0))
    return unsure(x.read(), trace.first, aval_of(before.raw).dtype != x.aval.dtype)


@contextlib.contextmanager
def peeled_if_asked(trace: StageTrace) -> Iterator[None]:
    """Where a step asks whether a number is one of Python's, as it is in the first step, that one is Python's."""
    try:
        yield
    except NumberError as e:
        if not trace.first_asked:
            raise
        raise NotNative(str(e.details["message"]), peel=True) from None


class Permuted(Exception):
    """Names swap their arrays: after `fold` steps all are as before."""

    def __init__(self, fold: int, names: list[str]) -> None:
        super().__init__(fold)
        self.fold = fold
        self.names = names


class TypeChange(NotNative):
    """A name changes its type from step to step."""

    def __init__(self, name: str, before: str, after: str) -> None:
        super().__init__(f"`{name}` is {before} before a step and {after} after it", peel=True, name=name)
        self.before, self.after = before, after


class Names:
    """The names of a block that are arrays in an arena on some way through it, and so on all (`lists.arenas`)."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def refer(self, values: dict[str, Any], kept: dict[str, frozenset[int]]) -> None:
        """Let those of `values` that have these names be so, containers in which are `kept`."""
        for name in self.found & values.keys():
            refer(parts(values[name], kept.get(name, NONE))[0])

    def differ(self, name: str, before: Form, after: Any) -> bool:
        """Whether a name is so on one of two ways only: it is one of these names from now on."""
        if name in self.found or not are_used():
            return False
        leaves = after.leaves if isinstance(after, Form) else Form(after, before.kept).leaves
        if any((a.row is None) != (b.row is None) for a, b in zip(before.leaves, leaves, strict=False)):
            self.found.add(name)
        return name in self.found

    def any_differ(self, before: dict[str, Form], after: dict[str, Form]) -> bool:
        """The same of several names."""
        found = [self.differ(n, before[n], after[n]) for n in before.keys() & after.keys()]
        return any(found)
