"""Where the elements of values come from: registers, buffers, or the code of their producers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tracejit.ir.avals import Aval, Dim, Shape
from tracejit.ir.jaxpr import Eqn, Literal, Var
from tracejit.ir.kernel import Pointwise
from tracejit.lowering.loops.hoist import Recorder
from tracejit.lowering.loops.nodes import I64, Buffer, Const
from tracejit.records import record

Index = tuple[Any, ...]
ZERO = Const(0, I64)


class Flat(tuple):
    """An index of one number: the position in C order, whatever the rank."""

    __slots__ = ()


@record(frozen=True, eq=False)
class Scalar:
    """A 0-d value in registers."""

    operand: Any


@record(frozen=True, eq=False)
class Stored:
    """A strided part of a buffer. Strides and offset are in elements: ints or int64 operands.

    `since`: the number of the open block in which the contents were written.
    """

    buffer: Buffer
    strides: tuple[Any, ...]
    offset: Any = 0
    since: int = 0

    def at(self, k: Recorder, idx: Index) -> Any:
        """The position of element `idx` in the buffer."""
        total: Any = self.offset
        if type(idx) is Flat:
            return k.add(total, idx[0])
        for i, s in zip(idx, self.strides, strict=True):
            if not (type(s) is int and s == 0):
                total = k.add(total, k.mul(i, s))
        return total

    def row(self, k: Recorder, i: Any) -> Stored:
        """The part at `i` along the first axis."""
        offset = k.add(self.offset, k.mul(i, self.strides[0]))
        return replace(self, strides=self.strides[1:], offset=offset)


@record(frozen=True, eq=False)
class Local:
    """A value that only the nest which computes it reads, at indices where it has been computed."""


@record(frozen=True, eq=False)
class Inline:
    """Output `number` of `eqn`, computed wherever it is read, from the values of `scope`."""

    scope: Scope
    eqn: Eqn
    number: int


@record(frozen=True, eq=False)
class Slice:
    """The part of `value`, of the shape of `eqn`'s operand, at `i` along the first axis."""

    value: Any
    aval: Aval
    i: Any


def c_strides(shape: Shape) -> tuple[int, ...]:
    """C-order strides in elements, by the bounds of dynamic dimensions."""
    sizes = [d if isinstance(d, int) else d.bound or 1 for d in shape]
    return tuple(math.prod(sizes[n + 1 :]) for n in range(len(sizes)))


def is_contiguous(stored: Stored, shape: Shape) -> bool:
    """Whether the elements lie in C order without gaps (only static shapes do)."""
    if not all(type(d) is int for d in shape):
        return False
    want = c_strides(shape)
    return all(
        d == 1 or (type(s) is int and s == w) for d, s, w in zip(shape, stored.strides, want, strict=True)
    )


@record(frozen=True, eq=False)
class Operand:
    """An operand as kernel functions see it: `.aval`, `.extent(axis)`, `operand[i0, i1]`."""

    scope: Any
    atom: Any

    @property
    def aval(self) -> Aval:
        return self.atom.aval

    @property
    def shape(self) -> Shape:
        return self.atom.aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self.atom.aval.dtype

    def extent(self, axis: int) -> Any:
        return self.scope.extent(self.atom.aval.shape[axis])

    def __getitem__(self, idx: Any) -> Any:
        return self.scope.read(self.atom, idx if isinstance(idx, tuple) else (idx,))


class Scope:
    """The values of one jaxpr while it is lowered. One jaxpr lowered twice has two scopes."""

    def __init__(self, k: Recorder, values: dict[Var, Any]) -> None:
        self.k = k
        self.values = values
        self._aliases: dict[Any, Stored] = {}
        #: Values whose element at hand is in a register and will be stored at the end of the iteration.
        self.pending: list[Any] = []

    def stored(self, value: Any) -> Any:
        """A reshape of a stored C-ordered value as a stored one; other values as they are."""
        if type(value) is not Inline or not getattr(value.eqn.op.kernel, "alias", False):
            return value
        scope, (atom, *_), out = value.scope, value.eqn.invars, value.eqn.outvars[0].aval
        source = scope.stored(scope.values[atom]) if type(atom) is Var else None
        if type(source) is not Stored or not is_contiguous(source, atom.aval.shape) or not out.is_static:
            return value
        if any(source is p for p in scope.pending):
            return value  # it is found by its own index, which the reshape computes
        key = (source, value.eqn)
        if key not in self._aliases:
            self._aliases[key] = replace(source, strides=c_strides(out.shape))
        return self._aliases[key]

    def extent(self, d: Any) -> Any:
        """A dimension as an int or an int64 operand."""
        return self.scalar(d.var, I64) if isinstance(d, Dim) else d

    def scalar(self, atom: Any, dtype: np.dtype | None = None) -> Any:
        """The element of a 0-d value."""
        x = self.read(atom, ())
        return x if dtype is None else self.k.cast(x, dtype)

    def read(self, atom: Any, idx: Index) -> Any:
        """Element `idx` of a variable or literal, computed at most once per place and index."""
        if isinstance(atom, Literal):
            return self.k.const(atom.value, atom.aval.dtype)
        if isinstance(atom, Const):
            return atom
        value = self.stored(self.values[atom])
        if type(value) is Scalar:
            return value.operand
        return read(self.k, value, tuple(self.k.lift(i, I64) for i in idx) if type(idx) is not Flat else idx)

    def element(self, eqn: Eqn, idx: Index) -> tuple[Any, ...]:
        """The scalars of all of a Pointwise or Pull equation's outputs at `idx`."""
        k, form = self.k, eqn.op.kernel
        if isinstance(form, Pointwise):
            xs = [self.read(a, idx if a.aval.shape else ()) for a in eqn.invars]
            got = form.fn(k, *xs, **eqn.params)
        else:
            got = self._pull(form, eqn, idx)
        got = got if isinstance(got, tuple) else (got,)
        return tuple(k.lift(x, v.aval.dtype) for x, v in zip(got, eqn.outvars, strict=True))

    def _pull(self, form: Any, eqn: Eqn, idx: Index) -> Any:
        if type(idx) is Flat:
            if form.alias:
                return self.read(eqn.invars[0], idx)
            idx = (ZERO,) * eqn.outvars[0].aval.ndim  # only functions that ignore the index are read so
        operands = [Operand(self, a) for a in eqn.invars]
        return form.fn(self.k, idx, operands, Operand(self, eqn.outvars[0]), **eqn.params)


def read(k: Recorder, value: Any, idx: Index) -> Any:
    """Element `idx` of a value that is not in a register."""
    if type(value) is Slice:
        return read(k, value.value, (value.i, *idx))
    if type(value) is Scalar:
        return value.operand
    key = (value.scope, value.eqn, idx) if type(value) is Inline else (value, idx)
    got = k.known.get(key)
    if got is None:
        got = _compute(k, value, idx)
        depth = max(map(k.depth_of, got)) if type(got) is tuple else k.depth_of(got)
        k.remember(depth, key, got)
    return got[value.number] if type(value) is Inline else got


def _compute(k: Recorder, value: Any, idx: Index) -> Any:
    assert type(value) is not Local, "a value was read where it had not been computed"
    if type(value) is Stored:
        return k.load_at(value.buffer, value.at(k, idx), value.since, exists=not value.strides)
    return value.scope.element(value.eqn, idx)
