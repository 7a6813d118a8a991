"""The tape: a linear program as linearization records it, over values of the parent trace.

An entry is an equation, or an `Application`: one use of a recipe (interpreters.autodiff.recipes), which stands for the
few equations of an elementwise operation's derivative. Only who wants to see the equations makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.config import config
from tracejit.interpreters.autodiff.provenance import Chooser, Remaker
from tracejit.interpreters.autodiff.tangents import Residual, TangentTrace
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.check import check_jaxpr
from tracejit.ir.jaxpr import Eqn, Jaxpr, Var
from tracejit.ir.source import Source
from tracejit.ir.values import Zero


class Application(tuple):
    """(recipe, tangent of the result, source, *values that its equations need, *tangents of operands)."""

    __slots__ = ()

    @property
    def outvars(self) -> tuple[Var, ...]:
        return (self[1],)

    @property
    def source(self) -> Source | None:
        return self[2]


def equations(entries: list[Any]) -> list[Eqn]:
    """The entries of a tape as equations, in place: all who hold the list see them."""
    if any(type(e) is Application for e in entries):
        entries[:] = [eqn for e in entries for eqn in (e[0].equations(e) if type(e) is Application else (e,))]
    return entries


class Tape:
    """A linear program: `invars` are the nonzero inputs' tangents, `outs` variables, Residuals or Zeros."""

    __slots__ = ("entries", "invars", "outs", "prologue", "trace")

    def __init__(
        self,
        trace: TangentTrace,
        invars: list[Var],
        entries: list[Any],
        outs: Sequence[Any],
        prologue: Sequence[Eqn] = (),
    ) -> None:
        self.trace = trace
        self.invars = invars
        self.entries = entries
        self.prologue = list(prologue)  # makes values that are not linear from residuals
        # A rule may give a tangent that depends on no input's, such as an array of zeros: a value of the
        # parent, which is a variable too where the parent stages.
        self.outs = [o if self._owns(o) or type(o) in (Zero, Residual) else Residual(o) for o in outs]

    def _owns(self, x: Any) -> bool:
        return type(x) is Var and x.trace is self.trace

    @property
    def eqns(self) -> list[Eqn]:
        """The linear equations."""
        return equations(self.entries)

    def held(self) -> set[int]:
        """The ids of the arrays that the program refers to."""
        found = {id(x) for e in self.entries if type(e) is Application for x in e[3:]}
        eqns = [e for e in (*self.prologue, *self.entries) if type(e) is not Application]
        found.update(id(a.value) for e in eqns for a in e.invars if type(a) is Residual)
        found.update(id(o.value) for o in self.outs if type(o) is Residual)
        return found

    def residuals(self) -> list[Any]:
        """The values of the parent trace that the program refers to, each once."""
        found: dict[int, Any] = {}
        for e in (*self.prologue, *self.eqns):
            for a in e.invars:
                if type(a) is Residual:
                    found.setdefault(id(a.value), a.value)
        for o in self.outs:
            if type(o) is Residual:
                found.setdefault(id(o.value), o.value)
        return list(found.values())

    def with_residuals(self, values: Sequence[Any]) -> Tape:
        """The same program with other `values` for its residuals."""
        new = {id(x): Residual(y) for x, y in zip(self.residuals(), values, strict=True)}

        def atom(a: Any) -> Any:
            return new[id(a.value)] if type(a) is Residual else a

        def eqns(old: Sequence[Eqn]) -> list[Eqn]:
            return [e.replace(invars=tuple([atom(a) for a in e.invars])) for e in old]

        outs = [atom(o) for o in self.outs]
        return Tape(self.trace, self.invars, eqns(self.eqns), outs, eqns(self.prologue))

    def slim(self, free: Sequence[Any]) -> Tape:
        """The same program with fewer residuals: those that can be made again cheaply from `free` values
        and other residuals are not kept."""
        if not self.trace.made:
            return self
        chooser = Chooser(self.trace.made, free, self.residuals())
        if not chooser.again:
            return self
        remaker = Remaker(chooser, self.trace, self.trace.lift)
        again = {key: remaker.var(node) for key, node in chooser.again.items()}

        def atom(a: Any) -> Any:
            return again.get(id(a.value), a) if type(a) is Residual else a

        eqns = [e.replace(invars=tuple([atom(a) for a in e.invars])) for e in self.eqns]
        # An output that is a residual is no equation's operand and stays one.
        return Tape(self.trace, self.invars, eqns, self.outs, remaker.eqns)

    def freeze(self, name: str = "") -> tuple[Jaxpr, list[Any]]:
        """(jaxpr, residuals): a jaxpr over (*residuals, *tangents) that gives the nonzero outputs."""
        renamer = _Renamer()
        eqns = [renamer.eqn(e) for e in (*self.prologue, *self.eqns)]
        ins = [renamer.var(v) for v in self.invars]
        outs = tuple(renamer.atom(o) for o in self.outs if type(o) is not Zero)
        jaxpr = Jaxpr((*renamer.vars, *ins), tuple(eqns), outs, name)
        if config.check_types:
            check_jaxpr(jaxpr)
        return jaxpr, renamer.values


class _Renamer:
    """Turns a tape's equations into a jaxpr's: residuals become inputs, extents follow."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.vars: list[Var] = []
        self._of_value: dict[int, Var] = {}
        self._of_var: dict[Var, Var] = {}

    def residual(self, value: Any) -> Any:
        found = self._of_value.get(id(value))
        if found is None:
            bounds = value.bounds if type(value) is Var else None
            found = Var(None, self.aval(aval_of(value)), bounds)
            self._of_value[id(value)] = found
            self.values.append(value)
            self.vars.append(found)
        return found

    def aval(self, aval: Aval) -> Aval:
        if aval.is_static:
            return aval
        return aval.with_shape(
            tuple(Dim(self.residual(d.var), d.bound) if isinstance(d, Dim) else d for d in aval.shape)
        )

    def var(self, v: Var) -> Var:
        if v not in self._of_var:
            self._of_var[v] = Var(None, self.aval(v.aval), v.bounds)
        return self._of_var[v]

    def atom(self, a: Any) -> Any:
        if type(a) is Residual:
            return self.residual(a.value)
        return self.var(a) if type(a) is Var else a

    def eqn(self, e: Eqn) -> Eqn:
        invars = tuple([self.atom(a) for a in e.invars])
        return e.replace(invars=invars, outvars=tuple([self.var(v) for v in e.outvars]))
