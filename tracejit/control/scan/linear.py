"""How a scan is linearized: which residuals are stacked, and which need not be.

The forward scan emits its residuals as further ys; the linear scan takes them
as xs. Not stacked are constants, values that depend on constants only (hoisted
out of the loop), slices of xs, integers computed from the index and elements
of constants (computed again), and parts of constants and of carries that no
later iteration changes (read again, see `settled`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tracejit import dtypes
from tracejit.control.regions.residuals import local_axes, narrow, pad_residuals, rematerialize, unbounded
from tracejit.control.regions.rules import Typed, build, pick, prune, union
from tracejit.control.scan.settled import Settled, settled_slices
from tracejit.interpreters.autodiff.linearize import linearize_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.ir.avals import capacity
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, Var, contains, has_side_effects, sub_jaxprs
from tracejit.ir.kernel import Pull, ScanRegion, UserCode, WhileRegion
from tracejit.records import record

INDEX, CONST, X, HOIST, CHEAP, STACK = "index", "const", "x", "hoist", "cheap", "stack"
SETTLED, FINAL = "settled", "final"
_Kind = tuple[str, int]
_LOOPS = (ScanRegion, WhileRegion)
_ROOM = 16  # elements of padded rows a step below which keeping them is cheap
_PAYS = 4  # how many times more they are than what the loop that gives them needs to run again


@record(frozen=True)
class Plan:
    """A linearized scan.

    forward: the body with stacked residuals as further ys; linear: the linear body over
    (i, *residual constants, *tangent consts, *tangent carry, *residual xs, *tangent xs).
    hoist: constants -> hoisted residuals. const_sources: (CONST, k), (HOIST, k), or (FINAL, k) for the
    carry k as it is after the loop;
    x_sources: the xs that are residuals; num_stacked: the ys that are.
    carry_nonzero, ys_nonzero: which outputs have tangents.
    """

    forward: Jaxpr
    linear: Jaxpr
    hoist: Jaxpr
    const_sources: tuple[_Kind, ...]
    x_sources: tuple[int, ...]
    num_stacked: int
    carry_nonzero: tuple[bool, ...]
    ys_nonzero: tuple[bool, ...]


@memoize_by_jaxpr
def linear_plan(
    jaxpr: Jaxpr,
    lasting: tuple[bool, ...],
    carry: int,
    nonzero: tuple[bool, ...],
    reverse: bool = False,
    inside: bool = False,
) -> Plan:
    """The plan for a scan of body `jaxpr`; `nonzero` has the flags of consts, carry and xs, `lasting` says which
    consts are there when the derivative runs, whether they are residuals or not, and `inside` whether another
    loop runs this one in each of its steps."""
    forward, linear, flags, carry_nz, ys_nz = _fixpoint(jaxpr, lasting, carry, nonzero)
    num_outs, consts = len(jaxpr.outs), len(lasting)
    forward, linear = narrow(forward, linear, num_outs)
    kinds, settled = _classify(forward, num_outs, lasting, carry, reverse)
    fixed = set(forward.invars[1 : 1 + consts])
    stacked = [a for a, k in zip(forward.outs[num_outs:], kinds, strict=True) if k[0] == STACK]
    if unbounded(stacked, fixed) or (inside and _wasteful(forward, stacked, fixed, lasting, carry)):
        forward, linear, _ = rematerialize(forward, linear, num_outs, flags)
        kinds, settled = _classify(forward, num_outs, lasting, carry, reverse)
    again = _Again(forward, kinds, settled, num_outs, consts)
    forward, linear = pad_residuals(forward, linear, num_outs, fixed, [k[0] == STACK for k in kinds])
    counts = consts, sum(flags[: 1 + consts + carry])
    return _assemble(forward, linear, kinds, again, num_outs, counts, carry_nz, ys_nz)


def _wasteful(
    forward: Jaxpr, stacked: Sequence[Any], fixed: set[Any], lasting: tuple[bool, ...], carry: int
) -> bool:
    """Whether the rows of an inner loop whose length is computed would be kept at their bound, though a step can
    run that loop again from much less: a window of a few elements would take a whole row for each place of it."""
    rows = [a for a in stacked if local_axes(a.aval, fixed)]
    room = sum(math.prod(capacity(a.aval.shape)) for a in rows)
    if room < _ROOM:
        return False
    again = ancestors(forward, forward.invars, stacked)
    if any(has_side_effects(e.effects) or contains(e, (UserCode,)) or _nests(e) for e in again.eqns):
        return False
    used = {a for e in again.eqns for a in e.invars} | set(again.outs)
    end = 1 + len(lasting)
    inputs = [v for v, lasts in zip(forward.invars[1:end], lasting, strict=True) if not lasts]
    inputs += forward.invars[end : end + carry]
    needed = sum(math.prod(capacity(v.aval.shape)) for v in inputs if v in used)
    return _PAYS * needed <= room


def _nests(eqn: Eqn) -> bool:
    """Whether an equation is a loop that has loops in it, which would take long to run again."""
    return any(contains(e, _LOOPS) for body in sub_jaxprs(eqn.params) for e in body.eqns)


def _fixpoint(
    jaxpr: Jaxpr, lasting: tuple[bool, ...], carry: int, nonzero: tuple[bool, ...]
) -> tuple[Any, ...]:
    """Linearize with every carry marked whose tangent becomes nonzero after some steps."""
    consts = len(lasting)
    head, middle, tail = nonzero[:consts], nonzero[consts : consts + carry], nonzero[consts + carry :]
    free = (True,) * (1 + consts) + (False,) * carry + (True,) * len(tail)
    last = (True, *lasting) + (False,) * carry + (True,) * len(tail)
    while True:
        flags = (False, *head, *middle, *tail)
        forward, linear, out_nz, _ = linearize_jaxpr(jaxpr, flags, False, free, last)
        wider = union(middle, out_nz[:carry])
        if wider == middle:
            break
        middle = wider
    ys_nz = out_nz[carry:]
    if out_nz[:carry] != middle:
        forward, linear, out_nz, _ = linearize_jaxpr(jaxpr, flags, (*middle, *ys_nz), free, last)
    return forward, linear, flags, middle, ys_nz


def _classify(
    forward: Jaxpr, num_outs: int, lasting: tuple[bool, ...], carry: int, reverse: bool
) -> tuple[list[_Kind], Settled]:
    """The kind of each residual of `forward`, and its number among the const or x inputs."""
    consts = len(lasting)
    where: dict[Any, _Kind] = {forward.invars[0]: (INDEX, 0)}
    where.update((v, (CONST, n)) for n, v in enumerate(forward.invars[1 : 1 + consts]))
    where.update((v, (X, n)) for n, v in enumerate(forward.invars[1 + consts + carry :]))
    invariant = set(forward.invars[1 : 1 + consts])
    last = set(pick(forward.invars[1 : 1 + consts], lasting))
    cheap = {v for v in forward.invars[: 1 + consts] if v.aval.shape == ()}
    for eqn in forward.eqns:
        if not eqn.effects and _all_in(eqn.invars, invariant) and not contains(eqn, (UserCode,)):
            invariant.update(eqn.outvars)
        if _is_cheap(eqn) and _all_in(eqn.invars, cheap | last if isinstance(eqn.op.kernel, Pull) else cheap):
            cheap.update(eqn.outvars)
    residuals = forward.outs[num_outs:]
    kinds = [_kind(a, where, invariant, cheap) for a in residuals]
    stacked = [a for a, k in zip(residuals, kinds, strict=True) if k[0] == STACK]
    known = {v for v in cheap if not dtypes.is_inexact(v.aval.dtype)} | {*forward.invars[: 1 + consts]}
    changing = {*forward.invars[1 : 1 + consts]} - last - cheap
    settled = settled_slices(forward, stacked, consts, carry, known, reverse, changing)
    again = set(settled.atoms)
    return [
        (SETTLED, 0) if k[0] == STACK and a in again else k for a, k in zip(residuals, kinds, strict=True)
    ], settled


def _kind(a: Any, where: dict[Any, _Kind], invariant: set[Any], cheap: set[Any]) -> _Kind:
    if type(a) is Literal or (a in invariant and a not in where):
        return HOIST, 0
    if a in where:
        return where[a]
    return (CHEAP, 0) if a in cheap and not dtypes.is_inexact(a.aval.dtype) else (STACK, 0)


def _all_in(atoms: Sequence[Any], known: set[Any]) -> bool:
    return all(type(a) is Literal or a in known for a in atoms)


def _is_cheap(eqn: Eqn) -> bool:
    """An operation on a scalar, or on an array of one element, that may run again: pure, or a check that has passed
    before."""
    return not eqn.op.multi and set(eqn.outvars[0].aval.shape) <= {1} and eqn.effects <= {"error"}


def ancestors(jaxpr: Jaxpr, invars: Sequence[Any], atoms: Sequence[Any]) -> Jaxpr:
    """The equations of `jaxpr` that `atoms` are computed by from `invars`, as a jaxpr."""
    given = set(invars)
    needed = {a for a in atoms if type(a) is not Literal}
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        if any(v in needed and v not in given for v in eqn.outvars):
            eqns.append(eqn)
            needed.update(a for a in eqn.invars if type(a) is not Literal)
    return Jaxpr(tuple(invars), tuple(reversed(eqns)), tuple(atoms), jaxpr.name)


class _Again:
    """What the linear loop computes again: integers from the index, and parts of constants and final carries.
    It is given the `extra` constants and the `finals`."""

    def __init__(
        self, forward: Jaxpr, kinds: list[_Kind], settled: Settled, num_outs: int, consts: int
    ) -> None:
        residuals = forward.outs[num_outs:]
        self.numbers = [n for n, k in enumerate(kinds) if k[0] in (CHEAP, SETTLED)]
        leading = forward.invars[: 1 + consts]
        self.program = ancestors(forward, (*leading, *settled.versions), [residuals[n] for n in self.numbers])
        used = {a for e in self.program.eqns for a in e.invars} | set(self.program.outs)
        self.consts = consts
        self.extra = [n for n, v in enumerate(leading[1:]) if v in used]
        self.carries = settled.carries
        self.finals = list(dict.fromkeys(settled.carries))
        self.inputs: list[Var | Typed] = [leading[1 + n] for n in self.extra]
        self.inputs += [Typed(forward.invars[1 + consts + n].aval) for n in self.finals]

    def run(self, i: Any, args: Sequence[Any]) -> dict[int, Any]:
        """The values of the residuals `numbers` at index `i`."""
        given = dict(zip(self.extra, args, strict=False))
        final = dict(zip(self.finals, args[len(self.extra) :], strict=True))
        consts = [given.get(n) for n in range(self.consts)]
        values = eval_jaxpr(self.program, [i, *consts, *(final[n] for n in self.carries)])
        return dict(zip(self.numbers, values, strict=True))


def _assemble(
    forward: Jaxpr,
    linear: Jaxpr,
    kinds: list[_Kind],
    again: _Again,
    num_outs: int,
    counts: tuple[int, int],
    carry_nz: tuple[bool, ...],
    ys_nz: tuple[bool, ...],
) -> Plan:
    """The plan, the kinds of residuals being decided; `counts`: consts, and tangents before the xs'."""
    consts, num_early = counts
    residuals = forward.outs[num_outs:]
    index, const_vars = forward.invars[0], forward.invars[1 : 1 + consts]
    at = {name: [n for n, k in enumerate(kinds) if k[0] == name] for name in (INDEX, CONST, HOIST, X, STACK)}
    tangents = linear.invars[len(kinds) :]
    early, late = tangents[:num_early], tangents[num_early:]
    order_consts, order_xs = [*at[CONST], *at[HOIST]], [*at[X], *at[STACK]]

    def body(i: Any, *args: Any) -> list[Any]:
        it = iter(args)
        values: dict[int, Any] = {n: next(it) for n in order_consts}
        given = [next(it) for _ in again.inputs]
        first = [next(it) for _ in early]
        values.update((n, next(it)) for n in order_xs)
        values.update(again.run(i, given))
        values.update((n, i) for n in at[INDEX])
        return eval_jaxpr(linear, [*(values[n] for n in range(len(kinds))), *first, *it])

    inputs: list[Any] = [Typed(index.aval, index.bounds), *(linear.invars[n] for n in order_consts)]
    inputs += [*again.inputs, *early, *(linear.invars[n] for n in order_xs), *late]
    keep = [n < num_outs or kinds[n - num_outs][0] == STACK for n in range(len(forward.outs))]
    sources = [(CONST, kinds[n][1]) for n in at[CONST]] + [(HOIST, m) for m in range(len(at[HOIST]))]
    return Plan(
        forward=prune(forward, keep),
        linear=build(body, inputs, linear.name),
        hoist=ancestors(forward, const_vars, [residuals[n] for n in at[HOIST]]),
        const_sources=(*sources, *((CONST, n) for n in again.extra), *((FINAL, n) for n in again.finals)),
        x_sources=tuple(kinds[n][1] for n in at[X]),
        num_stacked=len(at[STACK]),
        carry_nonzero=carry_nz,
        ys_nonzero=ys_nz,
    )
