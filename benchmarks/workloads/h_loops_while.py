"""Loops of unknown length, and loops that search and sample; forward and, where there is a way, reverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.registry import workload
from benchmarks.workloads.h_loops import AVOID, native
from benchmarks.workloads.h_loops_arrays import positive_definite

NO_TAPE = AVOID | {"jax": "has no reverse mode of while loops"}


def mandelbrot_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(re, im):
        out = np.empty(re.size, np.int64)
        for n in range(re.size):
            x = y = 0.0
            k = 0
            while k < 100 and x * x + y * y < 4.0:
                x, y = x * x - y * y + re[n], 2 * x * y + im[n]
                k += 1
            out[n] = k
        return out

    return run


@workload(
    "Mandelbrot, vmap of while_loop",
    "loops",
    make=lambda rng, dtype, n: (
        rng.uniform(-2, 0.6, n).astype(dtype),
        rng.uniform(-1.2, 1.2, n).astype(dtype),
    ),
    sizes={"small": {"n": 500}, "middle": {"n": 50_000}, "large": {"n": 500_000}},
    avoid=AVOID,
    by_hand=native(mandelbrot_by_hand),
    dtypes=("f8",),
)
def mandelbrot(lib: Any, re: Any, im: Any) -> Any:
    def lane(a: Any, b: Any) -> Any:
        def more(s: Any) -> Any:
            return (s[2] < 100) & (s[0] * s[0] + s[1] * s[1] < 4.0)

        def step(s: Any) -> Any:
            x, y, k = s
            return x * x - y * y + a, 2 * x * y + b, k + 1

        return lib.lax.while_loop(more, step, (0 * a, 0 * b, 0))[2]

    return lib.vmap(lane)(re, im)


def conjugate_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(a, b):
        x, r, p = 0 * b, b.copy(), b.copy()
        rr = r @ r
        while rr > 1e-20:
            ap = a @ p
            alpha = rr / (p @ ap)
            x += alpha * p
            r -= alpha * ap
            new = r @ r
            p = r + new / rr * p
            rr = new
        return x

    return run


@workload(
    "conjugate gradients",
    "loops",
    make=lambda rng, dtype, n: (*positive_definite(rng, dtype, n), rng.standard_normal(n).astype(dtype)),
    sizes={"small": {"n": 16}, "middle": {"n": 100}, "large": {"n": 500}},
    avoid=AVOID,
    by_hand=native(conjugate_by_hand),
    dtypes=("f8",),
)
def conjugate_gradients(lib: Any, a: Any, b: Any) -> Any:
    def more(s: Any) -> Any:
        return s[3] > 1e-20

    def step(s: Any) -> Any:
        x, r, p, rr = s
        ap = a @ p
        alpha = rr / (p @ ap)
        r = r - alpha * ap
        new = r @ r
        return x + alpha * p, r, r + new / rr * p, new

    return lib.lax.while_loop(more, step, (0 * b, b, b, b @ b))[0]


# ---------------------------------------------------------------- adaptive Runge-Kutta


def oscillator(x: Any, v: Any, mu: Any) -> tuple[Any, Any]:
    """Van der Pol's."""
    return v, mu * (1 - x * x) * v - x


def bogacki_shampine(x: Any, v: Any, h: Any, mu: Any) -> tuple[Any, Any, Any, Any]:
    """A step of order 3 (x, v), and the difference to that of order 2."""
    a1, b1 = oscillator(x, v, mu)
    a2, b2 = oscillator(x + h / 2 * a1, v + h / 2 * b1, mu)
    a3, b3 = oscillator(x + 3 * h / 4 * a2, v + 3 * h / 4 * b2, mu)
    new_x, new_v = x + h / 9 * (2 * a1 + 3 * a2 + 4 * a3), v + h / 9 * (2 * b1 + 3 * b2 + 4 * b3)
    a4, b4 = oscillator(new_x, new_v, mu)
    return (
        new_x,
        new_v,
        h * (-5 / 72 * a1 + a2 / 12 + a3 / 9 - a4 / 8),
        h * (-5 / 72 * b1 + b2 / 12 + b3 / 9 - b4 / 8),
    )


def adaptive_by_hand(numba: Any) -> Callable[..., Any]:
    slope = numba.njit(oscillator)
    namespace = {"oscillator": slope}
    step = numba.njit(_with_globals(bogacki_shampine, namespace))

    @numba.njit
    def run(mu, end):
        t, h, x, v = 0.0, 0.01, 2.0, 0.0
        while t < end:
            h = min(h, end - t)
            new_x, new_v, ex, ev = step(x, v, h, mu)
            error = np.sqrt(ex * ex + ev * ev) / 1e-8
            if error <= 1.0:
                t, x, v = t + h, new_x, new_v
            h = h * min(5.0, max(0.2, 0.9 * max(error, 1e-12) ** (-1 / 3)))
        return x * v

    return run


def _with_globals(f: Any, names: dict[str, Any]) -> Any:
    """`f` with other global names."""
    return type(f)(f.__code__, f.__globals__ | names, f.__name__)


ADAPTIVE: dict[str, Any] = {
    "make": lambda rng, dtype, end: (np.float64(1.0), end),
    "sizes": {"small": {"end": 1.0}, "middle": {"end": 20.0}, "large": {"end": 400.0}},
    "static": (1,),
    "dtypes": ("f8",),
    "rtol": {"f8": 1e-5},
}


def adaptive(lib: Any, mu: Any, end: float) -> Any:
    xp = lib.np

    def step(s: Any) -> Any:
        t, h, x, v = s
        h = xp.minimum(h, end - t)
        new_x, new_v, ex, ev = bogacki_shampine(x, v, h, mu)
        error = xp.sqrt(ex * ex + ev * ev) / 1e-8
        good = error <= 1.0
        t, x, v = (xp.where(good, a, b) for a, b in ((t + h, t), (new_x, x), (new_v, v)))
        return t, h * xp.clip(0.9 * xp.maximum(error, 1e-12) ** (-1 / 3), 0.2, 5.0), x, v

    _, _, x, v = lib.lax.while_loop(
        lambda s: s[0] < end, step, (0.0 * mu, 0.01 + 0.0 * mu, 2.0 + 0.0 * mu, 0.0 * mu)
    )
    return x * v


workload("adaptive Runge-Kutta", "loops", by_hand=native(adaptive_by_hand), avoid=AVOID, **ADAPTIVE)(adaptive)
workload("adaptive Runge-Kutta", "loops", modes=("grad",), avoid=NO_TAPE, **ADAPTIVE)(adaptive)


# ---------------------------------------------------------------- Hamiltonian Monte Carlo


def chain_data(rng: Any, dtype: Any, n: int, d: int) -> tuple[Any, ...]:
    return rng.standard_normal(d), rng.uniform(0.5, 2, d), rng.standard_normal((n, d)), rng.uniform(size=n)


def hmc_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(x, scales, momenta, chances):
        total = 0.0
        for n in range(len(chances)):
            q, p = x.copy(), momenta[n].copy()
            for _ in range(10):
                p -= 0.05 * q / scales**2
                q += 0.1 * p
                p -= 0.05 * q / scales**2
            before = ((x / scales) ** 2).sum() + (momenta[n] ** 2).sum()
            after = ((q / scales) ** 2).sum() + (p * p).sum()
            if np.log(chances[n]) < 0.5 * (before - after):
                x = q
            total += (x * x).sum()
        return total / len(chances)

    return run


@workload(
    "HMC chain",
    "loops",
    make=chain_data,
    sizes={"small": {"n": 20, "d": 4}, "middle": {"n": 500, "d": 10}, "large": {"n": 2000, "d": 100}},
    avoid=AVOID,
    modes=("forward", "grad"),
    argnums=(0, 1),
    by_hand=native(hmc_by_hand),
    dtypes=("f8",),
)
def hmc(lib: Any, x: Any, scales: Any, momenta: Any, chances: Any) -> Any:
    """Ten leapfrog steps a sample, of a normal distribution; the random numbers are given."""
    xp = lib.np

    def leapfrog(_: Any, s: Any) -> Any:
        q, p = s
        p = p - 0.05 * q / scales**2
        q = q + 0.1 * p
        return q, p - 0.05 * q / scales**2

    def energy(q: Any, p: Any) -> Any:
        return 0.5 * (((q / scales) ** 2).sum() + (p * p).sum())

    def sample(x: Any, row: Any) -> Any:
        momentum, chance = row
        q, p = lib.lax.fori_loop(0, 10, leapfrog, (x, momentum))
        accepted = xp.log(chance) < energy(x, momentum) - energy(q, p)
        x = xp.where(accepted, q, x)
        return x, (x * x).sum()

    return lib.lax.scan(sample, x, (momenta, chances))[1].mean()


# ---------------------------------------------------------------- the derivative of a minimum


def regression(rng: Any, dtype: Any, n: int, d: int, steps: int) -> tuple[Any, ...]:
    return rng.standard_normal((n, d)), rng.standard_normal(n), np.float64(0.1), steps


@workload(
    "minimum by gradient descent",
    "loops",
    make=regression,
    static=(3,),
    sizes={
        "small": {"n": 20, "d": 4, "steps": 50},
        "middle": {"n": 100, "d": 20, "steps": 200},
        "large": {"n": 1000, "d": 200, "steps": 200},
    },
    avoid=AVOID,
    modes=("forward", "grad"),
    argnums=(0, 1, 2),
    dtypes=("f8",),
)
def minimum(lib: Any, a: Any, b: Any, weight: Any, steps: int) -> Any:
    """The loss at the coefficients of a robust ridge regression, with respect to data and weight."""
    xp = lib.np
    rate = 0.5 / a.shape[0]

    def descend(_: Any, w: Any) -> Any:
        return w - rate * (xp.tanh(a @ w - b) @ a + weight * w)

    w = lib.lax.fori_loop(0, steps, descend, xp.zeros(a.shape[1]))
    return (xp.log(xp.cosh(a @ w - b))).mean() + (w * w).sum()
