"""Functions of SciPy that have no traced form, as calls that a compiled program makes.

In comes a call of such a function with traced arguments; out goes an equation that calls SciPy's own function when the
program runs (`control.callbacks.routines`). What it will give is asked of SciPy while tracing, on sample values; the
program checks that it was so. Read `calls` (which calls are taken, and how), then `results` (what came back, as a
template), `samples` and `nearest` (what has a derivative instead).
"""
