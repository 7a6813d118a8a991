"""arange, mgrid, ogrid, r_ and c_ of traced numbers that are no integers."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

PROGRAMS = {
    "step": lambda s, d: np.arange(0.0, 1.0, d) * s,
    "start and step": lambda s, d: np.arange(s, 2.0, d),
    "stop": lambda s, d: np.arange(s + 3) * d,
    "downwards": lambda s, d: np.arange(s, -1.0, -d),
    "r_": lambda s, d: np.r_[s:1.0:d, d],
    "c_": lambda s, d: np.c_[s:1.0:d].ravel(),
    "r_ of a number of points": lambda s, d: np.r_[s:d:5j],
    "mgrid": lambda s, d: np.mgrid[s:1.0:d],
    "mgrid of two": lambda s, d: np.mgrid[s:1.0:d, 0:2:0.5].ravel(),
    "mgrid of a number of points": lambda s, d: np.mgrid[s:d:5j],
    "ogrid": lambda s, d: (lambda g: (g[0] * g[1]).ravel())(np.ogrid[s:1.0:d, 0:2:s]),
    "linspace": lambda s, d: np.linspace(s, d, 5),
    "geomspace": lambda s, d: np.geomspace(s, d, 5),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_by_start_and_step(name: str) -> None:
    f, at = PROGRAMS[name], (0.13, 0.27)
    assert np.array_equal(tj.jvp(f, at, (1.0, 0.0))[0], f(*at))
    loss = lambda s, d: (f(s, d) ** 3).sum()
    slope = [(loss(*np.add(at, h)) - loss(*np.subtract(at, h))) / 2e-6 for h in 1e-6 * np.eye(2)]
    assert np.allclose(tj.grad(loss, (0, 1))(*at), slope, rtol=1e-6)


def test_a_number_of_elements_that_is_found_out_when_it_runs() -> None:
    f = lambda s, t, d: np.sin(np.arange(s, t, d)).sum()
    fast, slope = tj.jit(f), tj.jit(tj.grad(f, (0, 1, 2)))
    for at in ((0.1, 1.9, 0.23), (0.1, 9.9, 0.11), (1.0, -3.05, -0.5), (1.0, -3.05, 0.5)):
        assert np.isclose(fast(*at), f(*at), rtol=1e-13, atol=0)
        assert np.allclose(slope(*at), tj.grad(f, (0, 1, 2))(*at))
    np.testing.assert_array_equal(tj.jit(np.arange)(0.1, 1.9, 0.23), np.arange(0.1, 1.9, 0.23))


def test_elements_are_those_of_numpy_to_the_bit() -> None:
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32, np.float16):
        for _ in range(50):
            start, step = rng.normal(), rng.uniform(0.01, 0.5)
            ends = [dtype(v) for v in (start, start + rng.uniform(0, 3), step)]
            for kind in (None, np.float32, np.float16):
                f = lambda *ends, kind=kind: np.arange(*ends, dtype=kind)
                got = tj.jvp(f, tuple(ends), tuple(map(dtype, (1, 0, 0))))[0]
                assert got.dtype == f(*ends).dtype and np.array_equal(got, f(*ends))
