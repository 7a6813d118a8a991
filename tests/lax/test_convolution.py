"""JAX's names for convolutions, against SciPy and NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.signal

import tracejit as tj
from tracejit import lax
from tracejit.errors import ConvolutionLayoutError, ShapeError, TypeRuleError

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(2, 3, 7, 8)), RNG.normal(size=(4, 3, 3, 2))


def by_scipy(x: np.ndarray, w: np.ndarray, mode: str = "valid") -> np.ndarray:
    rows = [
        [
            sum(scipy.signal.correlate2d(x[n, c], w[o, c], mode) for c in range(x.shape[1]))
            for o in range(len(w))
        ]
        for n in range(len(x))
    ]
    return np.array(rows)


def test_valid_and_full() -> None:
    np.testing.assert_allclose(lax.conv(X, W, (1, 1), "VALID"), by_scipy(X, W), atol=1e-12)
    np.testing.assert_allclose(
        lax.conv_with_general_padding(X, W, (1, 1), [(2, 2), (1, 1)], None, None),
        by_scipy(X, W, "full"),
        atol=1e-12,
    )


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_same(stride: int) -> None:
    for padding, lower in (("SAME", False), ("SAME_LOWER", True)):
        got = lax.conv_general_dilated(X, W, (stride, stride), padding)
        pads = []
        for n, k in zip(X.shape[2:], W.shape[2:], strict=True):
            total = max((-(-n // stride) - 1) * stride + k - n, 0)
            pads.append((-(-total // 2), total // 2) if lower else (total // 2, -(-total // 2)))
        want = by_scipy(np.pad(X, [(0, 0), (0, 0), *pads]), W)[..., ::stride, ::stride]
        assert got.shape[2:] == tuple(-(-n // stride) for n in X.shape[2:])
        np.testing.assert_allclose(got, want, atol=1e-12)


def test_layouts() -> None:
    want = lax.conv(X, W, (1, 1), "SAME")
    for lhs, rhs, out in itertools.product(
        ("NCHW", "NHWC", "CWNH"), ("OIHW", "HWIO", "WOHI"), ("NCHW", "HWNC")
    ):
        place = lambda text, first: [f"{first}HW".index(c) for c in text]
        x = np.transpose(X, place(lhs, "NC"))
        w = np.transpose(W, place(rhs, "OI"))
        got = tj.jit(
            lambda x, w, names=(lhs, rhs, out): lax.conv_general_dilated(
                x, w, (1, 1), "SAME", dimension_numbers=names
            )
        )(x, w)
        np.testing.assert_allclose(got, np.transpose(want, place(out, "NC")), atol=1e-12)


def test_dimension_numbers() -> None:
    numbers = lax.conv_dimension_numbers((1, 5, 6, 2), (3, 3, 2, 4), ("NHWC", "HWIO", "NHWC"))
    assert numbers == ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    assert isinstance(numbers, lax.ConvDimensionNumbers)
    assert lax.conv_dimension_numbers((1, 2, 5), (3, 2, 3), None) == ((0, 1, 2),) * 3
    assert lax.conv_dimension_numbers((1, 2, 5), (3, 2, 3), numbers) is numbers
    for bad in (("NHWC", "HWIO", "NHW"), ("NHWC", "HWII", "NHWC"), ("NHWX", "HWIO", "NHWC"), ("NHWC",), 3):
        with pytest.raises(ConvolutionLayoutError):
            lax.conv_dimension_numbers((1, 5, 6, 2), (3, 3, 2, 4), bad)
    with pytest.raises(ConvolutionLayoutError):
        lax.conv_dimension_numbers((1, 5, 6), (3, 3, 2, 4), None)


def test_preferred_element_type() -> None:
    x, w = np.full((1, 1, 4), 100, np.int8), np.full((1, 1, 3), 100, np.int8)
    f = lambda t: tj.jit(
        lambda x, w: lax.conv_general_dilated(x, w, (1,), "VALID", preferred_element_type=t)
    )(x, w)
    assert f(np.int32).dtype == np.int32 and f(np.int32)[0, 0, 0] == 30_000
    assert f(None).dtype == np.int8
    half = lax.conv_general_dilated(
        X.astype("f4"), W.astype("f4"), (1, 1), "SAME", preferred_element_type=np.float16
    )
    assert half.dtype == np.float16


@pytest.mark.parametrize(
    ("size", "stride", "padding"), list(itertools.product((1, 2, 3, 4), (1, 2, 3), ("SAME", "VALID")))
)
def test_transposed(size: int, stride: int, padding: str) -> None:
    """With the kernel transposed it is the gradient of the convolution."""
    y, w = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(size, 4, 3))
    got = lax.conv_transpose(y, w, (stride,), padding, transpose_kernel=True)
    n = got.shape[1]
    if padding == "SAME":
        assert n == 5 * stride

    def forward(x: Any) -> Any:
        return lax.conv_general_dilated(x, w, (stride,), padding, dimension_numbers=("NHC", "HIO", "NHC"))

    if forward(np.zeros((2, n, 4))).shape[1] == 5 and not (padding == "SAME" and size < stride):
        pulled = tj.vjp(forward, np.zeros((2, n, 4)))[1](y)[0]
        np.testing.assert_allclose(got, pulled, atol=1e-12)


def test_transposed_with_pairs() -> None:
    y, w = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(3, 3, 4))
    plain = lax.conv_transpose(y, w, (2,), [(1, 1)])
    dilated = np.zeros((2, 9, 3))
    dilated[:, ::2] = y
    layout = ("NHC", "HIO", "NHC")
    want = lax.conv_general_dilated(dilated, w, (1,), [(1, 1)], dimension_numbers=layout)
    np.testing.assert_allclose(plain, want, atol=1e-12)
    consistent = lax.conv_transpose(y, w, (2,), [(0, 0)], use_consistent_padding=True)
    assert consistent.shape == (2, 11, 4)
    assert lax.conv_transpose(y[..., None, :], w[:, None], (2, 2), "SAME").shape == (2, 10, 2, 4)
    with pytest.raises(ConvolutionLayoutError):
        lax.conv_transpose(y, w, (2,), "HALF")


def test_patches_and_local_convolutions() -> None:
    layout = ("NHWC", "HWIO", "NHWC")
    x, w = np.transpose(X, (0, 2, 3, 1)), np.transpose(W, (2, 3, 1, 0))
    options = {"rhs_dilation": (1, 2), "dimension_numbers": layout}
    patches = tj.jit(lambda x: lax.conv_general_dilated_patches(x, (3, 2), (2, 1), "SAME", **options))(x)
    want = lax.conv_general_dilated(x, w, (2, 1), "SAME", **options)
    flat = np.transpose(w, (2, 0, 1, 3)).reshape(-1, 4)
    np.testing.assert_allclose(patches @ flat, want, atol=1e-12)
    local = np.broadcast_to(flat, (*want.shape[1:3], *flat.shape))
    local_conv = tj.jit(lambda x, w: lax.conv_general_dilated_local(x, w, (2, 1), "SAME", (3, 2), **options))
    np.testing.assert_allclose(local_conv(x, local), want, atol=1e-12)
    with pytest.raises(ShapeError):
        local_conv(x, local[1:])


def test_errors() -> None:
    with pytest.raises(ConvolutionLayoutError):
        lax.conv(X, W, (1, 1), "HALF")
    with pytest.raises(ConvolutionLayoutError):
        lax.conv_general_dilated(X, W, (1, 1), "SAME", lhs_dilation=(2, 1))
    with pytest.raises(ShapeError):
        lax.conv_general_dilated(X, W, (1,), [(0, 0)])
    with pytest.raises(TypeRuleError):
        lax.conv_general_dilated(X, W.astype("f4"), (1, 1), "SAME", preferred_element_type=np.float64)


@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
def test_fft(kind: str) -> None:
    x = RNG.normal(size=(2, 3, 4)) + (0 if kind == "RFFT" else 1j * RNG.normal(size=(2, 3, 4)))
    lengths = (3, 6) if kind == "IRFFT" else (3, 4)
    want = getattr(np.fft, f"{kind.lower()}n")(x, s=lengths, axes=(1, 2))
    for name in (kind, lax.FftType[kind]):
        np.testing.assert_allclose(tj.jit(lambda x, n=name: lax.fft(x, n, lengths))(x), want, atol=1e-12)
    for bad in ((5, 5), (), (1, 2, 3, 4)):
        with pytest.raises(ShapeError):
            lax.fft(x, kind, bad)
