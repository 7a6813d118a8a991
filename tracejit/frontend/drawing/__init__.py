"""Random generators of NumPy's and Python's as traced code sees them, where a program is made.

In come a generator that a name leads to, or the seed of one that traced code makes, and out goes what stands for it:
its methods record draws, which the program makes from the very generator that the path leads to at that call. Read
`sources` (what stands for a generator), `arguments` (what a method is given), then `methods`.
"""

from __future__ import annotations
