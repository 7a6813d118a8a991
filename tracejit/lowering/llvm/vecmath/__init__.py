"""Transcendental functions that LLVM vectorises, in float32 and float64.

Each is written once on the loop IR builder and becomes an internal LLVM function of the modules that use it: inlined
where there are few calls, out of line where there are many (`outline`), with functions of their own for rare
arguments (`rare`). docs/accuracy.md has the bounds of their errors; edge values (NaN, infinities, signed zeros,
subnormals, overflow) are NumPy's and SciPy's. The same bits come out at every vector width and position, inlined or
not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.kernel import Unsupported
from tracejit.lowering.llvm.scalar import emit_scalar, typed
from tracejit.lowering.llvm.text import Function, Module, reg_type
from tracejit.lowering.llvm.vecmath import cipher, library, outline, rare
from tracejit.lowering.llvm.vecmath.functions import (
    arcs,
    exponential,
    huge,
    inverse,
    logarithm,
    power,
    special,
    trig,
)
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import Inst

_UNARY = {
    **{
        f: getattr(exponential, f)
        for f in ("exp", "exp2", "expm1", "sinh", "cosh", "tanh", "logistic", "erf")
    },
    **{f: getattr(logarithm, f) for f in ("log", "log2", "log10", "log1p")},
    **{f: getattr(trig, f) for f in ("sin", "cos", "tan")},
    **{f: getattr(arcs, f) for f in ("arcsin", "arccos", "arctan")},
    **{f: getattr(inverse, f) for f in ("arcsinh", "arccosh", "arctanh")},
    "cbrt": power.cbrt,
}
FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    **{name: (f, 1) for name, f in _UNARY.items()},
    "arctan2": (arcs.arctan2, 2),
    "pow": (power.power, 2),
    **special.FUNCTIONS,
}
#: What rare arguments of others call.
_RARE: dict[str, tuple[Callable[..., Any], int]] = (
    exponential.RARE | inverse.RARE | logarithm.RARE | power.RARE | trig.RARE
)
#: Those that are called outside of loops that are vectorised, and what is then used in place of them.
_ALONE = {name: f"{name}.alone" for name in exponential.ALONE}
#: With those of bits, which are in float64 only and no functions of numbers.
_ALL = FUNCTIONS | cipher.FUNCTIONS | _RARE | {_ALONE[name]: f for name, f in exponential.ALONE.items()}


@functools.cache
def _steps(name: str, size: int, bits: int) -> tuple[list[Any], tuple[Any, ...], Any]:
    """(instructions, arguments, result) of a function, for processors with vectors of `bits`."""
    if name not in _ALL:
        raise Unsupported(f"no vector function {name!r}")
    fn, arity = _ALL[name]
    k, dtype = Builder(name), np.dtype(f"f{size}")
    k.scales = bits == outline.SCALING_BITS
    args = tuple([k.reg(dtype) for _ in range(arity)])
    out = fn(k, *args)
    return k.block.stmts, args, out


def steps(name: str, size: int, bits: int) -> list[Any]:
    """The instructions of a function of floats of `size` bytes, for vectors of `bits`. Raises Unsupported."""
    return _steps(name, size, bits)[0]


def recorded(name: str, size: int) -> tuple[list[Any], tuple[Any, ...], Any]:
    """(instructions, arguments, result) of a function of floats of `size` bytes, for any processor. Raises
    Unsupported."""
    return _steps(name, size, 0)


Calls = dict[str, Callable[[Function, Inst], str]]  # how calls in functions are written, by their kinds
_SCALAR: Calls = {"rare": rare.branched, "scale": outline.scale_called}
_WIDENED: Calls = {"rare": rare.masked, "scale": outline.scale_named}


def _written(name: str, size: int, bits: int, calls: Calls) -> Function:
    """The scalar instructions of a function; those that are not scalar code are written by `calls`."""
    stmts, args, out = _steps(name, size, bits)
    f = Function(Module(vector_bits=bits))
    f.names |= {a.id: f"%x{n}" for n, a in enumerate(args)}
    for inst in stmts:
        if not emit_scalar(f, inst):
            f.names[inst.out.id] = calls[inst.attr[0]](f, inst)
    f.add(f"ret {typed(f, out)}")
    return f


@functools.cache
def _function_text(name: str, size: int, bits: int, how: str) -> str:
    """The definition of a function: `how` it is to be called."""
    lines = _written(name, size, bits, _SCALAR).lines
    t = "double" if size == 8 else "float"
    parameters = ", ".join(f"{t} %x{n}" for n in range(_ALL[name][1]))
    head = f"define internal {t} @tj.{name}.f{size * 8}({parameters}) {how} {outline.PURE} {{"
    return "\n".join([head, "start:", *lines, "}"])


@functools.cache
def _alone_text(name: str, size: int) -> tuple[str, str]:
    """The definition of what is used in place of a function outside of loops that are vectorised, and declarations of
    what it calls."""
    text = _function_text(_ALONE[name], size, 0, "alwaysinline")
    called = {i.attr[1] for i in steps(_ALONE[name], size, 0) if i.op == "math"}
    return text, "\n".join(library.declared(_rare_text(n, size, 0)) for n in sorted(called))


@functools.cache
def _variant_texts(name: str, size: int, bits: int) -> dict[str, str]:
    """The definitions of a function's vector variants."""
    t, lines = "double" if size == 8 else "float", _written(name, size, bits, _WIDENED).lines
    return outline.definitions(f"tj.{name}.f{size * 8}", t, bits, _ALL[name][1], lines)


@functools.cache
def _rare_text(name: str, size: int, bits: int) -> str:
    """The definitions of a function for rare arguments: scalar, and of vectors if `bits`."""
    if name in huge.NAMES:
        return huge.definitions(name, lanes=bits > 0)
    text = _function_text(name, size, bits, "noinline optnone cold")
    if not bits:
        return text
    lines = _written(name, size, bits, _WIDENED).lines
    return text + "\n" + rare.full_definition(f"tj.{name}.f{size * 8}", size, bits, _ALL[name][1], lines)


@functools.cache
def _masked_texts(name: str, size: int, bits: int) -> str:
    """The definitions of a rare function's masked variants."""
    if name in huge.NAMES:
        return "\n".join(rare.masked_by_lane(f"tj.{name}.f64", bits))
    return "\n".join(rare.masked_by_vector(f"tj.{name}.f{size * 8}", size, bits, _ALL[name][1]))


def plan(module: Module, stmts: list[Any]) -> None:
    """Decide which functions that `stmts` call are out of line, and which of them need vector variants."""
    counts, vectors = outline.called(stmts)
    for (name, size), count in counts.items():
        if name in _ALL and count * len(_steps(name, size, module.vector_bits)[0]) > outline.BUDGET:
            module.outlined[f"tj.{name}.f{size * 8}"] = module.vector_bits if (name, size) in vectors else 0


def _define(module: Module, name: str, size: int) -> None:
    """Add the definitions that calls of a function need."""
    scalar, host = f"tj.{name}.f{size * 8}", module.vector_bits
    if scalar not in module.outlined:
        module.functions[scalar] = _function_text(name, size, host, "alwaysinline")
        _define_called(module, name, size)
        return
    text = _function_text(name, size, host, "noinline")
    if not host:
        module.functions[scalar] = text
        _define_called(module, name, size)
        return
    module.functions[scalar] = library.declared(text)
    if module.outlined[scalar]:
        full, *narrow = _variant_texts(name, size, host).items()
        variants = dict([(full[0], library.declared(full[1])), *narrow])
        module.functions |= variants
        module.kept += variants


def _define_called(module: Module, name: str, size: int) -> None:
    """Add what a function calls. The host's code has what is for rare arguments in libraries of its own."""
    for inst in _steps(name, size, module.vector_bits)[0]:
        if inst.op == "math" and inst.attr[0] == "scale":
            width = inst.out.dtype.itemsize
            module.functions.setdefault(f"tj.scale.f{width * 8}", outline.scale_definitions(width))
        elif inst.op == "math":
            needed, width = inst.attr[1], inst.out.dtype.itemsize
            key = f"tj.{needed}.f{width * 8}"
            if key in module.functions:
                continue
            text = _rare_text(needed, width, module.vector_bits)
            if module.vector_bits:
                masked = _masked_texts(needed, width, module.vector_bits)
                module.functions[key] = f"{library.declared(text)}\n{masked}"
                continue
            module.functions[key] = text
            if needed in huge.NAMES:
                module.functions.setdefault("huge", huge.reduction())
            else:
                _define_called(module, needed, width)


def definitions(needed: library.Library) -> str:
    """The module of functions that code calls out of line."""
    name, size, bits = needed.name, needed.size, needed.bits
    module = Module(vector_bits=bits)
    if name == library.HUGE:
        texts = [huge.definitions(n, lanes=True) for n in huge.NAMES]
        module.functions["huge"] = huge.reduction()
    elif name in _RARE:
        texts = [_rare_text(name, size, bits)]
    else:
        texts = [_function_text(name, size, bits, "noinline")]
        texts += list(_variant_texts(name, size, bits).values())[:1] if bits else []
    module.functions[f"tj.{name}.f{size * 8}"] = "\n".join(map(library.exported, texts))
    if name != library.HUGE:
        _define_called(module, name, size)
    return module.render()


def emit_call(f: Function, inst: Inst, alone: bool = False) -> str:
    """Call the function `inst.attr`, adding its definition to the module. Raises loopir.Unsupported.

    `alone`: no vectors are made of the call.
    """
    size, module, function = inst.out.dtype.itemsize, f.module, inst.attr
    if alone and module.vector_bits and f"tj.{function}.f{size * 8}" not in module.outlined:
        function = _ALONE.get(function, function)
    name = f"tj.{function}.f{size * 8}"
    if name not in module.functions:
        if function in _ALONE.values():
            module.functions[name], module.functions[f"{name} calls"] = _alone_text(inst.attr, size)
        else:
            _define(module, function, size)
    t, bits = reg_type(inst.out.dtype), module.outlined.get(name)
    variants = outline.attribute(name, size, bits, len(inst.args)) if bits else ""
    attributes = " " + module.attributes(variants) if variants else ""
    return f.let(f"call {t} @{name}({', '.join(typed(f, a) for a in inst.args)}){attributes}")
