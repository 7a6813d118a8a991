"""The scan op: a loop with a known trip count, a carry, sliced inputs and stacked outputs.

In come operands in the order of `operands` (constants, carries, slices), and out go the last carries and the
stacked outputs. Read `op` (the record and its evaluation), `operands`, `linear` with `settled` (which residuals are
kept), `transpose` with `products` (sums of matrix products over the steps), `batch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.control.scan import (
        batch,
        linear,
        op,
        operands,
        products,
        settled,
        transpose,
    )

__all__ = ["batch", "linear", "op", "operands", "products", "settled", "transpose"]
__getattr__, __dir__ = parts(__name__, __all__)
