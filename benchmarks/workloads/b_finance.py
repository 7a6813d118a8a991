"""Black-Scholes: price and five Greeks of European calls by reverse mode; and a long polynomial formula."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.registry import workload

SIZES = {"small": {"n": 1000}, "middle": {"n": 100_000}, "large": {"n": 1_000_000}}


def market(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    """Spot, strike, years, rate, volatility."""
    ranges = ((80, 120), (80, 120), (0.1, 2), (0.01, 0.05), (0.1, 0.5))
    return tuple(rng.uniform(a, b, n).astype(dtype) for a, b in ranges)


def cdf(np_: Any, x: Any) -> Any:
    """The normal distribution function by the logistic form of Bowling and others (2009): NumPy has no erf,
    and every library computes the same formula."""
    return 1 / (1 + np_.exp(-(0.07056 * x**3 + 1.5976 * x)))


def price(np_: Any, s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
    root = v * np_.sqrt(t)
    d1 = (np_.log(s / k) + (r + v * v / 2) * t) / root
    return s * cdf(np_, d1) - k * np_.exp(-r * t) * cdf(np_, d1 - root)


def torch_price(mode: str, *args: Any) -> Any:
    import torch

    if mode == "forward":
        return lambda *xs: price(torch, *xs)
    return torch.func.grad(lambda *xs: price(torch, *xs).sum(), argnums=tuple(range(5)))


def numba_price(mode: str, *args: Any) -> Any:
    import numba

    def kernel(s, k, t, r, v):
        out = np.empty_like(s)
        for i in numba.prange(s.size):
            root = v[i] * math.sqrt(t[i])
            d1 = (math.log(s[i] / k[i]) + (r[i] + v[i] * v[i] / 2) * t[i]) / root
            d2 = d1 - root
            c1 = 1 / (1 + math.exp(-(0.07056 * d1 * d1 * d1 + 1.5976 * d1)))
            c2 = 1 / (1 + math.exp(-(0.07056 * d2 * d2 * d2 + 1.5976 * d2)))
            out[i] = s[i] * c1 - k[i] * math.exp(-r[i] * t[i]) * c2
        return out

    if mode != "forward":
        raise _not_here()
    return numba.njit(parallel=numba.config.NUMBA_NUM_THREADS > 1)(kernel)


def _not_here() -> Exception:
    from benchmarks.peers import NotHere

    return NotHere("no derivatives")


@workload(
    "Black-Scholes price",
    "elementwise",
    make=market,
    sizes=SIZES,
    by_hand={"torch": torch_price, "numba": numba_price, "drjit": price},
)
def black_scholes(lib: Any, *args: Any) -> Any:
    return price(lib.np, *args)


@workload(
    "Black-Scholes Greeks",
    "elementwise",
    make=market,
    sizes=SIZES,
    modes=("grad",),
    argnums=(0, 1, 2, 3, 4),
    by_hand={"torch": torch_price, "drjit": price},
    rtol={"f8": 1e-8, "f4": 2e-2},
)
def greeks(lib: Any, *args: Any) -> Any:
    return price(lib.np, *args).sum()


COEFFICIENTS = tuple((np.random.default_rng(7).normal(size=100) / np.arange(1, 101)).tolist())


@workload("equation of state, 100 terms", "elementwise", make=lambda rng, dtype, n: tuple(
    rng.uniform(0.1, 0.9, n).astype(dtype) for _ in range(3)), sizes=SIZES,
    by_hand={"drjit": lambda np_, s, t, p: polynomial(s, t, p, np_.sqrt(s))})  # fmt: skip
def equation_of_state(lib: Any, s: Any, t: Any, p: Any) -> Any:
    """A polynomial of salinity, temperature and pressure with a root, of the kind that oceanography uses."""
    root = lib.np.sqrt(s)
    return polynomial(s, t, p, root)


def polynomial(s: Any, t: Any, p: Any, root: Any) -> Any:
    total = 0 * s
    for n, c in enumerate(COEFFICIENTS):
        total = total + c * (t, root, p)[n % 3] * (s, p, t)[(n // 3) % 3] * (p, t, root)[(n // 9) % 3]
    return total
