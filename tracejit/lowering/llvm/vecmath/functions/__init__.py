"""The transcendental functions, one file a family.

In comes a builder and a value in float32 or float64, and out goes the value of the function, as scalar code without
branches that LLVM vectorises. Read `exponential` and `logarithm` first, since `power`, `inverse` and `normal` are
made of their pieces; then `trig` with `huge`, `arcs`, `special`.
"""
