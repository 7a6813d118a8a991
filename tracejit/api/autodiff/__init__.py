"""The derivatives that users ask for.

In comes a function of arrays or trees of them, and out goes a function that gives derivatives in the same trees.
Read `derivatives` with `pullbacks`, `jacobians`, `sparse` with `sparsity` and `coloring`, `taylor`, `residuals`.
"""
