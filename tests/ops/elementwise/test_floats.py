"""Parts of floats, neighbours, smaller formats: NumPy's bits at every float dtype, eagerly and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.ops.samples import BF16, FLOATS, INTEGERS, edges, pairs
from tracejit import lax
from tracejit.errors import ArgumentError, TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ops.elementwise import floats as fl
from tracejit.test_util import check_grads

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
ALL = [*FLOATS, BF16]


def points(dtype: Any) -> np.ndarray:
    """Edge values, and numbers of all sizes that the dtype has."""
    rng = np.random.default_rng(0)
    wide = rng.uniform(1, 2, 300) * 2.0 ** rng.integers(-1074, 1023, 300) * rng.choice([-1, 1], 300)
    narrow = rng.uniform(1, 2, 300) * 2.0 ** rng.integers(-30, 20, 300)
    with np.errstate(all="ignore"):
        return np.concatenate([edges(np.float64), wide, narrow, [5e-324, 1.7976931348623157e308]]).astype(
            dtype
        )


def same_bits(got: Any, want: Any) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    nan = want != want
    np.testing.assert_array_equal(got != got, nan)
    u = np.dtype(f"u{want.dtype.itemsize}")
    np.testing.assert_array_equal(np.where(nan, 0, got.view(u)), np.where(nan, 0, want.view(u)))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("f", [np.frexp, np.modf, np.spacing], ids=lambda f: f.__name__)
def test_parts(f: Any, dtype: Any) -> None:
    x = points(dtype)
    want = f(x)
    for got in (tj.jit(lambda v: f(v))(x), tj.vmap(lambda v: f(v))(x)):
        for g, w in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, want)), strict=True):
            same_bits(g, w)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize(
    "f", [np.nextafter, np.divmod, np.floor_divide, np.remainder], ids=lambda f: f.__name__
)
def test_pairs(f: Any, dtype: Any) -> None:
    x, y = pairs(dtype) if dtype != BF16 else (v.astype(BF16) for v in pairs(np.float32))
    want, got = f(x, y), tj.jit(lambda a, b: f(a, b))(x, y)
    for g, w in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, want)), strict=True):
        same_bits(g, w)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_divmod_of_integers(dtype: Any) -> None:
    x, y = pairs(dtype)
    for got, want in zip(tj.jit(lambda a, b: divmod(a, b))(x, y), np.divmod(x, y), strict=True):
        same_bits(got, want)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("exponents", [np.int8, np.int32, np.int64])
def test_ldexp(dtype: Any, exponents: Any) -> None:
    """Rounded once, into the subnormal range too."""
    x = np.concatenate([edges(np.float64), np.linspace(-2, 2, 41)]).astype(dtype)
    n = np.concatenate(
        [np.arange(-128, 128, 5), [-1100, -1074, -1022, 900, 1023, 2000, -2100, 2**31 - 1, -(2**31)]]
    )
    n = np.append(n, [2**32, 2**40 + 1, -(2**33)])
    a, b = (v.ravel() for v in np.meshgrid(x, n[np.abs(n) <= np.iinfo(exponents).max].astype(exponents)))
    same_bits(tj.jit(lambda v, m: np.ldexp(v, m))(a, b), np.ldexp(a, b))
    want = np.ldexp(a, b)
    same_bits(fl.ldexp(a.astype(want.dtype), b), want)


def test_ldexp_takes_integers_only() -> None:
    with pytest.raises(TypeError):
        tj.jit(lambda x: np.ldexp(x, x))(np.ones(2))
    with pytest.raises(TypeRuleError, match="not f64"):
        fl.ldexp.op.type(Aval((), np.dtype("f8")), Aval((), np.dtype("f8")))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("exponent_bits", "mantissa_bits", "like"), [(5, 10, np.float16), (8, 7, BF16)])
def test_reduce_precision_is_a_round_trip(
    dtype: Any, exponent_bits: int, mantissa_bits: int, like: Any
) -> None:
    x = points(np.float32).astype(dtype)
    if dtype == np.float64:  # the round trip of wider numbers would round twice
        x = x.astype(np.float32).astype(np.float64)
    want = x.astype(np.float32).astype(like).astype(dtype)
    tiny = np.abs(want) < float(np.finfo(like).tiny) if like == np.float16 else np.abs(want) < 2.0**-126
    if (exponent_bits, dtype) != (8, np.float32):  # below the smaller format's range is zero
        want = np.where(tiny, np.copysign(want * 0, x), want)
    f = lambda v: lax.reduce_precision(v, exponent_bits, mantissa_bits)
    same_bits(tj.jit(f)(x), want.astype(dtype))
    same_bits(f(x), want.astype(dtype))


def test_reduce_precision_of_everything_it_has_is_the_identity() -> None:
    x = points(np.float64)
    same_bits(tj.jit(lambda v: lax.reduce_precision(v, 11, 52))(x), x)
    same_bits(tj.jit(lambda v: lax.reduce_precision(v, 20, 60))(x), x)
    with pytest.raises(ArgumentError, match="exponent"):
        lax.reduce_precision(x, 0, 3)


def test_derivatives() -> None:
    x, n = np.array([0.3, -2.7, 12.25]), np.array([3, -2, 0])
    check_grads(lambda v: np.frexp(v)[0], (x,), order=2)
    check_grads(lambda v: np.modf(v)[0], (x,), order=2)
    check_grads(lambda v: np.ldexp(v, n), (x,), order=2)
    check_grads(lambda v, w: np.divmod(v, w)[1], (x, np.array([0.7, 1.1, -5.0])), order=2)
    check_grads(lambda v: np.ldexp(v[0], np.arange(3)), (x,), order=2)
    assert tj.grad(lambda v: np.modf(v)[1])(2.5) == 0.0
    assert tj.grad(lambda v: np.nextafter(v, 3.0) * 2)(1.0) == 2.0
    assert tj.grad(lambda v: np.spacing(v))(1.0) == 0.0
    assert tj.grad(lambda v: lax.reduce_precision(v, 8, 7) * 3)(1.0) == 3.0
    out = tj.jit(tj.vmap(tj.grad(lambda v: np.frexp(v)[0] * np.modf(v)[0])))(x)
    np.testing.assert_allclose(out, [tj.grad(lambda v: np.frexp(v)[0] * np.modf(v)[0])(v) for v in x])
