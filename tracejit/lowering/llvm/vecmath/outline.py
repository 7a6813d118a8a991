"""Out-of-line vector functions, for modules that call one function at many places.

An inlined call is optimised and compiled again at every place, several milliseconds each. Beyond a budget
a function is therefore compiled once in scalar form, for scalar code and the ends of loops, and once over
whole vectors of the host, for the vectoriser (LLVM's vector function ABI). The vector form is the scalar
form's instructions on vectors, so both have the same bits. Other widths go through the full one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

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
