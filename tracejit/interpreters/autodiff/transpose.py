"""Transposition: running a linear program backwards, with cotangents accumulated in place.

A cotangent that is added where zeros were just written is written instead, and writing back what was read is nothing:
`a[R] += f` leaves the cotangent of `a[R]` as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.config import config
from tracejit.errors import InternalTypeError
from tracejit.interpreters.autodiff.tangents import Residual
from tracejit.interpreters.autodiff.tape import Application, Tape, equations
from tracejit.interpreters.closed import stage_closed
from tracejit.interpreters.core import rename_dims
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.stage import arg_avals
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from tracejit.ir.primitive import NONLINEAR
from tracejit.ir.source import Pulled, replay
from tracejit.ir.values import AddInto, Linear, Overwrite, Total, Zero
from tracejit.ops.building import helpers
from tracejit.ops.elementwise import arithmetic
from tracejit.tracing import bind, bind_update, current_trace


class Accumulators:
    """The cotangents so far: variable -> [value, do we own the array]."""

    def __init__(self) -> None:
        self._table: dict[Any, list[Any]] = {}
        self._cleared: dict[Any, Overwrite] = {}  # where a part of a cotangent has just been set to zero

    def add(self, var: Any, ct: Any) -> None:
        """Add a cotangent: an array or tracer, Zero, AddInto or None."""
        if (
            ct is None
            or type(ct) is Zero
            or not dtypes.is_inexact(ct.aval.dtype if hasattr(ct, "aval") else ct.dtype)
        ):
            return
        if type(ct) is AddInto:
            self._add_into(var, ct)
        else:
            self.add_value(var, ct)

    def add_value(self, var: Any, ct: Any) -> None:
        """Add an array or tracer in floating point."""
        if self._cleared:
            self._cleared.pop(var, None)
        entry = self._table.get(var)
        if entry is None:
            self._table[var] = [ct, False]
        elif entry[1] and type(entry[0]) is np.ndarray and type(ct) is np.ndarray:
            np.add(entry[0], ct, out=entry[0])
        else:
            entry[0] = arithmetic.add(entry[0], ct)
            entry[1] = True

    def _add_into(self, var: Any, ct: AddInto) -> None:
        cleared, op = self._cleared.pop(var, None), ct.op
        if cleared is not None and _same_part(cleared, ct):
            op = cleared.op
        entry = self._table.get(var)
        if entry is None:
            entry = self._table[var] = [helpers.instantiate(Zero(ct.aval)), True]
        holder = [entry[0]]
        if entry[1]:
            entry[0] = None
            entry[0] = bind_update(op, holder, *ct.rest, **ct.params)
        else:
            entry[0] = bind(op, holder.pop(), *ct.rest, **ct.params)
            entry[1] = True

    def give(self, var: Any, ct: Any) -> None:
        """Like `add`, for an array that nothing else refers to."""
        if var in self._table:
            self.add(var, ct)
        else:
            self._table[var] = [ct, True]

    def clear(self, var: Any, ct: Any, rule: Overwrite) -> None:
        """Like `give`, for a cotangent to which `rule` has been applied."""
        fresh = var not in self._table
        self.give(var, ct)
        if fresh and rule.adds is not None:
            self._cleared[var] = rule

    def so_far(self, var: Any) -> Any:
        """The cotangent of `var` that has been accumulated; None if nothing was."""
        entry = self._table.get(var)
        return None if entry is None else entry[0]

    def replace(self, var: Any, ct: Any) -> None:
        """The cotangent of `var` is `ct`, an array that nothing else refers to and that what was there is part of."""
        self._cleared.pop(var, None)
        self._table[var] = [ct, True]

    def pop(self, var: Any, env: dict[Any, Any]) -> Any:
        """The cotangent of `var`, which is complete: Zero if nothing was added. `env` has the extents."""
        return self.take(var, env)[0]

    def apply(self, entry: Application) -> None:
        """The transpose of an entry of the tape, by its recipe."""
        known = self._table.pop(entry[1], None)
        if known is not None:
            entry[0].back(entry, known[0], self._table, self._add_evaluated)

    def _add_evaluated(self, var: Any, ct: Any) -> None:
        """Add an array or NumPy scalar to those that are there already."""
        self._cleared.pop(var, None)
        entry = self._table[var]
        if entry[1] and type(entry[0]) is np.ndarray:
            np.add(entry[0], ct, out=entry[0])
        else:
            entry[0] = entry[0] + ct
            entry[1] = True

    def take(self, var: Any, env: dict[Any, Any]) -> list[Any]:
        """[cotangent of `var`, do we own the array]."""
        entry = self._table.pop(var, None)
        return [Zero(rename_dims(var.aval, env)), False] if entry is None else entry


def backward(entries: list[Any], env: dict[Any, Any], cts: Accumulators) -> None:
    """Transpose linear equations (entries of a tape) in reverse. Variables not in `env` are linear."""
    before = replay.source
    recorded = current_trace() is not ROOT
    if recorded or config.checks:
        entries = equations(entries)
    try:
        for eqn in reversed(entries):
            if type(eqn) is Application:
                cts.apply(eqn)
                continue
            taken = [cts.take(v, env) for v in eqn.outvars]
            if all(type(t[0]) is Zero for t in taken):
                continue
            source = eqn.source
            replay.source = Pulled(source) if recorded and source is not None else source
            args = [_operand(a, env) for a in eqn.invars]
            if eqn.op.starts:
                _give_starts(cts, eqn.invars, args)
            if eqn.op.transpose is NONLINEAR:
                raise InternalTypeError(
                    problem=f"`{eqn.op}` is in a linear program but has no transpose rule"
                )
            out = [t[0] for t in taken] if eqn.op.multi else taken[0][0]
            ins = eqn.op.transpose(out, *args, **eqn.params)  # type: ignore[operator]
            del out
            for a, ct in zip(eqn.invars, ins, strict=True):
                if type(ct) is Overwrite:
                    _overwrite(cts, a, taken[0], ct)
                elif type(ct) is Total:
                    cts.replace(a, ct.value)
                elif ct is not None and type(a) is not Literal:
                    cts.add(a, ct)
    finally:
        replay.source = before


def _give_starts(cts: Accumulators, atoms: Sequence[Any], args: Sequence[Any]) -> None:
    """Give each linear operand its cotangent so far: where it stands first, so that others are added to the total."""
    seen = set()
    for a, x in zip(atoms, args, strict=True):
        if type(x) is Linear and a not in seen:
            seen.add(a)
            x.start = cts.so_far(a)


def _overwrite(cts: Accumulators, var: Any, taken: list[Any], rule: Overwrite) -> None:
    """The cotangent of `var` is that in `taken`, changed as `rule` says: in place if it is ours alone."""
    ct, owned = taken
    taken[0] = None
    if rule.op is None:
        (cts.give if owned else cts.add)(var, ct)
        return
    holder = [ct]
    del ct
    if owned:
        cts.clear(var, bind_update(rule.op, holder, *rule.rest, **rule.params), rule)
    else:
        cts.clear(var, bind(rule.op, holder.pop(), *rule.rest, **rule.params), rule)


def _same_part(cleared: Overwrite, ct: AddInto) -> bool:
    """Whether `ct` adds into just the part that has been set to zero."""
    zeros, *where = cleared.rest
    given, *there = ct.rest
    return (
        cleared.adds is ct.op
        and cleared.params == ct.params
        and aval_of(zeros) == aval_of(given)
        and all(a is b or (isinstance(a, np.generic) and a == b) for a, b in zip(where, there, strict=True))
    )


def _operand(a: Any, env: dict[Any, Any]) -> Any:
    if type(a) is Literal or type(a) is Residual:
        return a.value
    return env[a] if a in env else Linear(rename_dims(a.aval, env))


def pull_back(tape: Tape, out_cts: Sequence[Any], into: Accumulators | None = None) -> list[Any]:
    """Cotangents (or Zeros) of the tape's inputs for those of all its outputs, added up by `into`."""
    cts = Accumulators() if into is None else into
    for o, ct in zip(tape.outs, out_cts, strict=True):
        if type(o) is not Zero and type(o) is not Residual:
            cts.add(o, ct)
    env: dict[Any, Any] = {}
    _evaluate(tape.prologue, env)
    backward(tape.entries, env, cts)
    return [cts.pop(v, {}) for v in tape.invars]


def backward_pass(
    jaxpr: Jaxpr, linear: Sequence[bool], args: Sequence[Any], out_cts: Sequence[Any]
) -> list[Any]:
    """Transpose `jaxpr`, which is linear in the inputs marked by `linear`.

    `args` has the values of the other inputs (anything where linear). Gives one entry an
    input: None where it is not linear, otherwise its cotangent or a Zero.
    """
    env = {v: x for v, lin, x in zip(jaxpr.invars, linear, args, strict=True) if not lin}
    known, unknown = _split(jaxpr, env)
    _evaluate(known, env)
    cts = Accumulators()
    for o, ct in zip(jaxpr.outs, out_cts, strict=True):
        if type(o) is not Literal and o not in env:
            cts.add(o, ct)
    backward(unknown, env, cts)
    return [cts.pop(v, env) if lin else None for v, lin in zip(jaxpr.invars, linear, strict=True)]


def _split(jaxpr: Jaxpr, env: dict[Any, Any]) -> tuple[list[Eqn], list[Eqn]]:
    """Equations that need no linear input, and the rest."""
    known_vars = set(env)
    known, unknown = [], []
    for eqn in jaxpr.eqns:
        if all(type(a) is Literal or a in known_vars for a in eqn.invars):
            known.append(eqn)
            known_vars.update(eqn.outvars)
        else:
            unknown.append(eqn)
    return known, unknown


def _evaluate(eqns: Sequence[Eqn], env: dict[Any, Any]) -> None:
    for eqn in eqns:
        args = [env[a] if type(a) is Var else a.value for a in eqn.invars]  # type: ignore[attr-defined, union-attr]
        out = bind(eqn.op, *args, **eqn.params)
        env.update(zip(eqn.outvars, out if eqn.op.multi else [out], strict=True))


@memoize_by_jaxpr
def transpose_jaxpr(
    jaxpr: Jaxpr, linear: tuple[bool, ...], ct_nonzero: tuple[bool, ...]
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The transpose as a jaxpr: (*nonlinear inputs, *nonzero cotangents) -> nonzero cotangents of the
    linear inputs; and which of the linear inputs those are."""
    known = [v for v, lin in zip(jaxpr.invars, linear, strict=True) if not lin]
    out_ct_avals = [v.aval for v, nz in zip(jaxpr.outs, ct_nonzero, strict=True) if nz]
    nonzero: list[bool] = []

    def fn(*raw: Any) -> list[Any]:
        values, given = iter(raw[: len(known)]), iter(raw[len(known) :])
        args = [None if lin else next(values) for lin in linear]
        cts = [next(given) if nz else Zero(v.aval) for v, nz in zip(jaxpr.outs, ct_nonzero, strict=True)]
        ins = [ct for ct, lin in zip(backward_pass(jaxpr, linear, args, cts), linear, strict=True) if lin]
        nonzero.extend(type(ct) is not Zero for ct in ins)
        return [ct for ct in ins if type(ct) is not Zero]

    avals = _with_known_dims(jaxpr, known, out_ct_avals)
    bounds = [v.bounds for v in known] + [None] * len(out_ct_avals)
    return stage_closed(fn, avals, jaxpr.name, bounds), tuple(nonzero)


def _with_known_dims(jaxpr: Jaxpr, known: list[Any], extra: list[Any]) -> list[Any]:
    """Input avals for `stage`, extents given by the nonlinear inputs."""
    return arg_avals([*known, *(_Typed(a) for a in extra)])


class _Typed:
    """Something with an aval only."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval
