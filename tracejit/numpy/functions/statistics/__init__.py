"""Reductions and what is computed by them.

In comes an array with NumPy's `axis=`, `where=` and `keepdims=`, and out go sums, extremes, quantiles, counts. Read
`reductions`, `nanreductions`, `covariances`, `quantiles`, `histograms`.
"""
