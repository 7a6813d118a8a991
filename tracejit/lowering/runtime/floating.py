"""What NumPy does about floating-point errors (`np.seterr`, `np.errstate`), as far as compiled code heeds it.

Compiled code does not look for such errors. Where they shall be raised, printed, logged or handed to a function,
Python has to do a call. NumPy keeps what shall be done in a context variable, whose value is another object after each
change: the shell compares it with the last one that was looked at here, and takes no call in which it is another.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

#: What compiled code does: nothing, also where NumPy would warn.
_QUIET = frozenset({"ignore", "warn"})
#: NumPy's context variable; None if this NumPy has none.
VARIABLE: Any = getattr(np._core.umath, "_extobj_contextvar", None)  # type: ignore[attr-defined]
#: The address of the last setting by which errors are quiet, as the shell reads it.
LAST = (ctypes.c_void_p * 1)(0)
_held: list[Any] = [None]  # that setting, so that no other object gets its address


def errors_are_seen() -> bool:
    """Whether floating-point errors are raised, printed, logged or handed to a function now."""
    setting = None if VARIABLE is None else VARIABLE.get()
    if setting is not None and setting is _held[0]:
        return False
    if not _QUIET.issuperset(np.geterr().values()):
        return True
    _held.append(setting)  # the new one is held before the shell knows it, the old one as long as it does
    LAST[0] = id(setting)
    del _held[:-1]
    return False
