"""Special functions: values and derivatives against mpmath, native code against SciPy, dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

import tracejit as tj
from tests.ops.derivatives import jvp
from tracejit.errors import NotDifferentiableError, TypeRuleError
from tracejit.ops import special
from tracejit.ops.special import building, jets
from tracejit.tracing import to_raw, wrap


def public(name: str) -> Any:
    """An op as a user's function."""
    op = getattr(special, name)
    return lambda *xs: wrap(op(*map(to_raw, xs)))


def derivatives(name: str, order: int, *args: float) -> float:
    """The derivative of that order by the last operand."""
    f = lambda x: public(name)(*map(np.float64, args[:-1]), x)
    for _ in range(order):
        f = tj.grad(f)
    return float(f(np.float64(args[-1])))


REFERENCE = {
    "lgamma": (mp.loggamma, (2.3,)),
    "digamma": (mp.digamma, (0.7,)),
    "gamma": (mp.gamma, (3.2,)),
    "erfc": (mp.erfc, (0.4,)),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), (1.4,)),
    "ndtr": (mp.ncdf, (0.3,)),
    "log_ndtr": (lambda x: mp.log(mp.ncdf(x)), (-3.0,)),
    "erf_inv": (mp.erfinv, (0.6,)),
    "bessel_i0": (lambda x: mp.besseli(0, x), (1.3,)),
    "bessel_i1": (lambda x: mp.besseli(1, x), (1.3,)),
    "bessel_i0e": (lambda x: mp.besseli(0, x) * mp.exp(-x), (1.3,)),
    "bessel_i1e": (lambda x: mp.besseli(1, x) * mp.exp(-x), (1.3,)),
    "bessel_j0": (lambda x: mp.besselj(0, x), (1.3,)),
    "bessel_j1": (lambda x: mp.besselj(1, x), (1.3,)),
    "bessel_y1": (lambda x: mp.bessely(1, x), (1.3,)),
    "bessel_k1": (lambda x: mp.besselk(1, x), (1.3,)),
    "bessel_jv": (lambda v, x: mp.besselj(v, x), (2.5, 1.3)),
    "expi": (mp.ei, (1.3,)),
    "exp1": (mp.e1, (1.3,)),
    "spence": (lambda z: mp.polylog(2, 1 - z), (0.7,)),
    "zeta": (mp.zeta, (2.5, 1.3)),
    "polygamma": (lambda n, x: mp.polygamma(int(n), x), (2.0, 1.3)),
    "igamma": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), (1.7, 1.3)),
    "igammac": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), (1.7, 1.3)),
    "regularized_incomplete_beta": (
        lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
        (1.5, 2.5, 0.4),
    ),
    "xlogy": (lambda x, y: x * mp.log(y), (1.7, 1.3)),
    "sine_integral": (mp.si, (1.3,)),
    "cosine_integral": (mp.ci, (1.3,)),
    "fresnel_s": (mp.fresnels, (1.3,)),
    "dawson": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), (0.8,)),
    "hyp1f1": (mp.hyp1f1, (1.5, 2.5, 0.8)),
    "hyp2f1": (mp.hyp2f1, (1.5, 0.5, 2.5, 0.4)),
}


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.sample(4)
def test_derivatives_to_third_order(name: str, order: int) -> None:
    fn, args = REFERENCE[name]
    with mp.workdps(40):
        want = float(mp.diff(lambda x: mp.re(fn(*map(mp.mpf, args[:-1]), x)), mp.mpf(args[-1]), order))
    assert derivatives(name, order, *args) == pytest.approx(want, rel=2e-11, abs=1e-11)


# ---------------------------------------------------------------- the parameter of the incomplete gamma function


@pytest.mark.parametrize(
    ("a", "x"), [(0.3, 0.2), (0.3, 5.0), (2.5, 2.0), (2.5, 9.0), (50.0, 45.0), (50.0, 70.0), (1e-3, 1e-5)]
)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_igamma_by_its_parameter(a: float, x: float, order: int) -> None:
    with mp.workdps(50):
        want = float(mp.diff(lambda p: mp.gammainc(p, 0, x, regularized=True), mp.mpf(a), order))
    got = float(jets.gammainc_derivative(np.float64(a), np.float64(x), order))
    assert got == pytest.approx(want, rel=1e-11, abs=1e-14)


def test_igamma_differentiates_by_both_to_second_order() -> None:
    f = lambda a, x: public("igamma")(a, x)
    h = tj.hessian(f, argnums=(0, 1))(1.7, 2.3)
    with mp.workdps(40):
        for i in range(2):
            for j in range(2):
                order = (2 - i - j, i + j)
                want = float(mp.diff(lambda p, q: mp.gammainc(p, 0, q, regularized=True), (1.7, 2.3), order))
                assert float(h[i][j]) == pytest.approx(want, rel=1e-11)


def test_igamma_grad_at_the_edges() -> None:
    a = np.array([1.0, 1.0, -1.0, 1.0, np.nan, np.inf])
    x = np.array([0.0, np.inf, 1.0, -1.0, 1.0, 1.0])
    np.testing.assert_array_equal(special.igamma_grad_a(a, x), [0.0, 0.0, np.nan, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(("a", "u"), [(0.01, 0.3), (0.3, 0.9), (2.5, 0.1), (30.0, 0.999), (1e4, 0.4)])
def test_random_gamma_grad_moves_samples_along_their_quantile(a: float, u: float) -> None:
    x = sp.gammaincinv(a, u)
    h = 1e-5 * a
    slope = (sp.gammaincinv(a + h, u) - sp.gammaincinv(a - h, u)) / (2 * h)
    assert special.random_gamma_grad(np.float64(a), x) == pytest.approx(slope, rel=2e-7)


def test_inverses_of_igamma_differentiate_by_the_parameter() -> None:
    f = lambda a: public("igammainv")(a, np.float64(0.3))
    h = 1e-6
    slope = (sp.gammaincinv(2.5 + h, 0.3) - sp.gammaincinv(2.5 - h, 0.3)) / (2 * h)
    assert float(tj.grad(f)(2.5)) == pytest.approx(slope, rel=1e-8)


# ---------------------------------------------------------------- native code


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zeta_compiled(dtype: Any) -> None:
    x = np.array([1.0, 1.5, 2.0, 3.0, 10.0, 60.0, 1e4, 0.5, -1.0, np.inf, np.nan, 1.0 + 1e-6], dtype)
    q = np.array(
        [0.3, 1.0, 2.5, 9.0, 100.0, 1e5, 1e17, 0.0, -1.0, -0.5, -2.5, -300.25, np.inf, np.nan], dtype
    )
    x, q = (a.ravel() for a in np.meshgrid(x, q))
    keep = np.isfinite(x) & ~np.isnan(q)  # where one of them is NaN, SciPy may say infinity
    x, q = x[keep], q[keep]
    with np.errstate(all="ignore"):
        want = sp.zeta(x.astype(float), q.astype(float)).astype(dtype)
    got = tj.jit(public("zeta"))(x, q)
    np.testing.assert_allclose(
        got, want, rtol=1e-13 if dtype == np.float64 else 1e-6, err_msg=str(np.stack([x, q]))
    )


def hurwitz(s: Any, q: Any) -> Any:
    """Euler and Maclaurin far out, in many digits (mpmath's zeta has about nine for large operands)."""
    n = 60
    total = mp.fsum((q + i) ** -s for i in range(n))
    w, term = q + n, s * (q + n) ** (-s - 1)
    total += w ** (1 - s) / (s - 1) + w**-s / 2
    for j in range(1, 25):
        total += mp.bernoulli(2 * j) / mp.factorial(2 * j) * term
        term *= (s + 2 * j - 1) * (s + 2 * j) / w**2
    return total


def test_zeta_compiled_in_many_digits() -> None:
    rng = np.random.default_rng(0)
    s, q = 1 + np.exp(rng.uniform(-5, 5, 200)), np.exp(rng.uniform(-4, 8, 200))
    got = tj.jit(public("zeta"))(s, q)
    with mp.workdps(50):
        want = np.array([float(hurwitz(mp.mpf(a), mp.mpf(b))) for a, b in zip(s, q, strict=True)])
    keep = want > 1e-300
    np.testing.assert_allclose(got[keep], want[keep], rtol=5e-15)


def test_polygamma_compiled() -> None:
    n, x = (
        a.ravel()
        for a in np.meshgrid([0.0, 1, 2, 5, 20, 0.5], [0.1, 1.0, 3.5, 40.0, 1e6, -0.4, -7.25, 0.0, -2.0])
    )
    with np.errstate(all="ignore"):
        want = sp.polygamma(n, x)
    np.testing.assert_allclose(tj.jit(public("polygamma"))(n, x), want, rtol=2e-13)


@pytest.mark.parametrize("n", range(10))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_polygamma_of_known_order(n: int, dtype: Any) -> None:
    x = np.array(
        [1e-5, 0.1, 0.9, 1.0, 3.5, 40.0, 1e6, 1e30, -0.3, -7.25, -60.9, 0.0, -2.0, np.inf, np.nan], dtype
    )
    got = tj.jit(lambda v: wrap(special.polygamma(float(n), to_raw(v))))(x)
    with np.errstate(all="ignore"):
        edges = sp.polygamma(n, x[-4:].astype(float))
    np.testing.assert_array_equal(got[-4:], edges.astype(dtype))
    with mp.workdps(40):
        want = np.array([float(mp.polygamma(n, mp.mpf(v))) for v in x[:-4].tolist()])
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_allclose(
            got[:-4], want.astype(dtype), rtol=1e-12 if dtype == np.float64 else 1e-5, atol=1e-300
        )


@pytest.mark.parametrize("name", ["igamma", "bessel_j0", "expi", "gamma", "betaln", "spence"])
def test_calls_of_scipy_give_its_bits(name: str) -> None:
    rng = np.random.default_rng(1)
    xs = [rng.uniform(0.1, 20, 100) for _ in range(2 if name in ("igamma", "betaln") else 1)]
    f = public(name)
    np.testing.assert_array_equal(tj.jit(f)(*xs), f(*xs))


@pytest.mark.parametrize("name", ["lgamma", "erf_inv", "bessel_i1", "ndtr", "bessel_j1", "exp1"])
@pytest.mark.parametrize("dtype", [np.float16, "bfloat16", np.float32])
def test_small_floats_compute_in_wider_ones(name: str, dtype: Any) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = np.array([0.1, 0.5, 0.9]).astype(dtype)
    exact = public(name)(x.astype(np.float64))
    for got in (public(name)(x), tj.jit(public(name))(x)):
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(np.float64), exact, rtol=float(np.finfo(np.float16).eps) * 8)


def test_zero_d_and_empty_and_strided() -> None:
    f = tj.jit(public("igamma"))
    assert f(np.float64(2.0), 1.5) == sp.gammainc(2.0, 1.5)
    assert f(np.empty((0, 2)), np.empty((0, 2))).shape == (0, 2)
    x = np.linspace(1, 5, 12)[::-2]
    np.testing.assert_array_equal(f(x, np.float64(2.0)), sp.gammainc(x, 2.0))


# ---------------------------------------------------------------- derivatives at special places, refusals


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivatives_at_zero() -> None:
    zero, one = np.float64(0.0), np.float64(1.0)
    assert jvp(special.bessel_i1, [zero], [one]) == 0.5
    assert jvp(special.bessel_i1e, [zero], [one]) == 0.5
    assert jvp(special.bessel_j1, [zero], [one]) == 0.5
    assert jvp(special.erfc, [zero], [one]) == pytest.approx(-2 / np.sqrt(np.pi))
    assert jvp(special.spence, [one], [one]) == -1.0
    assert jvp(special.xlogy, [zero, zero], [zero, one]) == 0.0
    assert jvp(special.log_ndtr, [np.float64(40.0)], [one]) == 0.0
    assert jvp(special.log_ndtr, [np.float64(-1e6)], [one]) == pytest.approx(1e6)


def test_a_cotangent_of_zero_meets_a_pole() -> None:
    f = lambda x: np.where(x > 0, public("lgamma")(x), 0.0).sum()
    assert tj.grad(f)(np.array([0.0, 1.0])).tolist() == [0.0, pytest.approx(-np.euler_gamma)]


@pytest.mark.parametrize(
    ("name", "args"),
    [("zeta", (2.0, 3.0)), ("polygamma", (1.0, 3.0)), ("random_beta_grad", (2.0, 3.0, 0.5, 0.5))],
)
def test_operands_without_a_derivative(name: str, args: tuple[float, ...]) -> None:
    with pytest.raises(NotDifferentiableError, match=name):
        tj.grad(public(name))(*args)


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(TypeRuleError, match="lgamma"):
        tj.jit(public("lgamma"))(np.array([1j]))


# ---------------------------------------------------------------- quantiles of the gamma distribution

#: Probabilities of the lower tail (positive) and of the upper one (negative).
TAILS = (1e-8, 1e-4, 0.05, 0.5, -0.3, -0.05, -1e-4, -1e-8)


def _quantile_slope(a: float, x: float) -> float:
    """-(dP/da)/(dP/dx) in 60 digits, by a difference quotient of the smaller tail."""
    with mp.workdps(60):
        p, q = mp.mpf(a), mp.mpf(x)
        bounds, sign = ((0, q), 1) if x <= a else ((q, mp.inf), -1)
        tail = lambda s: sign * mp.gammainc(s, *bounds, regularized=True)
        h = p / 10**12
        slope = (tail(p - 2 * h) - 8 * tail(p - h) + 8 * tail(p + h) - tail(p + 2 * h)) / (12 * h)
        return float(-slope / mp.exp((p - 1) * mp.log(q) - q - mp.loggamma(p)))


@pytest.mark.parametrize("a", [1e-3, 0.1, 0.9, 1.0, 3.0, 15.0, 31.9, 32.0, 100.0, 1e3, 1e5])
def test_random_gamma_grad(a: float) -> None:
    x = np.array([sp.gammaincinv(a, u) if u > 0 else sp.gammainccinv(a, -u) for u in TAILS])
    x = x[x > 1e-300]
    want = [_quantile_slope(a, y) for y in x]
    eager = special.random_gamma_grad(np.full_like(x, a), x)
    np.testing.assert_allclose(eager, want, rtol=1e-12)
    compiled = tj.jit(public("random_gamma_grad"))
    np.testing.assert_allclose(compiled(np.full_like(x, a), x), want, rtol=1e-12)
    assert tj.explain(compiled)(np.full_like(x, a), x).callbacks == []


def test_random_gamma_grad_of_huge_parameters() -> None:
    """x is about a + z sqrt(a), of which the slope is 1 + z / (2 sqrt(a))."""
    for a in (1e8, 1e12, 1e150, 1e300):
        got = special.random_gamma_grad(np.array([a] * 3), a + np.array([-3.0, 0.0, 3.0]) * a**0.5)
        np.testing.assert_allclose(got, 1 + np.array([-1.5, 0.0, 1.5]) / a**0.5, rtol=10 / a + 1e-14)


def test_igamma_grad_compiled() -> None:
    a, x = np.array([0.3, 2.0, 7.5, 80.0]), np.array([1.7, 0.4, 11.0, 77.0])
    first, second = public("igamma_grad_a"), tj.grad(tj.grad(sp.gammainc))
    compiled = tj.jit(first)
    np.testing.assert_allclose(compiled(a, x), first(a, x), rtol=1e-12)
    assert tj.explain(compiled)(a, x).callbacks == []
    assert compiled(a.astype(np.float32), x.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(tj.jit(second)(2.0, 0.4), second(2.0, 0.4), rtol=1e-12)
    edge_a, edge_x = (
        np.array([1.0, 1.0, -1.0, 1.0, 0.0, np.nan]),
        np.array([0.0, np.inf, 1.0, -1.0, 1.0, 1.0]),
    )
    np.testing.assert_array_equal(compiled(edge_a, edge_x), [0.0, 0.0, np.nan, np.nan, np.nan, np.nan])


def test_i1_slopes_where_i0_and_i1_leave_the_range() -> None:
    slope, x = tj.grad(lambda x: sp.i1(x).sum()), np.array([-800.0, -711.0, -499.0, -3.0, 0.0, 501.0, 712.0])
    expected = [float(mp.diff(lambda t: mp.besseli(1, t), v)) if abs(v) < 713 else np.inf for v in x]
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_allclose(slope(x), expected, rtol=1e-12)
        np.testing.assert_allclose(tj.jit(slope)(x), expected, rtol=1e-12)
        assert np.isclose(tj.grad(tj.grad(sp.i1))(505.0), float(mp.diff(lambda t: mp.besseli(1, t), 505, 2)))


def test_polygamma_at_infinity() -> None:
    for n in (1, 2, 3, 9):
        for x in (-np.inf, np.inf):
            assert tj.jit(lambda x, n=n: sp.polygamma(n, x))(x) == sp.polygamma(n, x)


@pytest.mark.parametrize("count", [2, 3, 6])
def test_series_and_quotients(count: int) -> None:
    """Polynomials with all their terms; a quotient is the series where its divisor is small."""
    x, coefficients = np.array([-1.5, 0.0, 0.3, 2.0]), tuple(0.5 + np.arange(count))
    want = np.polynomial.polynomial.polyval(x, coefficients)
    np.testing.assert_allclose(building.series(x, coefficients), want, rtol=1e-14)
    y = np.array([1e-9, 0.3])
    np.testing.assert_array_equal(building.quotient(np.sin(y), y, np.full(2, 7.0)), [7.0, np.sin(0.3) / 0.3])


def test_the_derivative_of_digamma_in_the_complex_plane() -> None:
    z = np.array(
        [1.5 + 0.5j, 0.1 + 0.1j, -3.3 + 2j, -3.3 - 0.01j, 10 + 300j, -10 - 300j, -20.5 + 1j, 100, -0.5]
    )
    with mp.workdps(30):
        want = np.array([complex(mp.psi(1, mp.mpc(x))) for x in z])
        second = np.array([complex(mp.psi(2, mp.mpc(x))) for x in z[:4]])

    def slope(z: Any) -> Any:
        return tj.jvp(sp.digamma, (z,), (np.ones_like(z),))[1]

    for got in (slope(z), tj.jit(slope)(z)):
        np.testing.assert_allclose(got, want, rtol=1e-13)
    np.testing.assert_allclose(tj.jvp(slope, (z[:4],), (np.ones(4) + 0j,))[1], second, rtol=1e-12)
