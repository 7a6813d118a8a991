"""Eigenvalues and eigenvectors.

In comes a stack of square matrices, and out go their eigenvalues and, if asked for, vectors. Read `eigh`, `eig`,
`schur`, `tridiagonal`.
"""
