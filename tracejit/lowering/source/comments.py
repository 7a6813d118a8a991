"""The user's lines in printed programs: a comment for each, and names for the arrays that they assign."""

from __future__ import annotations

import linecache
import re
from typing import Any

from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import Block, Buffer, Comment, Copy, Store, blocks_of

_ASSIGNED = re.compile(r"^([A-Za-z_]\w*)\s*(?:\[[^=]*\])?\s*(?:[-+*/@%&|^]|//|\*\*|<<|>>)?=(?!=)")
_LONGEST = 88


class Comments:
    """The lines that the statements of a program come from."""

    def __init__(self) -> None:
        self.names: dict[Buffer, str] = {}
        self.last = ""

    def read(self, block: Block) -> None:
        """Find names for the buffers that the statements of `block` fill."""
        name = ""
        for s in block.stmts:
            if isinstance(s, Comment):
                name = _assigned(s.source)
                continue
            if any(isinstance(t, Comment) for t in walk([s])):
                for inner in blocks_of(s):
                    self.read(inner)
            elif name:
                for t in walk([s]):
                    b = t.buffer if isinstance(t, Store) else t.target if isinstance(t, Copy) else None
                    if b is not None:
                        self.names.setdefault(b, name)
                name = "" if blocks_of(s) else name  # what comes after the nest is another thing

    def lines(self, notes: list[Comment]) -> list[str]:
        """The comments for what follows: each of the user's lines once."""
        found = [text for text in dict.fromkeys(_shown(n) for n in notes) if text and text != self.last]
        self.last = found[-1] if found else self.last
        return [f"# {text}" for text in found]


def _shown(note: Comment) -> str:
    """The user's line, and where it is."""
    line = _line(note.source)
    text = f"{line}  ({note.source})" if line else str(note.source or "")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _line(source: Any) -> str:
    return linecache.getline(source.filename, source.line).strip() if source is not None else ""


def _assigned(source: Any) -> str:
    """The variable that a line assigns, or ''."""
    found = _ASSIGNED.match(_line(source))
    return found[1] if found else ""
