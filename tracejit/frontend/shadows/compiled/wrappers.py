"""C functions around functions of Numba's: a program calls them by address with pointers to operands and results.

They work on copies of the arrays that they are given, since the function may write into them, or give one back. Where
it does, where it raises, or where a result has another shape than was announced, the status says so.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.avals import Aval
from tracejit.ir.natives import Native

__all__ = ["PROBLEMS", "acts", "wrapper"]

#: What a status means.
PROBLEMS = {
    1: "raised an exception",
    2: "gave an array of another shape than in the call for which it was traced",
    3: "wrote into an argument",
    4: "gave an argument, or a part of one",
}

#: Functions of C's mathematics.
MATHEMATICS = re.compile(
    r"(a?(sin|cos|tan)h?|atan2|exp|exp2|expm1|log|log2|log10|log1p|pow|hypot|cbrt|sqrt|erfc?|l?gamma|tgamma"
    r"|floor|ceil|trunc|rint|round|fmod|remainder|fabs|fma|fmin|fmax|fdim|copysign|ldexp|scalbn|nextafter|j[01]|y[01])f?"
)
#: What functions may call that do nothing but compute: memory, LLVM's own, C's mathematics, BLAS and LAPACK, which take
#: the lock of Python to say that an argument of theirs is wrong.
_PURE = re.compile(
    r"NRT_\w+|llvm\.[\w.]+|mem(cpy|set|move)|numba_(xx|ez_|raw_)\w+|numba_(attempt_nocopy_reshape|fatal_error|gil_ensure|cpow\w*)|Py_FatalError|PyErr_SetString"
    rf"|(frexp|modf)f?|{MATHEMATICS.pattern}"
)
_DECLARED = re.compile(r'^declare .*?@"?([^"(\s]+)"?\(', re.MULTILINE)
_INDIRECT = re.compile(r"\bcall [^@\n]*?(%[\w.\"]+|inttoptr \([^)]*\))\(")


def acts(text: str, pointers: bool) -> str | None:
    """What a compiled function calls that may do more than compute, or need Python, by its LLVM text; None if there is
    nothing. `pointers`: it calls functions of C that are known to compute only."""
    found = next((n for n in _DECLARED.findall(text) if not _PURE.fullmatch(n)), None)
    if found is None and not pointers and _INDIRECT.search(text):
        return "functions by their addresses"
    return found


@functools.cache
def _helpers() -> dict[str, Any]:
    numba: Any = sys.modules["numba"]

    @numba.njit
    def unlike(x: Any, y: Any, bits: Any) -> Any:
        """Whether the bits differ."""
        a, b = x.reshape(-1).view(bits), y.reshape(-1).view(bits)
        for n in range(len(a)):  # noqa: SIM110 - Numba has no `any`
            if a[n] != b[n]:
                return True
        return False

    @numba.njit
    def within(x: Any, y: Any) -> Any:
        """Whether `x` begins in the memory of `y`."""
        return y.ctypes.data <= x.ctypes.data < y.ctypes.data + y.size * y.itemsize

    return {"carray": numba.carray, "np": np, "unlike": unlike, "within": within}


def wrapper(
    function: Any, operands: Sequence[Aval], results: Sequence[Aval], structure: str
) -> tuple[Native, str]:
    """(C function, its LLVM text) around a function of Numba's, of numbers and arrays like `operands`. `structure` has
    the names of what it gives, as `(r0, (r1, ), )`."""
    numba: Any = sys.modules["numba"]
    lines = []
    for n, a in enumerate(operands):
        if a.shape:
            lines += [f"y{n} = carray(a{n}, {a.shape}, np.{_named(a)})", f"x{n} = y{n}.copy()"]
        else:
            lines.append(f"x{n} = carray(a{n}, (1,), np.{_named(a)})[0]")
    given = ", ".join(f"x{n}" for n in range(len(operands)))
    lines.append(f"{structure} = function({given})" if results else f"function({given})")
    arrays = [n for n, a in enumerate(operands) if a.shape]
    lines += [f"if unlike(x{n}, y{n}, np.{_bits(operands[n])}):\n            return 3" for n in arrays]
    for n, a in enumerate(results):
        if a.shape:
            lines.append(f"if r{n}.shape != {a.shape}:\n            return 2")
            lines += [f"if within(r{n}, x{m}):\n            return 4" for m in arrays]
            lines.append(f"carray(b{n}, {a.shape}, np.{_named(a)})[...] = r{n}")
        else:
            lines.append(f"carray(b{n}, (1,), np.{_named(a)})[0] = r{n}")
    names = [*(f"a{n}" for n in range(len(operands))), *(f"b{n}" for n in range(len(results)))]
    body = "\n        ".join(lines)
    text = (
        f"def call({', '.join(names)}):\n    try:\n        {body}\n    except Exception:\n        return 1\n"
    )
    text += "    return 0\n"
    scope = {**_helpers(), "function": function}
    exec(text, scope)
    types_ = numba.types
    made = numba.cfunc(types_.int32(*[types_.voidptr] * len(names)))(scope["call"])
    return Native(made.address, len(names), (made, function)), made.inspect_llvm()


def _bits(a: Aval) -> str:
    return f"uint{8 * min(a.dtype.itemsize, 8)}"


def _named(a: Aval) -> str:
    return "bool_" if a.dtype.kind == "b" else a.dtype.name
