"""How a scan is linearized: which residuals are stacked, and which need not be.

The forward scan emits its residuals as further ys; the linear scan takes them
as xs. Not stacked are constants, values that depend on constants only (hoisted
out of the loop), slices of xs, and integers computed from the index alone
(computed again).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracejit import dtypes
from tracejit.control.regions import Typed, build, prune, union
from tracejit.control.residuals import narrow, pad_residuals, rematerialize, unbounded
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.linearize import linearize_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, contains
from tracejit.ir.kernel import UserCode

INDEX, CONST, X, HOIST, CHEAP, STACK = "index", "const", "x", "hoist", "cheap", "stack"
_Kind = tuple[str, int]


@dataclass(frozen=True)
class Plan:
    """A linearized scan.

    forward: the body with stacked residuals as further ys; linear: the linear body over
    (i, *residual constants, *tangent consts, *tangent carry, *residual xs, *tangent xs).
    hoist: constants -> hoisted residuals. const_sources: (CONST, k) or (HOIST, k);
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
def linear_plan(jaxpr: Jaxpr, consts: int, carry: int, nonzero: tuple[bool, ...]) -> Plan:
    """The plan for a scan of body `jaxpr`; `nonzero` has the flags of consts, carry and xs."""
    forward, linear, flags, carry_nz, ys_nz = _fixpoint(jaxpr, consts, carry, nonzero)
    num_outs = len(jaxpr.outs)
    forward, linear = narrow(forward, linear, num_outs)
    kinds = _classify(forward, num_outs, consts, carry)
    fixed = set(forward.invars[1 : 1 + consts])
    stacked = [a for a, k in zip(forward.outs[num_outs:], kinds, strict=True) if k[0] == STACK]
    if unbounded(stacked, fixed):
        forward, linear, _ = rematerialize(forward, linear, num_outs, flags)
        kinds = _classify(forward, num_outs, consts, carry)
    forward, linear = pad_residuals(forward, linear, num_outs, fixed, [k[0] == STACK for k in kinds])
    counts = consts, sum(flags[: 1 + consts + carry])
    return _assemble(forward, linear, kinds, num_outs, counts, carry_nz, ys_nz)


def _fixpoint(jaxpr: Jaxpr, consts: int, carry: int, nonzero: tuple[bool, ...]) -> tuple[Any, ...]:
    """Linearize with every carry marked whose tangent becomes nonzero after some steps."""
    head, middle, tail = nonzero[:consts], nonzero[consts : consts + carry], nonzero[consts + carry :]
    free = (True,) * (1 + consts) + (False,) * carry + (True,) * len(tail)
    while True:
        flags = (False, *head, *middle, *tail)
        forward, linear, out_nz, _ = linearize_jaxpr(jaxpr, flags, False, free)
        wider = union(middle, out_nz[:carry])
        if wider == middle:
            break
        middle = wider
    ys_nz = out_nz[carry:]
    if out_nz[:carry] != middle:
        forward, linear, out_nz, _ = linearize_jaxpr(jaxpr, flags, (*middle, *ys_nz), free)
    return forward, linear, flags, middle, ys_nz


def _classify(forward: Jaxpr, num_outs: int, consts: int, carry: int) -> list[_Kind]:
    """The kind of each residual of `forward`, and its number among the const or x inputs."""
    where: dict[Any, _Kind] = {forward.invars[0]: (INDEX, 0)}
    where.update((v, (CONST, n)) for n, v in enumerate(forward.invars[1 : 1 + consts]))
    where.update((v, (X, n)) for n, v in enumerate(forward.invars[1 + consts + carry :]))
    invariant = set(forward.invars[1 : 1 + consts])
    cheap = {v for v in forward.invars[: 1 + consts] if v.aval.shape == ()}
    for eqn in forward.eqns:
        if not eqn.effects and _all_in(eqn.invars, invariant) and not contains(eqn, (UserCode,)):
            invariant.update(eqn.outvars)
        if _is_cheap(eqn) and _all_in(eqn.invars, cheap):
            cheap.update(eqn.outvars)
    return [_kind(a, where, invariant, cheap) for a in forward.outs[num_outs:]]


def _kind(a: Any, where: dict[Any, _Kind], invariant: set[Any], cheap: set[Any]) -> _Kind:
    if type(a) is Literal or (a in invariant and a not in where):
        return HOIST, 0
    if a in where:
        return where[a]
    return (CHEAP, 0) if a in cheap and not dtypes.is_inexact(a.aval.dtype) else (STACK, 0)


def _all_in(atoms: Sequence[Any], known: set[Any]) -> bool:
    return all(type(a) is Literal or a in known for a in atoms)


def _is_cheap(eqn: Eqn) -> bool:
    """A scalar operation that may run again: pure, or a check that has passed before."""
    return not eqn.op.multi and eqn.outvars[0].aval.shape == () and eqn.effects <= {"error"}


def ancestors(jaxpr: Jaxpr, invars: Sequence[Any], atoms: Sequence[Any]) -> Jaxpr:
    """The equations of `jaxpr` that `atoms` are computed by, as a jaxpr over `invars`."""
    needed = {a for a in atoms if type(a) is not Literal}
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        if any(v in needed for v in eqn.outvars):
            eqns.append(eqn)
            needed.update(a for a in eqn.invars if type(a) is not Literal)
    return Jaxpr(tuple(invars), tuple(reversed(eqns)), tuple(atoms), jaxpr.name)


def _assemble(
    forward: Jaxpr,
    linear: Jaxpr,
    kinds: list[_Kind],
    num_outs: int,
    counts: tuple[int, int],
    carry_nz: tuple[bool, ...],
    ys_nz: tuple[bool, ...],
) -> Plan:
    """The plan, the kinds of residuals being decided; `counts`: consts, and tangents before the xs'."""
    consts, num_early = counts
    residuals = forward.outs[num_outs:]
    index, const_vars = forward.invars[0], forward.invars[1 : 1 + consts]
    at = {
        name: [n for n, k in enumerate(kinds) if k[0] == name]
        for name in (INDEX, CONST, HOIST, CHEAP, X, STACK)
    }
    cheap = ancestors(forward, (index, *const_vars), [residuals[n] for n in at[CHEAP]])
    used = {a for e in cheap.eqns for a in e.invars} | set(cheap.outs)
    extra = [n for n, v in enumerate(const_vars) if v in used]
    tangents = linear.invars[len(kinds) :]
    early, late = tangents[:num_early], tangents[num_early:]
    order_consts, order_xs = [*at[CONST], *at[HOIST]], [*at[X], *at[STACK]]

    def body(i: Any, *args: Any) -> list[Any]:
        it = iter(args)
        values: dict[int, Any] = {n: next(it) for n in order_consts}
        given = {n: next(it) for n in extra}
        first = [next(it) for _ in early]
        values.update((n, next(it)) for n in order_xs)
        again = eval_jaxpr(cheap, [i, *(given.get(n) for n in range(consts))])
        values.update(zip(at[CHEAP], again, strict=True))
        values.update((n, i) for n in at[INDEX])
        return eval_jaxpr(linear, [*(values[n] for n in range(len(kinds))), *first, *it])

    inputs: list[Any] = [Typed(index.aval, index.bounds), *(linear.invars[n] for n in order_consts)]
    inputs += [*(const_vars[n] for n in extra), *early, *(linear.invars[n] for n in order_xs), *late]
    keep = [n < num_outs or kinds[n - num_outs][0] == STACK for n in range(len(forward.outs))]
    sources = [(CONST, kinds[n][1]) for n in at[CONST]] + [(HOIST, m) for m in range(len(at[HOIST]))]
    return Plan(
        forward=prune(forward, keep),
        linear=build(body, inputs, linear.name),
        hoist=ancestors(forward, const_vars, [residuals[n] for n in at[HOIST]]),
        const_sources=(*sources, *((CONST, n) for n in extra)),
        x_sources=tuple(kinds[n][1] for n in at[X]),
        num_stacked=len(at[STACK]),
        carry_nonzero=carry_nz,
        ys_nonzero=ys_nz,
    )
