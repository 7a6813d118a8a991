"""Callbacks: programs that call users' Python functions while they run.

In comes a Python function with the types of its results, and out goes an equation whose native code calls back into
Python. Read `ops` (the records and their effects), `host` (flat arrays in, checked flat arrays out), then
`printing` and `breakpoints`, which are callbacks, `journal`: what printing, logging and clocks of the user's own
programs are, `counted`: warnings that depend on values, `routines`: functions of libraries that have no traced form,
`natives`: of other compilers, by address;
`spilling`: states of loops in files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.control.callbacks import (
        breakpoints,
        counted,
        host,
        journal,
        natives,
        ops,
        printing,
        routines,
        spilling,
    )

__all__ = ["breakpoints", "counted", "host", "journal", "natives", "ops", "printing", "routines", "spilling"]
__getattr__, __dir__ = parts(__name__, __all__)
