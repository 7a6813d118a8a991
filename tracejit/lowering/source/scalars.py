"""Scalar instructions of the loop IR as Python expressions that mean the same under Numba.

Numba's rules of types are not those of the loop IR: an int32 plus an int32 is an int64, a float32 times a Python
number a float64. So constants of narrow types are written with their types, and integer results are cast back to
theirs. `f8`, `i4` … are NumPy's types, named in the file. Half precision has no arithmetic in Numba: such values are
their bits (`u2`), which are widened to float32 and rounded again, as the LLVM target does it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import dtypes
from tracejit.ir.kernel import Unsupported
from tracejit.lowering.loops.nodes import BOOL, I64, Const, Inst

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)
#: How tightly Python binds: names and calls, signs, products, sums, shifts, bits, comparisons, `not`.
ATOM, SIGN, PRODUCT, SUM, SHIFT, AND, XOR, OR, COMPARE, NOT, CHOICE = range(11, 0, -1)
_NOTHING: frozenset[Any] = frozenset()
_LARGE = 1 << 16  # from here on constants of bits are written in hexadecimal


class Expr(NamedTuple):
    """A piece of Python. `reads`: the buffers and slots whose contents it is made of; `sum`: the two texts that it
    adds, if it is a sum and nothing else."""

    text: str
    level: int = ATOM
    reads: frozenset[Any] = _NOTHING
    sum: tuple[str, str] | None = None

    def within(self, level: int) -> str:
        """The text as an operand of something that binds as tightly as `level`."""
        return self.text if self.level >= level else f"({self.text})"


def is_half(dtype: np.dtype) -> bool:
    return dtype.itemsize == 2 and dtypes.is_float(dtype)


def kind_of(dtype: np.dtype) -> np.dtype:
    """The dtype that stands for `dtype` in the file: that of bits for half precision, of the parts for complex."""
    if is_half(dtype):
        return np.dtype(np.uint16)
    return dtypes.real_part_dtype(dtype) if dtype.kind == "c" else dtype


def type_name(dtype: np.dtype) -> str:
    """How the file names a type. Raises Unsupported for those that Numba has no numbers of."""
    dtype = kind_of(dtype)
    if dtype.kind == "b":
        return "b1"
    if dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize in (4, 8)):
        return f"{dtype.kind}{dtype.itemsize}"
    raise Unsupported(f"{dtype} has no scalar type in Numba")


def constant(const: Const) -> Expr:
    """A literal of the constant's type."""
    value, dtype = const.value, const.dtype
    if dtype.kind == "b":
        return Expr(str(bool(value)))
    if is_half(dtype):
        with np.errstate(over="ignore"):
            return Expr(f"u2({int(np.asarray(value).astype(dtype).view(np.uint16)):#x})")
    if dtype.kind in "iu":
        return _whole(int(value), dtype)
    text, level = _float(float(value), dtype)
    return Expr(text, level) if dtype == F8 else Expr(f"f4({text})")


def _whole(value: int, dtype: np.dtype) -> Expr:
    bits = dtype.itemsize * 8
    value %= 1 << bits
    if dtype.kind == "i" and value >> bits - 1:
        value -= 1 << bits
    if dtype == I64:
        return Expr(str(value), SIGN if value < 0 else ATOM)
    return Expr(f"{type_name(dtype)}({value if abs(value) < _LARGE else hex(value)})")


def _float(value: float, dtype: np.dtype) -> tuple[str, int]:
    if not math.isfinite(value):
        text = "np.nan" if value != value else "np.inf" if value > 0 else "-np.inf"
        return text, SIGN if text[0] == "-" else ATOM
    if dtype == F4:
        with np.errstate(over="ignore"):
            single = np.float32(value)
        if np.isinf(single):
            return _float(float(single), F8)
        short = str(single)
        value = float(short) if np.float32(float(short)) == single else float(single)
    return repr(value), SIGN if math.copysign(1.0, value) < 0 else ATOM


_INFIX = {"fadd": ("+", SUM), "fsub": ("-", SUM), "fmul": ("*", PRODUCT), "fdiv": ("/", PRODUCT),
          "iadd": ("+", SUM), "isub": ("-", SUM), "imul": ("*", PRODUCT), "shl": ("<<", SHIFT),
          "and": ("&", AND), "or": ("|", OR), "xor": ("^", XOR)}  # fmt: skip
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
#: Functions of the prelude, by instruction.
_CALLS = {"fabs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
          "copysign": "copysign", "fma": "fma", "fmaximum": "maximum", "fminimum": "minimum",
          "sdiv": "quotient", "srem": "remainder", "udiv": "unsigned_quotient", "urem": "unsigned_remainder",
          "popcount": "popcount", "clz": "leading_zeros", "ctz": "trailing_zeros"}  # fmt: skip


class Scalars:
    """Writes instructions as expressions; `need(name)` says that the file has to define a function."""

    def __init__(self, need: Callable[[str], str]) -> None:
        self.need = need

    def apply(self, name: str, *args: Expr) -> Expr:
        return Expr(f"{self.need(name)}({', '.join(a.text for a in args)})", reads=reads(args))

    def expression(self, inst: Inst, args: list[Expr]) -> Expr | None:
        """The instruction as an expression of its operands; None if it is no scalar code."""
        handler = _HANDLERS.get(inst.op)
        return handler(self, inst, args) if handler is not None else None

    # -- floats

    def float_op(self, inst: Inst, args: list[Expr]) -> Expr:
        if is_half(inst.out.dtype):
            wide = [self.widened(a, inst.out.dtype) for a in args]
            return self.narrowed(self._float_op(inst, wide), inst.out.dtype)
        return self._float_op(inst, args)

    def _float_op(self, inst: Inst, args: list[Expr]) -> Expr:
        if inst.op == "fneg":
            return Expr(f"-{args[0].within(SIGN)}", SIGN, args[0].reads)
        if inst.attr == "reassoc":
            return self.apply("added" if inst.op == "fadd" else "multiplied", *args)
        if inst.op in _CALLS:
            return self.apply(_CALLS[inst.op], *args)
        return infix(inst.op, *args)

    def widened(self, x: Expr, dtype: np.dtype) -> Expr:
        """A half precision number as float32."""
        return self.apply("from_bfloat16" if dtype == dtypes.bfloat16 else "from_float16", x)

    def narrowed(self, x: Expr, dtype: np.dtype) -> Expr:
        """A float32 rounded to half precision."""
        return self.apply("to_bfloat16" if dtype == dtypes.bfloat16 else "to_float16", x)

    # -- integers

    def integer(self, inst: Inst, args: list[Expr]) -> Expr:
        out = infix(inst.op, *args) if inst.op in _INFIX else self.apply(_CALLS[inst.op], *args)
        dtype = inst.out.dtype
        if dtype.kind == "b" or (inst.op in _CALLS) or dtype.itemsize == 8:
            return out
        return Expr(f"{type_name(dtype)}({out.text})", reads=out.reads)

    def extreme(self, inst: Inst, args: list[Expr]) -> Expr:
        """smax smin umax umin; Python's where the signs are those of the type."""
        dtype, name = inst.out.dtype, inst.op[1:]
        if dtype.kind == {"s": "i", "u": "u"}[inst.op[0]]:
            return Expr(f"{name}({args[0].text}, {args[1].text})", reads=reads(args))
        other = np.dtype(f"{'u' if dtype.kind == 'i' else 'i'}{dtype.itemsize}")
        x, y = (f"{type_name(other)}({a.text})" for a in args)
        return Expr(f"{type_name(dtype)}({name}({x}, {y}))", reads=reads(args))

    def shift_right(self, inst: Inst, args: list[Expr]) -> Expr:
        dtype = inst.out.dtype
        own = type_name(dtype)
        signed = inst.op == "ashr"
        if dtype.kind == ("i" if signed else "u"):
            out = Expr(f"{args[0].within(SHIFT)} >> {args[1].within(SUM)}", SHIFT, reads(args))
            return out if dtype.itemsize == 8 else Expr(f"{own}({out.text})", reads=out.reads)
        as_ = f"{'i' if signed else 'u'}{dtype.itemsize}"
        return Expr(f"{own}({as_}({args[0].text}) >> {as_}({args[1].text}))", reads=reads(args))

    # -- truth values

    def compare(self, inst: Inst, args: list[Expr]) -> Expr:
        dtype = inst.args[0].dtype
        if is_half(dtype):
            args = [self.widened(a, dtype) for a in args]
        x, y = (a.within(OR) for a in args)
        return Expr(f"{x} {_COMPARE[inst.attr]} {y}", COMPARE, reads(args))

    def not_(self, inst: Inst, args: list[Expr]) -> Expr:
        if inst.out.dtype.kind == "b":
            return Expr(f"not {args[0].within(COMPARE)}", NOT, args[0].reads)
        return Expr(f"{type_name(inst.out.dtype)}(~{args[0].within(SIGN)})", reads=args[0].reads)

    def select(self, inst: Inst, args: list[Expr]) -> Expr:
        return self.apply("where", *args)

    # -- conversions

    def cast(self, inst: Inst, args: list[Expr]) -> Expr:
        (x,), src, dst = args, inst.args[0].dtype, inst.out.dtype
        if dtypes.is_float(src):
            return (self._float_to_float if dtypes.is_float(dst) else self._float_to_int)(x, src, dst)
        if not is_half(dst):
            return Expr(f"{type_name(dst)}({x.text})", reads=x.reads)
        wide = F8 if src.itemsize > 2 else F4
        return self._float_to_float(Expr(f"{type_name(wide)}({x.text})", reads=x.reads), wide, dst)

    def _float_to_float(self, x: Expr, src: np.dtype, dst: np.dtype) -> Expr:
        if is_half(src):
            x, src = self.widened(x, src), F4
        if is_half(dst):
            return self.narrowed(self.apply("rounded_to_odd", x) if src == F8 else x, dst)
        return x if src == dst else Expr(f"{type_name(dst)}({x.text})", reads=x.reads)

    def _float_to_int(self, x: Expr, src: np.dtype, dst: np.dtype) -> Expr:
        if is_half(src):
            x = self.widened(x, src)
        if dst == np.uint64:
            return self.apply("to_u8", x)
        wide = "to_i8" if dst.itemsize == 8 or (dst.kind == "u" and dst.itemsize == 4) else "to_i4"
        whole = self.apply(wide, x)
        return whole if wide[3:] == type_name(dst) else Expr(f"{type_name(dst)}({whole.text})", reads=x.reads)

    def bitcast(self, inst: Inst, args: list[Expr]) -> Expr:
        (x,), src, dst = args, inst.args[0].dtype, inst.out.dtype
        if src == BOOL or kind_of(src).kind in "iu":
            if dst == BOOL:
                return Expr(f"({x.within(AND)} & 1) != 0", COMPARE, x.reads)
            if dst.kind == "f" and not is_half(dst):
                same = f"i{dst.itemsize}"
                x = x if type_name(src) == same else Expr(f"{same}({x.text})", reads=x.reads)
                return self.apply("floats", x)
            return (
                x if type_name(src) == type_name(dst) else Expr(f"{type_name(dst)}({x.text})", reads=x.reads)
            )
        out = self.apply("bits", x)
        return (
            out
            if type_name(dst) == f"i{dst.itemsize}"
            else Expr(f"{type_name(dst)}({out.text})", reads=x.reads)
        )


def infix(op: str, x: Expr, y: Expr) -> Expr:
    """Two operands with Python's sign between them."""
    sign, level = _INFIX[op]
    left, right = x.within(level), y.within(level + 1)
    added = (left, right) if sign == "+" else None
    return Expr(f"{left} {sign} {right}", level, x.reads | y.reads, added)


def reads(args: Any) -> frozenset[Any]:
    """What all of these expressions read."""
    return frozenset().union(*(a.reads for a in args))


_HANDLERS: dict[str, Callable[[Scalars, Inst, list[Expr]], Expr]] = {
    **dict.fromkeys(
        ["fadd", "fsub", "fmul", "fdiv", "fneg", "fabs", "sqrt", "floor", "ceil", "trunc", "rint", "copysign",
         "fma", "fmaximum", "fminimum"], Scalars.float_op),
    **dict.fromkeys(
        ["iadd", "isub", "imul", "sdiv", "srem", "udiv", "urem", "shl", "and", "or", "xor", "popcount", "clz",
         "ctz"], Scalars.integer),
    **dict.fromkeys(["smax", "smin", "umax", "umin"], Scalars.extreme),
    **dict.fromkeys(["ashr", "lshr"], Scalars.shift_right),
    "cmp": Scalars.compare, "select": Scalars.select, "not": Scalars.not_, "cast": Scalars.cast,
    "bitcast": Scalars.bitcast,
}  # fmt: skip
