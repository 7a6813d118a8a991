"""Ops that make arrays, or change their dtype.

In come shapes, dtypes and sometimes values or a key, and out go arrays that depend on little or nothing else. Read
`create` (iota, full, conversions), `constant` (an array inside of a jaxpr), `random` (bits by counter).
"""
