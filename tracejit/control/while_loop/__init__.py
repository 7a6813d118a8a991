"""The while op: a body repeated as long as a condition holds.

In come the constants of both and the carries, in the order of `operands`, and out go the last carries. Read `op`
(the record, its derivatives by a tape of rows), `operands`, `batch` (lanes that end together, and that don't).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.control.while_loop import (
        batch,
        op,
        operands,
    )

__all__ = ["batch", "op", "operands"]
__getattr__, __dir__ = parts(__name__, __all__)
