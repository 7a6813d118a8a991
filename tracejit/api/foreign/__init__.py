"""Compiled functions for callers that are not Python: C, SciPy's C code, and Numba.

`frozen` says what a program is to such a caller, and what can't be one.
"""
