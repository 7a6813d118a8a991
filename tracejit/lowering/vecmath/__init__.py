"""Transcendental functions that LLVM vectorises, in float32 and float64.

Each is written once on the loop IR builder and becomes an internal LLVM function of the modules that use
it: inlined where there are few calls, out of line where there are many (`outline`). Accuracy: at most 1
ULP for exp, log, sin, cos, tanh, expm1, log1p over their whole range, 2 for the others, 3.5 for the functions
of `special` (0.51 in float32) but near the zeros of lgamma and digamma below 0; edge values (NaN, infinities,
signed zeros, subnormals, overflow) are NumPy's and SciPy's. The same bits come out at every vector width and
position, inlined or not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.kernel import Unsupported
from tracejit.lowering.llvmscalar import emit_scalar, typed, value
from tracejit.lowering.llvmtext import Function, Module, reg_type
from tracejit.lowering.loopbuilder import Builder
from tracejit.lowering.loopir import Inst
from tracejit.lowering.vecmath import cipher, explog, huge, inverse, outline, power, special, trig

FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "exp": (explog.exp, 1), "exp2": (explog.exp2, 1), "expm1": (explog.expm1, 1), "log": (explog.log, 1),
    "log2": (explog.log2, 1), "log10": (explog.log10, 1), "log1p": (explog.log1p, 1), "tanh": (explog.tanh, 1),
    "sinh": (explog.sinh, 1), "cosh": (explog.cosh, 1), "logistic": (explog.logistic, 1), "erf": (explog.erf, 1),
    "sin": (trig.sin, 1), "cos": (trig.cos, 1), "tan": (trig.tan, 1), "arcsin": (trig.arcsin, 1),
    "arccos": (trig.arccos, 1), "arctan": (trig.arctan, 1), "arctan2": (trig.arctan2, 2),
    "arcsinh": (inverse.arcsinh, 1), "arccosh": (inverse.arccosh, 1), "arctanh": (inverse.arctanh, 1),
    "pow": (power.power, 2), "cbrt": (power.cbrt, 1), **special.FUNCTIONS,
}  # fmt: skip
#: With those of bits, which are in float64 only and no functions of numbers.
_ALL = FUNCTIONS | cipher.FUNCTIONS


@functools.cache
def _steps(name: str, size: int) -> tuple[list[Any], tuple[Any, ...], Any]:
    """(instructions, arguments, result) of a function."""
    if name not in _ALL:
        raise Unsupported(f"no vector function {name!r}")
    fn, arity = _ALL[name]
    k, dtype = Builder(name), np.dtype(f"f{size}")
    args = tuple([k.reg(dtype) for _ in range(arity)])
    out = fn(k, *args)
    return k.block.stmts, args, out


def _written(name: str, size: int, rare: Callable[[Function, Inst], str], variants: bool) -> Function:
    """The scalar instructions of a function; those that are not scalar code are left to `rare`."""
    stmts, args, out = _steps(name, size)
    f = Function(Module(vector_variants=variants))
    f.names |= {a.id: f"%x{n}" for n, a in enumerate(args)}
    for inst in stmts:
        if not emit_scalar(f, inst):
            f.names[inst.out.id] = rare(f, inst)
    f.add(f"ret {typed(f, out)}")
    return f


@functools.cache
def _function_text(name: str, size: int, variants: bool, inline: bool) -> str:
    """The definition of a function."""
    t = "double" if size == 8 else "float"
    parameters = ", ".join(f"{t} %x{n}" for n in range(_ALL[name][1]))
    how = "alwaysinline" if inline else "noinline"
    head = (
        f"define internal {t} @tj.{name}.f{size * 8}({parameters}) {how} nounwind willreturn memory(none) {{"
    )
    return "\n".join([head, "start:", *_written(name, size, _branched, variants).lines, "}"])


@functools.cache
def _variant_texts(name: str, size: int, bits: int) -> dict[str, str]:
    """The definitions of a function's vector variants."""
    t, lines = "double" if size == 8 else "float", _written(name, size, _masked, True).lines
    return outline.definitions(f"tj.{name}.f{size * 8}", t, bits, _ALL[name][1], lines)


def _branched(f: Function, inst: Inst) -> str:
    """A call of a `huge` function where a condition holds, otherwise the usual value."""
    condition, x, usual = inst.args
    size, t = x.dtype.itemsize, reg_type(x.dtype)
    slow, join = f.labels("slow", "join")
    before = f.label
    f.branch(value(f, condition), slow, join)
    f.begin(slow)
    attributes = huge.call_attributes(inst.attr[1], size) if f.module.vector_variants else ""
    got = f.let(f"call {t} @tj.{inst.attr[1]}.f{size * 8}({typed(f, x)}) {attributes}")
    f.jump(join)
    f.begin(join)
    return f.let(f"phi {t} [ {value(f, usual)}, %{before} ], [ {got}, %{slow} ]")


def _masked(f: Function, inst: Inst) -> str:
    """The same by the masked variant of the `huge` function; `outline.widened` completes the call."""
    condition, x, usual = inst.args
    name = f"tj.{inst.attr[1]}.f{x.dtype.itemsize * 8}"
    got = f.let(f"call {reg_type(x.dtype)} @{name}({typed(f, x)}, {typed(f, condition)})")
    return f.let(f"select {typed(f, condition)}, {reg_type(x.dtype)} {got}, {typed(f, usual)}")


def plan(module: Module, stmts: list[Any], bits: int) -> None:
    """Decide which functions that `stmts` call are out of line, with variants of up to `bits`."""
    counts, vectors = outline.called(stmts)
    for (name, size), count in counts.items():
        if name in _ALL and count * len(_steps(name, size)[0]) > outline.BUDGET:
            module.outlined[f"tj.{name}.f{size * 8}"] = bits if (name, size) in vectors else 0


def _define(module: Module, name: str, size: int) -> None:
    """Add the definitions that calls of a function need."""
    scalar = f"tj.{name}.f{size * 8}"
    stmts, bits = _steps(name, size)[0], module.outlined.get(scalar)
    module.functions[scalar] = _function_text(name, size, module.vector_variants, bits is None)
    if any(inst.op == "math" for inst in stmts):
        for n in (8, 4) if size == 4 else (8,):
            module.functions.setdefault(f"huge.{n}", huge.definitions(n, module.vector_variants))
    if bits:
        variants = _variant_texts(name, size, bits)
        module.functions |= variants
        # The scalar function too: LLVM would drop a parameter that is the same constant in every call.
        module.kept += [scalar, *variants]


def emit_call(f: Function, inst: Inst) -> str:
    """Call the function `inst.attr`, adding its definition to the module. Raises loopir.Unsupported."""
    size, module = inst.out.dtype.itemsize, f.module
    name = f"tj.{inst.attr}.f{size * 8}"
    if name not in module.functions:
        _define(module, inst.attr, size)
    t, bits = reg_type(inst.out.dtype), module.outlined.get(name)
    variants = outline.attribute(name, size, bits, len(inst.args)) if bits else ""
    attributes = " " + module.attributes(variants) if variants else ""
    return f.let(f"call {t} @{name}({', '.join(typed(f, a) for a in inst.args)}){attributes}")
