"""Programs of examples/programs in Numba: their own source where it takes it, loops written by hand for some others."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import NotHere

#: Names that Numba spells otherwise.
_SPELLED = {"bool": np.bool_, "abs": np.abs}


def prepared(f: Callable[..., Any]) -> Callable[..., Any]:
    """What `by_hand` takes: `f`, or its form in loops, compiled by Numba, on copies of the arguments."""

    def prepare(mode: str, *args: Any) -> Callable[..., Any]:
        numba = importlib.import_module("numba")
        if mode != "forward":
            raise NotHere("no derivatives")
        try:
            g = compiled(numba, IN_LOOPS.get(f.__name__, f), {})
            g(*copies(args))
        except numba.core.errors.NumbaError as e:
            raise NotHere("does not take the source") from e
        return lambda *xs: g(*copies(xs))

    return prepare


def copies(args: Any) -> list[Any]:
    """The arguments anew, since programs write into them."""
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def compiled(numba: Any, f: Any, known: dict[Any, Any]) -> Any:
    """`f` and the functions that it calls, as Numba's."""
    if f not in known:
        names = {**f.__globals__, **_SPELLED}
        for name in f.__code__.co_names:
            x = names.get(name)
            if isinstance(x, types.FunctionType) and x.__module__.startswith("examples."):
                names[name] = compiled(numba, x, known)
        known[f] = numba.njit(
            types.FunctionType(f.__code__, names, f.__name__, f.__defaults__, f.__closure__)
        )
    return known[f]


# ---------------------------------------------------------------- what Numba does not take, in loops


def american_put(spot, strike, rate, volatility, steps):
    dt = 1.0 / steps
    up = np.exp(volatility * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    discount = np.exp(-rate * dt)
    prices = spot * up ** np.arange(-steps, steps + 1, 2.0)
    values = np.maximum(strike - prices, 0.0)
    for k in range(steps, 0, -1):
        for j in range(k):
            prices[j] *= up
            held = discount * (p * values[j + 1] + (1 - p) * values[j])
            values[j] = max(held, strike - prices[j])
    return values[0]


def floyd_warshall_rows(path):
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])
    return path.sum()


def game_of_life(alive, steps):
    grid = alive.astype(np.int64)
    rows, columns = grid.shape
    for _ in range(steps):
        new = np.zeros_like(grid)
        for i in range(rows):
            for j in range(columns):
                count = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            count += grid[(i + di) % rows, (j + dj) % columns]
                new[i, j] = 1 if count == 3 or (grid[i, j] == 1 and count == 2) else 0
        grid = new
    return grid


def crank_nicolson(u, steps, r):
    n = len(u)
    lower, diag, upper = np.full(n, -r / 2), np.full(n, 1 + r), np.full(n, -r / 2)
    diag[0] = diag[-1] = 1.0
    upper[0] = lower[-1] = 0.0
    right, scaled = np.empty(n), np.empty(n)
    for _ in range(steps):
        right[0], right[-1] = u[0], u[-1]
        for i in range(1, n - 1):
            right[i] = u[i] + r / 2 * (u[i + 1] - 2 * u[i] + u[i - 1])
        scaled[0] = upper[0] / diag[0]
        u[0] = right[0] / diag[0]
        for i in range(1, n):
            pivot = diag[i] - lower[i] * scaled[i - 1]
            scaled[i] = upper[i] / pivot
            u[i] = (right[i] - lower[i] * u[i - 1]) / pivot
        for i in range(n - 2, -1, -1):
            u[i] -= scaled[i] * u[i + 1]
    return 0.5 * np.sum(u**2)


def biquad_cascade(x):
    b = np.array([[0.2, 0.4, 0.2], [0.3, 0.0, -0.3]])
    a = np.array([[-0.5, 0.2], [-0.9, 0.4]])
    z = np.zeros((2, 2))
    y = np.empty_like(x)
    for n in range(len(x)):
        sample = x[n]
        for s in range(2):
            new = b[s, 0] * sample + z[s, 0]
            z[s, 0] = b[s, 1] * sample - a[s, 0] * new + z[s, 1]
            z[s, 1] = b[s, 2] * sample - a[s, 1] * new
            sample = new
        y[n] = sample
    return np.sqrt(np.mean(y**2))


def otsu_threshold(image):
    counts = np.zeros(256, dtype=np.int64)
    for v in image.flat:
        counts[v] += 1
    total = 0
    for t in range(256):
        total += t * counts[t]
    below = weight = 0
    best, level = -1.0, 0
    for t in range(256):
        weight += counts[t]
        if weight == 0:
            continue
        rest = image.size - weight
        if rest == 0:
            break
        below += t * counts[t]
        between = weight * rest * (below / weight - (total - below) / rest) ** 2
        if between > best:
            best, level = between, t
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            image[i, j] = 255 if image[i, j] > level else 0
    return level


def kmeans(points, centres, limit):
    label = np.full(len(points), -1)
    iteration = 0
    for iteration in range(limit):
        changed = 0
        for n in range(len(points)):
            nearest, least = 0, np.inf
            for k in range(len(centres)):
                d = (centres[k, 0] - points[n, 0]) ** 2 + (centres[k, 1] - points[n, 1]) ** 2
                if d < least:
                    nearest, least = k, d
            if nearest != label[n]:
                label[n] = nearest
                changed += 1
        if changed == 0:
            break
        sums, counts = np.zeros_like(centres), np.zeros(len(centres))
        for n in range(len(points)):
            sums[label[n]] += points[n]
            counts[label[n]] += 1
        for k in range(len(centres)):
            if counts[k] > 0:
                centres[k] = sums[k] / counts[k]
    return label, iteration


IN_LOOPS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        american_put,
        floyd_warshall_rows,
        game_of_life,
        crank_nicolson,
        biquad_cascade,
        otsu_threshold,
        kmeans,
    )
}
