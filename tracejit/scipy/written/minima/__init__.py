"""Searches for minima and roots, as loops over arrays that traced code follows (see `tracejit.scipy.written`).

Each takes functions that the tracer knows, and gives plain numbers and arrays. The steps are those of SciPy's solvers,
with the same comparisons in the same order, so that the counts of calls and iterations are the same too.
"""
