"""What the comments of the loop IR say of the statements behind them: the equations that these compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracejit.ir.source import Source
from tracejit.lowering.loops.nodes import Block, Comment


def short(text: str) -> str:
    """An equation of a listing, `b:f64[3] = sin a`, in short: `sin f64[3]`."""
    left, _, right = text.partition(" = ")
    op = right.partition(" ")[0].partition("[")[0]
    types = [word.partition(":")[2] for word in left.removeprefix("let ").split(" ") if ":" in word]
    return f"{op} {types[0]}" if types else op or text


def commented(block: Block, kind: type) -> Iterator[tuple[str, Source | None, Any]]:
    """The statements of one kind in a block (those of blocks inside are not looked at), each with the equation that it
    ends with in short, and the user's line."""
    what, source = "", None
    for stmt in block.stmts:
        if type(stmt) is Comment:
            what, source = short(stmt.text), stmt.source
        elif type(stmt) is kind:
            yield what, source, stmt
