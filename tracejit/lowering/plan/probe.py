"""Running kernel functions on symbols, to see what they read, where, and whether they can run natively."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import Eqn, Literal
from tracejit.ir.kernel import Cumulative, Pointwise, Pull, Reduce, Segment, Unsupported
from tracejit.lowering.loops.hoist import Recorder
from tracejit.lowering.loops.nodes import I64, Const, Inst, Pair, Reg
from tracejit.lowering.plan.access import ZERO, Index, Operand

_DIVISIONS = frozenset({"sdiv", "srem", "udiv", "urem"})


class Symbols(Recorder):
    """A recorder whose registers know which axes of the nest they depend on, and how they came about."""

    def __init__(self) -> None:
        super().__init__("symbols")
        self.masks: dict[Reg, int] = {}
        self.made: dict[Reg, Inst] = {}
        self.axes: list[Reg] = []
        self.work = 0

    def axis(self, n: int) -> Reg:
        """The index along axis `n` of a nest."""
        while len(self.axes) <= n:
            self.axes.append(self.reg(I64))
            self.masks[self.axes[-1]] = 1 << (len(self.axes) - 1)
        return self.axes[n]

    def identity(self, shape: Any) -> Index:
        """The index of the current element of a nest over `shape`; axes of size 1 have no loop."""
        return tuple(ZERO if d == 1 and type(d) is int else self.axis(n) for n, d in enumerate(shape))

    def mask(self, x: Any) -> int:
        """The axes that operand `x` depends on, as bits."""
        if isinstance(x, Pair):
            return self.mask(x.re) | self.mask(x.im)
        return self.masks.get(x, 0) if type(x) is Reg else 0

    def mask_of(self, idx: Index) -> int:
        out = 0
        for i in idx:
            out |= self.mask(i)
        return out

    def _inst(self, op: str, dtype: np.dtype, args: tuple[Any, ...], attr: Any = None) -> Reg:
        out = super()._inst(op, dtype, args, attr)
        if op in ("load", "get"):
            self.masks[out] = -1
        return out

    def place(self, depth: int, stmt: Any) -> None:
        self.masks[stmt.out] = self.mask_of(stmt.args)
        self.made[stmt.out] = stmt
        self.work += 8 if stmt.op in _DIVISIONS else 1

    def symbol(self, key: Any, dtype: np.dtype, mask: int = 0) -> Any:
        """An unknown of `dtype`, the same one for the same key."""
        got = self.known.get(key)
        if got is None:
            if dtype.kind == "c":
                part = np.dtype(f"f{dtype.itemsize // 2}")
                got = self.pair(self.symbol((key, 0), part, mask), self.symbol((key, 1), part, mask))
            else:
                got = self.reg(dtype)
                self.masks[got] = mask
            self.remember(0, key, got)
        return got


class Probe:
    """A scope of symbols. `reads` lists (operand, index) in the order in which they happen."""

    def __init__(self, k: Symbols) -> None:
        self.k = k
        self.reads: list[tuple[Any, Index]] = []

    def extent(self, d: Any) -> Any:
        return self.read(d.var, ()) if isinstance(d, Dim) else d

    def read(self, atom: Any, idx: Index) -> Any:
        if isinstance(atom, Literal):
            return self.k.const(atom.value, atom.aval.dtype)
        idx = tuple(self.k.lift(i, I64) for i in idx)
        self.reads.append((atom, idx))
        return self.k.within(self.k.symbol((atom, idx), atom.aval.dtype, self.k.mask_of(idx)), atom.bounds)


class Access:
    """What a Pull equation does at an index: its reads, the axes its value depends on, its work.
    `is_copy`: the value is what it reads of its only operand that is not 0-d, or it reads none."""

    __slots__ = ("is_copy", "mask", "reads", "work")

    def __init__(self, reads: list[tuple[Any, Index]], mask: int, work: int, is_copy: bool) -> None:
        self.reads = reads
        self.mask = mask
        self.work = work
        self.is_copy = is_copy


def probe_pull(k: Symbols, eqn: Eqn, idx: Index) -> Access:
    """Run a Pull function at `idx`."""
    scope, before = Probe(k), k.work
    operands = [Operand(scope, a) for a in eqn.invars]
    form: Any = eqn.op.kernel
    got = form.fn(k, idx, operands, Operand(scope, eqn.outvars[0]), **eqn.params)
    arrays = [r for r in scope.reads if r[0].aval.shape]
    is_copy = not arrays or (len(arrays) == 1 and got is k.known.get(arrays[0]))
    return Access(scope.reads, k.mask(got), k.work - before, is_copy)


def probe_place(k: Symbols, place: Any, eqn: Eqn, idx: Index) -> tuple[list[tuple[Any, Index]], Index]:
    """Run a segment's place function: what it reads, and where it writes."""
    scope = Probe(k)
    at, _ = place(k, idx, [Operand(scope, a) for a in eqn.invars], Operand(scope, eqn.outvars[0]))
    return scope.reads, tuple(k.lift(i, I64) for i in at)


def starts_of(k: Symbols, eqn: Eqn, segment: Segment) -> tuple[int, ...] | None:
    """Where in the result a segment writes the first element of its source, if it writes all as one box."""
    own = k.identity(eqn.invars[segment.source].aval.shape)
    reads, at = probe_place(k, segment.place, eqn, own)
    if segment.repeats or reads or len(at) != len(own):
        return None
    starts = tuple(shift(k, x, i) for x, i in zip(at, own, strict=True))
    return None if None in starts else starts  # type: ignore[return-value]


def affine(k: Symbols, x: Any) -> dict[int, int] | None:
    """The coefficients of the axes in an index, or None where it is not affine in them."""
    if k.mask(x) == 0:
        return {}
    inst = k.made.get(x)
    if inst is None:
        return {k.axes.index(x): 1} if x in k.axes else None
    a, b = inst.args[0], inst.args[-1]
    if inst.op in ("iadd", "isub"):
        left, right = affine(k, a), affine(k, b)
        if left is None or right is None:
            return None
        sign = 1 if inst.op == "iadd" else -1
        return {n: left.get(n, 0) + sign * right.get(n, 0) for n in left.keys() | right.keys()}
    if inst.op == "imul":
        factor, other = (a, b) if isinstance(a, Const) else (b, a)
        inner = affine(k, other)
        if isinstance(factor, Const) and inner is not None:
            return {n: c * factor.value for n, c in inner.items()}
    return None


def box_written(eqn: Eqn, segment: Segment) -> tuple[tuple[int, int], ...] | None:
    """The part [low, high) of each axis of the result that a segment overwrites as a whole, if it is such a box."""
    shape = eqn.invars[segment.source].aval.shape
    if segment.combine is not None or not all(type(d) is int for d in shape):
        return None
    lows = starts_of(Symbols(), eqn, segment)
    return None if lows is None else tuple((low, low + d) for low, d in zip(lows, shape, strict=True))  # type: ignore[operator]


def shift(k: Symbols, x: Any, i: Any) -> int | None:
    """The constant in x = i + constant; None if it is not of this form."""
    if x is i or isinstance(x, Const):
        return 0 if x is i else int(x.value) - (int(i.value) if isinstance(i, Const) else 0)
    inst = k.made.get(x)
    if inst is not None and inst.op == "iadd" and i in inst.args:
        other = inst.args[1 - inst.args.index(i)]
        return int(other.value) if isinstance(other, Const) else None
    return None


# ---------------------------------------------------------------- native or not

_verdicts: dict[Any, bool] = {}


def is_native(eqn: Eqn) -> bool:
    """Whether the scalar code of a Pointwise, Pull, Reduce or Cumulative equation exists for its dtypes."""
    ranks = tuple(a.aval.ndim == 0 for a in eqn.invars)
    key: Any = (eqn.op, tuple(a.aval.dtype for a in eqn.invars), ranks, _frozen(eqn.params))
    if not isinstance(eqn.op.kernel, (Pointwise, Reduce, Cumulative)):
        return _try(eqn)
    try:
        return _verdicts[key]
    except (KeyError, TypeError) as e:
        verdict = _try(eqn)
        if isinstance(e, KeyError):
            if len(_verdicts) > 4096:
                _verdicts.clear()
            _verdicts[key] = verdict
        return verdict


def _frozen(params: dict[str, Any]) -> Any:
    return tuple(params.items())


def _try(eqn: Eqn) -> bool:
    k, form = Symbols(), eqn.op.kernel
    try:
        if isinstance(form, Pointwise):
            xs = [k.symbol(n, a.aval.dtype) for n, a in enumerate(eqn.invars)]
            k.emit = lambda stmt: None  # type: ignore[method-assign]
            form.fn(k, *xs, **eqn.params)
        elif isinstance(form, Pull):
            probe_pull(k, eqn, k.identity(eqn.outvars[0].aval.shape))
        elif isinstance(form, Reduce):
            _try_reduce(k, form, eqn.invars[0].aval, eqn.outvars[0].aval)
        elif isinstance(form, Cumulative):
            dtype = eqn.invars[0].aval.dtype
            form.step(k, form.init(k, dtype), k.symbol("x", dtype))
    except Unsupported:
        return False
    return True


def _try_reduce(k: Symbols, form: Reduce, operand: Aval, out: Aval) -> None:
    x = k.symbol("x", operand.dtype)
    state = form.init(k, operand.dtype)
    form.finish(k, form.step(k, state, x, k.axis(0)), out.dtype)
