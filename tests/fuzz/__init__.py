"""Random whole programs: a grammar, its two spellings, the comparison with plain NumPy, and the minimiser."""
