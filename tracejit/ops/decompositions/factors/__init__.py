"""Factorizations into triangular, orthogonal and diagonal matrices.

In comes a stack of matrices, and out go stacks of factors. Read `lu`, `cholesky`, `qr` with `householder`, `svd`.
"""
