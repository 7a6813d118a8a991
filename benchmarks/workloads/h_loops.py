"""Loops: time stepping, recurrences, filters, factorisations; forward and reverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import NotHere
from benchmarks.registry import workload

AVOID = {"torch": "unrolls loops", "autograd": "has no loops", "numpy": "one Python step at a time"}


def native(make: Callable[[Any], Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """A hand-written Numba kernel for the forward direction: `make(numba)` gives it."""

    def build(mode: str, *args: Any) -> Callable[..., Any]:
        import numba

        if mode != "forward":
            raise NotHere("no derivatives")
        return make(numba)

    return {"numba": build}


# ---------------------------------------------------------------- Lorenz, RK4

#: Chaos multiplies errors by e every 1.1 units of time: short steps keep all sizes comparable.
DT = 1e-5

STEPS = {"small": {"n": 1000}, "middle": {"n": 10_000}, "large": {"n": 1_000_000}}


def lorenz_slope(x: Any, y: Any, z: Any) -> tuple[Any, Any, Any]:
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z


def rk4(slope: Callable[..., Any], s: tuple[Any, ...], dt: float) -> tuple[Any, ...]:
    def moved(k: Any, h: float) -> tuple[Any, ...]:
        return tuple(a + h * b for a, b in zip(s, k, strict=True))

    k1 = slope(*s)
    k2 = slope(*moved(k1, dt / 2))
    k3 = slope(*moved(k2, dt / 2))
    k4 = slope(*moved(k3, dt))
    return tuple(
        a + dt / 6 * (p + 2 * q + 2 * r + u) for a, p, q, r, u in zip(s, k1, k2, k3, k4, strict=True)
    )


def lorenz_by_hand(numba: Any) -> Callable[..., Any]:
    slope = numba.njit(lorenz_slope)

    @numba.njit
    def run(start, n):
        x, y, z = start[0], start[1], start[2]
        dt = DT
        for _ in range(n):
            a1, b1, c1 = slope(x, y, z)
            a2, b2, c2 = slope(x + dt / 2 * a1, y + dt / 2 * b1, z + dt / 2 * c1)
            a3, b3, c3 = slope(x + dt / 2 * a2, y + dt / 2 * b2, z + dt / 2 * c2)
            a4, b4, c4 = slope(x + dt * a3, y + dt * b3, z + dt * c3)
            x += dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            y += dt / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
            z += dt / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
        return x + y + z

    return run


def lorenz_data(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    return np.array([1.0, 2.0, 20.0], dtype), n


LORENZ = {
    "make": lorenz_data,
    "static": (1,),
    "dtypes": ("f8",),
    "sizes": STEPS,
    "avoid": AVOID,
    "modes": ("forward", "grad"),
}


@workload("Lorenz RK4, vector state", "loops", by_hand=native(lorenz_by_hand), **LORENZ)
def lorenz_vector(lib: Any, start: Any, n: int) -> Any:
    xp = lib.np

    def slope(s: Any) -> Any:
        return xp.stack(lorenz_slope(s[0], s[1], s[2]))

    def step(s: Any, _: Any) -> Any:
        dt = DT
        k1 = slope(s)
        k2 = slope(s + dt / 2 * k1)
        k3 = slope(s + dt / 2 * k2)
        k4 = slope(s + dt * k3)
        return s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return lib.lax.scan(step, start, None, length=n)[0].sum()


@workload("Lorenz RK4, 3 scalars", "loops", by_hand=native(lorenz_by_hand), **LORENZ)
def lorenz_scalars(lib: Any, start: Any, n: int) -> Any:
    def step(s: Any, _: Any) -> Any:
        return rk4(lorenz_slope, s, DT), None

    x, y, z = lib.lax.scan(step, (start[0], start[1], start[2]), None, length=n)[0]
    return x + y + z


def chain(count: int) -> Callable[..., Any]:
    """`count` coupled oscillators' states as scalar leaves."""

    def run(lib: Any, start: Any, n: int) -> Any:
        def step(s: Any, _: Any) -> Any:
            new = tuple(a + 0.01 * (lib.np.sin(s[k - 1]) - a * s[(k + 1) % count]) for k, a in enumerate(s))
            return new, None

        out = lib.lax.scan(step, tuple(start[k] for k in range(count)), None, length=n)[0]
        return sum(out)

    return run


def chain_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(start, n):
        count = start.size
        old, new = start.copy(), np.empty_like(start)
        for _ in range(n):
            for k in range(count):
                after = old[k + 1] if k + 1 < count else old[0]
                new[k] = old[k] + 0.01 * (np.sin(old[k - 1]) - old[k] * after)
            old, new = new, old
        return old.sum()

    return run


for _count in (12, 60):
    workload(
        f"{_count} scalar leaves",
        "loops",
        make=lambda rng, dtype, n, count=_count: (rng.uniform(0, 1, count).astype(dtype), n),
        static=(1,),
        dtypes=("f8",),
        sizes={"small": {"n": 100}, "middle": {"n": 1000}, "large": {"n": 10_000}},
        avoid=AVOID,
        modes=("forward", "grad"),
        by_hand=native(chain_by_hand),
    )(chain(_count))


# ---------------------------------------------------------------- small matrices


@workload(
    "3x3 matrix carry",
    "loops",
    make=lambda rng, dtype, n: (rng.standard_normal((3, 3)).astype(dtype) / 3, n),
    static=(1,),
    sizes=STEPS | {"large": {"n": 100_000}},
    avoid=AVOID,
    modes=("forward", "grad"),
)
def matrix_carry(lib: Any, a: Any, n: int) -> Any:
    xp = lib.np

    def step(m: Any, _: Any) -> Any:
        m = xp.tanh(m @ a + 0.1)
        return m, None

    return lib.lax.scan(step, xp.eye(3, dtype=a.dtype), None, length=n)[0].sum()


def kalman_data(rng: Any, dtype: Any, n: int, d: int) -> tuple[Any, ...]:
    f = np.eye(d) + 0.01 * rng.standard_normal((d, d))
    return f.astype(dtype), rng.standard_normal((n, 2)).astype(dtype)


@workload(
    "Kalman filter",
    "loops",
    make=kalman_data,
    sizes={"small": {"n": 100, "d": 4}, "middle": {"n": 1000, "d": 4}, "large": {"n": 10_000, "d": 4}},
    avoid=AVOID,
    modes=("forward", "grad"),
    dtypes=("f8",),
)
def kalman(lib: Any, f: Any, ys: Any) -> Any:
    """The innovations' squared length, a 2-vector observed; the 2x2 inverse is written out."""
    xp = lib.np
    d = f.shape[0]
    h = np.eye(2, d)
    q, r = 0.01 * np.eye(d), 0.1 * np.eye(2)

    def step(carry: Any, y: Any) -> Any:
        x, p, total = carry
        x, p = f @ x, f @ p @ f.T + q
        s = h @ p @ h.T + r
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = xp.stack([xp.stack([s[1, 1], -s[0, 1]]), xp.stack([-s[1, 0], s[0, 0]])]) / det
        gain = p @ h.T @ inverse
        e = y - h @ x
        return (x + gain @ e, p - gain @ h @ p, total + e @ inverse @ e + xp.log(det)), None

    return lib.lax.scan(step, (xp.zeros(d), xp.eye(d), 0.0), ys)[0][2]


# ---------------------------------------------------------------- recurrent networks


def recurrent_data(gates: int) -> Callable[..., tuple[Any, ...]]:
    def make(rng: Any, dtype: Any, n: int, h: int) -> tuple[Any, ...]:
        w = rng.standard_normal((gates * h, h)) / np.sqrt(h)
        u = rng.standard_normal((gates * h, h)) / np.sqrt(h)
        return (w.astype(dtype), u.astype(dtype)), rng.standard_normal((n, h)).astype(dtype)

    return make


RECURRENT = {
    "sizes": {"small": {"n": 100, "h": 32}, "middle": {"n": 500, "h": 32}, "large": {"n": 200, "h": 256}},
    "avoid": AVOID,
    "modes": ("forward", "grad"),
    "rtol": {"f8": 1e-8, "f4": 1e-2},
}


def sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


@workload("LSTM", "loops", make=recurrent_data(4), **RECURRENT)
def lstm(lib: Any, params: Any, xs: Any) -> Any:
    xp, (w, u) = lib.np, params
    n = w.shape[1]

    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        g = w @ h + u @ x
        i, f, o, z = g[:n], g[n : 2 * n], g[2 * n : 3 * n], g[3 * n :]
        c = sigmoid(xp, f) * c + sigmoid(xp, i) * xp.tanh(z)
        h = sigmoid(xp, o) * xp.tanh(c)
        return (h, c), h

    zero = xp.zeros(n, xs.dtype)
    return (lib.lax.scan(step, (zero, zero), xs)[1] ** 2).sum()


@workload("GRU", "loops", make=recurrent_data(3), **RECURRENT)
def gru(lib: Any, params: Any, xs: Any) -> Any:
    xp, (w, u) = lib.np, params
    n = w.shape[1]

    def step(h: Any, x: Any) -> Any:
        a, b = w @ h, u @ x
        z = sigmoid(xp, a[:n] + b[:n])
        r = sigmoid(xp, a[n : 2 * n] + b[n : 2 * n])
        h = (1 - z) * h + z * xp.tanh(r * a[2 * n :] + b[2 * n :])
        return h, h

    return (lib.lax.scan(step, xp.zeros(n, xs.dtype), xs)[1] ** 2).sum()


# ---------------------------------------------------------------- recurrences


def tridiagonal(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    a, c = rng.uniform(-1, 1, (2, n))
    return tuple(v.astype(dtype) for v in (a, 4 + rng.uniform(0, 1, n), c, rng.standard_normal(n)))


def thomas_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(a, b, c, d):
        n = a.size
        cp, dp, x = np.empty_like(a), np.empty_like(a), np.empty_like(a)
        pc = pd = 0.0
        for i in range(n):
            m = b[i] - a[i] * pc
            pc, pd = c[i] / m, (d[i] - a[i] * pd) / m
            cp[i], dp[i] = pc, pd
        last, total = 0.0, 0.0
        for i in range(n - 1, -1, -1):
            last = dp[i] - cp[i] * last
            x[i] = last
            total += last * last
        return total

    return run


@workload(
    "Thomas solve",
    "loops",
    make=tridiagonal,
    sizes={"small": {"n": 200}, "middle": {"n": 20_000}, "large": {"n": 500_000}},
    avoid=AVOID,
    modes=("forward", "grad"),
    argnums=(0, 1, 2, 3),
    by_hand=native(thomas_by_hand),
    dtypes=("f8",),
)
def thomas(lib: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    def forward(carry: Any, row: Any) -> Any:
        pc, pd = carry
        ai, bi, ci, di = row
        m = bi - ai * pc
        new = ci / m, (di - ai * pd) / m
        return new, new

    def backward(x: Any, row: Any) -> Any:
        x = row[1] - row[0] * x
        return x, x

    rows = lib.lax.scan(forward, (0.0, 0.0), (a, b, c, d))[1]
    x = lib.lax.scan(backward, 0.0, rows, reverse=True)[1]
    return (x * x).sum()


def iir_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(coefficients, x):
        b0, b1, b2, a1, a2 = coefficients
        z1 = z2 = 0.0
        total = 0.0
        for v in x:
            y = b0 * v + z1
            z1 = b1 * v - a1 * y + z2
            z2 = b2 * v - a2 * y
            total += y * y
        return total

    return run


@workload(
    "IIR filter",
    "loops",
    make=lambda rng, dtype, n: (
        np.array([0.2, 0.3, 0.2, -0.5, 0.2], dtype),
        rng.standard_normal(n).astype(dtype),
    ),
    sizes={"small": {"n": 1000}, "middle": {"n": 50_000}, "large": {"n": 1_000_000}},
    avoid=AVOID,
    modes=("forward", "grad"),
    argnums=(0, 1),
    by_hand=native(iir_by_hand),
    dtypes=("f8",),
)
def iir(lib: Any, coefficients: Any, x: Any) -> Any:
    """A biquad in the transposed direct form II."""
    b0, b1, b2, a1, a2 = (coefficients[k] for k in range(5))

    def step(z: Any, v: Any) -> Any:
        y = b0 * v + z[0]
        return (b1 * v - a1 * y + z[1], b2 * v - a2 * y), y

    y = lib.lax.scan(step, (0.0, 0.0), x)[1]
    return (y * y).sum()


# ---------------------------------------------------------------- particles


def bodies(rng: Any, dtype: Any, n: int, steps: int) -> tuple[Any, ...]:
    return rng.standard_normal((n, 3)).astype(dtype), rng.standard_normal((n, 3)).astype(dtype) / 10, steps


def bodies_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(x, v, steps):
        x, v = x.copy(), v.copy()
        n = len(x)
        for _ in range(steps):
            for i in range(n):
                ax = ay = az = 0.0
                for j in range(n):
                    dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                    r2 = dx * dx + dy * dy + dz * dz + 0.1
                    r3 = r2 * np.sqrt(r2)
                    ax += dx / r3
                    ay += dy / r3
                    az += dz / r3
                v[i, 0] += 0.001 * ax
                v[i, 1] += 0.001 * ay
                v[i, 2] += 0.001 * az
            x += 0.001 * v
        return (x * x).sum() + (v * v).sum()

    return run


@workload(
    "n-body",
    "loops",
    make=bodies,
    static=(2,),
    sizes={
        "small": {"n": 5, "steps": 100},
        "middle": {"n": 20, "steps": 100},
        "large": {"n": 200, "steps": 20},
    },
    avoid=AVOID,
    modes=("forward", "grad"),
    argnums=(0, 1),
    by_hand=native(bodies_by_hand),
    dtypes=("f8",),
)
def nbody(lib: Any, x: Any, v: Any, steps: int) -> Any:
    xp = lib.np

    def acceleration(x: Any) -> Any:
        d = x[None] - x[:, None]
        r2 = (d * d).sum(axis=-1) + 0.1
        return (d / (r2 * xp.sqrt(r2))[..., None]).sum(axis=1)

    def step(carry: Any, _: Any) -> Any:
        x, v = carry
        v = v + 0.001 * acceleration(x)
        return (x + 0.001 * v, v), None

    x, v = lib.lax.scan(step, (x, v), None, length=steps)[0]
    return (x * x).sum() + (v * v).sum()
