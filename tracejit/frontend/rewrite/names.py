"""How names of numbers are typed while a function runs, in this thread."""

from __future__ import annotations

import threading


class _Names(threading.local):
    one_type = (
        False  # an integer in one branch and a float in another is a float, as in ufuncs that Numba compiled
    )


NAMES = _Names()
