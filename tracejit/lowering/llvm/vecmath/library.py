"""Functions that the host's code calls out of line: compiled once, as libraries that programs are linked with.

Those for rare arguments and those that `outline` keeps out of line are the same in every program, and take
longer to compile than most programs' own loops. A program declares what it calls; `compile` finds the names in
its text, and makes or loads the modules that define them (`vecmath.definitions`).
"""

from __future__ import annotations

import re
from collections import Counter

from tracejit.lowering.llvm.vecmath.functions import huge
from tracejit.records import record

#: The library that has all of `huge`.
HUGE = "huge"
_HEADS = re.compile(r"^define (?:internal )?(.*) \{$", re.MULTILINE)
_DECLARED = re.compile(r"^declare [^@\n]*@(tj\.([\w.]+?)\.f(32|64)(?:\.v(\d+)|\.lanes)?)\(", re.MULTILINE)


def declared(text: str) -> str:
    """The declarations of the functions that `text` defines."""
    return "\n".join(f"declare {head.replace(' optnone', '')}" for head in _HEADS.findall(text))


def exported(text: str) -> str:
    """`text` with its functions visible to other modules."""
    return text.replace("define internal", "define")


@record(frozen=True)
class Library:
    """That of one function: its format in bytes, and the width in bits of the vectors it is there for, 0 for none."""

    name: str
    size: int
    bits: int


def needed(text: str) -> dict[Library, list[str]]:
    """What a module is to be linked with, and the names that it needs from there."""
    names: dict[tuple[str, int], list[str]] = {}
    bits: Counter[tuple[str, int]] = Counter()
    for symbol, name, size, lanes in _DECLARED.findall(text):
        key = (HUGE if name in huge.NAMES else name, int(size) // 8)
        names.setdefault(key, []).append(symbol)
        bits[key] += int(size) * int(lanes or 0)
    return {Library(*key, bits[key]): symbols for key, symbols in names.items()}
