"""Programs of one nest as kernels of Numba's CUDA: a thread for each step of the outermost loop.

The program is lowered as for a device, so that every loop which threads can share is one. Functions are CUDA's own
(`math.exp`), so that results are those of the device and not bit for bit those of the other targets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tracejit.errors import NotPrintableError
from tracejit.ir.kernel import Unsupported
from tracejit.lowering.loops.nodes import Buffer, Comment, For, Inst
from tracejit.lowering.lowered import Lowered
from tracejit.lowering.source import functions
from tracejit.lowering.source.body import Writer
from tracejit.lowering.source.driver import Driver
from tracejit.lowering.source.module import taken
from tracejit.lowering.source.names import Names
from tracejit.lowering.source.scalars import Expr, type_name
from tracejit.version import __version__

_HEAD = '''"""{about}

Written by tracejit {version}. It needs NumPy, and Numba with a CUDA device or its simulator (NUMBA_ENABLE_CUDASIM=1).
"""

import math

import numpy as np
from numba import cuda

b1, f4, f8 = np.bool_, np.float32, np.float64
i1, i2, i4, i8 = np.int8, np.int16, np.int32, np.int64
u1, u2, u4, u8 = np.uint8, np.uint16, np.uint32, np.uint64
#: Threads of a block.
THREADS = 256
'''
_DEVICE = "@cuda.jit(device=True)\n"
#: Functions of the file, by their parameters and what they give.
_FUNCTIONS = {
    "where": ("condition, x, y", "x if condition else y"),
    "fma": ("x, y, z", "cuda.fma(x, y, z)"),
    "fabs": ("x", "math.fabs(x)"),
    "sqrt": ("x", "math.sqrt(x)"),
    "copysign": ("x, y", "math.copysign(x, y)"),
    "maximum": ("x, y", "x if x > y or x != x else y"),
    "minimum": ("x, y", "x if x < y or x != x else y"),
    "added": ("x, y", "x + y"),
    "multiplied": ("x, y", "x * y"),
}
#: Vector functions, by their names in CUDA's `math`.
_MATH = {
    **{n: n for n in ("cos", "sin", "tan", "cosh", "sinh", "tanh", "erf", "erfc", "exp", "expm1", "lgamma", "log")},
    **{n: n for n in ("log10", "log1p", "log2", "pow")},
    **{f"arc{n}": f"a{n}" for n in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
}  # fmt: skip


class _File:
    """A file being printed: the functions that its kernel needs."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def need(self, name: str, /) -> str:
        if name not in _FUNCTIONS:
            raise Unsupported(f"`{name}`, for which Numba's CUDA has no form here")
        params, result = _FUNCTIONS[name]
        self.texts[name] = f"{_DEVICE}def {name}({params}):\n    return {result}"
        return name

    def define(self, name: str, text: str, /) -> str:
        raise Unsupported("calls of other code")

    def named(self, how: str, stem: str, rest: str, /) -> str:
        return self.define(stem, rest)

    def function(self, name: str, size: int, /) -> str:
        """The name of a vector function."""
        params = {"pow": "x, y", "arctan2": "x, y"}.get(name, "x")
        known = "atan2" if name == "arctan2" else _MATH.get(name)
        if known is None:
            raise Unsupported(f"the function {name}, which CUDA's `math` does not have")
        called = functions.name_of(name, size)
        self.texts[called] = f"{_DEVICE}def {called}({params}):\n    return math.{known}({params})"
        return called


class _Kernel(Writer):
    """Writes the statements of a thread. `steps`: how many threads there are, as text."""

    steps = ""

    def head(self, s: For, var: str, start: Expr, stop: Expr, shared: bool) -> None:
        if self.nesting or not shared:
            super().head(s, var, start, stop, False)
            return
        first = "" if start.text == "0" else f" + {start.text}"
        self.put(f"{var} = cuda.grid(1){first}")
        self.put(f"if {var} < {stop.text}:")
        self.steps = f"{stop.text} - {start.text}" if first else stop.text

    def declare(self, b: Buffer) -> None:
        if b.kind != "stack" or not isinstance(b.size, int):
            raise Unsupported("memory between its loops")
        size = b.size * (2 if b.dtype.kind == "c" else 1)
        self.put(f"{self.buffer(b)} = cuda.local.array({size}, {type_name(b.dtype)})")


def _one_nest(lowered: Lowered) -> None:
    """Raises Unsupported for a program that is not one loop which threads share."""
    stmts = [s for s in lowered.program.body.stmts if not isinstance(s, (Comment, Inst))]
    if len(stmts) != 1 or type(stmts[0]) is not For or stmts[0].down or not stmts[0].grain:
        raise Unsupported("more than one nest of loops that threads share")
    if lowered.failures or lowered.callbacks or lowered.given:
        raise Unsupported("checks, calls or results of computed size")


def file_of(
    lowered: Lowered,
    name: str,
    inputs: Sequence[str] = (),
    constants: Sequence[np.ndarray] = (),
    about: str = "",
) -> str:
    """The file of a program that was lowered for a device; its arguments are those of `module.file_of`.

    Raises NotPrintableError for programs that are not one nest, and for functions that CUDA does not have."""
    program, names = lowered.program, Names(taken() | {"cuda", "math", "THREADS"})
    function = names.fresh(name)
    kernel = names.fresh(f"{function}_kernel")
    buffers = {b: names.fresh(inputs[n] if n < len(inputs) else b.name) for n, b in enumerate(program.args)}
    file = _File()
    try:
        _one_nest(lowered)
        w = _Kernel(lowered, file, names, buffers, True)
        lines = w.run()[:-1]  # a kernel gives nothing back
        text = "\n".join(lines)
        used = [b for b in program.args if re.search(rf"\b{buffers[b]}\b", text)]
        driver = _Driver(lowered, [buffers[b] for b in program.args], [b.slot for b in used], constants)
        driver.steps = w.steps
        plain = driver.text(function, kernel)
    except Unsupported as e:
        raise NotPrintableError(function=name, problem=str(e)) from e
    head = f"@cuda.jit\ndef {kernel}({', '.join(buffers[b] for b in used)}):"
    parts = [*file.texts.values(), f"{head}\n{text}", plain]
    start = _HEAD.format(about=about or name, version=__version__)
    return start + "\n\n" + "\n\n\n".join(p.strip("\n") for p in parts) + "\n"


class _Driver(Driver):
    """The function of arrays, which launches the kernel. Numba copies arrays to the device and back."""

    steps = ""

    def call(self, kernel: str) -> list[str]:
        _, line = super().call(kernel)
        given = line.partition(f"{kernel}(")[2].removesuffix("status)").rstrip(", ")
        return [f"    {kernel}[({self.steps} + THREADS - 1) // THREADS, THREADS]({given})"]
