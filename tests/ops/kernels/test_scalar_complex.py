"""Compiled functions of complex numbers: accuracy on the plane, branch cuts, infinities, as NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import tracejit as tj

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

EXACT: dict[str, Callable[..., Any]] = {
    "log": mp.log,
    "sqrt": mp.sqrt,
    "exp": mp.exp,
    "exp2": lambda z: mp.mpf(2) ** z,
    "expm1": lambda z: mp.exp(z) - 1,
    "log1p": lambda z: mp.log(1 + z),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "arcsin": mp.asin,
    "arccos": mp.acos,
    "arctan": mp.atan,
    "arcsinh": mp.asinh,
    "arccosh": mp.acosh,
    "arctanh": mp.atanh,
}
#: The real parts of these are differences; the error is measured against |z|'s own.
CANCELS = {"expm1", "log1p"}
NAMES = list(EXACT)


def product(parts: list[float], dtype: Any) -> np.ndarray:
    """All complex numbers with these parts (not a + b*1j, which loses signs and makes NaN)."""
    z = np.empty((len(parts), len(parts)), np.complex128)
    z.real, z.imag = np.array(parts)[:, None], np.array(parts)
    return z.ravel().astype(dtype)


def compiled(z: np.ndarray) -> dict[str, np.ndarray]:
    got = tj.jit(lambda z: [getattr(np, n)(z) for n in NAMES])(z)
    return dict(zip(NAMES, got, strict=True))


@pytest.fixture(scope="module", params=[np.complex128, np.complex64])
def plane(request: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Points of ordinary size, near the unit circle, the axes and the branch points."""
    rng = np.random.default_rng(0)
    size, angle = np.exp(rng.uniform(-3, 2, 150)), rng.uniform(-np.pi, np.pi, 150)
    circle = (1 + rng.uniform(-1e-3, 1e-3, 60)) * np.exp(1j * angle[:60])
    near = np.concatenate(
        [c + 10.0 ** rng.uniform(-6, -1, 20) * np.exp(1j * angle[:20]) for c in (1, -1, 1j, -1j)]
    )
    z = np.concatenate([size * np.exp(1j * angle), circle, near]).astype(request.param)
    return z, compiled(z)


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", NAMES)
def test_accuracy(plane: Any, name: str) -> None:
    """Each part within a few units in the last place of itself."""
    z, results = plane
    got = results[name]
    part = got.real.dtype
    with mp.workprec(300):
        exact = [EXACT[name](mp.mpc(v.real, v.imag)) for v in z.tolist()]
        want = np.array([[float(e.real), float(e.imag)] for e in exact])
    parts = np.stack([got.real, got.imag], 1).astype(float)
    unit = np.abs(want) * np.finfo(part).eps
    if name in CANCELS:
        unit[:, 0] = np.maximum(unit[:, 0], np.abs(z) * np.finfo(part).eps)
    unit = np.maximum(unit, np.finfo(part).smallest_subnormal)
    assert (np.abs(parts - want) / unit).max() <= 6.0


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.7, np.inf, -np.inf, np.nan, 1e300, -1e200, 1e-200, 5e-324, 710.0]


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_edges_are_numpys(dtype: Any) -> None:
    """Signed zeros, infinities, NaN, overflow and underflow; the branch cuts run along the axes."""
    z = product(SPECIAL, dtype)
    for name, got in compiled(z).items():
        if name in CANCELS or name == "exp2":  # NumPy's own formulas lose these
            continue
        want = getattr(np, name)(z)
        whole = ~np.isnan(want.real) & ~np.isnan(want.imag)  # beside a NaN the sign of a zero means nothing
        for g, w in ((got.real, want.real), (got.imag, want.imag)):
            np.testing.assert_array_equal(np.isnan(g), np.isnan(w), err_msg=name)
            plain = np.isfinite(w)
            np.testing.assert_array_equal(g[~plain], w[~plain], err_msg=name)
            zero = (w == 0) & (g == 0) & whole
            np.testing.assert_array_equal(np.signbit(g[zero]), np.signbit(w[zero]), err_msg=name)
            tiny = np.finfo(g.dtype).smallest_subnormal
            np.testing.assert_allclose(
                g[plain], w[plain], rtol=8 * np.finfo(g.dtype).eps, atol=tiny, err_msg=name
            )


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5, 17])
def test_integer_powers(n: int) -> None:
    z = np.random.default_rng(0).normal(size=(50, 2)).view(np.complex128).ravel()
    np.testing.assert_allclose(tj.jit(lambda z: z**n)(z), z**n, rtol=1e-14)


def test_they_are_native() -> None:
    z = np.ones(3, complex)
    text = tj.jit(lambda z: [getattr(np, n)(z) for n in NAMES]).lower(z).as_text("loops")
    assert "callback" not in text


def test_derivatives_under_jit() -> None:
    z = np.array([0.4 + 0.3j, -1.7 + 0.2j, 0.1 - 2.0j])
    for name in NAMES:
        f = lambda v, n=name: getattr(np, n)(v)
        one = np.ones_like(z)
        np.testing.assert_allclose(
            tj.jit(lambda v, f=f: tj.jvp(f, (v,), (one,))[1])(z), tj.jvp(f, (z,), (one,))[1], rtol=1e-11
        )


PARTS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5, 1e-200]


@pytest.mark.parametrize("name", ["power", "sign", "maximum", "minimum"])
def test_edges_of_other_functions(name: str) -> None:
    z = product(PARTS, np.complex128)
    f = getattr(np, name)
    xs = (z,) if f.nin == 1 else tuple(v.ravel() for v in np.meshgrid(z, z))
    got, want = tj.jit(lambda *v: f(*v))(*xs), f(*xs)
    for g, w in ((got.real, want.real), (got.imag, want.imag)):
        np.testing.assert_allclose(g, w, rtol=1e-13, atol=1e-15)


def test_powers() -> None:
    rng = np.random.default_rng(1)
    z, w = (rng.normal(size=(500, 2)).view(np.complex128).ravel() for _ in range(2))
    f = tj.jit(lambda z, w: z**w)
    np.testing.assert_allclose(f(z, w * 3), z ** (w * 3), rtol=2e-14)
    n = rng.integers(-99, 100, 500).astype(complex)
    np.testing.assert_allclose(f(z, n), z**n, rtol=1e-13)
    assert f(np.zeros(3, complex), np.array([0, 2, 1 + 1j])).tolist() == [1, 0, 0]
    assert "callback" not in f.lower(z, w).as_text("loops")


def test_the_logarithm_beside_the_unit_circle() -> None:
    """The modulus is 1 but for the last bits: its logarithm is what products and sums have lost."""
    angles = np.linspace(0.1, 6.2, 40)
    z = np.cos(angles) + 1j * np.sin(angles)
    with mp.workdps(60):
        want = [float(mp.log(mp.mpf(float(w.real)) ** 2 + mp.mpf(float(w.imag)) ** 2) / 2) for w in z]
    np.testing.assert_allclose(tj.jit(np.log)(z).real, want, rtol=1e-14, atol=1e-32)
