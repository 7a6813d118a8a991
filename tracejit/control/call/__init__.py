"""The call op, and calls whose derivative computes their inside again.

In comes a jaxpr with its operands, and out go its results: the passes inline the call, evaluated it is one native
program. Read `op` (the record), then `checkpoint` (a call that keeps its inputs only) and `policies` (what it keeps
besides).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.control.call import (
        checkpoint,
        op,
        policies,
    )

__all__ = ["checkpoint", "op", "policies"]
__getattr__, __dir__ = parts(__name__, __all__)
