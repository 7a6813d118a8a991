"""Checks that come before their loop: what they let be parallel, and that the first one to fail is the loop's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

RNG = np.random.default_rng(2)
LANES, N, M = 12, 130, 7
INDEX, OTHER = RNG.integers(-M, M, (LANES, N)), RNG.integers(0, M, (LANES, N))
X = RNG.normal(size=(LANES, N))


def one(i, j, x):
    z = np.zeros(M)
    for n in range(N):
        z[i[n]] = z[i[n]] * 0.5 + x[n]
    return z


def two(i, j, x):
    """Two arrays, at places of their own, and what depends on the step before."""
    a, b, s = np.zeros(M), np.ones(M, np.float32), 0.0
    for n in range(3, N):
        s = s * 0.5 + x[n]
        a[i[n]] += s
        b[j[n]] = np.maximum(b[j[n]], a[i[n]])
    return a, b, s


def through(i, j, x):
    """A place that is read at a place."""
    z = np.zeros(M)
    for n in range(N):
        z[i[j[n]]] += x[n]
    return z


def both(f: Any, *args: Any, setting: str = "sanitize") -> tuple[Any, str]:
    """What the device gives, which is the CPU's, and the plan."""
    with tj.config.override(cuda=setting):
        there = tj.jit(f, device="cuda")
        got = tj.tree.leaves(tj.device_get(there(*args)))
        plan = there.lower(*args).compile().as_text("plan")
    for g, w in zip(got, tj.tree.leaves(tj.jit(f)(*args)), strict=True):
        np.testing.assert_array_equal(g, w, strict=True)
    return got, plan


@pytest.mark.parametrize("f", [one, two])
def test_a_thread_for_each_lane(f: Any) -> None:
    _, plan = both(tj.vmap(f), INDEX, OTHER, X)
    assert f"a thread for each of {LANES} lanes" in plan


def outcome(f: Any, *args: Any) -> Any:
    """The results of a function, or what the IndexError says."""
    try:
        return [np.asarray(x).tolist() for x in tj.tree.leaves(tj.device_get(f(*args)))]
    except IndexError as e:
        return str(e)


@pytest.mark.sample(4)
@pytest.mark.parametrize("f", [one, two, through])
@pytest.mark.parametrize(
    "wrong",
    [[(5, 9), (2, 70)], [(2, 70), (11, 70)], [(11, 4), (0, 5)], [(0, N - 1)], [(11, N - 1), (3, N - 1)]],
)
def test_the_first_one_to_fail_is_the_cpus(f: Any, wrong: list[tuple[int, int]]) -> None:
    """By steps, and lanes within them; of two in a step all lanes come to the first one first."""
    with tj.config.override(cuda="emulate"):
        there, here = tj.jit(tj.vmap(f), device="cuda"), tj.jit(tj.vmap(f))
        for which in (0, 1, 2):
            i, j = INDEX.copy(), OTHER.copy()
            for n, at in enumerate(wrong):
                if which != 1:
                    i[at] = 90 + n
                if which != 0:
                    j[at[0] - 1, at[1]] = 190 + n
            want = outcome(here, i, j, X)
            assert outcome(there, i, j, X) == want
            assert isinstance(want, str) or f is through or (f is one and which == 1)
        assert outcome(there, INDEX, OTHER, X) == outcome(here, INDEX, OTHER, X)


def test_counts_are_atomic() -> None:
    i, x = np.tile(INDEX, 10).ravel(), np.tile(X, 10).ravel()

    def counted(i, x):
        z = np.zeros(M, int)
        for n in range(len(i)):
            z[i[n]] += 3
        return z

    _, plan = both(counted, i, x, setting="emulate")
    assert "argsort" not in plan and plan.count(f"a thread for each of {i.size} iterations") == 2


def moved(i, j, x):
    """A place that depends on what was written."""
    z = np.zeros(M, int)
    for n in range(N):
        z[(z[i[n]] + j[n]) % M] = n
    return z


def stopped(i, j, x):
    """A step that not all lanes come to."""
    z = np.zeros(M)
    for n in range(N):
        if z[0] > 3:
            break
        z[i[n]] += abs(x[n])
    return z


def chosen(i, j, x):
    z = np.zeros(M)
    for n in range(N):
        if x[n] > 0:
            z[i[n]] += x[n]
    return z


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", [moved, stopped, chosen])
def test_what_depends_on_the_steps_stays(f: Any) -> None:
    both(tj.vmap(f), INDEX, OTHER, X, setting="emulate")
    i = INDEX.copy()
    i[4, N - 1] = 90
    with tj.config.override(cuda="emulate"):
        for x in (X, np.abs(X), -np.abs(X)):
            for g, args in ((tj.vmap(f), (i, OTHER, x)), (f, (i[4], OTHER[4], x[4]))):
                assert outcome(tj.jit(g, device="cuda"), *args) == outcome(tj.jit(g), *args)


def test_what_a_caller_has_is_written_up_to_the_failure() -> None:
    def f(z, w, i, x):
        for n in range(N):
            z[i[n]] += x[n]
            w[i[n - 1]] -= x[n]

    i = INDEX[0].copy()
    i[77] = 90
    for g in (f, lambda z, w, i, x: f(z, z * 1, i, x)):
        ours, numpys = ([np.zeros(M), np.ones(M)] for _ in range(2))
        with tj.config.override(cuda="emulate", fallback=True):
            assert outcome(tj.jit(g, device="cuda"), *ours, i, X[0]) == outcome(g, *numpys, i, X[0])
        np.testing.assert_array_equal(ours, numpys)
        assert ours[0].any()


def test_what_python_does_before_a_failure_is_done() -> None:
    seen: list[float] = []

    def f(i, x):
        z = np.zeros(M)
        for n in range(N):
            tj.debug.callback(lambda v: seen.append(float(v)), x[n], ordered=True)
            z[i[n]] += x[n]
        return z

    i = INDEX[0].copy()
    i[7] = 90
    with tj.config.override(cuda="emulate"), pytest.raises(IndexError, match="index 90"):
        tj.jit(f, device="cuda")(i, X[0])
    assert seen == X[0, :8].tolist()
