"""From a plan to loops: one function for each kind of nest.

In comes a `Plan`, and out goes the same jaxpr as statements of the loop IR, recorded by `loops.builder`. Read
`body` (the groups in order), `nests` (the table of kinds), then the kinds: `reduce` with `columns` and
`accumulate`, `cumulative`, `contract`, `update`, `tiles`, `boxloops`, `checks`, `opaque`; `regions/`
is for jaxprs inside of equations.
"""
