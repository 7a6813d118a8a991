"""Scatters with several writes to one place: many threads, the CPU's order at each place, no race."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

RNG = np.random.default_rng(0)
N, M = 2050, 40
INDEX, X = RNG.integers(-M, M, N), RNG.normal(size=N)
TABLE, WORDS = RNG.normal(size=(M, 5)), RNG.integers(0, M, N)


def added(i, x):
    z = np.full(M, 0.1)
    np.add.at(z, i, x)
    return z


def chosen(i, x):
    z = np.zeros(M)
    z[i] = x
    return z


def largest(i, x):
    z = np.zeros(M)
    np.maximum.at(z, i, x)
    return z


def weighed(i, x):
    return np.bincount(abs(i), x, minlength=M + 1)


def by_hand(i, x):
    z = np.zeros(M)
    for n in range(N):
        z[i[n]] = z[i[n]] * 0.5 + x[n]
    return z


def embedded(i, x):
    return tj.grad(lambda t: np.sum(np.tanh(t[i]) ** 2))(TABLE + x[0])


def counted(i, x):
    """Two arrays."""
    z, c = np.zeros(M), np.zeros(M, int)
    for n in range(N):
        z[i[n]] = z[i[n]] * 0.5 + x[n] * c[i[n]]
        c[i[n]] += 1
    return z, c


CASES = [counted, added, chosen, largest, weighed, by_hand, embedded]


@pytest.mark.sample(6)
@pytest.mark.parametrize("f", CASES)
def test_each_place_has_a_thread_that_does_all_of_it_in_order(f: Any) -> None:
    i = WORDS if f is embedded else INDEX
    with tj.config.override(cuda="sanitize"):
        there = tj.jit(f, device="cuda")
        got = tj.device_get(there(i, X))
        plan = there.lower(i, X).compile().as_text("plan")
    assert f"{64 * 5 if f is embedded else 64} lanes" in plan
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(tj.jit(f)(i, X)), strict=True):
        np.testing.assert_array_equal(g, w)


def chained(i, x):
    """What an iteration reads is written by another one."""
    z = np.zeros(M + 1)
    for n in range(N):
        z[abs(i[n])] = z[abs(i[n]) - 1] + x[n]
    return z


def followed(i, x):
    """Where an iteration writes is read from there."""
    z = np.zeros(M, int)
    for n in range(N):
        z[(z[n % M] + i[n]) % M] = n
    return z


def summed(i, x):
    """What an iteration adds depends on the one before."""
    z, s = np.zeros(M), 0.0
    for n in range(N):
        s = s * 0.5 + x[n]
        z[i[n]] += s
    return z


def scaled(i, x):
    """An iteration writes as many elements as it finds."""
    z = np.ones(M)
    for n in range(N):
        z[: abs(i[n])] *= x[n]
    return z


def started(i, x):
    """What comes before the steps of a turn reads what they write."""
    z = np.zeros(M)
    for t in range(2):
        s = z[t]
        for n in range(N):
            z[t] = z[t] * 0.5 + s + x[n]
    return z


def crossed(i, x):
    """Two arrays, at places of which one thread can't have both."""
    a, b = np.zeros(M), np.zeros(M)
    for n in range(N):
        a[i[n]] += b[i[N - 1 - n]]
        b[i[N - 1 - n]] += x[n]
    return a, b


def unlike(i, x):
    """Two arrays whose places two indices make in other ways."""
    a, b = np.zeros((M, 7)), np.zeros((7, M))
    for n in range(N):
        a[i[n], n % 7] += x[n]
        b[n % 7, i[n]] += a[i[n], n % 7]
    return a, b


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", [chained, followed, summed, scaled, started, crossed, unlike])
def test_other_loops_are_one_threads(f: Any) -> None:
    with tj.config.override(cuda="sanitize"):
        there = tj.jit(f, device="cuda")
        got = tj.device_get(there(INDEX, X))
        plan = there.lower(INDEX, X).compile().as_text("plan")
    assert "lanes" not in plan
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(tj.jit(f)(INDEX, X)), strict=True):
        np.testing.assert_array_equal(g, w)


def test_the_first_index_outside_is_pythons() -> None:
    i = INDEX.copy()
    i[[700, 1500]] = 99, 77
    with tj.config.override(cuda="emulate"), pytest.raises(IndexError, match="index 99 is out of bounds"):
        tj.jit(by_hand, device="cuda")(i, X)
