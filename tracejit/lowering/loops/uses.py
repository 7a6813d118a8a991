"""What statements of the loop IR name: registers, slots, buffers, and the blocks in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tracejit.lowering.loops.nodes import Buffer, Call, Const, For, Inst, Reg, Rotate, Size, Slot

_LONG = 8  # iterations; shorter loops are written out
_OPERANDS = ("index", "value", "start", "stop", "cond", "size", "count")
_PLACES = ("buffer", "slot", "target", "source")


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


def places(s: Any) -> Iterator[Buffer | Slot]:
    """The buffers and slots that a statement itself names."""
    found = [getattr(s, name, None) for name in _PLACES]
    if isinstance(s, Inst):
        found.append(s.attr)
    if isinstance(s, Rotate):
        found += s.pointers
    if isinstance(s, Call):
        found += (a[0] if isinstance(a, tuple) else a for a in s.args)
    return (x for x in found if isinstance(x, (Buffer, Slot)))
