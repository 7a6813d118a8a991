"""Traced masks: what `x[mask]` is if only the program knows how many elements there are.

In comes a box with a traced mask, and out goes a box of traced extent, or the array with elements written under the
mask. Read `masks` (how many, and where), `selected` (the elements, left in place) with `calls` (functions of
these), `masked` (writing).
"""
