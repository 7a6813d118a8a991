"""C functions around the entries of programs.

A function of C notes where its arguments lie, finds memory for what it returns, checks what it can check, and calls the
entry. A failed call leaves its status in the function's *record* (three int64), from which `CFunction.check` raises the
exception.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import ForeignArgumentError
from tracejit.lowering._lazy import scipy
from tracejit.lowering.foreign.declarations import Declaration, Parameter
from tracejit.lowering.foreign.inputs import Input, Result
from tracejit.lowering.foreign.writer import OVERLAP, WRONG_LENGTH, Writer
from tracejit.lowering.llvm.memory import STATUS_WORDS
from tracejit.lowering.runtime.compile import as_set, compile_llvm
from tracejit.lowering.runtime.executable import Executable

_CTYPES = {
    np.dtype(c): c
    for c in (ctypes.c_double, ctypes.c_float, ctypes.c_bool, ctypes.c_int8, ctypes.c_int16, ctypes.c_int32,
              ctypes.c_int64, ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64)
}  # fmt: skip


class CFunction:
    """A compiled program as a function of C: `address`, `ctypes`, and calls from Python through the latter.

    It lives as long as this object; so does what it refers to. It needs neither Python nor the GIL.
    """

    def __init__(self, writer: Writer, prototype: Any, declaration: str, keep: Any) -> None:
        self.declaration = declaration
        self._record = (ctypes.c_int64 * (STATUS_WORDS + 1))()
        self._executable = writer.executable
        self._keep = keep
        self._code = compile_llvm(as_set(writer.text()), writer.imports(ctypes.addressof(self._record)))
        self.address = self._code.address
        self.ctypes = prototype(self.address)
        self.ctypes._tracejit = self  # whoever holds it may call it

    def __call__(self, *args: Any) -> Any:
        """Call it through ctypes. Raises what `check` raises."""
        out = self.ctypes(*args)
        self.check()
        return out

    def __repr__(self) -> str:
        return f"<C function {self.declaration} at {self.address:#x}>"

    def low_level_callable(self, user_data: Any = None) -> Any:
        """`scipy.LowLevelCallable` of it, for `quad`, `nquad`, `ndimage.generic_filter`, `geometric_transform` and
        others. SciPy says which declarations it takes; a failed call gives it NaN, or makes it raise its own
        exception (`check` says why)."""
        return scipy.LowLevelCallable(self.ctypes, user_data, self.declaration)

    def check(self) -> None:
        """Raises the exception of the last call that failed since this was asked; returns None if there was none."""
        status = tuple(self._record)
        if status[0]:
            self._record[0] = 0
            self.fail(status)

    def fail(self, status: Sequence[int]) -> None:
        """Raise the exception of a status."""
        if status[0] == WRONG_LENGTH:
            problem = f"a length is {status[2]}, where it was compiled for {status[1]}"
        elif status[0] == OVERLAP:
            problem = "memory that it writes is also that of another argument"
        else:
            self._executable.entry().fail(struct.pack(f"<{len(status)}q", *status))
            return
        raise ForeignArgumentError(function=self.declaration, problem=problem)


def rows_function(
    executable: Executable,
    inputs: Sequence[Input],
    keep: Any,
    places: Sequence[int] | None = None,
    count: int | None = None,
    name: str = "int32_t (void **)",
) -> CFunction:
    """`int32_t f(void **rows)`: pointers to the inputs that are not fixed (at `places`, if these are not one after
    the other), then, from `count` on, to the outputs. It gives 0, or the status of what failed."""
    places = range(sum(x.fixed is None for x in inputs)) if places is None else places
    writer = Writer(executable, inputs)
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
    writer.rows(places, len(places) if count is None else count)
    return CFunction(writer, prototype, name, keep)


def c_function(
    executable: Executable,
    inputs: Sequence[Input],
    results: Sequence[Result],
    declaration: Declaration,
    keep: Any,
) -> CFunction:
    """The function of this declaration. Raises CDeclarationError if the program is none of that."""
    writer = Writer(executable, inputs)
    writer.declared(declaration, results)
    kinds = [_ctype(p) for p in declaration.parameters]
    prototype = ctypes.CFUNCTYPE(_ctype(declaration.result), *kinds)
    return CFunction(writer, prototype, str(declaration), keep)


def _ctype(p: Parameter) -> Any:
    if p.dtype is None:
        return ctypes.c_void_p if p.pointer else None
    kind = _CTYPES[p.dtype]
    return ctypes.POINTER(kind) if p.pointer else kind
