"""Sorting, searching, selecting, and sets.

In come arrays, and out go elements in order, their places, or those that a condition chooses. Read `sorting`,
`searching`, `selection`, `sets`.
"""
