"""Calculus, polynomials and sequences.

In come arrays as samples or coefficients, and out go arrays of such. Read `calculus`, `polynomials`,
`convolutions`, `series`, `analysis`, `bits`.
"""
