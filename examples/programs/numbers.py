"""Loops over numbers: roots, series, checksums, searches."""

import math

import numpy as np

from examples.programs import program


@program(lambda rng, n: (2.0 + rng.uniform(),))
def bisection(target):
    lo, hi = 0.0, 10.0
    while hi - lo > 1e-12:
        mid = (lo + hi) / 2
        if mid * mid * mid < target:
            lo = mid
        else:
            hi = mid
    return (lo + hi) / 2


@program(lambda rng, n: (2.0 + rng.uniform(),), wrt=(0,))
def newton(a):
    x = a
    for k in range(100):
        step = (x**3 - a) / (3 * x**2)
        x = x - step
        if abs(step) < 1e-13:
            break
    return x


@program(lambda rng, n: (rng.integers(0, 256, size=3 * n).astype(np.uint8),))
def crc16(data):
    crc = 0xFFFF
    poly = 0x8408
    for b in data:
        cur = 0xFF & b
        for _ in range(8):
            if (crc & 0x0001) ^ (cur & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            cur >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


@program(lambda rng, n: (-2.0, 0.6, -1.2, 1.2, n, 20), static=(4, 5))
def mandelbrot(x0, x1, y0, y1, n, maxiter):
    """With masks."""
    X = x0 + (x1 - x0) * np.arange(n) / (n - 1)
    Y = y0 + (y1 - y0) * np.arange(n) / (n - 1)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for k in range(maxiter):
        I = abs(Z) < 2.0
        N[I] = k
        Z[I] = Z[I] ** 2 + C[I]
    N[maxiter - 1 == N] = 0
    return N


@program(lambda rng, n: (rng.uniform(-2, 1, size=n) + 1j * rng.uniform(-1, 1, size=n), 30))
def escape_times(c, limit):
    """Pixel by pixel, with a while loop in a for loop."""
    out = np.zeros(len(c), dtype=np.int64)
    for p in range(len(c)):
        z = 0j
        k = 0
        while k < limit and abs(z) < 2:
            z = z * z + c[p]
            k += 1
        out[p] = k
    return out


@program(lambda rng, n: (rng.normal(size=5 * n), 5))
def histogram(x, bins):
    counts = np.zeros(5, dtype=np.int64)
    lo, hi = x.min(), x.max()
    for v in x:
        k = int((v - lo) / (hi - lo) * bins)
        if k == bins:
            k = bins - 1
        counts[k] += 1
    return counts


@program(lambda rng, n: (rng.normal(size=n), 0.3), wrt=(0,))
def exponential_filter(x, alpha):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = alpha * x[i] + (1 - alpha) * y[i - 1]
    return np.sum(y * y)


@program(lambda rng, n: (rng.normal(size=(n, 3)), rng.uniform(1, 2, size=n)), wrt=(0,))
def pair_energy(pos, mass):
    n = len(pos)
    energy = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            d = pos[i] - pos[j]
            energy -= mass[i] * mass[j] / np.sqrt(d @ d + 0.01)
    return energy


@program(lambda rng, n: (rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), 12), wrt=(0, 1))
def leapfrog(pos, vel, steps):
    dt = 0.01
    pos, vel = pos.copy(), vel.copy()
    for _ in range(steps):
        acc = np.zeros_like(pos)
        for i in range(len(pos)):
            r = pos - pos[i]
            d3 = ((r**2).sum(axis=1) + 0.1) ** 1.5
            acc[i] = (r / d3[:, None]).sum(axis=0)
        vel += dt * acc
        pos += dt * vel
    return 0.5 * (vel**2).sum()


@program(lambda rng, n: (rng.integers(1, 1000),))
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@program(lambda rng, n: (np.sort(rng.normal(size=4 * n)), rng.normal()))
def binary_search(x, v):
    lo, hi = 0, len(x)
    while lo < hi:
        mid = (lo + hi) // 2
        if x[mid] < v:
            lo = mid + 1
        else:
            hi = mid
    return lo


@program(lambda rng, n: (rng.uniform(0.5, 1.5),), wrt=(0,))
def sine_series(x):
    term = x
    total = x
    k = 1
    while abs(term) > 1e-16:
        term = -term * x * x / ((2 * k) * (2 * k + 1))
        total += term
        k += 1
    return total


@program(lambda rng, n: (25 * n,), static=(0,))
def sieve(n):
    prime = np.ones(n, dtype=bool)
    prime[:2] = False
    for i in range(2, n):
        if prime[i]:
            for j in range(i * i, n, i):
                prime[j] = False
    return prime


@program(lambda rng, n: (rng.uniform(size=n), 0.8), wrt=(0,))
def arc_lengths(x, scale):
    """`math` on traced numbers."""
    total = 0.0
    for i in range(len(x) - 1):
        total += math.sqrt((x[i + 1] - x[i]) ** 2 + scale**2) * math.exp(-x[i])
    return total


@program(lambda rng, n: (12345, 5 * n), static=(1,))
def linear_congruence(seed, n):
    out = np.empty(n)
    for i in range(n):
        seed = (seed * 1103515245 + 12345) % 2147483648
        out[i] = seed / 2147483648
    return out
