"""Boxes as arrays: views over a storage, indexing, in-place writes, NumPy's protocols."""
