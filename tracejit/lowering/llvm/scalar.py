"""Scalar instructions of the loop IR as LLVM text: arithmetic, comparisons, conversions.

Arithmetic is strict IEEE: the only flags ever written are `reassoc nsz`, on instructions that ask for
them, and `contract` in programs with `fastmath`. float16 and bfloat16 are computed in float32 and rounded
after every operation, which for + - * / and sqrt is the correctly rounded result, as NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.lowering.llvm.text import F32, F64, Function, literal, reg_type
from tracejit.lowering.loops.nodes import Const, Inst, Operand, Size

I32, I64, U64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint64)
_BINARY_FLOAT = {"fadd", "fsub", "fmul", "fdiv"}
_INTEGER = {"iadd": "add", "isub": "sub", "imul": "mul"} | {
    op: op for op in ("sdiv", "srem", "udiv", "urem", "shl", "ashr", "lshr", "and", "or", "xor")
}
_INTRINSICS = {"fabs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
               "rint": "rint", "copysign": "copysign", "fma": "fma", "fmaximum": "maximum",
               "fminimum": "minimum"}  # fmt: skip
_BIT_OPS = {"popcount": ("ctpop", ""), "clz": ("ctlz", ", i1 false"), "ctz": ("cttz", ", i1 false")}
_FCMP = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_RELAXED = {"reassoc": "reassoc nsz "}


def value(f: Function, x: Operand) -> str:
    """The name of a register or parameter, or a literal."""
    if isinstance(x, Const):
        return f.size(x) if type(x) is Size else literal(x)
    return f.names[x.id]


def typed(f: Function, x: Operand) -> str:
    return f"{reg_type(x.dtype)} {value(f, x)}"


def is_half(dtype: np.dtype) -> bool:
    return dtype.itemsize == 2 and dtypes.is_float(dtype)


def widen(f: Function, name: str, dtype: np.dtype) -> str:
    """A half precision value as float32."""
    if dtype == dtypes.bfloat16:
        wide = f.let(f"zext i16 {name} to i32")
        return f.let(f"bitcast i32 {f.let(f'shl i32 {wide}, 16')} to float")
    return f.let(f"fpext half {name} to float")


def narrow(f: Function, name: str, dtype: np.dtype) -> str:
    """A float32 value rounded to half precision (nearest, ties to even)."""
    if dtype != dtypes.bfloat16:
        return f.let(f"fptrunc float {name} to half")
    bits = f.let(f"bitcast float {name} to i32")
    odd = f.let(f"and i32 {f.let(f'lshr i32 {bits}, 16')}, 1")
    rounded = f.let(f"add i32 {bits}, {f.let(f'add i32 {odd}, 32767')}")
    nan = f.let(f"fcmp uno float {name}, {name}")
    quiet = f.let(f"or i32 {bits}, 4194304")
    kept = f.let(f"select i1 {nan}, i32 {quiet}, i32 {rounded}")
    return f.let(f"trunc i32 {f.let(f'lshr i32 {kept}, 16')} to i16")


def round_to_odd(f: Function, name: str) -> str:
    """A double as float32 with the last bit set where inexact, so that rounding again is harmless."""
    near = f.let(f"fptrunc double {name} to float")
    back = f.let(f"fpext float {near} to double")
    inexact = f.let(f"fcmp one double {back}, {name}")
    over = f.let(f"fcmp ogt double {f.let(f'call double @llvm.fabs.f64(double {back})')}, "
                 f"{f.let(f'call double @llvm.fabs.f64(double {name})')}")  # fmt: skip
    bits = f.let(f"bitcast float {near} to i32")
    down = f.let(f"sub i32 {bits}, {f.let(f'zext i1 {over} to i32')}")
    sticky = f.let(f"or i32 {down}, {f.let(f'zext i1 {inexact} to i32')}")
    return f.let(f"bitcast i32 {sticky} to float")


# ---------------------------------------------------------------- conversions


def _float_to_float(f: Function, name: str, src: np.dtype, dst: np.dtype) -> str:
    if is_half(src):
        name, src = widen(f, name, src), F32
    if is_half(dst):
        return narrow(f, round_to_odd(f, name) if src == F64 else name, dst)
    if src == dst:
        return name
    op = "fpext" if src.itemsize < dst.itemsize else "fptrunc"
    return f.let(f"{op} {reg_type(src)} {name} to {reg_type(dst)}")


def _float_to_signed(f: Function, name: str, src: np.dtype, bits: int) -> str:
    """Truncation; what does not fit, and NaN, become the smallest integer, as on x86."""
    t = reg_type(src)
    size = f.let(f"call {t} @llvm.fabs.f{src.itemsize * 8}({t} {name})")
    # Both limits are powers of two; the negative one itself fits, and is also the answer to everything else.
    fits = f.let(f"fcmp olt {t} {size}, {literal(Const(2.0 ** (bits - 1), src))}")
    whole = f.let(f"fptosi {t} {name} to i{bits}")
    return f.let(f"select i1 {fits}, i{bits} {whole}, i{bits} {-(2 ** (bits - 1))}")


def _float_to_u64(f: Function, name: str, src: np.dtype) -> str:
    t, limit = reg_type(src), literal(Const(2.0**63, src))
    small = _float_to_signed(f, name, src, 64)
    large = _float_to_signed(f, f.let(f"fsub {t} {name}, {limit}"), src, 64)
    flipped = f.let(f"xor i64 {large}, {-(2**63)}")
    return f.let(f"select i1 {f.let(f'fcmp olt {t} {name}, {limit}')}, i64 {small}, i64 {flipped}")


def _float_to_int(f: Function, name: str, src: np.dtype, dst: np.dtype) -> str:
    """As C compilers do it on x86: through the next signed type that holds the result."""
    if is_half(src):
        name, src = widen(f, name, src), F32
    if dst == U64:
        return _float_to_u64(f, name, src)
    bits = 64 if dst.itemsize == 8 or (dst.kind == "u" and dst.itemsize == 4) else 32
    whole = _float_to_signed(f, name, src, bits)
    return whole if bits == dst.itemsize * 8 else f.let(f"trunc i{bits} {whole} to {reg_type(dst)}")


def _int_to_float(f: Function, name: str, src: np.dtype, dst: np.dtype) -> str:
    op = "sitofp" if src.kind == "i" else "uitofp"
    wide = F64 if is_half(dst) and src.itemsize > 2 else F32 if is_half(dst) else dst
    out = f.let(f"{op} {reg_type(src)} {name} to {reg_type(wide)}")
    return out if wide == dst else _float_to_float(f, out, wide, dst)


def _int_to_int(f: Function, name: str, src: np.dtype, dst: np.dtype) -> str:
    a, b = reg_type(src), reg_type(dst)
    if a == b:
        return name
    shrinks = src.kind != "b" and src.itemsize > dst.itemsize
    op = "trunc" if shrinks else "sext" if src.kind == "i" else "zext"
    return f.let(f"{op} {a} {name} to {b}")


def convert(f: Function, name: str, src: np.dtype, dst: np.dtype) -> str:
    """`ndarray.astype` for scalars (not to bool, which is a comparison)."""
    if dtypes.is_float(src):
        return (_float_to_float if dtypes.is_float(dst) else _float_to_int)(f, name, src, dst)
    return (_int_to_float if dtypes.is_float(dst) else _int_to_int)(f, name, src, dst)


# ---------------------------------------------------------------- instructions


def _float_op(f: Function, op: str, t: str, names: list[str], dtype: np.dtype, attr: Any) -> str:
    if op in _BINARY_FLOAT:
        return f.let(
            f"{op} {_RELAXED.get(attr, '')}{'contract ' if f.contract else ''}{t} {names[0]}, {names[1]}"
        )
    if op == "fneg":
        return f.let(f"fneg {t} {names[0]}")
    args = ", ".join(f"{t} {n}" for n in names)
    # Which zero is the extreme of several is left open, as NumPy's reductions leave it: half the instructions.
    flags = "nsz " if op in ("fmaximum", "fminimum") else ""
    return f.let(f"call {flags}{t} @llvm.{_INTRINSICS[op]}.f{dtype.itemsize * 8}({args})")


def _float_inst(f: Function, inst: Inst) -> str:
    dtype = inst.out.dtype
    names = [value(f, a) for a in inst.args]
    if not is_half(dtype):
        return _float_op(f, inst.op, reg_type(dtype), names, dtype, inst.attr)
    wide = [widen(f, n, dtype) for n in names]
    return narrow(f, _float_op(f, inst.op, "float", wide, F32, inst.attr), dtype)


def _compare(f: Function, inst: Inst) -> str:
    x, y = inst.args
    names = [value(f, x), value(f, y)]
    if dtypes.is_float(x.dtype):
        t = reg_type(x.dtype)
        if is_half(x.dtype):
            names, t = [widen(f, n, x.dtype) for n in names], "float"
        return f.let(f"fcmp {_FCMP[inst.attr]} {t} {names[0]}, {names[1]}")
    sign = "" if inst.attr in ("eq", "ne") else "s" if x.dtype.kind == "i" else "u"
    return f.let(f"icmp {sign}{inst.attr} {reg_type(x.dtype)} {names[0]}, {names[1]}")


def _select(f: Function, inst: Inst) -> str:
    return f.let(f"select {', '.join(typed(f, a) for a in inst.args)}")


def _not(f: Function, inst: Inst) -> str:
    return f.let(f"xor {typed(f, inst.args[0])}, {'true' if inst.out.dtype.kind == 'b' else '-1'}")


def _bitcast(f: Function, inst: Inst) -> str:
    (x,) = inst.args
    a, b = reg_type(x.dtype), reg_type(inst.out.dtype)
    if a == "i1" or b == "i1":
        return f.let(f"zext i1 {value(f, x)} to i8") if a == "i1" else f.let(f"trunc i8 {value(f, x)} to i1")
    return value(f, x) if a == b else f.let(f"bitcast {a} {value(f, x)} to {b}")


def _cast(f: Function, inst: Inst) -> str:
    return convert(f, value(f, inst.args[0]), inst.args[0].dtype, inst.out.dtype)


def _integer(f: Function, inst: Inst) -> str:
    if inst.op in ("smax", "smin", "umax", "umin"):
        t = reg_type(inst.out.dtype)
        return f.let(f"call {t} @llvm.{inst.op}.{t}({', '.join(typed(f, a) for a in inst.args)})")
    wrap = " nsw" if inst.attr == "nsw" else ""
    x, y = inst.args
    return f.let(f"{_INTEGER[inst.op]}{wrap} {typed(f, x)}, {value(f, y)}")


def _bit_op(f: Function, inst: Inst) -> str:
    name, defined = _BIT_OPS[inst.op]
    return f.let(f"call {reg_type(inst.out.dtype)} @llvm.{name}.{reg_type(inst.out.dtype)}("
                 f"{typed(f, inst.args[0])}{defined})")  # fmt: skip


_HANDLERS: dict[str, Callable[[Function, Inst], str]] = {
    **dict.fromkeys([*_BINARY_FLOAT, "fneg", *_INTRINSICS], _float_inst),
    **dict.fromkeys([*_INTEGER, "smax", "smin", "umax", "umin"], _integer),
    **dict.fromkeys(_BIT_OPS, _bit_op),
    "cmp": _compare,
    "select": _select,
    "not": _not,
    "cast": _cast,
    "bitcast": _bitcast,
}


def emit_scalar(f: Function, inst: Inst) -> bool:
    """Write `inst` if it is pure scalar code (not math, load, get, param); say whether it was."""
    handler = _HANDLERS.get(inst.op)
    if handler is None:
        return False
    f.names[inst.out.id] = handler(f, inst)
    return True
