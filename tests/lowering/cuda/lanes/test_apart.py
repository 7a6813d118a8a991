"""Loops that write several arrays, as a loop for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.lowering.cuda.lanes import scatter, segments

RNG = np.random.default_rng(3)
N, M = 300, 40
INDEX, OTHER, X = RNG.integers(-M, M, N), RNG.integers(0, M, N), RNG.normal(size=N)


@pytest.fixture(autouse=True)
def of_small_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "LEAST", 200)
    monkeypatch.setattr(scatter, "LEAST", 200)


def two(i, j, x):
    a, b = np.zeros(M), np.zeros((M, 3))
    for n in range(N):
        a[i[n]] = a[i[n]] * 0.5 + x[n]
        b[j[n], 1] += x[N - 1 - n]
        b[j[n], 2] *= b[j[n], 1]
    return a, b


def three(i, j, x):
    """One that is counted, and two that depend on each other."""
    c, a, b = np.zeros(M, int), np.zeros(M), np.zeros(M)
    for n in range(N - 1, 3, -1):
        c[j[n]] += 1
        a[i[n]] += x[n]
        b[i[n]] -= a[i[n]] * x[n]
    return a, b, c


def chosen(i, j, x):
    a, b = np.zeros(M), np.zeros(M)
    for n in range(N):
        if x[n] > 0:
            a[i[n] % M] += x[n]
        else:
            b[j[n] % M] -= x[n]
    return a, b


def planned(f: Any) -> str:
    with tj.config.override(cuda="sanitize"):
        there = tj.jit(f, device="cuda")
        got = tj.tree.leaves(tj.device_get(there(INDEX, OTHER, X)))
        plan = there.lower(INDEX, OTHER, X).compile().as_text("plan")
    for g, w in zip(got, tj.tree.leaves(tj.jit(f)(INDEX, OTHER, X)), strict=True):
        np.testing.assert_array_equal(g, w, strict=True)
    return plan


@pytest.mark.parametrize(("f", "sorts"), [(two, 2), (three, 1)])
def test_each_array_has_threads_of_its_own(f: Any, sorts: int) -> None:
    assert planned(f).count("argsort") == sorts


def test_branches_that_write_one_array_each() -> None:
    planned(chosen)


def crossed(i, j, x):
    """What one writes the other reads, at another place."""
    a, b = np.zeros(M), np.zeros(M)
    for n in range(N):
        a[i[n]] += b[j[n]]
        b[j[n]] += x[n]
    return a, b


def carried(i, j, x):
    a, b, s = np.zeros(M), np.zeros(M), 0.0
    for n in range(N):
        s = s * 0.5 + x[n]
        a[i[n]] += s
        b[j[n]] += x[n]
    return a, b


def half(i, j, x):
    """One could be shared, the other one can't; another loop has the same places then."""
    a, b, c = np.zeros(M), np.zeros(M), np.zeros(M)
    for n in range(N):
        a[i[n]] += x[n]
        b[j[n]] = b[j[n] - 1] + x[n]
    for n in range(N):
        c[i[n]] = c[i[n]] * 0.5 - x[n]
    return a, b, c


@pytest.mark.sample(2)
@pytest.mark.parametrize(("f", "sorts"), [(crossed, 0), (carried, 0), (half, 1)])
def test_other_loops_stay_whole(f: Any, sorts: int) -> None:
    assert planned(f).count("argsort") == sorts


def test_the_first_check_to_fail_is_pythons() -> None:
    for ours, theirs in (((100,), (50,)), ((50,), (50,)), ((50, 20), (30,)), ((299,), ())):
        i, j = INDEX.copy(), OTHER.copy()
        i[list(ours)], j[list(theirs)] = 77, 99
        with tj.config.override(cuda="emulate"), pytest.raises(IndexError) as e:
            tj.jit(two, device="cuda")(i, j, X)
        with pytest.raises(IndexError) as plain:
            tj.jit(two)(i, j, X)
        assert str(e.value) == str(plain.value)
