"""Control flow and functions with rules of their own: ops whose params hold jaxprs.

In come functions that users wrote and raw values, and out go equations with a rule for every interpreter; each part
is imported when it is first used. Read `regions` (what all of them share), then the ops `call`, `cond`, `scan`,
`while_loop`; `structured` has the loops and branches that users call, `custom` the functions with rules of users',
`callbacks`, `generators` (draws of random numbers), `plans` (what derivatives keep), `collectives`, and `transformed`
(what transformations give) the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.control import (
        call,
        callbacks,
        collectives,
        cond,
        custom,
        generators,
        plans,
        regions,
        scan,
        structured,
        transformed,
        while_loop,
    )

__all__ = [
    "call",
    "callbacks",
    "collectives",
    "cond",
    "custom",
    "generators",
    "plans",
    "regions",
    "scan",
    "structured",
    "transformed",
    "while_loop",
]
__getattr__, __dir__ = parts(__name__, __all__)
