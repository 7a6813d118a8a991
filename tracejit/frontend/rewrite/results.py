"""What staging a step of a loop gives, or why it can't be staged."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracejit import tree
from tracejit.control.staging import convert
from tracejit.frontend.rewrite.cells import Cell, put
from tracejit.frontend.rewrite.state import Form, read_only
from tracejit.interpreters import leaks
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Jaxpr, Var
from tracejit.ir.values import Value
from tracejit.numpy.boxes.indexing import assign
from tracejit.records import record
from tracejit.tracing import Box, Storage, use_trace

if TYPE_CHECKING:
    from tracejit.frontend.rewrite.aliases import Aliases, Origin
    from tracejit.frontend.rewrite.grown import Column, Filled


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
    appended: tuple[tuple[str, str | None, int], ...] = ()


class NotNative(Exception):
    """A loop or branch can't be staged. `peel`: it may be after its first step has run in Python."""

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


class Carried(NamedTuple):
    """A part of the carry: the input it comes in as (None: it is not looked at), its start and its result."""

    var: Var | None
    init: Any
    out: Any


@record()
class Result:
    """A staged step. `names`: what each changed name is made of afterwards. `lists`: those that it appends to.
    `arrays`: what it appends, by identity of the storage. `tails`: last items of the lists, as names."""

    trace: StageTrace
    args: list[Var]
    carried: list[Carried]
    constant: list[tuple[Var, Any]]
    names: dict[str, tuple[Form, list[bool]]]
    storages: list[Storage]
    extra: list[Any]  # raw results of `finish`
    cells: dict[str, Cell]
    lists: list[Filled]
    arrays: dict[int, tuple[Box, Column, int]]
    aliases: Aliases
    tails: Collection[str]

    @property
    def pure_python(self) -> bool:
        """Whether it computes with Python's own numbers only, nothing of which is traced."""
        held = [*self.trace.consts, *(c.init for c in self.carried), *(x for _, x in self.constant)]
        weak = all(all(w) for _, w in self.names.values()) and all(f.pure_python for f in self.lists)
        return weak and not self.storages and not any(isinstance(x, (Value, np.ndarray)) for x in held)

    def jaxpr(self, first: list[Var], lead: list[Var], outs: list[Any]) -> tuple[Jaxpr, list[Any], list[Any]]:
        """(jaxpr, constants, starts): over (*first, *constants, *lead, *carry); gives (*outs, *carry, *what is
        appended to lists)."""
        with use_trace(self.trace):
            new = [convert(c.out, aval_of(c.init).dtype) for c in self.carried]
            appended = [x for f in self.lists for x in f.raws]
            jaxpr, consts = self.trace.freeze(self.args, [*outs, *new, *appended])
        leaks.check_jaxpr("a loop", jaxpr)
        carry = [c.var or Var(None, aval_of(c.init)) for c in self.carried]
        constant = [*jaxpr.invars[: len(consts)], *(v for v, _ in self.constant)]
        consts += [x for _, x in self.constant]
        invars = (*first, *constant, *lead, *carry)
        return Jaxpr(invars, jaxpr.eqns, jaxpr.outs, jaxpr.name), consts, [c.init for c in self.carried]

    def record(self, fn: Callable[[], Any]) -> Any:
        """`fn()` as a part of the step."""
        with use_trace(self.trace):
            return fn()

    def write_back(self, outs: list[Any], count: int | None = None) -> None:
        """Names, storages and lists get the values that the loop ended with, after `count` steps."""
        if count == 0:
            return
        values, stacks = iter(outs[: len(self.carried)]), iter(outs[len(self.carried) :])
        for filled in self.lists:
            filled.extend(stacks, count or 0)
        leaves: dict[str, list[Any]] = {}
        for name, (form, weak) in self.names.items():
            new = (f.rebuilt(next(values), w) for f, w in zip(form.dynamic, weak, strict=True))
            leaves[name] = form.filled(new)
        self._identify(leaves, count)
        for name, (form, _) in self.names.items():
            if name not in self.tails:
                put(self.cells[name], tree.unflatten(form.tree, leaves[name]))
        for storage in self.storages:
            assign(storage, (), next(values))

    def _identify(self, leaves: dict[str, list[Any]], count: int | None) -> None:
        """Leaves of names that are arrays of outside, of lists or of other names become these; read-only where it is
        not known which, or where they are parts of such."""
        known: dict[
            tuple[int, int], tuple[Box, Box]
        ] = {}  # (storage, steps ago) -> the array, what it is now
        for name in leaves:
            for n, x in enumerate(leaves[name]):
                if (name, n) not in self.aliases.after:
                    continue
                origin = self.aliases.origin((name, n), count, self.arrays)
                if origin is None or (count is None and origin.ago):
                    leaves[name][n] = x if self.aliases.is_updated((name, n)) else read_only(x)
                elif origin.ago == count:
                    leaves[name][n] = origin.outer if origin.outer is not None else x
                else:
                    leaves[name][n] = self._object(x, origin, count, known)

    def _object(self, x: Box, origin: Origin, count: int | None, known: dict[Any, tuple[Box, Box]]) -> Any:
        """What the array that a step left in a leaf is after the loop; `x` has its value."""
        array = self.aliases.after[origin.at]
        if id(array) in self.aliases.outside:
            return array
        if not self.aliases.is_made(array):
            return read_only(x)
        if id(array.storage) in self.arrays and count is not None:
            _, column, item = self.arrays[id(array.storage)]
            return column.objects[(count - origin.ago - 1) * column.size + item]
        first, now = known.setdefault((id(array.storage), origin.ago), (array, x))
        return now if first is array else read_only(x)


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
