"""Reading and writing at positions that are values.

In comes an array with integer arrays of positions, and out go the elements there, or the array with others written.
Read `index` (what NumPy's indexing needs) with `index_check` and `index_batch`, then `gather`, and `scatter` with
`scatter_rules` (JAX's forms); `windows` has what these two share.
"""
