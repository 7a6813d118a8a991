"""dce: equations nobody needs go, and so do the unused parts of regions.

A scan or while carry that only feeds itself is unused too. Equations with
effects stay, with all they need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

from tracejit.ir.avals import Dim
from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Var
from tracejit.ir.kernel import CondRegion, ScanRegion, WhileRegion
from tracejit.passes.rewrite import Pass, rebuild, with_params

Mask = tuple[bool, ...]
# A region with params beyond these may count its operands in a way unknown here: left whole.
_KNOWN = {
    CondRegion: {"branches"},
    WhileRegion: {"cond", "body", "cond_consts", "body_consts"},
    ScanRegion: {"jaxpr", "length", "bound", "consts", "carry", "reverse"},
}


class _Dce:
    """One run of the pass; bodies that several equations share are swept once."""

    def __init__(self) -> None:
        self._done: dict[tuple[Jaxpr, Mask], tuple[Jaxpr, Mask]] = {}

    def sweep(self, jaxpr: Jaxpr, outs: Mask | None = None) -> tuple[Jaxpr, Mask]:
        """`jaxpr` with only the outputs of the mask; which invars it still reads."""
        outs = (True,) * len(jaxpr.outs) if outs is None else outs
        if (jaxpr, outs) not in self._done:
            self._done[jaxpr, outs] = self._sweep(jaxpr, outs)
        return self._done[jaxpr, outs]

    def _sweep(self, jaxpr: Jaxpr, mask: Mask) -> tuple[Jaxpr, Mask]:
        outs = jaxpr.outs if all(mask) else tuple(compress(jaxpr.outs, mask))
        live: set[Any] = set()
        mark(live, outs)
        kept: list[Eqn] = []
        for eqn in reversed(jaxpr.eqns):
            if not eqn.effects and live.isdisjoint(eqn.outvars):
                continue
            eqn = self._prune(eqn, live)
            kept.append(eqn)
            mark(live, eqn.invars)
            _mark_extents(live, eqn.outvars)
        return rebuild(jaxpr, kept[::-1], outs), tuple(v in live for v in jaxpr.invars)

    def _prune(self, eqn: Eqn, live: set[Any]) -> Eqn:
        kind = type(eqn.op.kernel)
        if kind not in _KNOWN or not _KNOWN[kind] >= eqn.params.keys():
            return eqn
        _mark_extents(live, [v for v in eqn.outvars if v in live])
        used = tuple(v in live for v in eqn.outvars)
        return _PRUNERS[kind](self, eqn, used)


def mark(live: set[Any], atoms: Iterable[Atom]) -> None:
    """Add the variables among `atoms`, and their extents, to `live`."""
    for a in atoms:
        if type(a) is Var and a not in live:
            live.add(a)
            _mark_extents(live, (a,))


def _mark_extents(live: set[Any], vs: Iterable[Var]) -> None:
    for v in vs:
        if not v.aval.is_static:
            live.update(d.var for d in v.aval.shape if isinstance(d, Dim))


def _keep(xs: Sequence[Any], mask: Iterable[bool]) -> tuple[Any, ...]:
    return tuple(compress(xs, mask))


def _with_invars(jaxpr: Jaxpr, mask: Iterable[bool]) -> Jaxpr:
    """`jaxpr` without the invars it does not read."""
    invars = _keep(jaxpr.invars, mask)
    return jaxpr if len(invars) == len(jaxpr.invars) else Jaxpr(invars, jaxpr.eqns, jaxpr.outs, jaxpr.name)


def _prune_cond(run: _Dce, eqn: Eqn, used: Mask) -> Eqn:
    swept = [run.sweep(b, used) for b in eqn.params["branches"]]
    reads = tuple(any(column) for column in zip(*(r for _, r in swept), strict=True))
    branches = tuple(_with_invars(b, reads) for b, _ in swept)
    return _changed(
        eqn, (eqn.invars[0], *_keep(eqn.invars[1:], reads)), _keep(eqn.outvars, used), branches=branches
    )


def _prune_while(run: _Dce, eqn: Eqn, used: Mask) -> Eqn:
    p = eqn.params
    n_cond, n_body = p["cond_consts"], p["body_consts"]
    n_carry = len(eqn.invars) - n_cond - n_body
    cond, cond_reads = run.sweep(p["cond"])
    carry, rows = _or(used[:n_carry], cond_reads[n_cond:]), used[n_carry:]
    body, reads, carry = _live_carry(run, p["body"], carry, rows, slice(n_body, None))
    sizes: set[Any] = set()  # which the types of what is carried need, whatever the condition reads
    _mark_extents(sizes, _keep(cond.invars[n_cond:], carry))
    cond_reads = (*(r or v in sizes for r, v in zip(cond_reads[:n_cond], cond.invars, strict=False)), *carry)
    invars = (
        *_keep(eqn.invars[:n_cond], cond_reads[:n_cond]),
        *_keep(eqn.invars[n_cond : n_cond + n_body], reads),
        *_keep(eqn.invars[n_cond + n_body :], carry),
    )
    return _changed(
        eqn,
        invars,
        _keep(eqn.outvars, carry + rows),
        cond=_with_invars(cond, cond_reads),
        body=_with_invars(body, reads[:n_body] + carry),
        cond_consts=sum(cond_reads[:n_cond]),
        body_consts=sum(reads[:n_body]),
    )


def _prune_scan(run: _Dce, eqn: Eqn, used: Mask) -> Eqn:
    p = eqn.params
    dynamic, n_consts, n_carry = int(p["length"] is None), p["consts"], p["carry"]
    first = 1 + n_consts  # of the body's carry; the position comes first
    body, reads, carry = _live_carry(
        run, p["jaxpr"], used[:n_carry], used[n_carry:], slice(first, first + n_carry)
    )
    reads = (True, *reads[1:first], *carry, *reads[first + n_carry :])
    operands = eqn.invars[dynamic:]
    return _changed(
        eqn,
        eqn.invars[:dynamic] + _keep(operands, reads[1:]),
        _keep(eqn.outvars, carry + used[n_carry:]),
        jaxpr=_with_invars(body, reads),
        consts=sum(reads[1:first]),
        carry=sum(carry),
    )


def _live_carry(run: _Dce, body: Jaxpr, carry: Mask, rest: Mask, where: slice) -> tuple[Jaxpr, Mask, Mask]:
    """The carries that are needed when those of `carry` are: (swept body, its reads, all needed)."""
    while True:
        swept, reads = run.sweep(body, carry + rest)
        needed = _or(carry, reads[where])
        if needed == carry:
            return swept, reads, carry
        carry = needed


def _or(a: Mask, b: Mask) -> Mask:
    return tuple(x or y for x, y in zip(a, b, strict=True))


def _changed(eqn: Eqn, invars: tuple[Atom, ...], outvars: tuple[Var, ...], **params: Any) -> Eqn:
    """`eqn` with these, or itself if nothing was pruned."""
    same = len(invars) == len(eqn.invars) and len(outvars) == len(eqn.outvars)
    if same and all(_same(v, eqn.params[k]) for k, v in params.items()):
        return eqn
    return with_params(eqn, {**eqn.params, **params}).replace(invars=invars, outvars=outvars)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(x is y for x, y in zip(a, b, strict=True))
    return a is b or (isinstance(a, int) and a == b)


_PRUNERS = {CondRegion: _prune_cond, WhileRegion: _prune_while, ScanRegion: _prune_scan}

dce = Pass("dce", lambda jaxpr: _Dce().sweep(jaxpr)[0])
