"""Ops that move elements and compute nothing: views and copies.

In comes an array with static params or positions, and out goes another arrangement of its elements. Read `shape`
(reshape, transpose and their kin), `broadcast`, `slices`, `concat`, and `moves`, their identities.
"""
