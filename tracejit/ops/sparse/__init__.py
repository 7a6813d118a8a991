"""Products of sparse matrices in compressed rows.

In come the elements that are stored and where they are, and out go products with dense matrices. Read `products`, then
`rules`, which the products share.
"""
