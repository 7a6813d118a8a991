"""Calls of other libraries in printed programs: BLAS, LAPACK and SciPy's special functions by Numba's way to them,
NumPy's functions by NumPy itself, which Python runs.

What else a program calls has no printed form, and is refused: Python functions, random generators.
"""

from __future__ import annotations

from typing import Any, Protocol

from tracejit.ir.kernel import Unsupported
from tracejit.lowering._lazy import cython_special
from tracejit.lowering.loops.nodes import I64, Buffer, Call, Const, External, Slot
from tracejit.lowering.lowered import Callback
from tracejit.lowering.runtime.executable import special_name
from tracejit.lowering.source.scalars import PRODUCT, Expr, constant

_TYPES = {"ptr": "ctypes.c_int64", "i64": "ctypes.c_int64", "i32": "ctypes.c_int32", "f64": "ctypes.c_double",
          "f32": "ctypes.c_float"}  # fmt: skip
#: How functions are compiled that call Python, for which they take the GIL: they are not said to need none.
_WITH_PYTHON = '@numba.njit(error_model="numpy")'
_SPECIAL = "scipy.special.cython_special"
_MODULES = {"blas": "scipy.linalg.cython_blas", "lapack": "scipy.linalg.cython_lapack"}


class Writing(Protocol):
    """What a call asks of the writer of statements."""

    def buffer(self, b: Buffer, /) -> str: ...
    def slot(self, s: Slot, /) -> str: ...
    def take(self, x: Any, /) -> Expr: ...
    def define(self, name: str, text: str, /) -> str: ...
    def named(self, how: str, stem: str, rest: str, /) -> str: ...

    callbacks: list[Callback]


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
    if kind == "callback":
        return _by_numpy(w, s, w.callbacks[int(name)])
    if kind in _MODULES:
        found = f'_function("{_MODULES[kind]}", "{name}"'
    elif kind == "special":
        found = (
            f'_function("{_SPECIAL}", "{special_name(cython_special.__pyx_capi__, name, s.target.signature)}"'
        )
    elif kind == "c":
        found = f'_routine("{name}"'
    else:
        raise Unsupported(f"a call of {_told(s.target)}")
    defined = w.define(f"c_{name}", f"c_{name} = {found}, {_signature(s.target)})")
    return f"{defined}({', '.join(argument(w, a) for a in s.args)})"


def _told(target: External) -> str:
    told = {"random": "a random generator", "native": "foreign compiled code"}
    return told.get(target.name.partition(":")[0], target.name)


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
    w.define(defined, f'{_WITH_PYTHON}\ndef {head}:\n    """NumPy\'s {what} of a part of an array."""\n'
                      f"    with numba.objmode():\n        {body}\n    return i4(0)")  # fmt: skip
    given = [x for place in places for x in place]
    return f"{defined}({', '.join([*given, size])})"


def _by_numpy(w: Writing, s: Call, c: Callback) -> str:
    """An operation that NumPy has a function for."""
    spelled = getattr(c.op.kernel, "spelled", None) if c.op is not None else None
    expression = spelled(**c.params) if spelled is not None else None
    specs = [*c.in_specs, *c.out_specs]
    if expression is None or any(None in shape for _, shape, _ in specs):
        raise Unsupported(f"a call of Python's, {c.name!r}")
    views = [f'x{n}.view("{d}").reshape({shape})' for n, (_, shape, d) in enumerate(specs)]
    count = len(c.in_specs)
    lines = ['numpy = __import__("numpy")  # Numba finds no names of the file here']
    for n, (view, (_, shape, _)) in enumerate(zip(views, c.in_specs, strict=False)):
        lines.append(f"a{n} = {view if shape else f'{view}[()]'}")
    lines.append(f"{', '.join(f'r{n}' for n in range(count, len(views)))} = "
                 f"{expression.format(*(f'a{n}' for n in range(count)))}")  # fmt: skip
    lines += [f"{view}[...] = r{n}" for n, view in enumerate(views) if n >= count]
    body = "\n".join(f"        {line}" for line in lines)
    args = ", ".join(f"x{n}" for n in range(len(views)))
    head = f'({args}):\n    """{c.name}, which Python runs."""\n    with numba.objmode():'
    name = w.named(_WITH_PYTHON, f"{c.name}_by_numpy", f"{head}\n{body}\n    return i4(0)")
    return f"{name}({', '.join(w.buffer(a) for a in s.args)})"
