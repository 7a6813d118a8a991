"""Scatters sorted by their places: a thread for each place walks its segment, in the CPU's order at each place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.lowering.cuda.lanes import scatter, segments

RNG = np.random.default_rng(1)
N, M = 300, 40
INDEX, X, WORDS = RNG.integers(-M, M, N), RNG.normal(size=N), RNG.integers(0, M, N)
ROWS = RNG.normal(size=(N, 3))


@pytest.fixture(autouse=True)
def of_small_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "LEAST", 200)
    monkeypatch.setattr(scatter, "LEAST", 200)


def added(i, x):
    z = np.full(M, 0.1)
    np.add.at(z, i, x)
    return z


def multiplied(i, x):
    z = np.ones(M, np.float32)
    np.multiply.at(z, i, x.astype(np.float32))
    return z


def chosen(i, x):
    z = np.zeros(M)
    z[i] = x
    return z


def backwards(i, x):
    z = np.zeros(M)
    for n in range(N - 1, 9, -1):
        z[i[n]] = z[i[n]] * 0.5 + x[n]
    return z


def shifted(i, x):
    """Keys that do not begin at 0."""
    return tj.numpy.full(M, 0.1).at[i - 7].add(x, mode="promise_in_bounds")


def dropped(i, x):
    """Iterations outside do nothing."""
    return tj.numpy.full(M, 0.1).at[i].add(x, mode="drop")


def pairs(i, x):
    """Two elements of a row, one of which the other one needs."""
    z = np.zeros((M, 2))
    for n in range(N):
        k = i[n]
        z[k, 0] = z[k, 0] * 0.25 + x[n]
        z[k, 1] += z[k, 0]
    return z


def rows(i, x):
    z = np.zeros((M, 3))
    np.add.at(z, i, ROWS * x[:, None])
    return z


def of_two_axes(i, x):
    """Places that two indices make."""
    z = np.zeros((M, 7))
    np.add.at(z, (i, i % 7), x)
    for n in range(N):
        z[i[n], n % 7] = z[i[n], n % 7] * 0.5 + x[n]
    return z


def rows_of_two_axes(i, x):
    z = np.zeros((M, 5, 3))
    np.add.at(z, (i, i % 5), ROWS * x[:, None])
    return z.transpose(1, 0, 2)


def complexes(i, x):
    z = np.zeros(M, complex)
    np.add.at(z, i, x + 1j * x[::-1])
    return z


def by_hypot(i, x):
    """An operation that is done one by one."""
    z = np.zeros(M)
    np.hypot.at(z, i, x)
    return z


def searched(i, x):
    """A loop in each iteration."""
    z = np.zeros(M)
    for n in range(N):
        s = 0.0
        for k in range(5):
            s = s * 0.5 + x[(n + k) % N]
        z[i[n]] = z[i[n]] * 0.5 + s
    return z


def repeated(i, x):
    """In a loop of the host's."""

    def step(z, t):
        z = z * 0.5
        return lax.fori_loop(0, N, lambda n, z: z.at[i[n]].add(x[n] + t), z), z[0]

    return lax.scan(step, np.zeros(M), np.arange(3.0))


def embedded(i, x):
    return tj.grad(lambda t: np.sum(np.tanh(t[i]) ** 2))(np.ones((M, 3)) + x[0])


def of_two(i, x):
    return added(i, x), chosen(i, x * 2)


CASES = [added, multiplied, chosen, backwards, pairs, rows, complexes, by_hypot, searched, repeated, embedded]
CASES += [of_two, of_two_axes, rows_of_two_axes]


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", CASES)
def test_each_place_has_a_thread_that_walks_its_segment(f: Any) -> None:
    with tj.config.override(cuda="sanitize"):
        there = tj.jit(f, device="cuda")
        got = tj.tree.leaves(tj.device_get(there(INDEX, X)))
        plan = there.lower(INDEX, X).compile().as_text("plan")
    assert f"library: argsort of {N if f is not backwards else N - 10}, int64" in plan
    for g, w in zip(got, tj.tree.leaves(tj.jit(f)(INDEX, X)), strict=True):
        np.testing.assert_array_equal(g, w, strict=True)


def of_several(i, x):
    """Arrays that one loop writes, at rows of one number, of which one depends on the other."""
    sums, most, count, last = np.zeros(M), np.zeros((M, 3)), np.zeros(M, np.int16), np.zeros(M, complex)
    for n in range(N):
        k = i[n]
        sums[k] += x[n]
        most[k, 1] = max(most[k, 0], sums[k])
        most[k, 0] -= x[n]
        count[k] += 1
        if x[n] > 0:
            last[k] = last[k] * 0.5 + sums[k]
    return sums, most, count, last


def of_several_by_two(i, x):
    """The same of places that two indices make, of arrays that are as wide."""
    a, b = np.zeros((M, 7)), np.ones((M, 7), np.float32)
    for n in range(N):
        a[i[n], n % 7] += x[n]
        b[i[n], n % 7] *= x[n]
    return a, b


def of_lanes(i, x):
    """A scatter for each of several lanes, with places of its own, or those of all."""
    xs = np.stack([x, x * 2, x[::-1]])
    mine = tj.vmap(added)(np.stack([i, i[::-1], np.roll(i, 5)]), xs)
    return mine, tj.vmap(chosen, (None, 0))(i, xs)


def of_lanes_of_rows(i, x):
    return tj.vmap(tj.vmap(rows, (0, None)), (None, 0))(np.stack([i, i[::-1]]), np.stack([x, x * 2]))


def of_gradients(i, x):
    return tj.vmap(tj.grad(lambda t: np.sum(np.tanh(t[i]) ** 2)))(np.ones((3, M)) + x[:3, None])


def in_turn(i, x):
    """The same places again and again."""
    z = np.zeros(M)
    for t in range(20):
        for n in range(2, N):
            z[i[n]] = z[i[n]] * 0.5 + x[n] * t
    return z


ALL = [(of_several, N), (of_several_by_two, N), (of_lanes, 3 * N), (of_lanes_of_rows, 4 * N)]
ALL += [(of_gradients, 3 * N), (in_turn, 20 * (N - 2))]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("f", "count"), ALL)
def test_several_arrays_and_lanes_are_sorted_once(f: Any, count: int) -> None:
    with tj.config.override(cuda="sanitize"):
        there = tj.jit(f, device="cuda")
        got = tj.tree.leaves(tj.device_get(there(INDEX, X)))
        plan = there.lower(INDEX, X).compile().as_text("plan")
    assert plan.count(f"library: argsort of {count}, int64") == 1 + (f is of_lanes)
    for g, w in zip(got, tj.tree.leaves(tj.jit(f)(INDEX, X)), strict=True):
        np.testing.assert_array_equal(g, w, strict=True)


def test_what_is_sorted_is_about_as_much_as_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of many more iterations than arrays have elements need no more memory for that."""

    def again(i, x):
        z = np.zeros(M)
        for t in range(50):
            for n in range(N):
                z[i[n]] = z[i[n]] * 0.5 + x[n] * t
        return z

    with tj.config.override(cuda="emulate"):
        there = tj.jit(again, device="cuda")
        assert "argsort" in there.lower(WORDS, X).compile().as_text("plan")
        monkeypatch.setattr(segments, "SMALL", 1000)
        other = tj.jit(lambda i, x: again(i, x), device="cuda")
        assert f"argsort of {50 * N}" not in other.lower(WORDS, X).compile().as_text("plan")
        np.testing.assert_array_equal(tj.device_get(other(WORDS, X)), tj.jit(again)(WORDS, X))


@pytest.mark.parametrize(
    ("f", "places"), [(shifted, WORDS + 7), (dropped, WORDS * 3 - 50), (dropped, WORDS * 0 - 50)]
)
def test_places_from_elsewhere_on_and_outside(f: Any, places: Any) -> None:
    with tj.config.override(cuda="sanitize"):
        there = tj.jit(f, device="cuda")
        got = tj.device_get(there(places, X))
        assert "argsort" in there.lower(places, X).compile().as_text("plan")
    want = np.full(M, 0.1)
    i = places - 7 * (f is shifted)
    i = np.where(i < 0, i + M, i)
    inside = (0 <= i) & (i < M)
    np.add.at(want, i[inside], X[inside])
    np.testing.assert_array_equal(got, want)


def test_the_first_index_outside_is_pythons() -> None:
    """A library that reads what was not written then is no fault of the program's."""

    def by_hand(i, x):
        z = np.zeros(M)
        for n in range(N):
            z[i[n]] = z[i[n]] * 0.5 + x[n]
        return z

    i = INDEX.copy()
    i[[120, 250]] = 99, 77
    with tj.config.override(cuda="sanitize"):
        there = tj.jit(by_hand, device="cuda")
        with pytest.raises(IndexError, match="index 99 is out of bounds"):
            there(i, X)
        np.testing.assert_array_equal(tj.device_get(there(INDEX, X)), tj.jit(by_hand)(INDEX, X))


def test_what_is_sorted_serves_all_loops_over_the_same_places() -> None:
    """Unless the places are others in between."""

    def gradient(i, x):
        return tj.grad(lambda t: np.sum(t[i] * t[i]))(np.ones(M) * x[0])

    def others(i, x):
        z, j = np.zeros(M), i * 1
        np.add.at(z, j, x)
        j[:] = (j + 1) % M
        np.add.at(z, j, x)
        return z, j

    def stepped(i, x):
        def step(c, t):
            z, j = c
            z = z.at[j].add(x * t, mode="promise_in_bounds")
            return (z.at[j].add(x, mode="promise_in_bounds"), (j + 1) % M), None

        return lax.scan(step, (np.zeros(M), i), np.arange(3.0))[0]

    for f, sorts in ((gradient, 1), (others, 2), (stepped, 2)):
        with tj.config.override(cuda="sanitize"):
            there = tj.jit(f, device="cuda")
            got = tj.tree.leaves(tj.device_get(there(WORDS, X)))
            assert there.lower(WORDS, X).compile().as_text("plan").count("argsort") == sorts, f
        for g, w in zip(got, tj.tree.leaves(tj.jit(f)(WORDS, X)), strict=True):
            np.testing.assert_array_equal(g, w)


def test_few_places_and_short_loops_are_not_sorted() -> None:
    def few(i, x):
        z = np.zeros(5)
        np.add.at(z, i % 5, x)
        return z

    def planned(f: Any, *args: Any) -> str:
        return tj.jit(f, device="cuda").lower(*args).compile().as_text("plan")

    with tj.config.override(cuda="emulate"):
        assert "argsort" not in planned(few, INDEX, X)
        assert "argsort" not in planned(added, INDEX[:199], X[:199])
        assert "argsort" in planned(added, INDEX[:200], X[:200])


def test_the_bits_are_the_same_in_each_run() -> None:
    """Whatever the distribution of places is."""
    for i in (WORDS, np.minimum(WORDS, 3), np.zeros(N, int), np.arange(N) % M, np.sort(WORDS)[::-1].copy()):
        with tj.config.override(cuda="emulate"):
            there = tj.jit(added, device="cuda")
            first, again = (tj.device_get(there(i, X)) for _ in range(2))
        want = np.full(M, 0.1)
        np.add.at(want, i, X)
        np.testing.assert_array_equal(first, want)
        np.testing.assert_array_equal(again, want)
