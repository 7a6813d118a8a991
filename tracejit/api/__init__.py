"""The public transformations, one file a family.

In comes a user's function, and out goes a function of the same arguments that is compiled, differentiated or
batched. Read `running` and `common` (how the user's function is called), `jit/`, `autodiff/`, then `batching`,
`introspect`, `explain`.
"""
