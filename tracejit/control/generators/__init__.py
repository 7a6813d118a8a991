"""Draws from random generators of NumPy's and Python's as equations of a program.

In come a generator's handle (`interpreters.generators`), a method and its arguments, and out go equations that draw
exactly what the method would, from the very generator, in order. Read `draws` (what a draw is, and what it gives),
`natives` (which of them are native code), `ops` (the records), then `states`
(a generator's state as a value that is saved and set again).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.control.generators import draws, natives, ops, states

__all__ = ["draws", "natives", "ops", "states"]
__getattr__, __dir__ = parts(__name__, __all__)
