"""Writing LLVM IR as text: types, constants, functions and module metadata.

Registers and memory differ for booleans only (i1 and i8). bfloat16 is an i16 that the emitter
widens and rounds itself, since LLVM's own conversion flushes subnormals on some hosts.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import field, replace

import numpy as np

from tracejit import dtypes
from tracejit.ir.kernel import Unsupported
from tracejit.lowering.loops.nodes import Const, Size
from tracejit.records import record

_FLOATS = {2: "half", 4: "float", 8: "double"}
_SIGNATURE = {"f64": "double", "f32": "float", "ptr": "ptr", "void": "void"}
_NODES = re.compile(r"!(\d+)\b")
_LABELS = re.compile(r"^([\w.]+):|label %([\w.]+)|^define ", re.MULTILINE)
_COMMENTS = re.compile(r"^ *;.*\n", re.MULTILINE)
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def reg_type(dtype: np.dtype) -> str:
    """The LLVM type of a register of `dtype`. Raises Unsupported for long double, complex, others."""
    if dtype.kind == "b":
        return "i1"
    if dtype.kind in "iu":
        return f"i{dtype.itemsize * 8}"
    if dtype.kind == "f" and dtype.itemsize in _FLOATS:
        return _FLOATS[dtype.itemsize]
    if dtype == dtypes.bfloat16:
        return "i16"
    raise Unsupported(f"{dtype} has no native scalar type")


def mem_type(dtype: np.dtype) -> str:
    """The LLVM type of an element of `dtype` in memory; complex elements are arrays of bytes."""
    if dtype.kind == "b":
        return "i8"
    return f"[{dtype.itemsize} x i8]" if dtype.kind == "c" else reg_type(dtype)


def alignment(dtype: np.dtype) -> int:
    """The alignment in bytes that an element of `dtype` has in every array."""
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def float_bits(value: float, dtype: np.dtype) -> str:
    """A float literal. LLVM writes f32 as the f64 it widens to; f16 by its own bits."""
    with np.errstate(over="ignore"):
        if dtype.itemsize == 2:
            return f"0xH{int(np.float16(value).view(np.uint16)):04X}"
        wide = float(np.float32(value)) if dtype.itemsize == 4 else float(value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', wide))[0]:016X}"


def literal(const: Const) -> str:
    """A constant operand without its type. Integers wrap to their width."""
    dtype = const.dtype
    if dtype.kind == "b":
        return "true" if const.value else "false"
    if dtype.kind in "iu":
        wrapped = int(const.value) % (1 << dtype.itemsize * 8)
        return str(wrapped - (1 << dtype.itemsize * 8) if const.value < 0 else wrapped)
    if dtype == dtypes.bfloat16:
        return str(int(np.asarray(const.value).astype(dtype).view(np.uint16)))
    return float_bits(const.value, dtype)


def signature(text: str) -> tuple[str, list[str]]:
    """'i32(ptr,i64,f64)' as LLVM types: ('i32', ['ptr', 'i64', 'double'])."""
    result, _, rest = text.partition("(")
    names = [a.strip() for a in rest.rstrip(")").split(",") if a.strip()]
    return _SIGNATURE.get(result.strip(), result.strip()), [_SIGNATURE.get(a, a) for a in names]


@record()
class Module:
    """The text of one LLVM module: definitions in order, then numbered metadata."""

    header: list[str] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    metadata: list[str] = field(default_factory=list)
    vector_bits: int = 0  # the width of the vectors of loops that are vectorised, 0 where none are
    outlined: dict[str, int] = field(default_factory=dict)  # functions not to inline: bits of their variants
    kept: list[str] = field(default_factory=list)  # functions that only the vectoriser will call
    _joined: dict[str, str] = field(default_factory=dict)  # texts of parts: their names
    _shared: dict[str, str] = field(default_factory=dict)
    _groups: dict[str, str] = field(default_factory=dict)

    def node(self, text: str) -> str:
        """Add a metadata node and return its name. `{self}` in `text` is the node's own name."""
        name = f"!{len(self.metadata)}"
        self.metadata.append(f"{name} = {text.replace('{self}', name)}")
        return name

    def shared(self, text: str) -> str:
        """The one node of this text."""
        if text not in self._shared:
            self._shared[text] = self.node(text)
        return self._shared[text]

    def empty(self) -> str:
        """The empty node, which flags such as `!invariant.load` take."""
        return self.shared("!{}")

    def attributes(self, text: str) -> str:
        """The name of a group of function attributes."""
        return self._groups.setdefault(text, f"#{len(self._groups)}")

    def part(self) -> Module:
        """This module with metadata of its own, to write a function in that may be like another one."""
        return replace(self, metadata=[], _shared={})

    def join(self, name: str, text: str, part: Module) -> str:
        """Add a function that was written in `part`; its name, or that of the one that is like it."""
        key = "\n".join([_COMMENTS.sub("", text.replace(f"@{name}(", "@(", 1)), *part.metadata])
        if key in self._joined:
            del self.functions[name]
            return self._joined[key]

        def moved(match: re.Match[str], before: int = len(self.metadata)) -> str:
            return f"!{int(match[1]) + before}"

        self.metadata += [_NODES.sub(moved, line) for line in part.metadata]
        self.functions[name] = _NODES.sub(moved, text)
        self._joined[key] = name
        return name

    def render(self) -> str:
        groups = [f"attributes {name} = {{ {text} }}" for text, name in self._groups.items()]
        parts = [*self.header, *self.functions.values(), *self._used(), *groups, *self.metadata, ""]
        return "\n".join(parts)

    def _used(self) -> list[str]:
        """What keeps functions from being dropped before their first call."""
        if not self.kept:
            return []
        names = ", ".join(f"ptr @{n}" for n in self.kept)
        kind = f"appending global [{len(self.kept)} x ptr]"
        return [f'@llvm.compiler.used = {kind} [{names}], section "llvm.metadata"']


@record()
class Function:
    """A function body being written: lines, names, and allocas that go to its entry block."""

    module: Module
    lines: list[str] = field(default_factory=list)
    entry: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)  # of registers, by id
    label: str = "start"
    contract: bool = False  # products and sums may become fused ones
    size: Callable[[Size], str] = literal  # how sizes are written: as constants, or as names of parameters
    _count: int = 0

    def fresh(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def labels(self, *names: str) -> list[str]:
        self._count += 1
        return [f"{n}{self._count}" for n in names]

    def add(self, line: str) -> None:
        self.lines.append("  " + line)

    def let(self, text: str) -> str:
        """Add `%fresh = text` and return the name."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def begin(self, label: str) -> None:
        """Start the basic block `label`."""
        self.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch(self, cond: str, then: str, orelse: str, hint: str = "") -> None:
        self.lines.append(f"  br i1 {cond}, label %{then}, label %{orelse}{hint}")


def has_loops(text: str) -> bool:
    """Whether a module goes back to a label anywhere."""
    known: set[str] = set()
    for m in _LABELS.finditer(text):
        if m[1] is not None:
            known.add(m[1])
        elif m[2] is None:  # a function begins
            known.clear()
        elif m[2] in known:
            return True
    return False
