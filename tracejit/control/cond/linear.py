"""Derivatives of cond: branches that leave residuals in common slots, and their transposes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.control.regions.residuals import close
from tracejit.control.regions.rules import Typed, build, pick, spread, union, with_outputs, zeros_in
from tracejit.control.regions.totals import passing
from tracejit.interpreters.autodiff.linearize import linearize_jaxpr
from tracejit.interpreters.autodiff.transpose import transpose_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import Jaxpr, Literal
from tracejit.records import record

Branches = tuple[Jaxpr, ...]
# A type that branches can have in common: extents are given by the number of an operand.
_Slot = tuple[Any, tuple[Any, ...]]


@record(frozen=True)
class LinearBranches:
    """`forward` branches give (*outs, *slots); `linear` ones take (*operands, *slots, *nonzero
    tangents), `operands` being the numbers of the primal operands that are residuals."""

    forward: Branches
    linear: Branches
    operands: tuple[int, ...]
    out_nonzero: tuple[bool, ...]


def linear_branches(
    branches: Branches, nonzero: tuple[bool, ...], lasting: tuple[bool, ...] | None
) -> LinearBranches:
    """Linearize every branch, tangents flowing into the operands marked by `nonzero`; `lasting` are those that are
    there when the derivative runs, kept or not."""
    return _linear_branches(branches[0], branches[1:], nonzero, lasting)


@memoize_by_jaxpr
def _linear_branches(
    first: Jaxpr, rest: Branches, nonzero: tuple[bool, ...], lasting: tuple[bool, ...] | None
) -> LinearBranches:
    branches = (first, *rest)
    parts = [_Part(b, nonzero, lasting) for b in branches]
    out_nz = parts[0].out_nonzero
    for p in parts[1:]:
        out_nz = union(out_nz, p.out_nonzero)
    slots: list[_Slot] = []
    for p in parts:
        p.take_slots(slots)
    operands = sorted(
        {n for p in parts for n in p.operands(out_nz)} | {n for s in slots for n in _extents(s)}
    )
    return LinearBranches(
        tuple(p.forward_branch(slots) for p in parts),
        tuple(p.linear_branch(slots, operands, out_nz) for p in parts),
        tuple(operands),
        out_nz,
    )


def _extents(slot: _Slot) -> list[int]:
    return [d[0] for d in slot[1] if type(d) is tuple]


class _Part:
    """One branch, linearized."""

    def __init__(self, branch: Jaxpr, nonzero: tuple[bool, ...], lasting: tuple[bool, ...] | None) -> None:
        self.branch = branch
        self.nonzero = nonzero
        forward, linear, self.out_nonzero, _ = linearize_jaxpr(branch, nonzero, False, None, lasting)
        self.num_outs = len(branch.outs)
        self.forward, self.linear, _ = close(forward, linear, self.num_outs, nonzero)
        self.residuals = self.forward.outs[self.num_outs :]
        self.position = {v: n for n, v in enumerate(self.forward.invars)}
        self.slot_of: dict[int, int] = {}  # residual number -> slot number

    def take_slots(self, slots: list[_Slot]) -> None:
        """Find a slot of the right type for each residual that is no operand; append missing ones."""
        free = list(range(len(slots)))
        for n, a in enumerate(self.residuals):
            if type(a) is Literal or a in self.position:
                continue
            key = self._key(a.aval)
            found = next((s for s in free if slots[s] == key), None)
            if found is None:
                slots.append(key)
                found = len(slots) - 1
            else:
                free.remove(found)
            self.slot_of[n] = found

    def _key(self, aval: Aval) -> _Slot:
        dims = tuple((self.position[d.var], d.bound) if isinstance(d, Dim) else d for d in aval.shape)
        return aval.dtype, dims

    def _slot_aval(self, slot: _Slot, invars: Sequence[Any]) -> Aval:
        return Aval(tuple(Dim(invars[d[0]], d[1]) if type(d) is tuple else d for d in slot[1]), slot[0])

    def operands(self, out_nz: Sequence[bool]) -> set[int]:
        """The operands that the linear branch needs: residuals, and extents of zeros and tangents."""
        used = {self.position[a] for a in self.residuals if type(a) is not Literal and a in self.position}
        at = {v: n for n, v in enumerate(self.branch.invars)}
        typed = [*pick(self.branch.outs, out_nz), *pick(self.branch.invars, self.nonzero)]
        used.update(at[d.var] for a in typed for d in a.aval.shape if isinstance(d, Dim) and d.var in at)
        return used

    def forward_branch(self, slots: list[_Slot]) -> Jaxpr:
        residual_of = {s: n for n, s in self.slot_of.items()}
        invars = self.forward.invars

        def fill(env: dict[Any, Any], outs: list[Any]) -> list[Any]:
            own, values = outs[: self.num_outs], outs[self.num_outs :]
            for s, slot in enumerate(slots):
                n = residual_of.get(s)
                own.append(zeros_in(self._slot_aval(slot, invars), env) if n is None else values[n])
            return own

        return with_outputs(self.forward, fill)

    def linear_branch(self, slots: list[_Slot], operands: list[int], out_nz: Sequence[bool]) -> Jaxpr:
        invars = self.branch.invars
        inputs: list[Any] = [invars[n] for n in operands]
        inputs += [Typed(self._slot_aval(s, invars)) for s in slots]
        inputs += [Typed(v.aval.tangent()) for v in pick(invars, self.nonzero)]

        def fn(*args: Any) -> list[Any]:
            given = dict(zip(operands, args, strict=False))
            stored = args[len(operands) : len(operands) + len(slots)]
            values = [self._residual(n, a, stored, given) for n, a in enumerate(self.residuals)]
            outs = eval_jaxpr(self.linear, [*values, *args[len(operands) + len(slots) :]])
            env = {invars[n]: x for n, x in given.items()}
            full = spread(outs, self.out_nonzero, [None] * self.num_outs)
            rows = zip(full, out_nz, self.branch.outs, strict=True)
            return [zeros_in(a.aval.tangent(), env) if x is None else x for x, w, a in rows if w]

        return build(fn, inputs, self.linear.name)

    def _residual(self, n: int, a: Any, stored: Sequence[Any], given: dict[int, Any]) -> Any:
        """Residual `n`: a constant, in a slot, or an operand."""
        if type(a) is Literal:
            return a.value
        return stored[self.slot_of[n]] if n in self.slot_of else given[self.position[a]]


def transposed_branches(
    branches: Branches, linear: tuple[bool, ...], ct_nonzero: tuple[bool, ...], starts: tuple[bool, ...]
) -> tuple[Branches, tuple[bool, ...], tuple[bool, ...]]:
    """The branches' transposes, over (*nonlinear operands, *starts, *nonzero cotangents); which linear
    operands get a cotangent from some branch; and which of the operands marked by `starts` begin with one."""
    return _transposed(branches[0], branches[1:], linear, ct_nonzero, starts)


@memoize_by_jaxpr
def _transposed(
    first: Jaxpr,
    rest: Branches,
    linear: tuple[bool, ...],
    ct_nonzero: tuple[bool, ...],
    starts: tuple[bool, ...],
) -> tuple[Branches, tuple[bool, ...], tuple[bool, ...]]:
    branches = (first, *rest)
    pairs = [transpose_jaxpr(b, linear, ct_nonzero) for b in branches]
    wanted = pairs[0][1]
    for _, nonzero in pairs[1:]:
        wanted = union(wanted, nonzero)
    started = tuple(
        s and w for s, w in zip(starts, spread(wanted, linear, [False] * len(linear)), strict=True)
    )
    if any(started):  # in every branch: the one that gives nothing gives the start
        branches = tuple(passing(b, started) for b in branches)
        pairs = [transpose_jaxpr(b, linear, (*(True,) * sum(started), *ct_nonzero)) for b in branches]
    backs = (
        _with_missing(b, back, nz, wanted, linear) for b, (back, nz) in zip(branches, pairs, strict=True)
    )
    return tuple(backs), wanted, started


def _with_missing(
    branch: Jaxpr, back: Jaxpr, given: Sequence[bool], wanted: Sequence[bool], linear: Sequence[bool]
) -> Jaxpr:
    """`back` with zeros for the cotangents that only other branches give."""
    if tuple(given) == tuple(wanted):
        return back
    known = pick(branch.invars, [not m for m in linear])
    avals = [v.aval for v in pick(branch.invars, linear)]

    def fn(*args: Any) -> list[Any]:
        env = dict(zip(known, args, strict=False))
        full = spread(eval_jaxpr(back, args), given, [None] * len(given))
        return [
            zeros_in(a, env) if x is None else x for x, w, a in zip(full, wanted, avals, strict=True) if w
        ]

    return build(fn, back.invars, back.name)
