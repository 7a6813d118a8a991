"""Compiled functions for callers that are not Python: C, SciPy's C code, and Numba.

`frozen` says what a program is to such a caller, and what can't be one. For Numba, `promises` finds what a call gives
before any shape is known, `sites` makes the code for shapes when they are met, `numba_types` and `numba_calls`, which
import Numba, are what Numba sees of this, and `raised` holds exceptions on their way through its code.
"""
