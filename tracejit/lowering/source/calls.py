"""Calls of other libraries in printed programs: BLAS, LAPACK and SciPy's special functions by Numba's way to them,
NumPy's sorting by NumPy itself.

What else a program calls has no printed form, and is refused: Python functions, random generators.
"""

from __future__ import annotations

from typing import Any, Protocol

from tracejit.ir.kernel import Unsupported
from tracejit.lowering._lazy import cython_special
from tracejit.lowering.loops.nodes import I64, Buffer, Call, Const, External, Slot
from tracejit.lowering.runtime.executable import special_name
from tracejit.lowering.source.scalars import PRODUCT, Expr, constant

_TYPES = {"ptr": "ctypes.c_int64", "i64": "ctypes.c_int64", "i32": "ctypes.c_int32", "f64": "ctypes.c_double",
          "f32": "ctypes.c_float"}  # fmt: skip
_SPECIAL = "scipy.special.cython_special"
_MODULES = {"blas": "scipy.linalg.cython_blas", "lapack": "scipy.linalg.cython_lapack"}


class Writing(Protocol):
    """What a call asks of the writer of statements."""

    def buffer(self, b: Buffer, /) -> str: ...
    def slot(self, s: Slot, /) -> str: ...
    def take(self, x: Any, /) -> Expr: ...
    def define(self, name: str, text: str, /) -> str: ...


def argument(w: Writing, a: Any) -> str:
    """An argument of a C function; memory is the number of its address."""
    if isinstance(a, Slot):
        return f"{w.slot(a)}.ctypes.data"
    if isinstance(a, Buffer):
        return f"{w.buffer(a)}.ctypes.data"
    if isinstance(a, tuple):
        buffer, index = a
        at = constant(Const(index, I64)) if isinstance(index, int) else w.take(index)
        start = f"{w.buffer(buffer)}.ctypes.data"
        return start if at.text == "0" else f"{start} + {buffer.dtype.itemsize} * {at.within(PRODUCT + 1)}"
    return w.take(a).text


def text(w: Writing, s: Call) -> str:
    """A call as an expression."""
    kind, _, name = s.target.name.partition(":")
    if kind == "numpy":
        return _sorting(w, s, name)
    if kind in _MODULES:
        found = f'_function("{_MODULES[kind]}", "{name}"'
    elif kind == "special":
        found = f'_function("{_SPECIAL}", "{special_name(cython_special.__pyx_capi__, name)}"'
    elif kind == "c":
        found = f'_routine("{name}"'
    else:
        raise Unsupported(f"a call of {_told(s.target)}")
    defined = w.define(f"c_{name}", f"c_{name} = {found}, {_signature(s.target)})")
    return f"{defined}({', '.join(argument(w, a) for a in s.args)})"


def _told(target: External) -> str:
    kind = target.name.partition(":")[0]
    return {"callback": "a Python function", "random": "a random generator"}.get(kind, target.name)


def _signature(target: External) -> str:
    result, _, rest = target.signature.partition("(")
    kinds = [_TYPES[a.strip()] for a in rest.rstrip(")").split(",") if a.strip()]
    result = "None" if result == "void" else _TYPES[result]
    if len(set(kinds)) == 1 and len(kinds) > 3:
        return f"{result}, *[{kinds[0]}] * {len(kinds)}"
    return ", ".join([result, *kinds])


def _sorting(w: Writing, s: Call, name: str) -> str:
    """NumPy's sort or argsort of a part of an array. Python runs it, by methods: Numba finds no globals there."""
    what, dtype, how = name.split(":")
    kind = ', kind="stable"' if how == "2" else ""
    view = f'.view("{dtype}")' if dtype == "float16" or dtype.startswith("complex") else ""
    parts = [a if isinstance(a, tuple) else (a, 0) for a in s.args[: 1 if what == "sort" else 2]]
    places = [
        (w.buffer(b), (constant(Const(i, I64)) if isinstance(i, int) else w.take(i)).text) for b, i in parts
    ]
    size = w.take(s.args[len(parts)]).text
    defined = f"{what}{'_stable' if how == '2' else ''}_{dtype}"
    if what == "sort":
        body = f"part = x{view}[start : start + size]\n        part.sort({kind[2:]})"
        head = f"{defined}(x, start, size)"
    else:
        body = (f"part = x{view}[start : start + size]\n"
                f"        order[at : at + size] = part.argsort({kind[2:]})")  # fmt: skip
        head = f"{defined}(x, start, order, at, size)"
    w.define(defined, f'@native\ndef {head}:\n    """NumPy\'s {what} of a part of an array."""\n'
                      f"    with numba.objmode():\n        {body}\n    return i4(0)")  # fmt: skip
    given = [x for place in places for x in place]
    return f"{defined}({', '.join([*given, size])})"
