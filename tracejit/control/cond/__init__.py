"""The cond op: one of several branches, chosen by an index or a predicate.

In come the index and the operands that all branches share, and out go the results of the branch that ran. Read `op`
(the record), `linear` (residuals in common slots, and the transpose), `batch` (a predicate with lanes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.control.cond import (
        batch,
        linear,
        op,
    )

__all__ = ["batch", "linear", "op"]
__getattr__, __dir__ = parts(__name__, __all__)
