"""Out-of-line vector functions, for modules that call one function at many places.

An inlined call is optimised and compiled again at every place, several milliseconds each. Beyond a budget
a function is therefore compiled once in scalar form, for scalar code and the ends of loops, and once over
whole vectors of the host, for the vectoriser (LLVM's vector function ABI). The vector form is the scalar
form's instructions on vectors, so both have the same bits. Other widths go through the full one.

Multiplication by powers of two is an instruction of processors with AVX-512, which the vectoriser does not know. There
scalar code calls a function that has vector variants, too. The scalar one is `weak`: nothing inlines it before loops
are vectorised. `compile` has all of them inlined afterwards.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tracejit.lowering.llvm.scalar import typed
from tracejit.lowering.llvm.text import Function, reg_type
from tracejit.lowering.loops.nodes import For, Inst, blocks_of

# The instructions that inlined calls of one function may add to a module: below it the code is a little
# faster, above it compiling takes longer than running usually gains.
BUDGET = 300

PURE = "nounwind willreturn memory(none)"
_TOKEN = re.compile(
    r"%[\w.]+|@[\w.]+|\b(?:double|float|i1|i32|i64)\b|0x[0-9A-F]+|-?\b\d+\b|\btrue\b|\bfalse\b"
)

Key = tuple[str, int]  # a function's name and the size of its format


def sites(stmts: Iterable[Any], vector: bool = False) -> Iterator[tuple[Key, bool]]:
    """Every call of a vector function, and whether it is in a loop that is to be vectorised."""
    for stmt in stmts:
        if isinstance(stmt, Inst):
            if stmt.op == "math":
                yield (stmt.attr, stmt.out.dtype.itemsize), vector
            continue
        inner = vector or (isinstance(stmt, For) and stmt.vector)
        for block in blocks_of(stmt):
            yield from sites(block.stmts, inner)


def called(stmts: Iterable[Any]) -> tuple[Counter[Key], set[Key]]:
    """How often each function is called, and which are called in loops that are to be vectorised."""
    counts: Counter[Key] = Counter()
    vectors: set[Key] = set()
    for key, vector in sites(stmts):
        counts[key] += 1
        if vector:
            vectors.add(key)
    return counts, vectors


def widened(line: str, lanes: int) -> str:
    """An instruction on scalars as the one on vectors: types, constants and names of intrinsics."""
    type_ = ""

    def token(match: re.Match[str]) -> str:
        nonlocal type_
        text = match.group()
        if text[0] == "%":
            return text
        if text[0] == "@":
            return _vector_name(text, lanes)
        if text in ("double", "float", "i1", "i32", "i64"):
            type_ = text
            return f"<{lanes} x {text}>"
        return f"splat ({type_} {text})"

    return _TOKEN.sub(token, line)


def _vector_name(name: str, lanes: int) -> str:
    if name.startswith("@llvm."):
        stem, _, suffix = name.rpartition(".")
        return f"{stem}.v{lanes}{suffix}"
    return f"{name}.v{lanes}"


def full_variant(scalar: str, t: str, lanes: int, arity: int, lines: list[str], how: str = "") -> str:
    """The variant over whole vectors of the host; `lines` are the scalar instructions."""
    parameters = ", ".join(f"<{lanes} x {t}> %x{n}" for n in range(arity))
    head = (f"define internal <{lanes} x {t}> @{scalar}.v{lanes}({parameters}) "
            f'noinline {how} {PURE} "prefer-vector-width"="512" {{')  # fmt: skip
    return "\n".join([head, *[widened(line, lanes) for line in lines], "}"])


def _narrow(scalar: str, t: str, lanes: int, full: int, arity: int) -> str:
    """A variant of fewer lanes, which calls the full one; the lanes too many hold zeros."""
    v, wide = f"<{lanes} x {t}>", f"<{full} x {t}>"
    widen = ", ".join(f"i32 {min(n, lanes)}" for n in range(full))
    first = ", ".join(f"i32 {n}" for n in range(lanes))
    parameters = ", ".join(f"{v} %x{n}" for n in range(arity))
    # `alwaysinline minsize` has compile.py inline what the vectoriser has called.
    lines = [f"define internal {v} @{scalar}.v{lanes}({parameters}) alwaysinline minsize {PURE} {{"]
    lines += [f"  %w{n} = shufflevector {v} %x{n}, {v} zeroinitializer, <{full} x i32> <{widen}>"
              for n in range(arity)]  # fmt: skip
    args = ", ".join(f"{wide} %w{n}" for n in range(arity))
    lines += [f"  %y = call {wide} @{scalar}.v{full}({args})",
              f"  %r = shufflevector {wide} %y, {wide} poison, <{lanes} x i32> <{first}>"]  # fmt: skip
    return "\n".join([*lines, f"  ret {v} %r", "}"])


def widths(size: int, bits: int) -> list[int]:
    """The lanes of the variants for a host of `bits`-wide vectors, the full width first."""
    full = bits // (8 * size)
    return [n for n in (full, full // 2, full // 4) if n > 1]


def attribute(scalar: str, size: int, bits: int, arity: int) -> str:
    """The call-site attribute that names the variants."""
    variants = ",".join(f"_ZGV_LLVM_N{n}{'v' * arity}_{scalar}({scalar}.v{n})" for n in widths(size, bits))
    return f'{PURE} "vector-function-abi-variant"="{variants}"'


def definitions(scalar: str, t: str, bits: int, arity: int, lines: list[str]) -> dict[str, str]:
    """The variants by name."""
    size = 8 if t == "double" else 4
    full, *narrow = widths(size, bits)
    out = {f"{scalar}.v{full}": full_variant(scalar, t, full, arity, lines)}
    return out | {f"{scalar}.v{n}": _narrow(scalar, t, n, full, arity) for n in narrow}


# ---------------------------------------------------------------- powers of two in one step

#: The width in bits of the vectors of processors that have the instruction.
SCALING_BITS = 512
_LETTER = {8: "d", 4: "s"}  # of a format, in names of instructions
_INSTRUCTION = re.compile(
    r"(%\w+) = call (<(\d+) x (double|float)>) @llvm\.x86\.avx512\.mask\.scalef\.\w+(?:\.\d+)?"
    r"\(<[^>]*> (%\w+), <[^>]*> (%\w+), [^)]*\)"
)
_NEAREST = 4  # the operand of instructions that says: round as the processor is set to


def scale(k: Any, y: Any, n: Any) -> Any:
    """y * 2**n for a whole number n, rounded once. For builders whose `scales` is true."""
    return k._inst("math", y.dtype, (y, n), ("scale", ""))


def scale_called(f: Function, inst: Inst) -> str:
    """The call in scalar code."""
    size, t = inst.out.dtype.itemsize, reg_type(inst.out.dtype)
    name = f"tj.scale.f{size * 8}"
    variants = ",".join(f"_ZGV_LLVM_N{n}vv_{name}({name}.v{n})" for n in _scaling_widths(size))
    return f.let(f'{_scale_call(f, inst, t)} {PURE} "vector-function-abi-variant"="{variants}"')


def scale_named(f: Function, inst: Inst) -> str:
    """The call in lines that `widened` will turn into vector code."""
    return f.let(_scale_call(f, inst, reg_type(inst.out.dtype)))


def _scale_call(f: Function, inst: Inst, t: str) -> str:
    return f"call {t} @tj.scale.f{inst.out.dtype.itemsize * 8}({', '.join(typed(f, x) for x in inst.args)})"


def _scaling_widths(size: int) -> list[int]:
    """Also twice the full width in float64, where loops have float32 beside it."""
    full = widths(size, SCALING_BITS)
    return [2 * full[0], *full] if size == 8 else full


def portable(text: str, bits: int) -> str:
    """A module that another host may have written, for a processor with vectors of `bits`: where there is no such
    instruction, functions of C are called for each number."""
    return text if bits == SCALING_BITS else _INSTRUCTION.sub(_by_ldexp, text)


def _by_ldexp(found: re.Match[str]) -> str:
    out, v, lanes, kind, y, n = found.groups()
    size = {"double": 64, "float": 32}[kind]
    whole, form = f"<{lanes} x i32>", f"v{lanes}f{size}.v{lanes}i32"
    return (
        f"{out}.n = fptosi {v} {n} to {whole}\n"
        f"  {out} = call {v} @llvm.ldexp.{form}({v} {y}, {whole} {out}.n)"
    )


def scale_definitions(size: int) -> str:
    """The scalar function and its variants."""
    t = "double" if size == 8 else "float"
    return "\n".join([_scale_scalar(t, size), *[_scale_variant(t, size, n) for n in _scaling_widths(size)]])


def _scale_scalar(t: str, size: int) -> str:
    v, name = f"<{16 // size} x {t}>", f"@llvm.x86.avx512.mask.scalef.s{_LETTER[size]}"
    return f"""
define weak hidden {t} @tj.scale.f{size * 8}({t} %x0, {t} %x1) minsize {PURE} {{
  %y = insertelement {v} poison, {t} %x0, i64 0
  %n = insertelement {v} poison, {t} %x1, i64 0
  %z = call {v} {name}({v} %y, {v} %n, {v} zeroinitializer, i8 -1, i32 {_NEAREST})
  %r = extractelement {v} %z, i64 0
  ret {t} %r
}}"""


def _scale_variant(t: str, size: int, n: int) -> str:
    v, full = f"<{n} x {t}>", widths(size, SCALING_BITS)[0]
    head = f"define hidden {v} @tj.scale.f{size * 8}.v{n}({v} %x0, {v} %x1) alwaysinline minsize {PURE} {{"
    return "\n".join(
        [head, *(_scale_halves(v, t, size, n) if n > full else _scale_whole(v, t, size, n)), "}"]
    )


def _scale_whole(v: str, t: str, size: int, n: int) -> list[str]:
    bits = 8 * size * n
    mask, rounding = f"i{max(n, 8)} -1", f", i32 {_NEAREST}" if bits == SCALING_BITS else ""
    name = f"@llvm.x86.avx512.mask.scalef.p{_LETTER[size]}.{bits}"
    return [
        f"  %r = call {v} {name}({v} %x0, {v} %x1, {v} zeroinitializer, {mask}{rounding})",
        f"  ret {v} %r",
    ]


def _scale_halves(v: str, t: str, size: int, n: int) -> list[str]:
    half = f"<{n // 2} x {t}>"
    lines, parts = [], [range(n // 2), range(n // 2, n)]
    for p, lanes in enumerate(parts):
        chosen = ", ".join(f"i32 {i}" for i in lanes)
        for x in (0, 1):
            lines.append(f"  %p{x}{p} = shufflevector {v} %x{x}, {v} poison, <{n // 2} x i32> <{chosen}>")
        lines.append(f"  %r{p} = call {half} @tj.scale.f{size * 8}.v{n // 2}({half} %p0{p}, {half} %p1{p})")
    both = ", ".join(f"i32 {i}" for i in range(n))
    return [*lines, f"  %r = shufflevector {half} %r0, {half} %r1, <{n} x i32> <{both}>", f"  ret {v} %r"]
