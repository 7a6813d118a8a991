"""Transcendental functions that LLVM vectorises, in float32 and float64.

Each is written once on the loop IR builder and becomes an internal `alwaysinline` LLVM function of the
modules that use it. Accuracy: at most 1 ULP for exp, log, sin, cos, tanh, expm1, log1p over their whole
range, 2 for the others; edge values (NaN, infinities, signed zeros, subnormals, overflow) are NumPy's.
The same bits come out at every vector width and position.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.lowering.llvmscalar import emit_scalar, typed, value
from tracejit.lowering.llvmtext import Function, Module, reg_type
from tracejit.lowering.loopir import Builder, Inst, Unsupported
from tracejit.lowering.vecmath import explog, huge, power, trig

FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "exp": (explog.exp, 1), "exp2": (explog.exp2, 1), "expm1": (explog.expm1, 1), "log": (explog.log, 1),
    "log2": (explog.log2, 1), "log10": (explog.log10, 1), "log1p": (explog.log1p, 1), "tanh": (explog.tanh, 1),
    "sinh": (explog.sinh, 1), "cosh": (explog.cosh, 1), "logistic": (explog.logistic, 1), "erf": (explog.erf, 1),
    "sin": (trig.sin, 1), "cos": (trig.cos, 1), "tan": (trig.tan, 1), "arcsin": (trig.arcsin, 1),
    "arccos": (trig.arccos, 1), "arctan": (trig.arctan, 1), "arctan2": (trig.arctan2, 2),
    "pow": (power.power, 2), "cbrt": (power.cbrt, 1),
}  # fmt: skip


@functools.cache
def _function_text(name: str, size: int, variants: bool) -> tuple[str, bool]:
    """The definition of a function, and whether it needs `huge`."""
    if name not in FUNCTIONS:
        raise Unsupported(f"no vector function {name!r}")
    fn, arity = FUNCTIONS[name]
    k, dtype = Builder(name), np.dtype(f"f{size}")
    args = [k.reg(dtype) for _ in range(arity)]
    out = fn(k, *args)
    f, t = Function(Module(vector_variants=variants)), reg_type(dtype)
    f.names |= {a.id: f"%x{n}" for n, a in enumerate(args)}
    needs_huge = False
    for inst in k.block.stmts:
        if not emit_scalar(f, inst):
            needs_huge = True
            f.names[inst.out.id] = _emit_rare(f, inst)
    parameters = ", ".join(f"{t} {f.names[a.id]}" for a in args)
    head = f"define internal {t} @tj.{name}.f{size * 8}({parameters}) alwaysinline nounwind willreturn memory(none) {{"
    return "\n".join([head, "start:", *f.lines, f"  ret {t} {value(f, out)}", "}"]), needs_huge


def _emit_rare(f: Function, inst: Inst) -> str:
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


def emit_call(f: Function, inst: Inst) -> str:
    """Call the function `inst.attr`, adding its definition to the module. Raises loopir.Unsupported."""
    size, functions, variants = inst.out.dtype.itemsize, f.module.functions, f.module.vector_variants
    name = f"tj.{inst.attr}.f{size * 8}"
    if name not in functions:
        functions[name], needs_huge = _function_text(inst.attr, size, variants)
        for n in ((8, 4) if size == 4 else (8,)) if needs_huge else ():
            functions.setdefault(f"huge.{n}", huge.definitions(n, variants))
    t = reg_type(inst.out.dtype)
    return f.let(f"call {t} @{name}({', '.join(typed(f, a) for a in inst.args)})")
