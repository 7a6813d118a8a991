"""Scalar code with NumPy's semantics, for the kernels of records.

In come a builder `k` and scalar values, and out goes a scalar value, the same on the CPU and on the GPU. Read
`scalar`, then `scalar_order` (comparisons and extremes with NaN), `scalar_bits`, `scalar_complex`.
"""
