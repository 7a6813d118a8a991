"""Dates and times: arrays of datetime64 and timedelta64 in traced code.

In come raw values and boxes of these dtypes; out go the same. They are 64-bit integers that count units since 1970, of
which the smallest is NaT, and programs see nothing else: primitives only move them, and reckon with their bits
(`ops/creation/times`). `units` casts from one unit to another, `arithmetic` has NumPy's ufuncs and `calls` NumPy's
functions of them. Read `units.py` first.
"""
