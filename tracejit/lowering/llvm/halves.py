"""Conversions of float16 that LLVM calls by name, where it makes no instructions of them.

Processors without conversions of their own need them for all float16. With such instructions too LLVM may call one
that nobody wrote: a sign that was taken from a float16 is taken from the float64 that this was rounded from, which
is rounded a second time for it. Python's process has none of these functions, so programs are linked with ours.
"""

from __future__ import annotations

from tracejit.lowering.llvm.scalar import round_to_odd
from tracejit.lowering.llvm.text import Function, Module

#: Each function with its parameter and result.
ROUTINES = {
    "__truncdfhf2": ("double", "half"),
    "__truncsfhf2": ("float", "half"),
    "__extendhfsf2": ("half", "float"),
}
_INFINITY, _HALF_INFINITY = 0x7F800000, 0x7C00
_REBIAS = (127 - 15) << 23  # between the exponents of float16 and float32, in place
_LEAST = _REBIAS + (1 << 23)  # the least normal float16, as float32


def called(object_bytes: bytes) -> list[str]:
    """The routines that machine code refers to."""
    return [name for name in ROUTINES if name.encode() in object_bytes]


def _split(f: Function, bits: str, mask: int) -> tuple[str, str]:
    """The magnitude and the sign of float bits in an i32, in their places."""
    return f.let(f"and i32 {bits}, {mask}"), f.let(f"and i32 {bits}, {mask + 1}")


def _narrowed(f: Function, x: str) -> str:
    """A float rounded to the nearest half, ties to even, by integers alone."""
    size, sign = _split(f, f.let(f"bitcast float {x} to i32"), 0x7FFFFFFF)
    odd = f.let(f"and i32 {f.let(f'lshr i32 {size}, 13')}, 1")
    near = f.let(f"add i32 {f.let(f'add i32 {size}, {0xFFF - _REBIAS}')}, {odd}")
    normal = f.let(f"lshr i32 {near}, 13")
    # One half has the spacing of the subnormals, so that adding it rounds to them.
    added = f.let(f"fadd float {f.let(f'bitcast i32 {size} to float')}, 0.5")
    small = f.let(f"sub i32 {f.let(f'bitcast float {added} to i32')}, {0x3F000000}")
    tiny = f.let(f"icmp ult i32 {size}, {_LEAST}")
    finite = f.let(f"select i1 {tiny}, i32 {small}, i32 {normal}")
    payload = f.let(f"and i32 {f.let(f'lshr i32 {size}, 13')}, {0x3FF}")
    quiet = f.let(f"or i32 {payload}, {_HALF_INFINITY | 0x200}")
    nan = f.let(f"icmp ugt i32 {size}, {_INFINITY}")
    special = f.let(f"select i1 {nan}, i32 {quiet}, i32 {_HALF_INFINITY}")
    large = f.let(f"icmp uge i32 {size}, {_REBIAS + (31 << 23)}")
    out = f.let(f"select i1 {large}, i32 {special}, i32 {finite}")
    signed = f.let(f"or i32 {out}, {f.let(f'lshr i32 {sign}, 16')}")
    return f.let(f"bitcast i16 {f.let(f'trunc i32 {signed} to i16')} to half")


def _widened(f: Function, x: str) -> str:
    """A half as the same float, by integers alone."""
    bits = f.let(f"zext i16 {f.let(f'bitcast half {x} to i16')} to i32")
    size, sign = _split(f, bits, 0x7FFF)
    moved = f.let(f"shl i32 {size}, 13")
    normal = f.let(f"add i32 {moved}, {_REBIAS}")
    above = f.let(f"bitcast i32 {f.let(f'add i32 {moved}, {_LEAST}')} to float")
    least = f.let(f"bitcast i32 {_LEAST} to float")
    small = f.let(f"bitcast float {f.let(f'fsub float {above}, {least}')} to i32")
    nan = f.let(f"icmp ugt i32 {size}, {_HALF_INFINITY}")
    quiet = f.let(f"select i1 {nan}, i32 {1 << 22}, i32 0")
    special = f.let(f"or i32 {f.let(f'or i32 {moved}, {_INFINITY}')}, {quiet}")
    tiny = f.let(f"icmp ult i32 {size}, {1 << 10}")
    finite = f.let(f"select i1 {tiny}, i32 {small}, i32 {normal}")
    out = f.let(f"select i1 {f.let(f'icmp uge i32 {size}, {_HALF_INFINITY}')}, i32 {special}, i32 {finite}")
    signed = f.let(f"or i32 {out}, {f.let(f'shl i32 {sign}, 16')}")
    return f.let(f"bitcast i32 {signed} to float")


def definitions() -> str:
    """The module that defines the routines."""
    module = Module()
    for name, (argument, result) in ROUTINES.items():
        f = Function(module)
        narrow = round_to_odd(f, "%x") if argument == "double" else "%x"
        out = _widened(f, narrow) if argument == "half" else _narrowed(f, narrow)
        head = f"define {result} @{name}({argument} %x) nounwind willreturn memory(none) {{"
        module.functions[name] = "\n".join([head, "start:", *f.lines, f"  ret {result} {out}", "}"])
    return module.render()
