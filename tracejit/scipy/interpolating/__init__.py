"""Interpolators of `scipy.interpolate` for traced values, differentiable in data and points.

`likeness` says when a class is ours and when SciPy's; `piecewise` has polynomials between breakpoints, `splines`
those in the B-spline basis, `grids` data on lines and grids, `scattered` the rest.
"""
