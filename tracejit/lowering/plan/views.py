"""Values that are strided parts of a buffer: affine index maps turned into strides and an offset."""

from __future__ import annotations

from typing import Any

from tracejit.ir.jaxpr import Var
from tracejit.ir.kernel import Pull
from tracejit.lowering.plan.access import ZERO, Index, Inline, Operand, Scope, Stored
from tracejit.lowering.plan.probe import Symbols, affine, probe_pull


class _Capture:
    """A scope that notes at which index an array is read, and reads only 0-d values."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.idx: Index = ()

    def extent(self, d: Any) -> Any:
        return self.scope.extent(d)

    def read(self, atom: Any, idx: Index) -> Any:
        if not atom.aval.shape:
            return self.scope.read(atom, ())
        self.idx = tuple(idx)
        return self.scope.k.const(0, atom.aval.dtype)


def as_view(scope: Scope, value: Inline) -> Stored | None:
    """The part of a buffer that an inlined value is, if it is one."""
    eqn = value.eqn
    if value.scope is not scope or not isinstance(eqn.op.kernel, Pull):
        return None
    symbols, out = Symbols(), eqn.outvars[0]
    own = symbols.identity(out.aval.shape)
    access = probe_pull(symbols, eqn, own)
    arrays = [(a, idx) for a, idx in access.reads if a.aval.shape]
    if not access.is_copy or not arrays:
        return None
    ((atom, idx),) = arrays
    source = scope.values[atom] if type(atom) is Var else None
    source = scope.stored(source)
    source = as_view(scope, source) if type(source) is Inline else source
    maps = [affine(symbols, i) for i in idx]
    if type(source) is not Stored or any(m is None for m in maps):
        return None
    strides = tuple(_stride(scope, n, maps, source) for n in range(out.aval.ndim))
    capture = _Capture(scope)
    operands = [Operand(capture, a) for a in eqn.invars]
    eqn.op.kernel.fn(scope.k, (ZERO,) * len(own), operands, Operand(capture, out), **eqn.params)
    return Stored(source.buffer, strides, source.at(scope.k, capture.idx), source.since)


def _stride(scope: Scope, axis: int, maps: Any, source: Stored) -> Any:
    total: Any = 0
    for m, s in zip(maps, source.strides, strict=True):
        if m.get(axis, 0):
            total = scope.k.add(total, scope.k.mul(s, m[axis]))
    return total.value if hasattr(total, "value") else total
