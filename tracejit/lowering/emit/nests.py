"""Which function writes the nest of which kind of group."""

from __future__ import annotations

from collections.abc import Callable

from tracejit.errors import InternalTypeError
from tracejit.ir.jaxpr import Eqn
from tracejit.ir.kernel import (
    CondRegion,
    Contract,
    Cumulative,
    Kernel,
    NoKernel,
    ScanRegion,
    Update,
    WhileRegion,
)  # fmt: skip
from tracejit.lowering.emit import boxloops, checks, columns, contract, cumulative, opaque, reduce, tiles
from tracejit.lowering.emit.body import Body
from tracejit.lowering.emit.regions import control
from tracejit.lowering.emit.update import emit_update
from tracejit.lowering.plan.access import (  # fmt: skip
    Flat,
    Scalar,
)
from tracejit.lowering.plan.groups import Group


class Nests(Body):
    """A body that writes each group by the function for its kind."""

    def emit(self, group: Group) -> None:
        _EMITTERS[group.kind](self, group)

    def scalars(self, group: Group) -> None:
        for eqn in group.members:
            self.check(eqn)
            for v, x in zip(eqn.outvars, self.element(eqn, ()), strict=True):
                self.values[v] = Scalar(x)

    def map(self, group: Group) -> None:
        for eqn in group.members:
            self.comment(eqn)
        own = {
            v: self.define(v) for e in group.members for v in e.outvars if v in self.plan.storage or e.effects
        }
        shape = group.domain
        vector = not any(e.effects for e in group.members)
        if self.is_flat(group.members, shape, own):
            size = group.members[0].outvars[0].aval.size
            if checks.in_blocks(self, group.members, size, own):
                checks.emit_blocks(self, group.members, size, own)
                return
            with self.k.loop(0, size, vector=vector, independent=True) as i:
                self.compute(group.members, Flat((i,)), own)
            return
        with tiles.nest(self, group.members, shape, vector) as idx:
            self.compute(group.members, idx, own)

    def single(self, group: Group) -> None:
        (eqn,) = group.members
        self.comment(eqn)
        if eqn in self.plan.opaque:
            opaque.emit_call(self, eqn)
        elif isinstance(eqn.op.kernel, NoKernel):
            raise InternalTypeError(problem=f"{eqn.op} has no kernel ({eqn.op.kernel.reason})")
        else:
            _ROOTS[type(eqn.op.kernel)](self, eqn)


_EMITTERS: dict[str, Callable[[Nests, Group], None]] = {
    "scalars": Nests.scalars,
    "map": Nests.map,
    "boxes": boxloops.emit_boxes,
    "single": Nests.single,
    "rows": reduce.emit_rows,
    "columns": columns.emit_columns,
}

_ROOTS: dict[type[Kernel], Callable[[Nests, Eqn], None]] = {
    Update: emit_update,
    Cumulative: cumulative.emit_cumulative,
    Contract: contract.emit_contract,
    ScanRegion: control.emit_scan,
    WhileRegion: control.emit_while,
    CondRegion: control.emit_cond,
}
