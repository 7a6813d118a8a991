"""What a printed file defines for itself: LLVM's instructions that Python has no spelling for, conversions, failures.

`definitions(names)` is the text of what `names` need, in order. The functions are LLVM's instructions, one each, made
by `numba.extending.intrinsic`, and functions of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MAKERS = {
    "_unary": '''
def _unary(name):
    """LLVM's function of this name, of one number."""

    @intrinsic
    def function(typing, x):
        def code(context, builder, signature, values):
            return builder.call(builder.module.declare_intrinsic(name, [values[0].type]), values)

        return x(x), code

    return function
''',
    "_binary": '''
def _binary(name):
    """LLVM's function of this name, of two numbers."""

    @intrinsic
    def function(typing, x, y):
        def code(context, builder, signature, values):
            kind = values[0].type
            declared = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind, kind]))
            return builder.call(declared, values)

        return x(x, x), code

    return function
''',
    "_instruction": '''
def _instruction(name, **how):
    """The instruction of this name, of two numbers."""

    @intrinsic
    def function(typing, x, y):
        def code(context, builder, signature, values):
            return getattr(builder, name)(*values, **how)

        return x(x, x), code

    return function
''',
    "_counting": '''
def _counting(name, *more):
    """LLVM's function of the bits of a number."""

    @intrinsic
    def function(typing, x):
        def code(context, builder, signature, values):
            kind, flags = values[0].type, [ir.Constant(ir.IntType(1), 0) for _ in more]
            fntype = ir.FunctionType(kind, [kind, *(f.type for f in flags)])
            declared = builder.module.declare_intrinsic(name, [kind], fntype)
            return builder.call(declared, [*values, *flags])

        return x(x), code

    return function
''',
    "_reinterpreted": '''
def _reinterpreted(types_of):
    """The bits of a number as one of the type that `types_of` has for its own."""

    @intrinsic
    def function(typing, x):
        result = types_of[x]

        def code(context, builder, signature, values):
            return builder.bitcast(values[0], context.get_value_type(result))

        return result(x), code

    return function
''',
}

_UNARY = {"fabs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint"}
_BINARY = {"copysign": "copysign", "maximum": "maximum", "minimum": "minimum"}
_INSTRUCTIONS = {
    "quotient": "sdiv",
    "remainder": "srem",
    "unsigned_quotient": "udiv",
    "unsigned_remainder": "urem",
}

_FUNCTIONS: dict[str, str] = {
    **_MAKERS,
    **{name: f'{name} = _unary("llvm.{llvm}")' for name, llvm in _UNARY.items()},
    **{name: f'{name} = _binary("llvm.{llvm}")' for name, llvm in _BINARY.items()},
    **{name: f'{name} = _instruction("{llvm}")' for name, llvm in _INSTRUCTIONS.items()},
    "popcount": 'popcount = _counting("llvm.ctpop")',
    "leading_zeros": 'leading_zeros = _counting("llvm.ctlz", False)',
    "trailing_zeros": 'trailing_zeros = _counting("llvm.cttz", False)',
    "bits": "bits = _reinterpreted({types.float64: types.int64, types.float32: types.int32})",
    "floats": "floats = _reinterpreted({types.int64: types.float64, types.int32: types.float32})",
    "_flags": """
#: Whether sums are added up in the order in which they are written, rather than in one that suits the processor.
IN_ORDER = False
_flags = () if IN_ORDER else ("reassoc", "nsz")
""",
    "added": 'added = _instruction("fadd", flags=_flags)',
    "multiplied": 'multiplied = _instruction("fmul", flags=_flags)',
    "fma": '''
@intrinsic
def fma(typing, x, y, z):
    """x*y + z, rounded once."""

    def code(context, builder, signature, values):
        return builder.fma(*values)

    return x(x, x, x), code
''',
    "where": '''
@intrinsic
def where(typing, condition, x, y):
    """x if the condition holds, else y; both have been computed."""

    def code(context, builder, signature, values):
        return builder.select(*values)

    return x(types.boolean, x, x), code
''',
    "failed": '''
@native
def failed(status, code, index, size):
    """Leave what a check found, and give its code."""
    status[0], status[1] = index, size
    return code
''',
    "grown": '''
@native
def grown(block, size):
    """A block of at least `size` bytes that begins with what `block` holds."""
    if size <= block.size:
        return block
    new = np.empty(max(2 * block.size, (size + 15) // 16 * 16, 4096), u1)
    new[: block.size] = block
    return new
''',
    "to_i8": '''
@native
def to_i8(x):
    """Truncated; what does not fit, and NaN, become the least integer, as on x86."""
    return where(fabs(x) < 2.0**63, i8(x), -(2**63))
''',
    "to_i4": '''
@native
def to_i4(x):
    """Truncated; what does not fit, and NaN, become the least integer, as on x86."""
    return where(fabs(x) < 2.0**31, i4(x), i4(-(2**31)))
''',
    "to_u8": '''
@native
def to_u8(x):
    """Truncated, as C compilers do it on x86."""
    large = u8(to_i8(x - type_of(x, 2.0**63))) ^ u8(1 << 63)
    return where(x < 2.0**63, u8(to_i8(x)), large)
''',
    "type_of": '''
@intrinsic
def type_of(typing, x, y):
    """The second number as one of the type of the first."""

    def code(context, builder, signature, values):
        return values[1]

    return x(x, x), code
''',
    "from_bfloat16": '''
@native
def from_bfloat16(x):
    """The float32 that the bits of a bfloat16 stand for."""
    return floats(i4(u4(x) << 16))
''',
    "to_bfloat16": '''
@native
def to_bfloat16(x):
    """The bits of a float32 rounded to bfloat16, to the nearest, ties to even."""
    whole = u4(bits(x))
    odd = u4(whole >> 16) & u4(1)
    rounded = where(x != x, whole | u4(0x400000), u4(whole + odd + u4(32767)))
    return u2(rounded >> 16)
''',
    "from_float16": '''
@native
def from_float16(x):
    """The float32 that the bits of a float16 stand for."""
    size, sign = i4(x & 0x7FFF), i4(x & 0x8000) << 16
    moved = i4(size << 13)
    normal = i4(moved + 0x38000000)
    small = bits(floats(i4(moved + 0x38800000)) - floats(i4(0x38800000)))
    special = i4(moved | 0x7F800000 | where(size > 0x7C00, 0x400000, 0))
    finite = where(size < 0x400, small, normal)
    return floats(i4(where(size >= 0x7C00, special, finite) | sign))
''',
    "to_float16": '''
@native
def to_float16(x):
    """The bits of a float32 rounded to float16, to the nearest, ties to even."""
    whole = i8(bits(x))
    size, sign = whole & 0x7FFFFFFF, whole & 0x80000000
    normal = (size + (0xFFF - 0x38000000) + ((size >> 13) & 1)) >> 13
    small = i8(bits(f4(floats(i4(size)) + f4(0.5)))) - 0x3F000000
    finite = where(size < 0x38800000, small, normal)
    special = where(size > 0x7F800000, 0x7E00 | ((size >> 13) & 0x3FF), 0x7C00)
    return u2(where(size >= 0x47800000, special, finite) | (sign >> 16))
''',
    "rounded_to_odd": '''
@native
def rounded_to_odd(x):
    """A float64 as float32 with the last bit set where inexact, so that rounding it again does no harm."""
    near = f4(x)
    back = f8(near)
    inexact = back < x or back > x
    over = fabs(back) > fabs(x)
    return floats(i4(i4(bits(near) - i4(over)) | i4(inexact)))
''',
}

#: All names that a file may define.
NAMES = frozenset(_FUNCTIONS)
#: What each definition names that has to be there before.
_WORD = re.compile(r"[A-Za-z_]\w*")
_SAID = re.compile(r'""".*?"""|#[^\n]*|"[^"\n]*"', re.DOTALL)


def definitions(names: Iterable[str], known: dict[str, str]) -> list[str]:
    """The texts of the functions `names` and of what they need, each once, in an order that Python can run. `known`:
    functions that are not of this file."""
    texts = _FUNCTIONS | known
    found: dict[str, str] = {}

    def add(name: str) -> None:
        code = _SAID.sub("", texts[name])
        for word in dict.fromkeys(_WORD.findall(code)):
            if word != name and word in texts and word not in found:
                add(word)
        found[name] = texts[name].strip("\n")

    for name in names:
        if name not in found:
            add(name)
    return list(found.values())
