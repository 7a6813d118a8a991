"""Loops and branches for users: `scan`, `fori_loop`, `while_loop`, `map`, `cond`, `switch`, `associative_scan`.

In come users' functions with trees of arrays, and out go trees of arrays: the functions are staged, checked, and
bound as one op. Read `loops` and `branches`, then `carry` (what must be the same before and after a step), `blocks`
and `associative` (loops made of loops), `python_loops` (what they are under `disable_jit`), `ticks` (positions of loops
for progress bars).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.control.structured import (
        associative,
        blocks,
        branches,
        carry,
        loops,
        python_loops,
        ticks,
    )

__all__ = ["associative", "blocks", "branches", "carry", "loops", "python_loops", "ticks"]
__getattr__, __dir__ = parts(__name__, __all__)
