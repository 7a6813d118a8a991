"""Slices of a carry that no later iteration writes into: residuals that need not be kept.

A factorisation writes its k-th column in step k and reads the columns before. What it has read is still there when
the loop is over, so the linear loop reads it from the final carry:

    low = low.at[j:, j].set(f(low[j:, :j]))        low[j:, :j] is the final low's [j:, :j]

That is proved from the starts and ends of the parts that are written and read, where these are a + b * i of the
loop's index i.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tracejit import ops
from tracejit.ir.avals import Dim
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from tracejit.ir.kernel import Pull
from tracejit.records import record

_Line = tuple[int, int]  # (a, b): a + b * i
_Span = tuple[_Line, _Line] | None  # from, to (exclusive); None where it is not known

_CHECK = ops.index_check.check_index_op  # indices that have passed it before do so again
_READS = (ops.slices.slice_op, ops.index.dynamic_slice_op)
_WRITES = (
    *(ops.slices.slice_update_op, ops.slices.slice_add_op),
    *(ops.index.dynamic_update_slice_op, ops.index.dynamic_slice_add_op),
)


@record(eq=False)
class Settled:
    """Residuals that are parts of constants and of final carries. `versions` are the values that they are read from,
    each of which the final one of `carries` stands for."""

    atoms: list[Var]
    versions: list[Var]
    carries: list[int]


def settled_slices(
    forward: Jaxpr,
    residuals: Sequence[Any],
    consts: int,
    carry: int,
    known: Collection[Any],
    reverse: bool,
    changing: Collection[Any] = (),
) -> Settled:
    """Those of the `residuals` of a scan's body that need not be kept. `known`: values that the linear loop has or
    can compute again; for one number, which is kept as cheaply, without those that are `changing`: to read it
    from them, they would be kept as a whole."""
    found = _Search(forward, consts, carry, known, reverse)
    only = _Search(forward, consts, 0, set(known) - set(changing), reverse)
    atoms = [a for a in dict.fromkeys(residuals) if type(a) is Var]
    atoms = [a for a in atoms if (found if a.aval.shape else only).can_do(a)]
    used = {v for a in atoms for v in found.versions_of(a)}
    versions = [v for v in found.owner if v in used]
    return Settled(atoms, versions, [found.owner[v] for v in versions])


class _Search:
    def __init__(
        self, forward: Jaxpr, consts: int, carry: int, known: Collection[Any], reverse: bool
    ) -> None:
        self.forward = forward
        self.known = known
        self.reverse = reverse
        self.index = forward.invars[0]
        self.last = -1 if self.index.bounds is None else self.index.bounds[1]
        self.maker: dict[Any, Eqn] = {v: e for e in forward.eqns for v in e.outvars}
        self.owner: dict[Var, int] = {}  # the values that a carry takes in one iteration -> its number
        self.writes: dict[int, list[Eqn]] = {}
        for n in range(carry) if self.last >= 0 else ():
            self._follow(n, forward.invars[1 + consts + n], forward.outs[n])

    def _follow(self, n: int, start: Var, out: Any) -> None:
        """Note the writes from a carry to its next value, if that consists of nothing else."""
        writes: list[Eqn] = []
        while out is not start:
            eqn = self.maker.get(out)
            if eqn is None or eqn.op not in _WRITES:
                return
            writes.insert(0, eqn)
            out = eqn.invars[0]
        if writes:
            self.writes[n] = writes
            self.owner.update(dict.fromkeys((start, *(e.outvars[0] for e in writes)), n))

    # -- residuals

    def can_do(self, a: Any) -> bool:
        """Whether an atom can be had from what is known and final carries."""
        if type(a) is Literal or a in self.known:
            return True
        eqn = self.maker.get(a)
        if eqn is None or (eqn.op is not _CHECK and (eqn.effects or not isinstance(eqn.op.kernel, Pull))):
            return False
        x, *rest = eqn.invars
        if x in self.owner:
            return eqn.op in _READS and self._stays(eqn) and all(map(self.can_do, rest))
        return all(map(self.can_do, eqn.invars))

    def versions_of(self, a: Any) -> list[Var]:
        """The versions of carries that an atom is read from."""
        if type(a) is Literal or a in self.known:
            return []
        return [a] if a in self.owner else [v for b in self.maker[a].invars for v in self.versions_of(b)]

    # -- proofs

    def _stays(self, read: Eqn) -> bool:
        """Whether what is read is not written after that, in this iteration or a later one."""
        version: Any = read.invars[0]
        writes = self.writes[self.owner[version]]
        before = [e.outvars[0] for e in writes]
        done = before.index(version) + 1 if version in before else 0
        part = self._part(read)
        return all(self._apart(self._part(w), part, int(n < done)) for n, w in enumerate(writes))

    def _apart(self, write: list[_Span], read: list[_Span], steps: int) -> bool:
        """Whether what is written from `steps` iterations later on is apart from what is read now."""
        pairs = [(w, r) for w, r in zip(write, read, strict=True) if w is not None and r is not None]
        return any(
            self._never_below(w[0], r[1], steps) or self._never_below(_minus(w[1]), _minus(r[0]), steps)
            for w, r in pairs
        )

    def _never_below(self, later: _Line, now: _Line, steps: int) -> bool:
        """later(j) >= now(i) for each i and all j that come `steps` or more after it."""
        if self.last < steps:
            return True  # there is no such j
        if self.reverse:
            ends, lines = (steps, self.last), ((later[0] - later[1] * steps, later[1]), (later[0], 0))
        else:
            ends = (0, self.last - steps)
            lines = (later[0] + later[1] * steps, later[1]), (later[0] + later[1] * self.last, 0)
        return all(_at(line, i) >= _at(now, i) for line in lines for i in ends)

    def _part(self, eqn: Eqn) -> list[_Span]:
        """Along each axis, from where to where an equation reads or writes."""
        x: Any = eqn.invars[0].aval
        if "start_indices" in eqn.params:
            limits = zip(eqn.params["start_indices"], eqn.params["limit_indices"], x.shape, strict=True)
            return [((b, 0), (e, 0)) if type(e) is int else self._whole(d) for b, e, d in limits]
        starts = eqn.invars[1 : 1 + x.ndim] if eqn.op in _READS else eqn.invars[2 : 2 + x.ndim]
        part: Any = eqn.outvars[0].aval if eqn.op in _READS else eqn.invars[1].aval
        return [self._span(*axis) for axis in zip(starts, part.shape, x.shape, strict=True)]

    def _whole(self, size: Any) -> _Span:
        return ((0, 0), (size, 0)) if type(size) is int else None

    def _span(self, start: Any, size: Any, room: Any) -> _Span:
        """A window that is not clamped: it lies inside in all iterations."""
        low, length = self._line(start), self._line(size.var) if isinstance(size, Dim) else (size, 0)
        if low is None or length is None or type(room) is not int:
            return None
        high = low[0] + length[0], low[1] + length[1]
        inside = all(_at(low, i) >= 0 and _at(high, i) <= room for i in (0, self.last))
        return (low, high) if inside else None

    def _line(self, a: Any) -> _Line | None:
        """An integer as a + b * i."""
        if type(a) is Literal:
            return int(a.value), 0
        if a is self.index:
            return 0, 1
        eqn = self.maker.get(a)
        if (
            eqn is None
            or len(eqn.invars) != 2
            or eqn.op not in (ops.arithmetic.add.op, ops.arithmetic.sub.op)
        ):
            return None
        x, y = map(self._line, eqn.invars)
        if x is None or y is None:
            return None
        y = _minus(y) if eqn.op is ops.arithmetic.sub.op else y
        return x[0] + y[0], x[1] + y[1]


def _minus(line: _Line) -> _Line:
    return -line[0], -line[1]


def _at(line: _Line, i: int) -> int:
    return line[0] + line[1] * i
