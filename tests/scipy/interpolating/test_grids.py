"""Interpolation on grids beyond "linear", and by the nearest data: SciPy's values, derivatives by differences. SciPy
solves for splines by iterations, to about 1e-5, if it is not told to solve exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate as si
from scipy.sparse.linalg import spsolve

import tracejit as tj

RNG = np.random.default_rng(8)
X, Y, Z = (np.cumsum(RNG.uniform(0.5, 1.5, n)) for n in (7, 6, 8))
V = RNG.normal(size=(7, 6, 8))
P = np.stack([RNG.uniform(g[0], g[-1], 5) for g in (X, Y, Z)], axis=1)
DATA, AT = RNG.uniform(size=(30, 2)), RNG.uniform(size=(6, 2))
D = RNG.normal(size=30)


def grid(method: str, **options: Any) -> Any:
    if method != "pchip":
        options["solver"] = spsolve
    return lambda v, x, p: si.RegularGridInterpolator((x, Y, Z), v, method, **options)(p)


CASES: dict[str, tuple[Any, ...]] = {
    **{m: (grid(m), V, X, P) for m in ("slinear", "cubic", "quintic", "pchip")},
    "beyond": (grid("cubic", bounds_error=False, fill_value=None), V, X, P + 1.3),
    "pchip beyond": (grid("pchip", bounds_error=False, fill_value=None), V, X, P + 1.3),
    "outside": (grid("cubic", bounds_error=False), V, X, P + 1.3),
    "a point": (grid("pchip"), V, X, P[0]),
    "plane": (lambda v, p: si.interpn((X, Y), v, p[:, :2], "slinear"), V[..., 0], P),
    "columns": (lambda v, p: si.RegularGridInterpolator((X, Y), v, "cubic", solver=spsolve)(p[:, :2]), V, P),
    "columns, pchip": (lambda v, p: si.RegularGridInterpolator((X, Y), v, "pchip")(p[:, :2]), V, P),
    "slopes": (
        lambda v, p: si.RegularGridInterpolator((X, Y, Z), v, "cubic", solver=spsolve)(p, nu=(1, 0, 2)),
        V,
        P,
    ),
    "line": (
        lambda v, p: si.RegularGridInterpolator((X,), v, "quintic", solver=spsolve)(p[:, :1]),
        V[:, 0, 0],
        P,
    ),
    "neighbours": (lambda y, d, p: si.RBFInterpolator(y, d, neighbors=9)(p), DATA, D, AT),
    "neighbours, smoothing": (
        lambda d, p: si.RBFInterpolator(DATA, d, 12, 0.1, "gaussian", 2.0, 1)(p),
        np.stack([D, D**2], axis=1),
        AT,
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str, thorough: bool) -> None:
    f, *args = CASES[name]
    want, got = f(*args), tj.jit(lambda *args: f(*args))(*args)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9)
    if not thorough:
        return
    ways = [RNG.normal(size=x.shape) * 0.1 for x in args]

    def along(t: Any) -> Any:
        out = f(*[x + t * way for x, way in zip(args, ways, strict=True)])
        return tj.numpy.sum(tj.numpy.where(tj.numpy.isnan(out), 0.0, out) ** 2)

    near = (along(1e-6) - along(-1e-6)) / 2e-6
    np.testing.assert_allclose(tj.jit(tj.grad(along))(0.0), near, rtol=1e-5, atol=1e-6)


def test_scipys_iterations_are_near() -> None:
    f = lambda v: si.interpn((X, Y), v, P[:, :2], "cubic")
    np.testing.assert_allclose(tj.jit(lambda v: f(v))(V[..., 0]), f(V[..., 0]), rtol=1e-3)


def test_too_few_points() -> None:
    with pytest.raises(ValueError, match="requires at least 6"):
        tj.jit(lambda v: si.interpn((X[:5],), v, P[:, :1], "quintic"))(V[:5, 0, 0])
    with pytest.raises(ValueError, match="neighbors"):
        tj.jit(lambda d: si.RBFInterpolator(DATA, d, 2)(AT))(D)


def test_values_of_single_precision() -> None:
    """SciPy gives the nearest ones, and PCHIP's, in it, and the others in double precision."""
    v = V[..., 0].astype(np.float32)
    for method in ("nearest", "linear", "slinear", "pchip"):
        f = lambda v, p, method=method: si.RegularGridInterpolator((X, Y), v, method)(p[:, :2])
        got, want = tj.jit(f)(v, P), f(v, P)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5)
