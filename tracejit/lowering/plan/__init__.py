"""What is computed where: which values of a jaxpr are stored, which are computed again where they are read, and
which share a nest of loops.

In comes a jaxpr, and out goes a `Plan`: groups of equations, in the order in which `emit` writes them, and the
storages of their results. Read `groups` and `chains` (what a plan is made of), `access` and `probe` (where elements
come from, and what kernels read), `reads` (what computing again costs), `planner` and `schedule` (the decisions),
`roots` and `boxes` (what is never inlined), `views`, `context`.
"""
