"""The transformations: each runs a jaxpr, or a function, with values of its own kind.

In come a jaxpr or a function with raw values, and out goes another jaxpr, or the values that it computes. Read
`stage` (functions to jaxprs), `core` and `eval` (running them), `jit` (the one door to passes and lowering),
`vmap`, `expand`, then `autodiff/`; `memo`, `closed`, `leaks`, `messages` and `nans` serve them all.
"""
