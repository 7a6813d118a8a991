"""Products of arrays, and `numpy.linalg`.

In come vectors and matrices, in stacks, and out go products, factors, solutions and norms with NumPy's named
tuples. Read `products`, `matrices` (what all share), `systems`, `factorizations`, `norms`.
"""
