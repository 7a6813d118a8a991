"""Which arrays are items of lists of traced length, noted in the blocks that put them there.

A block is staged again and again until its types settle, so what it notes is forgotten where it ends, and noted anew
in the block around it once it is part of the program.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracejit.frontend import active
from tracejit.frontend.active import in_loop, loop_of
from tracejit.numpy.boxes.sharing.either import Listed
from tracejit.tracing import Box, Storage


def is_own(x: Box) -> bool:
    """Whether each run of the code that is traced now has made the array `x` anew, so that no list has it yet."""
    storage = x.storage
    if type(storage) is not Storage or x.chain or storage.origin is not None or storage.layout is not None:
        return False
    if storage.rows is not None or loop_of(storage.trace) is not in_loop():
        return False
    return all(id(storage) not in f.claimed and id(storage) not in f.found for f in active.session().frames)


def note(storage: Storage, mark: Listed) -> None:
    """`storage` is an item of a list from now on."""
    frames: list[Any] = active.session().frames
    if frames:
        frames[-1].list_array(storage, mark)
    storage.rows = mark


def note_all(marks: Iterable[tuple[Storage, Listed]]) -> None:
    """What a block has noted, in the one around it."""
    for storage, mark in marks:
        note(storage, mark)
