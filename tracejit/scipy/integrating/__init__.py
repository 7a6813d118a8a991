"""What `scipy.integrate` does by native loops: differential equations (`ode`, by the methods of `runge_kutta`, which
are `problem`s; `recording` has events and all steps, `pieces` and `dense` the polynomials between them) and
integrals of functions (`quadrature`, by the rules of `gauss_kronrod`)."""
