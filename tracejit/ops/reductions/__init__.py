"""Ops along axes: reductions, cumulative ones, sorting, searching, products.

In comes an array with the axes to work along, and out goes what is left of them. Read `reduce`, `cumulative`,
`linalg` (dot_general), `sort`, `search`.
"""
