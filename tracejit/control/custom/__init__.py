"""Functions with rules of their own: derivatives, transposes, batching.

In comes a user's function with the rules that they wrote for it, and out goes a function whose equation the
interpreters transform by these rules. Read `public` (the names), `rules` and `zeros` (calling users' rules, and
checking what they return), `jvp`, `vjp` with `vjp_ops`, `vmap`, `closures` and `convert` (what rules close over);
`linear_call`, `linear_solve` and `implicit` are such functions themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.control.custom import (
        closures,
        convert,
        implicit,
        jvp,
        linear_call,
        linear_solve,
        public,
        rules,
        vjp,
        vjp_ops,
        vmap,
        zeros,
    )

__all__ = [
    "closures",
    "convert",
    "implicit",
    "jvp",
    "linear_call",
    "linear_solve",
    "public",
    "rules",
    "vjp",
    "vjp_ops",
    "vmap",
    "zeros",
]
__getattr__, __dir__ = parts(__name__, __all__)
