"""Accuracy and edge values of the special functions of vecmath, against mpmath and SciPy."""

from __future__ import annotations

import re
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

from tests.lowering.llvm.test_vecmath import assert_same_edges, edges
from tests.lowering.native import apply, pointwise, ulp_errors
from tracejit.lowering.llvm import cpu
from tracejit.lowering.llvm.vecmath.functions import special
from tracejit.lowering.runtime.compile import compile_llvm

POINTS = 120


def erfcinv(q: Any) -> Any:
    """Newton's method on the logarithm, from SciPy's value."""
    y = mp.mpf(float(sp.erfcinv(float(q))))
    for _ in range(3):
        e = mp.erfc(y)
        y += (mp.log(e) - mp.log(q)) * e * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return y


def erfinv(x: Any) -> Any:
    return erfcinv(1 - x) if x > 0 else -erfcinv(1 + x)


def erfcx(x: Any) -> Any:
    if x < 500:
        return mp.exp(x * x) * mp.erfc(x)
    return mp.nsum(lambda n: (-1) ** int(n) * mp.fac2(2 * n - 1) / (2 * x * x) ** n, [0, 6]) / (
        x * mp.sqrt(mp.pi)
    )


def log_ndtr(x: Any) -> Any:
    return mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2) if x > 0 else mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def bessel(order: int, scaled: bool) -> Any:
    return lambda x: mp.besseli(order, x) * (mp.exp(-abs(x)) if scaled else 1)


BESSEL = [(0, 1), (-8, 8), (7, 9), (8, 100)]
# name -> (mpmath function, bound in ULP of float64, ranges; what float32 can't hold is left out)
FUNCTIONS = {
    "lgamma": (
        lambda x: mp.log(abs(mp.gamma(x))) if x < 0 else mp.re(mp.loggamma(x)),
        3.0,
        [
            (1e-300, 1e-290),
            (1e-20, 1e-10),
            (0, 0.5),
            (0.5, 1.5),
            (0.99, 1.01),
            (1.5, 3),
            (1.99, 2.01),
            (3, 20),
        ]
        + [(20, 1e3), (1e3, 1e10), (1e100, 1e305), (-1, 0), (-1e-5, 0), (-1e-30, 0)],
    ),
    "digamma": (
        mp.digamma,
        2.0,
        [
            (1e-300, 1e-290),
            (1e-20, 1e-10),
            (0, 0.5),
            (0.5, 1),
            (1, 1.4),
            (1.45, 1.47),
            (1.5, 3),
            (3, 20),
            (20, 1e3),
        ]
        + [(1e100, 1e305), (-1e-18, 0), (-1e-300, 0)],
    ),
    "erfc": (
        mp.erfc,
        2.0,
        [(-6, 6), (-0.5, 0.5), (-1e-5, 1e-5), (0.5, 2), (2, 10), (10, 27.2), (-1e300, -1e299)],
    ),
    "erfcx": (erfcx, 3.0, [(-1, 1), (0, 0.5), (0.5, 6), (6, 100), (1e3, 1e9), (1e20, 1e305), (-26, -1)]),
    "erfinv": (erfinv, 2.5, [(-0.5, 0.5), (1e-9, 1e-6), (0.5, 0.75), (0.5, 1), (-1, -0.5), (1 - 1e-8, 1)]),
    "erfcinv": (erfcinv, 2.5, [(0.5, 1.5), (1e-3, 0.5), (1e-20, 1e-10), (1e-300, 1e-200), (1.5, 2)]),
    "ndtr": (lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, 3.0, [(-1, 1), (-37, -1), (1, 9)]),
    "ndtri": (
        lambda p: -mp.sqrt(2) * erfcinv(2 * p),
        3.0,
        [(0.25, 0.75), (0, 0.25), (1e-300, 1e-10), (0.75, 1)],
    ),
    "log_ndtr": (log_ndtr, 2.5, [(-1, 1), (-10, -1), (-1000, -10), (1, 37)]),
    "i0e": (bessel(0, True), 3.0, [*BESSEL, (100, 1e4)]),
    "i1e": (bessel(1, True), 3.0, [*BESSEL, (100, 1e4)]),
    "i0": (bessel(0, False), 3.5, [*BESSEL, (100, 713)]),
    "i1": (bessel(1, False), 3.5, [*BESSEL, (100, 713)]),
}
SCIPY = {"lgamma": sp.gammaln, "digamma": sp.psi}


def sample(ranges: list[tuple[float, float]], dtype: Any) -> np.ndarray:
    rng = np.random.default_rng(0)
    parts = []
    for a, b in ranges:
        log = a > 0 and b / a > 1e3
        parts.append(np.exp(rng.uniform(np.log(a), np.log(b), POINTS)) if log else rng.uniform(a, b, POINTS))
    x = np.concatenate(parts)
    if dtype == np.float32:
        x = x[(np.abs(x) < 3e38) & (np.abs(x) > 1e-37)]
    return x.astype(dtype)


@pytest.mark.sample(14)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name: str, dtype: Any) -> None:
    fn, bound, ranges = FUNCTIONS[name]
    x = sample(ranges, dtype)
    got = apply(lambda k, v: k.math(name, v), x)
    with mp.workprec(160):
        exact = [fn(mp.mpf(v)) for v in x.tolist()]
    largest = float(np.finfo(dtype).max)
    keep = [n for n, e in enumerate(exact) if mp.isfinite(e) and abs(e) < largest]
    assert len(keep) > 0.6 * len(x)
    errors = ulp_errors(got[keep], [exact[n] for n in keep])
    worst = int(np.argmax(errors))
    limit = bound if dtype == np.float64 else 0.51  # float32 is float64 rounded once more
    assert errors[worst] <= limit, (
        f"{name}({x[keep][worst]!r}) = {got[keep][worst]!r}: {errors[worst]:.2f} ULP"
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("name", "fn"), [("lgamma", lambda x: mp.log(abs(mp.gamma(x)))), ("digamma", mp.digamma)]
)
def test_negative_arguments_keep_their_absolute_accuracy(name: str, fn: Any, dtype: Any) -> None:
    """There are zeros between the poles, near which the relative error is not bounded (nor is SciPy's)."""
    x = np.concatenate(
        [np.random.default_rng(1).uniform(a, b, 100) for a, b in ((-1, 0), (-3, -1), (-40, -3))]
    )
    x = x.astype(dtype)
    x = x[x != np.round(x)]
    got = apply(lambda k, v: k.math(name, v), x)
    with mp.workprec(160):
        exact = [fn(mp.mpf(v)) for v in x.tolist()]
    error = np.array(
        [float(abs(mp.mpf(float(g)) - e) / max(1, abs(e))) for g, e in zip(got, exact, strict=True)]
    )
    assert error.max() < 8 * np.finfo(dtype).eps


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_edge_values(name: str, dtype: Any) -> None:
    x = edges(np.dtype(dtype))
    x = x[(x == 0) | (np.abs(x) > 1e-300)]  # SciPy overflows for subnormal arguments of lgamma and erfcinv
    with np.errstate(all="ignore"):
        want = (SCIPY.get(name) or getattr(sp, name))(x.astype(np.float64)).astype(dtype)
    assert_same_edges(apply(lambda k, v: k.math(name, v), x), want, [x])


def test_the_smallest_arguments() -> None:
    x = np.array([5e-324, 1e-310])
    np.testing.assert_allclose(apply(lambda k, v: k.math("lgamma", v), x), -np.log(x), rtol=1e-15)
    exact = [float(erfcinv_of_subnormal(v)) for v in x]
    np.testing.assert_allclose(apply(lambda k, v: k.math("erfcinv", v), x), exact, rtol=1e-15)


def erfcinv_of_subnormal(q: float) -> Any:
    return mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(mp.mpf(q)), mp.mpf(27))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inverses_and_symmetries_hold_at_the_seams(name: str) -> None:
    """Where one piece takes over from the other, neighbours differ by no more than the bound allows."""
    seams = {
        "lgamma": [0.5, 1.5, 3.0],
        "digamma": [1.0, 3.0],
        "erfc": [0.5],
        "erfinv": [0.5],
        "erfcinv": [0.5, 1.5],
    }
    seams |= {"ndtri": [0.25, 0.75], "i0": [7.75], "i1": [7.75], "i0e": [7.75], "i1e": [7.75]}
    for seam in seams.get(name, []):
        x = np.array([np.nextafter(seam, 0), seam, np.nextafter(seam, 100)])
        y = apply(lambda k, v: k.math(name, v), x)
        np.testing.assert_allclose(y, y[1], rtol=2e-15)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_loops_vectorise(name: str) -> None:
    """Packed code in the loop, or a call of the vector function that is compiled apart."""
    code = compile_llvm(cpu.emit(pointwise(lambda k, x: k.math(name, x), [np.float64], np.float64)))
    assert re.search(rf"vfn?m(add|sub)\d+pd\s.*%[yz]mm|call\S*\s+tj\.{name}\.f64\.v[48]", code.asm())


def test_every_function_is_tested() -> None:
    assert set(special.FUNCTIONS) == set(FUNCTIONS)
