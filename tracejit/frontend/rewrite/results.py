"""What staging a step of a loop gives, or why it can't be staged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

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
from tracejit.tracing import Storage, use_trace


class Spec(NamedTuple):
    """What the rewriter says of a loop or branch."""

    kind: str
    line: int
    keep: tuple[str, ...]
    anew: tuple[str, ...]
    written: tuple[str, ...]
    stops: tuple[str, ...]
    globals: tuple[str, ...]
    through: tuple[str, ...]


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
    """A staged step. `names`: what each changed name is made of afterwards."""

    trace: StageTrace
    args: list[Var]
    carried: list[Carried]
    constant: list[tuple[Var, Any]]
    names: dict[str, tuple[Form, list[bool], bool]]
    storages: list[Storage]
    extra: list[Any]  # raw results of `finish`
    cells: dict[str, Cell]

    @property
    def pure_python(self) -> bool:
        """Whether it computes with Python's own numbers only, nothing of which is traced."""
        held = [*self.trace.consts, *(c.init for c in self.carried), *(x for _, x in self.constant)]
        weak = all(all(w) for _, w, _ in self.names.values())
        return weak and not self.storages and not any(isinstance(x, (Value, np.ndarray)) for x in held)

    def jaxpr(self, first: list[Var], lead: list[Var], outs: list[Any]) -> tuple[Jaxpr, list[Any], list[Any]]:
        """(jaxpr, constants, starts): over (*first, *constants, *lead, *carry); gives (*outs, *carry)."""
        with use_trace(self.trace):
            new = [convert(c.out, aval_of(c.init).dtype) for c in self.carried]
            jaxpr, consts = self.trace.freeze(self.args, [*outs, *new])
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

    def write_back(self, outs: list[Any]) -> None:
        """Names and storages get the values that the loop ended with."""
        values = iter(outs)
        for name, (form, weak, shared) in self.names.items():
            leaves = [f.rebuilt(next(values), w) for f, w in zip(form.dynamic, weak, strict=True)]
            leaves = [read_only(x) if shared and x.aval.shape else x for x in leaves]
            put(self.cells[name], form.rebuilt(leaves))
        for storage in self.storages:
            assign(storage, (), next(values))


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
