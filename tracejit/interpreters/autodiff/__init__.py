"""Derivatives: forward, reverse, Taylor.

In comes a jaxpr or a function with values to differentiate at, and out go its results with tangents, or a linear
program of the tangents, which `transpose` runs backwards. Read `jvp`, `linearize` with `tangents`, `tape` and
`provenance` (which residuals are kept), `transpose`, `recipes` (eager derivatives of simple ops), then `jet` with
`series`.
"""
