"""Roots of systems by quasi-Newton methods: SciPy's nonlinear solvers, as Python that is followed."""
