"""Arrays whose lengths change in native loops, or are others in two branches: against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0])


def mandelbrot2(c: Any, steps: Any) -> Any:
    """As NPBench has it: points that have escaped leave the arrays."""
    n = np.zeros(len(c), dtype=np.int64)
    z = np.zeros(len(c), dtype=complex)
    where = np.arange(len(c))
    for i in range(steps):
        if not len(z):
            break
        z = z * z + c
        gone = np.abs(z) > 2.0
        n[where[gone]] = i + 1
        where, c, z = where[~gone], c[~gone], z[~gone]
    return n


def halved(x: Any) -> Any:
    rounds = 0
    while len(x) > 1:
        x = np.minimum(x[::2][: len(x) // 2], x[1::2])
        rounds += 1
    return x, rounds


def sieve(n: Any) -> Any:
    left, primes = np.arange(2, 40), 0
    while left.size > 0 and left[0] < n:
        left = left[left % left[0] != 0]
        primes += 1
    return left, primes


def filtered(x: Any, t: Any) -> Any:
    for k in range(len(x)):
        x = x[x > t * k]
    return x.sum(), x


def peeled(x: Any) -> Any:
    total = 0.0
    while x.size:
        total += x[-1] * x.size
        x = x[:-1]
    return total


def chosen(x: Any, t: Any) -> Any:
    y = x[x > t] if x.sum() > 0 else x[:2]
    return y * 2, len(y)


def grown_back(x: Any, t: Any) -> Any:
    kept = x[x > t]
    if kept.size > 2:
        kept = kept[1:]
    return kept, kept.sum()


def two_at_once(x: Any, t: Any) -> Any:
    y = np.arange(len(x))
    while x.size > 0 and x.max() > t:
        keep = x < x.max()
        x, y = x[keep], y[keep]
    return x, y


PROGRAMS = {
    mandelbrot2: [
        (np.linspace(-2, 1, 9) + 0.3j, 12),
        (np.linspace(-2, 1, 9) * 4, np.int64(3)),
        (np.zeros(9) + 0j, 5),
    ],
    halved: [(X,), (-X,)],
    sieve: [(np.int64(4),), (np.int64(0),), (np.int64(30),)],
    filtered: [(X, 0.3), (-X, 1.0), (X * 0, 0.0)],
    peeled: [(X,), (-X,)],
    chosen: [(X, 1.5), (-X, 0.0), (X, 100.0)],
    grown_back: [(X, 0.0), (X, 8.0), (X, 100.0)],
    two_at_once: [(X, 2.5), (X, 100.0), (X, -100.0)],
}


def _same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    if isinstance(theirs, tuple):
        for x, y in zip(ours, theirs, strict=True):
            _same(x, y)
    else:
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_are_native(f):
    jitted = tj.jit(f, fallback=False)
    for args in PROGRAMS[f]:
        given = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
        _same(jitted(*args), f(*given))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: filtered(x, 0.3)[0],
        peeled,
        lambda x: two_at_once(x, 2.5)[0].sum(),
        lambda x: chosen(x, 1.5)[0].sum(),
    ],
)
def test_gradients(f):
    want = np.array([(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(len(X))])
    np.testing.assert_allclose(tj.jit(tj.grad(f), fallback=False)(X), want, atol=1e-8)


def test_an_array_that_gets_much_longer_is_python_s():
    def f(x, n):
        while len(x) < n:
            x = np.append(x, x.sum())
        return x

    _same(tj.jit(f, fallback=True)(X[:2], np.int64(5)), f(X[:2], 5))  # the steps that this call takes
    with pytest.warns(tj.errors.FallbackWarning):
        _same(tj.jit(f, fallback=True)(X[:2], np.int64(30)), f(X[:2], 30))
