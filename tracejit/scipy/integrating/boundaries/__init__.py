"""Boundary value problems: `solve_bvp`.

In come functions, a mesh and a guess; out go a solution and SciPy's report. `solver` is the place to begin.
"""
