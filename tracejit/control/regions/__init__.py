"""What the rules of region ops share, and how users' functions become their jaxprs.

In come jaxprs held by an equation's params, or functions that `staging` makes jaxprs of, and out go changed jaxprs
and the operands that belong to them. Read `rules` (the pieces), `staging` with `concrete`, `intern` (equal jaxprs
as one object), `residuals`, `totals` (cotangents that are added to) and `effects`, `execute` (running one on
arrays), `lanes` and `axes` (batching).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.control.regions import (
        axes,
        concrete,
        effects,
        execute,
        intern,
        lanes,
        residuals,
        rules,
        staging,
        totals,
    )

__all__ = [
    "axes",
    "concrete",
    "effects",
    "execute",
    "intern",
    "lanes",
    "residuals",
    "rules",
    "staging",
    "totals",
]
__getattr__, __dir__ = parts(__name__, __all__)
