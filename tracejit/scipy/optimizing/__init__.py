"""Solvers of `scipy.optimize` besides those in `optimize` itself: for functions of one number (`one_variable`), and
fits of curves (`curves`)."""
