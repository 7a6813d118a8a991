"""What `scipy.integrate` does by native loops: differential equations (`ode`, by the methods of `runge_kutta`) and
integrals of functions (`quadrature`, by the rules of `gauss_kronrod`)."""
