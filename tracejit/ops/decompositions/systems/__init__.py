"""Linear equations, and what is computed by solving them.

In come stacks of matrices and right sides, and out go solutions, inverses, determinants and functions of matrices.
Read `solve`, then `determinant`, `pinv`, `sylvester`, `exponential`.
"""
