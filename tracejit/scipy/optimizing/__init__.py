"""Solvers of `scipy.optimize` besides those in `optimize` itself.

`minima` is `minimize`, natively by `bfgs` with its `line_search`, under `constraints`; `squares` is `least_squares`,
natively by `trust_region`; `curves` fits curves by it. `bracketing` finds roots in intervals, `one_variable` has what
else there is for functions of one number, `linear` has linear programs. `results` are what they give.
"""
