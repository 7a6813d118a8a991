"""tracejit.scipy.special against SciPy: values, dtypes, broadcasting, edge values, and unchanged user code."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import ml_dtypes
import mpmath as mp
import numpy as np
import pytest
import scipy
import scipy.special as sp
from scipy.special import expit, gammaln, logsumexp

import tracejit as tj
from tracejit.errors import NotDifferentiableError, SpecialFunctionError
from tracejit.scipy import special
from tracejit.scipy.formulas import PAIRS, TABLE
from tracejit.test_util import check_grads

RNG = np.random.default_rng(0)
POSITIVE = RNG.uniform(0.2, 4.0, (2, 3))
SIGNED = RNG.normal(size=(2, 3)) * 2
UNIT = RNG.uniform(0.05, 0.95, (2, 3))
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 30.0, -30.0, np.inf, -np.inf, np.nan])
WIDE = np.concatenate([EDGES, np.linspace(-6, 6, 13), [1e-12, -1e-12, 1e5]])

#: Functions whose operands are all in (0, 1), or that need other operands than positive ones.
_UNIT = {
    "erfinv",
    "erfcinv",
    "ndtri",
    "logit",
    "gammaincinv",
    "gammainccinv",
    "betainc",
    "betaincinv",
}
#: Where SciPy itself differs at edges: it overflows, or has no limit.
_OWN_EDGES = {
    **dict.fromkeys(("hyp1f1", "hyp2f1", "jv", "iv", "kv", "yv", "poch", "binom", "beta"), "C library"),
    **dict.fromkeys(("pdtr", "pdtrc"), "no NaN for NaN at 0"),
}
#: Those with a test of their own: SciPy warns when their number of trials is a float.
_BINOMIAL = ("bdtr", "bdtrc", "bdtri")
UFUNCS = {**{n: nin for n, (_, nin) in TABLE.items() if n not in _BINOMIAL}, **dict.fromkeys(PAIRS, 1)}


def operands(name: str, nin: int) -> list[np.ndarray]:
    if name in ("gammaincinv", "gammainccinv", "betaincinv"):
        return [*([POSITIVE] * (nin - 1)), UNIT]
    if name == "betainc":
        return [POSITIVE, POSITIVE[::-1], UNIT]
    if name == "hyp2f1":
        return [POSITIVE, UNIT, POSITIVE, UNIT * 0.5]
    return [UNIT if name in _UNIT else POSITIVE, *([POSITIVE[::-1]] * (nin - 1))]


def same(got: Any, want: Any, rtol: float = 1e-13) -> None:
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        assert np.asarray(g).dtype == np.asarray(w).dtype
        assert np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol * 1e-2)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", UFUNCS)
def test_values_of_ufuncs(name: str) -> None:
    xs = operands(name, UFUNCS[name])
    real, ours = getattr(sp, name), getattr(special, name)
    want = real(*xs)
    same(tj.jit(lambda *ys: real(*ys))(*xs), want)  # plain SciPy in the user's code
    same(tj.jit(ours)(*xs), want)
    same(ours(*xs), want)
    same(tj.jvp(lambda y: real(*xs[:-1], y), (xs[-1],), (np.ones_like(xs[-1]),))[0], want)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", UFUNCS)
def test_float32_stays_and_integers_become_float64(name: str) -> None:
    real = getattr(sp, name)
    xs = [x.astype(np.float32) for x in operands(name, UFUNCS[name])]
    got = tj.jit(lambda *ys: real(*ys))(*xs)
    want = real(*(x.astype(np.float64) for x in xs))
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, w, rtol=2e-5, atol=1e-6)
    if name not in _UNIT:
        ints = [np.array([1, 2, 3])] * UFUNCS[name]
        with np.errstate(all="ignore"):
            same(tj.jit(lambda *ys: real(*ys))(*ints), real(*ints), 1e-12)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [n for n, k in UFUNCS.items() if k == 1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_edges_of_one_operand(name: str, dtype: Any) -> None:
    x = WIDE.astype(dtype)
    real = getattr(sp, name)
    with np.errstate(all="ignore"):
        want = real(x.astype(np.float64))
        want = tuple(w.astype(dtype) for w in want) if type(want) is tuple else want.astype(dtype)
    got = tj.jit(lambda v: real(v))(x)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        np.testing.assert_allclose(g, w, rtol=rtol, atol=1e-13, err_msg=str(x))


@pytest.mark.parametrize("name", [n for n, k in UFUNCS.items() if k == 2 and n not in _OWN_EDGES])
def test_edges_of_two_operands(name: str) -> None:
    edges = np.array([0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.5, 20.0, np.inf, np.nan])
    x, y = (a.ravel() for a in np.meshgrid(edges, edges))
    real = getattr(sp, name)
    with np.errstate(all="ignore"):
        want = real(x, y)
    got = tj.jit(lambda a, b: real(a, b))(x, y)
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-300, err_msg=str(np.stack([x, y])))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision(dtype: Any) -> None:
    x = np.array([0.5, 1.5, 3.0], dtype)
    got = tj.jit(lambda v: sp.gammaln(v))(x)
    assert got.dtype == (sp.gammaln(x).dtype if dtype == np.float16 else dtype)  # SciPy has no bfloat16
    np.testing.assert_allclose(got.astype(float), sp.gammaln(x.astype(float)), rtol=1e-2)


def test_broadcasting_strides_and_empty() -> None:
    a, x = np.arange(1.0, 7.0)[::-2], np.linspace(0, 5, 4)[:, None]
    same(tj.jit(lambda p, q: sp.gammainc(p, q))(a, x), sp.gammainc(a, x))
    same(tj.jit(lambda p: sp.gammainc(p, 2))(a), sp.gammainc(a, 2))
    same(tj.jit(lambda p: sp.erfc(p))(np.empty((0, 3))), np.empty((0, 3)))
    same(tj.jit(lambda p: sp.erfc(p))(0.5), sp.erfc(0.5))
    with pytest.raises(ValueError, match="could not be broadcast"):
        tj.jit(lambda p, q: sp.xlogy(p, q))(np.ones(2), np.ones(3))


def test_out_and_where() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        sp.erf(x, out=y)
        return y + special.expit(x, where=x > 0, out=np.ones_like(x))

    x = SIGNED  # SciPy's own loops ignore the mask of `where`, and write out of bounds
    same(tj.jit(f)(x), sp.erf(x) + np.where(x > 0, sp.expit(x), 1.0))


# ---------------------------------------------------------------- user code


def test_every_way_of_naming_them() -> None:
    x = POSITIVE
    want = sp.gammaln(x) + sp.expit(x) + sp.logsumexp(x)
    same(tj.jit(lambda v: sp.gammaln(v) + sp.expit(v) + sp.logsumexp(v))(x), want)
    same(tj.jit(lambda v: gammaln(v) + expit(v) + logsumexp(v))(x), want)
    same(
        tj.jit(lambda v: scipy.special.gammaln(v) + scipy.special.expit(v) + scipy.special.logsumexp(v))(x),
        want,
    )
    same(tj.jit(lambda v: special.gammaln(v) + special.expit(v) + special.logsumexp(v))(x), want)

    def local(v: Any) -> Any:
        from scipy import special as s

        return s.gammaln(v) + s.expit(v) + s.logsumexp(v)

    same(tj.jit(local)(x), want)


def test_all_transformations() -> None:
    x = POSITIVE[0]
    loss = lambda v: logsumexp(v) + gammaln(v).sum()
    want = sp.softmax(x) + sp.psi(x)
    same(tj.grad(loss)(x), want)
    same(tj.jit(tj.grad(loss))(x), want)
    same(tj.vmap(tj.grad(loss))(POSITIVE), np.stack([sp.softmax(r) + sp.psi(r) for r in POSITIVE]))
    same(tj.jit(tj.vmap(tj.grad(loss)))(POSITIVE), np.stack([sp.softmax(r) + sp.psi(r) for r in POSITIVE]))
    hessian = np.diag(sp.softmax(x) + sp.polygamma(1, x)) - np.outer(sp.softmax(x), sp.softmax(x))
    same(tj.hessian(loss)(x), hessian, 1e-12)
    same(tj.jvp(loss, (x,), (np.ones(3),))[1], want.sum())


def test_scipy_is_not_imported_by_tracejit() -> None:
    code = "import sys, tracejit; tracejit.scipy.special.gammaln; assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_scipy_imported_after_the_first_trace() -> None:
    code = """
import numpy as np, tracejit as tj
tj.jit(lambda x: np.sin(x) + tj.scipy.special.erfc(x))(1.0)
from scipy.special import logsumexp, gammaln
x = np.arange(1.0, 4.0)
assert np.allclose(tj.jit(lambda x: logsumexp(x) + gammaln(x))(x), logsumexp(x) + gammaln(x))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names() -> None:
    assert {"gammaln", "logsumexp", "sinc"} <= set(dir(special))
    assert special.kelvin.__wrapped__ is sp.kelvin
    with pytest.raises(AttributeError, match="nonsense"):
        special.nonsense
    with pytest.raises(NotDifferentiableError, match="kelvin"):
        tj.grad(lambda x: sp.kelvin(x)[0].real)(2.0)
    assert tj.jit(lambda x: sp.kelvin(x)[0])(2.0) == sp.kelvin(2.0)[0]
    same(tj.jit(lambda x: sp.sinc(x))(SIGNED), np.sinc(SIGNED))


def test_kernels_are_native() -> None:
    """Neither callbacks nor SciPy's ufunc machinery: compiled code calls C or is inlined."""
    for name in ("gammaln", "psi", "gammainc", "j0", "zeta", "ndtri", "betainc"):
        f = getattr(special, name)
        xs = operands(name, UFUNCS.get(name, 2))
        assert "callback" not in tj.jit(f).lower(*xs).as_text("loops")


# ---------------------------------------------------------------- functions that are no ufuncs


@pytest.mark.sample(2)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis: Any, keepdims: bool) -> None:
    x, b = SIGNED, np.array([[1.0, 2.0, 0.0], [0.5, 3.0, 1.5]])
    same(
        tj.jit(lambda v: logsumexp(v, axis=axis, keepdims=keepdims))(x),
        logsumexp(x, axis=axis, keepdims=keepdims),
    )
    f = lambda v, w: logsumexp(v, axis=axis, b=w, keepdims=keepdims)
    same(tj.jit(f)(x, b), f(x, b))
    g = lambda v, w: logsumexp(v, axis=axis, b=w, return_sign=True, keepdims=keepdims)
    same(tj.jit(g)(x, b - 1.2), g(x, b - 1.2))


def test_logsumexp_at_infinity() -> None:
    for x in ([np.inf, 1.0], [-np.inf, -np.inf], [-np.inf, 2.0], [np.nan, 1.0], [1000.0, 1000.0]):
        same(tj.jit(lambda v: logsumexp(v))(np.array(x)), logsumexp(np.array(x)))
    assert tj.grad(lambda v: logsumexp(v))(np.array([-np.inf, 2.0])).tolist() == [0.0, 1.0]
    masked = tj.jit(lambda v: special.logsumexp(v, where=v > 0))(np.array([-5.0, 1.0, 2.0]))
    same(masked, sp.logsumexp(np.array([1.0, 2.0])))


@pytest.mark.sample(2)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_softmax(axis: Any) -> None:
    x = SIGNED * 200
    for f in (sp.softmax, sp.log_softmax):
        same(tj.jit(lambda v, f=f: f(v, axis=axis))(x), f(x, axis=axis))
        check_grads(lambda v, f=f: f(v, axis=axis), (SIGNED,), order=2)


def test_functions_of_orders_and_counts() -> None:
    n, k = np.array([5.0, 7.5, 3.0, 2.0]), np.array([2.0, 3.0, 4.0, -1.0])
    jit = tj.jit
    same(jit(lambda a, b: sp.comb(a, b))(n, k), sp.comb(n, k))
    same(jit(lambda a, b: sp.comb(a, b, repetition=True))(n, k), sp.comb(n, k, repetition=True))
    same(jit(lambda a, b: sp.perm(a, b))(n, k), sp.perm(n, k))
    same(jit(lambda a: sp.factorial(a))(np.array([0, 1, 5, -2])), sp.factorial(np.array([0, 1, 5, -2])))
    same(jit(lambda a: sp.polygamma(2, a))(POSITIVE), sp.polygamma(2, POSITIVE))
    same(jit(lambda a: sp.polygamma(np.arange(3), a))(POSITIVE), sp.polygamma(np.arange(3), POSITIVE))
    same(jit(lambda a: sp.polygamma(1, a))(np.array([-0.5, -3.25])), sp.polygamma(1, np.array([-0.5, -3.25])))
    same(jit(lambda a: sp.zeta(a, 2.5))(POSITIVE + 1), sp.zeta(POSITIVE + 1, 2.5))
    same(
        jit(lambda a: sp.zeta(3, a))(np.array([-0.5, -3.25, 0.0, -2.0, 1e6])),
        sp.zeta(3, [-0.5, -3.25, 0.0, -2.0, 1e6]),
    )
    same(jit(lambda a: sp.multigammaln(a, 3))(POSITIVE + 2), sp.multigammaln(POSITIVE + 2, 3))
    same(jit(lambda a: special.softplus(a))(SIGNED), np.logaddexp(SIGNED, 0))


#: Values of every kind that NumPy's rules tell apart.
KINDS: list[Any] = [2.0, 3, np.float32(2), np.float16(2), np.int8(3), np.array(2.0), np.array(2, np.float32)]
KINDS += [np.array([3, 4], t) for t in ("f8", "f4", "f2", "i2", "?", "c16", "c8")] + [np.zeros((0, 2))]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "f",
    [
        lambda v: sp.polygamma(1, v),
        lambda v: sp.comb(v, 2),
        lambda v: sp.perm(v, 2),
        lambda v: sp.factorial(v),
        lambda v: sp.multigammaln(v, 2),
        lambda v: sp.logsumexp(v),
        lambda v: sp.logsumexp(v, b=v),
        lambda v: sp.logsumexp(v, return_sign=True, keepdims=True),
        lambda v: sp.softmax(v),
        lambda v: sp.log_softmax(v),
        lambda v: sp.softplus(v),
        lambda v: sp.spherical_jn(2, v),
    ],
)
def test_kinds_of_results(f: Any) -> None:
    for v in KINDS:
        try:
            want: Any = f(v)
        except (TypeError, ValueError, IndexError) as e:
            with pytest.raises(type(e)), warnings.catch_warnings():
                warnings.simplefilter("ignore", tj.errors.FallbackWarning)
                tj.jit(f, fallback=True)(v)
            continue
        got = tj.jit(f, fallback=False)(v)
        for g, w in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, want)), strict=True):
            assert (type(g), g.dtype, g.shape) == (type(w), w.dtype, w.shape), v
            np.testing.assert_allclose(g, w, rtol=2e-3 if g.dtype == np.float16 else 2e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_dtypes_of_zeta(dtype: Any) -> None:
    """Those of narrower numbers depend on the calls before: NumPy keeps the loop it has found."""
    x = np.array([3, 4], dtype)
    for f in (lambda v: sp.zeta(v, 2), lambda v: sp.zeta(v)):
        same(tj.jit(f)(x), f(x), {8: 1e-12, 4: 1e-6}[x.itemsize])


def test_logarithms_of_sums_near_one() -> None:
    """What the smaller terms add to a sum of 1 is below its precision, but is the logarithm."""
    for x in ([0.0, -50.0], [1e-20, -60.0], [0.0, 0.0, -40.0], [-np.inf, 0.0], [np.inf, 0.0], [np.nan, 0.0]):
        a = np.array(x)
        want = sp.logsumexp(a)
        np.testing.assert_allclose(tj.jit(sp.logsumexp)(a), want, rtol=1e-15)
        np.testing.assert_allclose(
            tj.jit(lambda v: sp.logsumexp(v, b=2.0))(a), sp.logsumexp(a, b=2.0), rtol=1e-15
        )
    check_grads(
        lambda v: sp.logsumexp(v, b=np.array([1.0, -0.25, 0.3])), (np.array([0.1, 0.3, -2.0]),), order=2
    )


def test_riemann_zeta() -> None:
    s = np.array([3.0, 1.5, 1.0, 0.5, 0.0, -0.5, -1.0, -2.0, -7.5, 20.0])
    same(tj.jit(lambda x: sp.zeta(x))(s), sp.zeta(s), 1e-12)


def test_refusals() -> None:
    with pytest.raises(SpecialFunctionError, match="exact=True"):
        tj.jit(lambda n: sp.comb(n, 2, exact=True))(5.0)
    with pytest.raises(SpecialFunctionError, match="extend"):
        tj.jit(lambda n: sp.factorial(n, extend="complex"))(5.0)
    with pytest.raises(SpecialFunctionError, match="positive integer"):
        tj.jit(lambda a: sp.multigammaln(a, 1.5))(5.0)


# ---------------------------------------------------------------- derivatives


@pytest.mark.parametrize(
    "name",
    ["logit", "log_expit", "entr", "gammasgn", "rgamma", "exprel", "cosm1", "exp10", "loggamma", "expit"],
)
def test_derivatives_of_formulas(name: str) -> None:
    x = UNIT if name in ("logit", "entr") else POSITIVE
    check_grads(getattr(special, name), (x,), order=2, atol=1e-4, rtol=1e-4)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "name",
    [
        "rel_entr",
        "kl_div",
        "boxcox",
        "inv_boxcox",
        "boxcox1p",
        "inv_boxcox1p",
        "pseudo_huber",
        "huber",
        "chdtr",
        "gdtr",
    ],
)
def test_derivatives_of_formulas_of_several(name: str) -> None:
    xs = [POSITIVE[0], POSITIVE[1], POSITIVE[0] + 0.1][: UFUNCS[name]]
    check_grads(getattr(special, name), tuple(xs), order=2, atol=1e-4, rtol=1e-4)


def test_derivatives_have_no_nan_from_cases_not_taken() -> None:
    zero = np.zeros(1)
    for f in (
        lambda x: sp.boxcox(1.5, x),
        lambda x: sp.inv_boxcox(1.5, x),
        lambda x: sp.exprel(x),
        lambda x: sp.rel_entr(x + 1, 1.0),
        lambda x: sp.pseudo_huber(1.0, x),
        lambda x: sp.logit(x + 0.5),
        lambda x: sp.i1(x),
        lambda x: sp.j1(x),
        lambda x: sp.spence(x + 1),
    ):
        got = tj.grad(lambda x, f=f: f(x).sum())(zero)
        assert np.isfinite(got).all()
    slope = tj.grad(tj.grad(lambda x: sp.spence(x)))(1.0)
    np.testing.assert_allclose(slope, 0.5, rtol=1e-12)
    np.testing.assert_allclose(tj.grad(tj.grad(tj.grad(lambda x: sp.i1(x))))(0.0), 3 / 8, rtol=1e-9)


@pytest.mark.parametrize(
    ("f", "x", "want"),
    [
        (sp.log_expit, 0.0, (0.5, -0.25, 0.0)),
        (sp.exprel, 0.0, (1 / 2, 1 / 3, 1 / 4)),
        (sp.rgamma, 0.0, tuple(float(mp.diff(mp.rgamma, 0, n)) for n in (1, 2, 3))),
        (sp.rgamma, -3.0, tuple(float(mp.diff(mp.rgamma, -3, n)) for n in (1, 2, 3))),
        (lambda p: sp.boxcox(3.0, p), 0.0, tuple(np.log(3.0) ** (n + 1) / (n + 1) for n in (1, 2, 3))),
        (lambda y: np.logaddexp(y, 1.0), 1.0, (0.5, 0.25, 0.0)),
        (lambda y: np.logaddexp2(1.0, y), 1.0, (0.5, np.log(2) / 4, 0.0)),
    ],
)
def test_derivatives_at_special_points(f: Any, x: float, want: tuple[float, ...]) -> None:
    _, got = tj.jet(f, (x,), ((1.0, 0.0, 0.0),))
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
    for n in range(3):
        f = tj.grad(f)
        assert f(x) == pytest.approx(want[n], rel=1e-12, abs=1e-14)


def test_rgamma_left_of_zero() -> None:
    x = np.array([-0.3, -1.0, -2.0, -7.5, -150.5, -200.0, -1e20, -np.inf, np.inf, 0.0, np.nan])
    np.testing.assert_allclose(tj.jit(sp.rgamma)(x), sp.rgamma(x), rtol=1e-14)
    np.testing.assert_allclose(tj.jit(sp.inv_boxcox)(x[:3], 1e-9), sp.inv_boxcox(x[:3], 1e-9), rtol=1e-14)


def test_derivatives_of_sums_of_exponentials_keep_one_array(capsys: Any) -> None:
    x = np.random.default_rng(0).normal(size=(4, 300))
    softmax = lambda x: sp.softmax(x, axis=1)[0, 0]
    functions = (softmax, lambda x: sp.log_softmax(x, axis=1)[0, 0], logsumexp)
    for f in functions:
        tj.print_saved_residuals(f, x)
        assert "9.6 kB besides arguments and results" in capsys.readouterr().out
        check_grads(f, (x[:, :3],), order=2, atol=1e-5, rtol=1e-5)


def test_logsumexp_of_some_elements_without_a_trace() -> None:
    x = np.array([0.3, -1.0, 2.0])
    assert special.logsumexp(x, where=x > 0) == pytest.approx(np.log(np.exp(0.3) + np.exp(2.0)))
    assert type(special.logsumexp(x, where=x > 0)) is np.float64


_PLANE = np.array([0.7 + 0.3j, -1.2 + 0.8j, 2.1 - 0.4j])
_COMPLEX = (
    *(
        "gamma",
        "loggamma",
        "rgamma",
        "erf",
        "erfc",
        "erfcx",
        "ndtr",
        "log_ndtr",
        "exp1",
        "expi",
        "spence",
        "dawsn",
    ),
    *("fresnel", "sici", "xlogy", "xlog1py"),
)


def _near(got: Any, want: Any, rtol: float) -> None:
    for a, b in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol)


@pytest.mark.parametrize("name", _COMPLEX)
def test_complex_arguments_keep_their_imaginary_part(name: str) -> None:
    """Against SciPy's values, and differences of them along a direction of the plane."""
    f = getattr(sp, name)
    first = (_PLANE[::-1],) if f.nin == 2 else ()

    def last(x: Any) -> Any:
        return f(*first, x)

    want, way, h = last(_PLANE), 1 + 0.5j, 1e-6
    slope = tj.tree.map(lambda a, b: (a - b) / (2 * h), last(_PLANE + h * way), last(_PLANE - h * way))
    value, tangent = tj.jvp(last, (_PLANE,), (np.full(3, way),))
    _near(value, want, 1e-14)
    _near(tangent, slope, 1e-7)
    _near(tj.vjp(last, _PLANE)[0], want, 1e-14)
    _near(tj.jit(last)(_PLANE), want, 1e-14)
    _near(tj.vmap(f)(*first, _PLANE), want, 1e-14)


def test_complex_arguments_are_refused_where_only_real_ones_are_there() -> None:
    for f in (lambda z: sp.jv(1.0, z), lambda z: sp.hyp1f1(1.5, 2.5, z)):
        for run in (tj.jit(f), tj.vmap(f), lambda z, f=f: tj.vjp(f, z)[0]):
            with pytest.raises(TypeError, match="TJ002"):
                run(_PLANE)
    _near(tj.vmap(sp.digamma)(_PLANE), sp.digamma(_PLANE), 1e-14)


def test_edges_of_probabilities() -> None:
    """Negative counts, numbers beyond 32 bits, and what is NaN."""
    k = np.array([-1.0, -0.5, 0.0, 1.5, 3.0, np.nan, np.inf])
    m = np.array([-1.0, 0.0, 0.5, 2.0, np.inf, np.nan])
    a, b = (x.ravel() for x in np.meshgrid(k, m))
    for f in (sp.pdtr, sp.pdtrc):
        np.testing.assert_allclose(tj.jit(lambda k, m, f=f: f(k, m))(a, b), f(a, b), rtol=1e-13)
    for g in (sp.gdtr, sp.gdtrc):
        np.testing.assert_allclose(tj.jit(lambda k, m, g=g: g(k, 1.5, m))(a, b), g(a, 1.5, b), rtol=1e-13)
    n = np.array([2**31 - 1, 2**31, 2**40])
    for h in (sp.bdtr, sp.bdtrc, sp.bdtri):
        np.testing.assert_allclose(tj.jit(lambda n, h=h: h(2.0, n, 0.5))(n), h(2.0, n, 0.5), rtol=1e-6)


def test_softmax_of_large_numbers_does_not_overflow() -> None:
    x = np.array([[1000.0, 1001.0, -5.0], [-1000.0, -1002.0, -1000.5]])
    for f in (sp.softmax, sp.log_softmax, sp.logsumexp):
        g = lambda x, f=f: f(x, axis=1)
        np.testing.assert_allclose(tj.jit(g)(x), g(x), rtol=1e-12)
        assert np.isfinite(tj.jit(tj.jacobian(g))(x)).all()
    whole = x.astype(int)
    np.testing.assert_allclose(
        tj.jit(lambda x: sp.softmax(x, axis=1))(whole), sp.softmax(whole, axis=1), rtol=1e-12
    )
