"""Integrals and sums of functions that take many points at once: `tanhsinh`, `nsum`, `cubature`.

In come users' functions and limits, arrays among them; out go SciPy's results. `tanh_sinh` is the place to begin.
"""
