"""Whole files: `file_of` prints a program with all that it needs, and a plain function that calls it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tracejit.errors import NotPrintableError
from tracejit.ir.kernel import Unsupported
from tracejit.lowering.llvm import vecmath
from tracejit.lowering.loops.nodes import Block
from tracejit.lowering.lowered import Lowered
from tracejit.lowering.source import functions, prelude
from tracejit.lowering.source.body import Writer
from tracejit.lowering.source.driver import Driver
from tracejit.lowering.source.names import Names
from tracejit.lowering.source.scalars import Expr
from tracejit.lowering.source.straight import Straight
from tracejit.records import record
from tracejit.version import __version__

_IMPORTS = ("import numba", "import numpy as np")
_TYPES = """
b1, f4, f8 = np.bool_, np.float32, np.float64
i1, i2, i4, i8 = np.int8, np.int16, np.int32, np.int64
u1, u2, u4, u8 = np.uint8, np.uint16, np.uint32, np.uint64
#: Division by zero gives infinities and NaN, as NumPy's does. Only the kernel is called from Python.
native = numba.njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""
_CALLED = {
    "_function": '''
def _function(module, name, result, *arguments):
    """A C function that a Cython module shows to others. Addresses are numbers."""
    return ctypes.CFUNCTYPE(result, *arguments)(get_cython_function_address(module, name))
''',
    "_routine": '''
def _routine(name, result, *arguments):
    """A function of the C library."""
    address = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    return ctypes.CFUNCTYPE(result, *arguments)(address)
''',
}
_USED = {
    "ctypes": "import ctypes",
    "ir": "from llvmlite import ir",
    "types": "from numba import types",
    "get_cython_function_address": "from numba.extending import get_cython_function_address",
    "intrinsic": "from numba.extending import intrinsic",
}


@record(frozen=True)
class Source:
    """A printed program. `text`: the file; `function`: the name of its function of arrays; `kernel`: that of the one
    that Numba compiles, which takes the buffers of `args`, by their numbers, flat, and then two int64 for what a
    failed check leaves; `given`: the outputs that it returns besides its status."""

    text: str
    function: str
    kernel: str
    args: tuple[int, ...]
    given: tuple[int, ...]


class File:
    """A file being printed: the functions that its program needs, and their texts."""

    def __init__(self) -> None:
        self.needed: dict[str, None] = {}
        self.texts: dict[str, str] = dict(_CALLED)
        self.vector: dict[tuple[str, int], str] = {}

    def need(self, name: str) -> str:
        self.needed.setdefault(name)
        return name

    def define(self, name: str, text: str) -> str:
        """Let the file define a function of this text."""
        self.texts.setdefault(name, text)
        return self.need(name)

    def named(self, how: str, stem: str, rest: str) -> str:
        """The name of a function with the decorator `how`: it begins with `stem`, and has a number. `rest` is what
        comes after the name."""
        n = 0
        while f"{stem}{n}" in self.texts and not self.texts[f"{stem}{n}"].endswith(rest):
            n += 1
        return self.define(f"{stem}{n}", f"{how}\ndef {stem}{n}{rest}")

    def function(self, name: str, size: int) -> str:
        """The name of a vector function, which is printed if it was not."""
        called = functions.name_of(name, size)
        if called not in self.texts and called not in functions.HUGE:
            self.texts[called] = ""  # in the making
            self.texts[called] = self._vector_function(called, name, size)
        return self.need(called)

    def _vector_function(self, called: str, name: str, size: int) -> str:
        stmts, args, out = vecmath.recorded(name, size)
        names = Names(taken())
        f = Straight(self, names)
        block = Block(stmts)
        f.read(out, block)
        for s in reversed(stmts):
            f.count(s, block)
        for a, wanted in zip(args, "xyz", strict=False):
            f.known[a.id] = Expr(names.fresh(wanted))
        for s in stmts:
            f.scalar(s, block)
        result = f.take(out).text
        params = ", ".join(f.known[a.id].text for a in args)
        what = (
            f"{name.replace('.any', ' of rare arguments')} in float{8 * size}, as tracejit's LLVM code has it"
        )
        return "\n".join(
            ["@native", f"def {called}({params}):", f'    """{what}."""', *f.lines, f"    return {result}"]
        )

    def definitions(self) -> list[str]:
        return prelude.definitions(self.needed, functions.HUGE | self.texts)


def taken() -> frozenset[str]:
    """Names that the file may define for itself."""
    own = {*prelude.NAMES, *functions.HUGE, *vecmath.FUNCTIONS}
    return frozenset(own | {f"{n}_f{size}" for n in vecmath.FUNCTIONS for size in (4, 8)} | functions.TYPES)


def file_of(
    lowered: Lowered,
    name: str,
    inputs: Sequence[str] = (),
    constants: Sequence[np.ndarray] = (),
    about: str = "",
    parallel: bool = True,
) -> Source:
    """The file of a program. `name`: of its function; `inputs`: names for its arguments; `constants`: values of the
    first of them, which the file has; `about`: what the head of the file says of where it comes from; `parallel`:
    whether loops that threads share are written so.

    Raises NotPrintableError for programs that call what has no printed form.
    """
    program, names = lowered.program, Names(taken())
    function = names.fresh(name)
    kernel = names.fresh(f"{function}_kernel")
    buffers = {b: names.fresh(inputs[n] if n < len(inputs) else b.name) for n, b in enumerate(program.args)}
    file = File()
    try:
        w = Writer(lowered, file, names, buffers, parallel)
        lines = w.run()
        text = "\n".join(lines)
        used = [b for b in program.args if re.search(rf"\b{buffers[b]}\b", text)]
        places = [b.slot for b in used]
        plain = Driver(lowered, [buffers[b] for b in program.args], places, constants).text(function, kernel)
    except Unsupported as e:
        raise NotPrintableError(function=name, problem=str(e)) from e
    head = f"def {kernel}({', '.join([*(buffers[b] for b in used), 'status'])}):"
    options = 'nogil=True, error_model="numpy"' + (", parallel=True" if w.parallel else "")
    kernel_text = "\n".join([f"@numba.njit({options})", head, *lines])
    parts = [*file.definitions(), kernel_text, plain]
    return Source(_assembled(about or name, parts), function, kernel, tuple(places), tuple(lowered.given))


def _assembled(about: str, parts: list[str]) -> str:
    body = "\n\n\n".join(p.strip("\n") for p in parts if p)
    wanted = [line for word, line in _USED.items() if re.search(rf"\b{word}\b", body)]
    standard = [line for line in wanted if line == "import ctypes"]
    others = sorted({*wanted, *_IMPORTS} - {*standard}, key=lambda line: (line.startswith("from"), line))
    needs = "NumPy, Numba and SciPy" if "get_cython_function_address" in body else "NumPy and Numba"
    head = f'"""{about}\n\nWritten by tracejit {__version__}. It needs {needs} only.\n"""'
    heads = [head, "\n".join(standard), "\n".join(others), _TYPES.strip()]
    return "\n\n".join(h for h in heads if h) + "\n\n\n" + body + "\n"
