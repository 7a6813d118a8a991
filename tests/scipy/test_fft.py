"""scipy.fft on traced values: SciPy's own values, shapes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft

import tracejit as tj
import tracejit.scipy.fft as tfft
from tracejit.errors import TracejitError
from tracejit.test_util import check_grads

RNG = np.random.default_rng(0)


def check(f: Any, x: np.ndarray) -> None:
    want = f(x)
    got = tj.jit(f)(x)
    assert got.dtype == want.dtype and got.shape == want.shape
    tolerance = 10 * np.finfo(want.dtype).eps * np.abs(want).max()
    np.testing.assert_allclose(got, want, rtol=0, atol=float(tolerance))


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosine_and_sine_transforms(name: str, kind: int) -> None:
    f = getattr(scipy.fft, name)
    for shape in ((5,), (4, 3), (2, 3, 4)):
        for norm in (None, "ortho", "forward", "backward"):
            check(lambda x, n=norm: f(x, kind, norm=n), RNG.normal(size=shape))
        check(lambda x: f(x, kind, n=6, axis=0), RNG.normal(size=shape))
        check(lambda x: f(x, kind, n=2, axis=0, orthogonalize=True), RNG.normal(size=shape))
        check(lambda x: f(x, kind, norm="ortho", orthogonalize=False), RNG.normal(size=shape))
    for dtype in ("f4", "f2", "i4", "c8", "c16"):
        check(lambda x: f(x, kind), (RNG.normal(size=(3, 4)) * 5).astype(dtype))
    check_grads(lambda x: f(x, kind), (RNG.normal(size=(2, 5)),), order=2)
    check_grads(lambda x: f(x, kind, norm="ortho", axis=0), (RNG.normal(size=(4, 2)),), order=2)
    rows = RNG.normal(size=(3, 5))
    np.testing.assert_allclose(tj.jit(tj.vmap(lambda x: f(x, kind)))(rows), f(rows, kind), atol=1e-12)


@pytest.mark.parametrize("name", ["dctn", "idctn", "dstn", "idstn"])
def test_several_axes(name: str) -> None:
    f, x = getattr(scipy.fft, name), RNG.normal(size=(3, 4, 5))
    check(f, x)
    check(lambda x: f(x, 3, s=(2, 6), axes=(0, 2), norm="ortho"), x)
    check(lambda x: f(x, 2, s=(2, 6)), x)
    check(lambda x: f(x, 4, axes=-1), x)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_fourier_transforms(name: str) -> None:
    f = getattr(scipy.fft, name)
    for dtype in ("f8", "f4", "f2", "i4"):
        x = (RNG.normal(size=(3, 6)) * 4).astype(dtype)
        check(lambda x: f(x), x)
        check(lambda x: f(x, 5, axis=0, norm="ortho"), x)
    many = {
        "fft": ("fftn", "fft2"),
        "ifft": ("ifftn", "ifft2"),
        "rfft": ("rfftn", "rfft2"),
        "irfft": ("irfftn",),
    }
    for other in many.get(name, ()):
        check(getattr(scipy.fft, other), RNG.normal(size=(3, 4, 5)))


def test_names_imported_from_scipy_are_traced() -> None:
    from scipy.fft import dct, fftfreq, fftshift

    x = RNG.normal(size=6)
    check(lambda x: dct(x) * fftshift(fftfreq(6)), x)
    slope = tj.jit(tj.grad(lambda x: np.sum(dct(x, norm="ortho") ** 2)))(x)
    np.testing.assert_allclose(slope, 2 * x, atol=1e-12)
    assert tfft.next_fast_len(7) == scipy.fft.next_fast_len(7)
    assert "dct" in dir(tfft)


def test_errors() -> None:
    x = np.ones(4)
    for bad in (
        lambda x: tfft.dct(x, 5),
        lambda x: tfft.dct(x, n=0),
        lambda x: tfft.dct(x[:1], 1),
        lambda x: tfft.dct(x, norm="other"),
        lambda x: tfft.dctn(x, s=(2, 2), axes=(0,)),
    ):
        with pytest.raises(TracejitError):
            tj.jit(bad)(x)
    with pytest.raises(AttributeError, match="dct9"):
        tfft.dct9


@pytest.mark.parametrize("name", ["hfft2", "hfftn", "ihfft2", "ihfftn"])
def test_transforms_of_what_is_hermitian(name: str) -> None:
    f = getattr(scipy.fft, name)
    x = RNG.normal(size=(4, 6))
    x = x if name[0] == "i" else x + 1j * RNG.normal(size=(4, 6))
    check(f, x)
    check(f, x.astype(np.float32 if name[0] == "i" else np.complex64))
    for options in ({"norm": "ortho"}, {"norm": "forward"}, {"s": (4, 5)}, {"s": (4, 5), "axes": (1, 0)}):
        check(lambda v, o=options: f(v, **o), x)
    check_grads(lambda v: abs(f(v)) ** 2, (x[:2, :3],), order=1)


def test_signs_of_no_imaginary_part() -> None:
    """NumPy has a negative zero there, SciPy has not."""
    x = RNG.integers(-2, 3, (4, 6)).astype(float)
    for f in (scipy.fft.ihfft, scipy.fft.ihfft2, lambda v: scipy.fft.ihfft(v, 5, 0)):
        got, want = tj.jit(f)(x), f(x)
        zero = want.imag == 0
        assert zero.any() and np.array_equal(np.signbit(got.imag[zero]), np.signbit(want.imag[zero]))
