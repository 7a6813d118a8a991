"""Reductions beyond what the tables of tests/numpy/test_functions.py have."""

from __future__ import annotations

import numpy as np

import tracejit as tj


def test_deviations_of_complex_numbers_that_do_not_deviate() -> None:
    same = np.full(3, 1 + 2j)
    for f in (np.std, np.nanstd):
        assert tj.grad(lambda z, f=f: f(z))(same).tolist() == [0, 0, 0]
        assert tj.jit(tj.grad(lambda z, f=f: f(z)))(same).tolist() == [0, 0, 0]
    z = np.random.default_rng(0).normal(size=(2, 4, 4)).view(complex)
    for f in (np.var, np.std):
        assert np.isclose(tj.jit(f)(z), f(z), rtol=1e-14)
        h = 1e-6 * (0.3 + 0.8j)
        slope = tj.grad(lambda z, f=f: f(z))(z)[0, 1, 1]
        step = np.zeros_like(z)
        step[0, 1, 1] = h
        assert np.isclose((f(z + step) - f(z - step)) / 2, (slope * h).real, rtol=1e-6)
