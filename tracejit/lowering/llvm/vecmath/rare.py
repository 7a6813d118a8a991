"""Rare arguments: functions of their own for those that the usual formula does not serve.

`rare(k, condition, name, usual, *xs)` is `usual`, or where `condition` holds the function `name` at `xs`. Scalar
code branches to it. Vectorised loops call a masked variant (LLVM's vector function ABI) that tests once whether any
lane is concerned and otherwise returns at once, so that the usual path pays for one comparison. The functions are
out of line. Those written on the builder have a vector form: a loop over nothing but rare arguments takes
a small multiple of the usual time. Those of `huge` are scalar and are called lane by lane.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracejit.lowering.llvm.scalar import typed, value
from tracejit.lowering.llvm.text import Function, reg_type
from tracejit.lowering.llvm.vecmath.outline import PURE, full_variant, widths
from tracejit.lowering.loops.nodes import Inst


def rare(k: Any, condition: Any, name: str, usual: Any, *xs: Any) -> Any:
    """`usual`, or where `condition` holds the value of the out-of-line function `name` at `xs`."""
    return k._inst("math", usual.dtype, (condition, usual, *xs), ("rare", name))


def branched(f: Function, inst: Inst) -> str:
    """The call in scalar code."""
    condition, usual, *xs = inst.args
    size, t = usual.dtype.itemsize, reg_type(usual.dtype)
    scalar = f"tj.{inst.attr[1]}.f{size * 8}"
    slow, join = f.labels("slow", "join")
    before = f.label
    f.branch(value(f, condition), slow, join)
    f.begin(slow)
    attribute = _attribute(scalar, size, f.module.vector_bits, len(xs)) if f.module.vector_bits else ""
    got = f.let(f"call {t} @{scalar}({', '.join(typed(f, x) for x in xs)}) {attribute}")
    f.jump(join)
    f.begin(join)
    return f.let(f"phi {t} [ {value(f, usual)}, %{before} ], [ {got}, %{slow} ]")


def masked(f: Function, inst: Inst) -> str:
    """The call of the masked variant, in lines that `outline.widened` will turn into vector code."""
    condition, usual, *xs = inst.args
    t = reg_type(usual.dtype)
    scalar = f"tj.{inst.attr[1]}.f{usual.dtype.itemsize * 8}"
    args = ", ".join(typed(f, x) for x in [*xs, condition])
    got = f.let(f"call {t} @{scalar}.masked({args})")
    return f.let(f"select {typed(f, condition)}, {t} {got}, {typed(f, usual)}")


def _attribute(scalar: str, size: int, bits: int, arity: int) -> str:
    """The call-site attributes that name the masked variants."""
    variants = ",".join(
        f"_ZGV_LLVM_M{n}{'v' * arity}_{scalar}({scalar}.masked.v{n})" for n in widths(size, bits)
    )
    return f'{PURE} "vector-function-abi-variant"="{variants}"'


def _masked_widths(size: int, bits: int) -> list[int]:
    """Also twice the full width in float64, where float32 functions compute in it."""
    full = widths(size, bits)
    return [2 * full[0], *full] if size == 8 else full


def full_definition(scalar: str, size: int, bits: int, arity: int, lines: list[str]) -> str:
    """The vector form of a function, given its scalar instructions."""
    t, full = "double" if size == 8 else "float", widths(size, bits)[0]
    return full_variant(scalar, t, full, arity, lines, "optnone cold")


def masked_by_vector(scalar: str, size: int, bits: int, arity: int) -> Iterable[str]:
    """The masked variants of a function that has a vector form."""
    t, full = "double" if size == 8 else "float", widths(size, bits)[0]
    for n in widths(size, bits):
        yield _masked_variant(scalar, t, n, arity, _padded_call(scalar, t, n, full, arity))


def masked_by_lane(scalar: str, bits: int) -> Iterable[str]:
    """The masked variants of a function of a float64 that has `lanes` instead."""
    for n in _masked_widths(8, bits):
        v = f"<{n} x double>"
        lines = [
            f"store {v} %x0, ptr %xs",
            f"call void @{scalar}.lanes(ptr %xs, ptr %ys, i64 %bits)",
            f"%y = load {v}, ptr %ys",
        ]
        yield _masked_variant(
            scalar, "double", n, 1, lines, [f"%xs = alloca {v}, align 64", f"%ys = alloca {v}, align 64"]
        )


def _masked_variant(
    scalar: str, t: str, n: int, arity: int, slow: list[str], before: Iterable[str] = ()
) -> str:
    """Is any lane set? `alwaysinline minsize` has compile.py inline it once the vectoriser has called it."""
    v = f"<{n} x {t}>"
    parameters = ", ".join(f"{v} %x{i}" for i in range(arity))
    head = f"define hidden {v} @{scalar}.masked.v{n}({parameters}, <{n} x i1> %mask) alwaysinline minsize {PURE} {{"
    test = [
        f"%set = bitcast <{n} x i1> %mask to i{n}",
        f"%bits = zext i{n} %set to i64",
        "%any = icmp ne i64 %bits, 0",
        "br i1 %any, label %slow, label %done",
    ]
    end = [f"%r = phi {v} [ poison, %0 ], [ %y, %slow ]", f"ret {v} %r"]
    return "\n".join([head, *before, *test, "slow:", *slow, "br label %done", "done:", *end, "}"])


def _padded_call(scalar: str, t: str, n: int, full: int, arity: int) -> list[str]:
    """The call of the full width with `n` lanes, as %y; the lanes too many hold zeros."""
    v, wide = f"<{n} x {t}>", f"<{full} x {t}>"
    if n == full:
        return [f"%y = call {v} @{scalar}.v{n}({', '.join(f'{v} %x{i}' for i in range(arity))})"]
    widen = ", ".join(f"i32 {min(i, n)}" for i in range(full))
    lines = [
        f"%w{i} = shufflevector {v} %x{i}, {v} zeroinitializer, <{full} x i32> <{widen}>"
        for i in range(arity)
    ]
    args = ", ".join(f"{wide} %w{i}" for i in range(arity))
    first = ", ".join(f"i32 {i}" for i in range(n))
    lines += [f"%z = call {wide} @{scalar}.v{full}({args})"]
    return [*lines, f"%y = shufflevector {wide} %z, {wide} poison, <{n} x i32> <{first}>"]


def by_lane(scalar: str, t: str) -> str:
    """The function at the elements of an array whose bit is set."""
    return f"""
define internal void @{scalar}.lanes(ptr noalias %xs, ptr noalias %ys, i64 %set) noinline optnone cold nounwind {{
  br label %next
next:
  %bits = phi i64 [ %set, %0 ], [ %rest, %next ]
  %i = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %at = getelementptr inbounds {t}, ptr %xs, i64 %i
  %x = load {t}, ptr %at
  %y = call {t} @{scalar}({t} %x)
  %to = getelementptr inbounds {t}, ptr %ys, i64 %i
  store {t} %y, ptr %to
  %less = sub i64 %bits, 1
  %rest = and i64 %bits, %less
  %more = icmp ne i64 %rest, 0
  br i1 %more, label %next, label %end
end:
  ret void
}}"""
