"""Ops that compute each element by itself.

In come operands of one shape (or 0-d) and one dtype, and out goes a value of that shape. Read `arithmetic` with
`powers`, `scale` and `complexes`, `compare` (with logic and select), `transcendental` and `inverse`, then
`integers`, `floats`, `bitcasts`; `several` builds records with several results.
"""
