"""Solvers of `scipy.optimize` besides those in `optimize` itself.

`minima` is `minimize`, for some methods `natively`, under `constraints`; `squares` is `least_squares`, natively by
`trust_region`; `curves` fits curves by it. `numbers` has the minima of functions of one number, `one_variable` roots of
such functions, `linear` linear programs. `results` are what they give. The loops themselves are in `loops`, and in
`tracejit.scipy.written.minima`.
"""
