"""What statements of the loop IR name: registers, slots, buffers, and the blocks in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tracejit.lowering.loops.nodes import Buffer, Call, Const, For, Inst, Reg, Rotate, Size, Slot

_LONG = 8  # iterations; shorter loops are written out
_OPERANDS = ("index", "value", "start", "stop", "cond", "size", "count")
_PLACES = ("buffer", "slot", "target", "source")
_KINDS = frozenset((Buffer, Slot))
#: Which of these the statements of a class have.
_NAMES: dict[type, tuple[str, ...]] = {}


def trips(node: For) -> float:
    """The iterations of a loop, infinity where they are not known."""
    if isinstance(node.start, Const) and isinstance(node.stop, Const):
        return node.stop.value - node.start.value
    return math.inf


def is_written_out(node: For) -> bool:
    """Whether a loop is so short that LLVM puts its iterations one after another."""
    return type(node.stop) is not Size and trips(node) < _LONG


def is_check(s: Any) -> bool:
    """Whether a statement may end the program."""
    return isinstance(s, Inst) and s.op == "index"


def operands(s: Any) -> Iterator[Reg]:
    """The registers that a statement itself reads, those of the places of its buffers included."""
    found = [getattr(s, name, None) for name in _OPERANDS]
    found += [b.slot for b in places(s) if isinstance(b, Buffer) and b.kind == "field"]
    if isinstance(s, (Inst, Call)):
        for a in s.args:
            found += a if isinstance(a, tuple) else (a,)
    return (x for x in found if isinstance(x, Reg))


def defined(s: Any) -> Iterator[Reg]:
    """The registers that a statement itself gives their values."""
    found = (getattr(s, "out", None), getattr(s, "var", None))
    return (x for x in found if isinstance(x, Reg))


def places(s: Any) -> list[Buffer | Slot]:
    """The buffers and slots that a statement itself names."""
    kind = type(s)
    if kind is Inst:  # most statements are
        return [s.attr] if type(s.attr) in _KINDS else []
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = tuple(name for name in _PLACES if hasattr(s, name))
    found = [getattr(s, name) for name in names]
    if kind is Rotate:
        found += s.pointers
    elif kind is Call:
        found += (a[0] if isinstance(a, tuple) else a for a in s.args)
    return [x for x in found if type(x) in _KINDS]


def is_place(index: Any, var: Any, made: dict[Any, Inst]) -> bool:
    """Whether an index is that of the iteration `var`, or so many places further on. `made`: what makes the registers
    of the loop."""
    s = made.get(index)
    return index is var or (
        s is not None and s.op == "iadd" and var in s.args and not any(a in made for a in s.args)
    )


def is_shared(a: Buffer, b: Buffer, related: set[frozenset[int]]) -> bool:
    """Whether two buffers may be the same memory. `related`: the identities of pairs that may be."""
    return frozenset((id(a), id(b))) in related or (a.kind == b.kind == "arg" and a.slot == b.slot)
