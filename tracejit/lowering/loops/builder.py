"""The builder of the loop IR: records scalar code and structure, folds constants, splits complex numbers."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.ir.kernel import Unsupported
from tracejit.lowering.loops.calls import Calls
from tracejit.lowering.loops.nodes import (
    BOOL,
    I64,
    Block,
    Buffer,
    Comment,
    Const,
    External,
    For,
    If,
    IndexCheck,
    Inst,
    Pair,
    Program,
    Reg,
    SetSlot,
    Slot,
    Store,
    While,
)

_PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")


class Builder(Calls):
    """Records scalar code and structure into the current block. Kernel forms call it `k`."""

    #: Whether what is recorded is for a processor that multiplies by powers of two in one step (`vecmath.outline`).
    scales = False

    def __init__(self, name: str = "main") -> None:
        self.program = Program(name, Block())
        self.block = self.program.body
        self._next = 0
        self.noted: Slot | None = None
        self._externals: dict[External, int] = {}

    # -- structure

    def reg(self, dtype: np.dtype) -> Reg:
        self._next += 1
        return Reg(self._next, dtype, self)

    def emit(self, stmt: Any) -> None:
        self.block.stmts.append(stmt)

    @contextlib.contextmanager
    def into(self, block: Block) -> Iterator[Block]:
        """Record into `block` for the duration."""
        previous, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = previous

    @contextlib.contextmanager
    def loop(
        self, start: Any, stop: Any, *, vector: bool = False, down: bool = False, independent: bool = False
    ) -> Iterator[Reg]:
        """`with k.loop(0, n) as i:` a For loop over int64."""
        var = self.reg(I64)
        node = For(var, self.lift(start, I64), self.lift(stop, I64), Block(), vector, down, independent)
        self.emit(node)
        with self.into(node.body):
            yield var

    @contextlib.contextmanager
    def when(self, cond: Any) -> Iterator[If]:
        """`with k.when(c) as node:` then-branch; `with k.into(node.orelse):` the other."""
        node = If(cond, Block(), Block())
        self.emit(node)
        with self.into(node.then):
            yield node

    def iterate(
        self, state: tuple[Any, ...], cond: Callable[..., Any], step: Callable[..., tuple]
    ) -> tuple[Any, ...]:
        """`while cond(*state): state = step(*state)` on scalars; the last state."""
        slots = [self.slot(x) for x in state]
        node = While(Block(), None, Block())
        with self.into(node.head):
            node.cond = cond(*map(self.get, slots))
        with self.into(node.body):
            for slot, x in zip(slots, step(*map(self.get, slots)), strict=True):
                self.set(slot, x)
        self.emit(node)
        return tuple(map(self.get, slots))

    def buffer(self, name: str, dtype: np.dtype, size: Any, kind: str, slot: int = -1) -> Buffer:
        b = Buffer(name, dtype, size, kind, slot)
        self.program.buffers.append(b)
        if kind == "arg":
            self.program.args.append(b)
        return b

    def slot(self, init: Any, name: str = "s") -> Any:
        """A mutable scalar holding `init`; complex ones are pairs of slots."""
        if isinstance(init, Pair):
            return (self.slot(init.re, name), self.slot(init.im, name))
        s = Slot(f"{name}{len(self.program.slots)}", init.dtype)
        self.program.slots.append(s)
        self.emit(SetSlot(s, init))
        return s

    def get(self, slot: Any) -> Any:
        if isinstance(slot, tuple):
            re, im = self.get(slot[0]), self.get(slot[1])
            return self.pair(re, im)
        return self._inst("get", slot.dtype, (), slot)

    def set(self, slot: Any, value: Any) -> None:
        if isinstance(slot, tuple):
            self.set(slot[0], value.re)
            self.set(slot[1], value.im)
        else:
            self.emit(SetSlot(slot, self.lift(value, slot.dtype)))

    def load(self, buffer: Buffer, index: Any) -> Any:
        """buffer[index] (elements); complex buffers give pairs."""
        if buffer.dtype.kind == "c":
            part = dtypes.real_part_dtype(buffer.dtype)
            i = self.mul(index, 2)
            re = self._inst("load", part, (self.lift(i, I64),), buffer)
            im = self._inst("load", part, (self.lift(self.add(i, 1), I64),), buffer)
            return self.pair(re, im)
        return self._inst("load", buffer.dtype, (self.lift(index, I64),), buffer)

    def store(self, buffer: Buffer, index: Any, value: Any) -> None:
        if buffer.dtype.kind == "c":
            i = self.mul(index, 2)
            self.emit(Store(buffer, self.lift(i, I64), value.re))
            self.emit(Store(buffer, self.lift(self.add(i, 1), I64), value.im))
        else:
            self.emit(Store(buffer, self.lift(index, I64), self.lift(value, buffer.dtype)))

    def index(self, i: Any, size: Any, code: int, wraps: bool = True, below: bool = False) -> Any:
        """int64 `i` as a position in [0, size); negative ones count from the end if it `wraps`. Any other ends the
        program with status `code` and the details (i, size). `below`: it is known to be less than the size."""
        i, size = self.lift(i, I64), self.lift(size, I64)
        if self.noted is None:
            return self._inst("index", I64, (i, size), IndexCheck(code, wraps, below))
        at = self.select(self.lt(i, 0), self.add(i, size), i) if wraps else i
        outside = self.cast(self.or_(self.lt(at, 0), self.ge(at, size)), I64)
        self.set(self.noted, self.or_(self.get(self.noted), outside))
        return at

    @contextlib.contextmanager
    def noting(self, slot: Slot) -> Iterator[None]:
        """Indices outside make int64 `slot` nonzero, and the program goes on with them as they are."""
        self.noted = slot
        try:
            yield
        finally:
            self.noted = None

    def param(self, value: int) -> Reg:
        """An int64 passed at every call rather than compiled in (large extents)."""
        params = self.program.params
        if value not in params:
            params.append(value)
        return self._inst("param", I64, (), params.index(value))

    def comment(self, text: str, source: Any = None) -> None:
        self.emit(Comment(text, source))

    # -- scalars

    def const(self, value: Any, dtype: Any) -> Any:
        dtype = np.dtype(dtype)
        if dtype.kind == "c":
            part = dtypes.real_part_dtype(dtype)
            return self.pair(
                Const(float(np.real(value)), part, self), Const(float(np.imag(value)), part, self)
            )
        if dtype.kind == "b":
            return Const(bool(value), dtype, self)
        return Const(int(value) if dtype.kind in "iu" else float(value), dtype, self)

    def lift(self, x: Any, dtype: np.dtype) -> Any:
        """`x` as an operand: registers and constants as they are, Python numbers as `dtype`."""
        return x if isinstance(x, (Reg, Const, Pair)) else self.const(x, dtype)

    def pair(self, re: Any, im: Any) -> Pair:
        return Pair(re, im, np.dtype(np.complex64 if re.dtype.itemsize == 4 else np.complex128), self)

    def _inst(self, op: str, dtype: np.dtype, args: tuple[Any, ...], attr: Any = None) -> Reg:
        out = self.reg(dtype)
        self.emit(Inst(op, out, args, attr))
        return out

    def _same(self, x: Any, y: Any) -> tuple[Any, Any, np.dtype]:
        like = x if isinstance(x, (Reg, Pair, Const)) else y
        if not isinstance(like, (Reg, Pair, Const)):
            return Const(x, I64), Const(y, I64), I64
        return self.lift(x, like.dtype), self.lift(y, like.dtype), like.dtype

    def _arith(self, name: str, x: Any, y: Any, attr: Any = None) -> Any:
        x, y, dtype = self._same(x, y)
        if isinstance(x, Const) and isinstance(y, Const) and dtype == I64:
            return Const(
                {"add": x.value + y.value, "sub": x.value - y.value, "mul": x.value * y.value}[name], I64
            )
        if dtype == I64 and isinstance(y, Const) and (y.value, name) in ((0, "add"), (0, "sub"), (1, "mul")):
            return x
        if dtype == I64 and isinstance(x, Const) and (x.value, name) in ((0, "add"), (1, "mul")):
            return y
        if dtype == BOOL:
            raise Unsupported(f"{name} of booleans")
        return self._inst(("f" if dtypes.is_float(dtype) else "i") + name, dtype, (x, y), attr)

    def add(self, x: Any, y: Any, attr: Any = None) -> Any:
        if isinstance(x, Pair) or isinstance(y, Pair):
            x, y, _ = self._same(x, y)
            return self.pair(self.add(x.re, y.re, attr), self.add(x.im, y.im, attr))
        return self._arith("add", x, y, attr)

    def sub(self, x: Any, y: Any) -> Any:
        if isinstance(x, Pair) or isinstance(y, Pair):
            x, y, _ = self._same(x, y)
            return self.pair(self.sub(x.re, y.re), self.sub(x.im, y.im))
        return self._arith("sub", x, y)

    def mul(self, x: Any, y: Any, attr: Any = None) -> Any:
        if isinstance(x, Pair) or isinstance(y, Pair):
            x, y, _ = self._same(x, y)
            re = self.sub(self.mul(x.re, y.re), self.mul(x.im, y.im))
            return self.pair(re, self.add(self.mul(x.re, y.im), self.mul(x.im, y.re)))
        return self._arith("mul", x, y, attr)

    def div(self, x: Any, y: Any) -> Any:
        """True division of floats."""
        x, y, dtype = self._same(x, y)
        if not dtypes.is_float(dtype):
            raise Unsupported(f"div of {dtype}")
        return self._inst("fdiv", dtype, (x, y))

    def neg(self, x: Any) -> Any:
        if isinstance(x, Pair):
            return self.pair(self.neg(x.re), self.neg(x.im))
        if dtypes.is_float(x.dtype):
            return self._inst("fneg", x.dtype, (x,))
        return self.sub(self.const(0, x.dtype), x)

    def number(self, x: Any) -> int | None:
        """The integer that `x` is known to be, or None."""
        return x.value if isinstance(x, Const) and x.dtype.kind in "iu" else None

    def int_op(self, op: str, x: Any, y: Any) -> Any:
        """sdiv srem udiv urem shl ashr lshr smax smin umax umin, as LLVM defines them."""
        x, y, dtype = self._same(x, y)
        return self._inst(op, dtype, (x, y))

    def bit_op(self, op: str, x: Any) -> Any:
        """popcount, clz, ctz: bits that are set, zeros above the highest and below the lowest of them
        (the width if there is none), as an integer of x's dtype."""
        return self._inst(op, x.dtype, (x,))

    def float_op(self, op: str, *xs: Any) -> Any:
        """fabs sqrt floor ceil trunc rint copysign fma fmaximum fminimum (NaN-propagating)."""
        dtype = next(x.dtype for x in xs if isinstance(x, (Reg, Const)))
        if not dtypes.is_float(dtype):
            raise Unsupported(f"{op} of {dtype}")
        return self._inst(op, dtype, tuple(self.lift(x, dtype) for x in xs))

    def math(self, name: str, *xs: Any) -> Any:
        """A function of lowering.llvm.vecmath (exp, log, sin, cos, tanh, expm1, log1p, erf, pow …), f32 or f64."""
        dtype = next(x.dtype for x in xs if isinstance(x, (Reg, Const, Pair)))
        if dtype.itemsize == 2 and dtypes.is_float(dtype):  # half precision: through float32, as NumPy does
            wide = np.dtype(np.float32)
            return self.cast(self.math(name, *(self.cast(self.lift(x, dtype), wide) for x in xs)), dtype)
        if dtype.kind != "f" or dtype.itemsize not in (4, 8):
            raise Unsupported(f"{name} of {dtype}")
        return self._inst("math", dtype, tuple(self.lift(x, dtype) for x in xs), name)

    def compare(self, predicate: str, x: Any, y: Any) -> Any:
        """eq ne lt le gt ge; ordered on NaN except ne, as IEEE."""
        assert predicate in _PREDICATES
        x, y, _ = self._same(x, y)
        if isinstance(x, Pair):
            if predicate not in ("eq", "ne"):
                raise Unsupported("ordering of complex numbers")
            parts = (self.compare(predicate, x.re, y.re), self.compare(predicate, x.im, y.im))
            return self.and_(*parts) if predicate == "eq" else self.or_(*parts)
        if isinstance(x, Const) and isinstance(y, Const):
            return self.const(getattr(operator, predicate)(x.value, y.value), BOOL)
        return self._inst("cmp", BOOL, (x, y), predicate)

    def eq(self, x: Any, y: Any) -> Any:
        return self.compare("eq", x, y)

    def ne(self, x: Any, y: Any) -> Any:
        return self.compare("ne", x, y)

    def lt(self, x: Any, y: Any) -> Any:
        return self.compare("lt", x, y)

    def le(self, x: Any, y: Any) -> Any:
        return self.compare("le", x, y)

    def gt(self, x: Any, y: Any) -> Any:
        return self.compare("gt", x, y)

    def ge(self, x: Any, y: Any) -> Any:
        return self.compare("ge", x, y)

    def isnan(self, x: Any) -> Any:
        if isinstance(x, Pair):
            return self.or_(self.isnan(x.re), self.isnan(x.im))
        return self.compare("ne", x, x)

    def never_nan(self, x: Any) -> bool:
        """Whether x is a constant other than NaN."""
        return isinstance(x, Const) and x.value == x.value

    def select(self, cond: Any, x: Any, y: Any) -> Any:
        x, y, dtype = self._same(x, y)
        if isinstance(x, Pair):
            return self.pair(self.select(cond, x.re, y.re), self.select(cond, x.im, y.im))
        return self._inst("select", dtype, (cond, x, y))

    def _bits(self, op: str, x: Any, y: Any) -> Any:
        x, y, dtype = self._same(x, y)
        return self._inst(op, dtype, (x, y))

    def and_(self, x: Any, y: Any) -> Any:
        return self._bits("and", x, y)

    def or_(self, x: Any, y: Any) -> Any:
        for a, b in ((x, y), (y, x)):
            if isinstance(a, Const) and a.dtype == BOOL:
                return a if a.value else b
        return self._bits("or", x, y)

    def xor(self, x: Any, y: Any) -> Any:
        return self._bits("xor", x, y)

    def not_(self, x: Any) -> Any:
        """Bitwise complement; logical for booleans."""
        return self._inst("not", x.dtype, (x,))

    def cast(self, x: Any, dtype: Any) -> Any:
        """Conversion as `ndarray.astype` does it."""
        dtype = np.dtype(dtype)
        if x.dtype == dtype:
            return x
        if isinstance(x, Pair):
            if dtype.kind == "c":
                part = dtypes.real_part_dtype(dtype)
                return self.pair(self.cast(x.re, part), self.cast(x.im, part))
            if dtype.kind == "b":
                return self.or_(self.cast(x.re, dtype), self.cast(x.im, dtype))
            return self.cast(x.re, dtype)
        if dtype.kind == "c":
            part = dtypes.real_part_dtype(dtype)
            return self.pair(self.cast(x, part), Const(0.0, part, self))
        if dtype.kind == "b":
            return self.compare("ne", x, self.const(0, x.dtype))
        if isinstance(x, Const) and x.dtype == I64 and dtype.kind in "iu":
            return self.const(x.value, dtype)
        return self._inst("cast", dtype, (x,))

    def bitcast(self, x: Any, dtype: Any) -> Any:
        return self._inst("bitcast", np.dtype(dtype), (x,))
