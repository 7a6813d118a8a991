"""What `scipy.integrate` does by native loops: differential equations and integrals of functions.

`ode` solves a `problem` by a method: `runge_kutta`, or `radau` and `bdf`, which are `implicit`. `recording` has events
and all steps, `pieces` and `dense` the polynomials between them, `results` what is given back. `quadrature` integrates
by the rules of `gauss_kronrod` in intervals that are `adaptive`, with `extrapolation`; `vectorized/` has what takes
many points at once.
"""
