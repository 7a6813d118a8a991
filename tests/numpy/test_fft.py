"""NumPy's Fourier transforms on traced values: NumPy's own values, shapes, dtypes and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
import tracejit.numpy as tnp
from tracejit.errors import TracejitError
from tracejit.test_util import check_grads

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"]
REAL_ONLY = {"rfft", "ihfft", "rfftn", "rfft2"}
DTYPES = ["float64", "float32", "float16", "int32", "bool", "complex128", "complex64"]


def operand(shape: Any, dtype: Any, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 3
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def check(f: Any, x: np.ndarray) -> None:
    """`f` under jit, and eagerly traced, gives what NumPy gives."""
    want = f(x)
    for got in (tj.jit(f)(x), tj.vmap(f, in_axes=None, axis_size=2)(x)[0]):
        assert got.dtype == want.dtype and got.shape == want.shape
        scale = np.abs(want).max() if want.size else 1.0
        # NumPy scales transforms of float16 by a factor of that precision.
        eps = np.finfo(np.float16 if x.dtype == np.float16 else want.dtype).eps
        np.testing.assert_allclose(got, want, rtol=0, atol=8 * eps * max(scale, 1e-30))


@pytest.mark.sample(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name: str, dtype: str) -> None:
    if name in REAL_ONLY and np.dtype(dtype).kind == "c":
        with pytest.raises(TracejitError):
            tj.jit(lambda x: getattr(np.fft, name)(x))(operand(3, dtype))
        return
    f = getattr(np.fft, name)
    for shape in ((5,), (4, 3), (2, 1, 6)):
        check(lambda x: f(x, n=None if x.shape[-1] > 1 else 3), operand(shape, dtype))
        check(lambda x: f(x, 4, axis=0, norm="ortho"), operand(shape, dtype))
        check(lambda x: f(x, n=7, norm="forward"), operand(shape, dtype))


@settings(max_examples=30)
@given(st.data())
def test_several_axes(data: Any) -> None:
    name = data.draw(st.sampled_from(MANY))
    shape = tuple(data.draw(st.lists(st.integers(2, 5), min_size=2, max_size=3)))
    kinds = DTYPES[:5] if name in REAL_ONLY else DTYPES
    x = operand(shape, data.draw(st.sampled_from(kinds)))
    rank = data.draw(st.integers(1, len(shape)))
    axes = data.draw(st.permutations(range(-len(shape), 0)))[:rank]
    s = data.draw(st.none() | st.lists(st.integers(2, 6) | st.just(-1), min_size=rank, max_size=rank))
    norm = data.draw(st.sampled_from([None, "backward", "ortho", "forward"]))
    check(lambda v: getattr(np.fft, name)(v, s=s, axes=axes, norm=norm), x)


def test_default_axes() -> None:
    x = operand((3, 4, 5), "complex128")
    for name in MANY:
        check(getattr(np.fft, name), x.real.copy() if name in REAL_ONLY else x)


def test_an_axis_given_twice_is_transformed_twice() -> None:
    check(lambda x: np.fft.fftn(x, axes=(0, 0)), operand((4, 3), "float64"))


def test_no_axes_at_all() -> None:
    x = operand((4, 3), "float32")
    assert tj.jit(lambda v: np.fft.fftn(v, axes=()))(x).dtype == np.float32


def test_shifts_and_frequencies() -> None:
    x = operand((4, 5), "float64")
    for name in ("fftshift", "ifftshift"):
        f = getattr(np.fft, name)
        for axes in (None, 0, (1,), (0, -1)):
            np.testing.assert_array_equal(
                tj.jit(lambda v, f=f, axes=axes: f(v, axes=axes))(x), f(x, axes=axes)
            )
    np.testing.assert_array_equal(tnp.fft.fftfreq(5, 0.1), np.fft.fftfreq(5, 0.1))
    np.testing.assert_array_equal(tj.jit(lambda v: v * np.fft.rfftfreq(8))(np.ones(5)), np.fft.rfftfreq(8))


def test_out_is_written() -> None:
    def f(x: Any) -> Any:
        out = np.zeros(4, complex)
        np.fft.fft(x, out=out)
        return out

    x = operand(4, "float64")
    np.testing.assert_allclose(tj.jit(f)(x), np.fft.fft(x), atol=1e-14)


@pytest.mark.parametrize("name", ONE + MANY)
def test_derivatives(name: str) -> None:
    f = getattr(np.fft, name)
    for shape in ((4, 3), (3, 4)):
        x = operand(shape, "float64" if name in REAL_ONLY else "complex128")
        check_grads(lambda v: f(v), (x,), order=2)
        check_grads(lambda v: np.sin(np.abs(f(v))), (x,), order=1, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("n", [1, 2, 5, 6, 9])
def test_padding_and_cropping_have_derivatives(n: int) -> None:
    x = operand(5, "float64")
    for name in ("rfft", "irfft", "hfft", "ihfft", "fft"):
        check_grads(lambda v, name=name: getattr(np.fft, name)(v, n), (x,), order=2)


def test_a_convolution_by_fft_has_the_gradient_of_the_convolution() -> None:
    x, w = operand(6, "float64"), operand(3, "float64", 1)

    def by_fft(x: Any, w: Any) -> Any:
        return np.fft.irfft(np.fft.rfft(x, 8) * np.fft.rfft(w, 8), 8)

    loss = lambda f: lambda x, w: np.sum(f(x, w) ** 3)
    got = tj.jit(tj.grad(loss(by_fft), (0, 1)))(x, w)
    want = tj.grad(loss(lambda x, w: np.convolve(x, w)), (0, 1))(x, w)
    for g, v in zip(got, want, strict=True):
        np.testing.assert_allclose(g, v, rtol=1e-12)
    hessian = tj.jit(tj.hessian(loss(by_fft)))(x, w)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)


def test_vmap_of_grad() -> None:
    x = operand((3, 5), "float64")
    power = lambda v: np.sum(np.abs(np.fft.rfft(v)) ** 2)
    got = tj.jit(tj.vmap(tj.grad(power), in_axes=0))(x)
    np.testing.assert_allclose(got, np.stack([tj.grad(power)(r) for r in x]), rtol=1e-12)


def test_errors() -> None:
    x = np.ones((3, 4))
    for bad in (
        lambda v: np.fft.fft(v, n=0),
        lambda v: np.fft.fft(v, norm="other"),
        lambda v: np.fft.fft(v, axis=2),
        lambda v: np.fft.irfft(v, n=-1),
        lambda v: np.fft.fftn(v, s=(2,), axes=(0, 1)),
        lambda v: np.fft.rfftn(v, axes=()),
        lambda v: np.fft.rfft(v * 1j),
    ):
        with pytest.raises(TracejitError):
            tj.jit(bad)(x)
    with pytest.raises(AttributeError, match=r"numpy\.fft\.fft3"):
        tnp.fft.fft3
