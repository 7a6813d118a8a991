"""Iterables that are loops in loops, tables of known numbers, and iterators that are used up: against the plain
functions."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.frontend.agreement import agree
from tracejit.errors import TracedIterationError

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 1.0, (12, 9))
ROW = X[0]
EDGES = [(i % 12, (5 * i + 2) % 12) for i in range(60)]
WEIGHTS = [0.05 * i + 0.1 for i in range(40)]
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}


def case(*arguments: Any) -> Callable[[Any], Any]:
    """A function whose loops are native, and its arguments."""

    def enter(f: Any) -> Any:
        CASES[f.__name__] = f, arguments
        return f

    return enter


def decisions(f: Callable[..., Any], *args: Any) -> list[str]:
    return [line for line in str(tj.explain(f)(*args)).splitlines() if "for: " in line]


# ---------------------------------------------------------------- loops in loops


@case(X)
def places(x):
    out = np.zeros_like(x)
    for i, j in np.ndindex(x.shape):
        out[i, j] = x[i, j] * (i - 2 * j)
    return out, i, j


@case(X)
def whole_places(x):
    for place in np.ndindex(*x.shape):
        x[place] **= 2
    return x


@case(X, 7)
def places_of_traced_extents(x, n):
    total = 0.0
    for i, j in np.ndindex(n, n + 1):
        total += x[i, j] * i
    return total


@case(X)
def enumerated_elements(x):
    total = 0.0
    for (i, j), v in np.ndenumerate(x):
        total += (i - j) * v**2
        x[11 - i, j] += 0.1  # the loop sees it
    return total, i, j


@case(X)
def left_early(x):
    total = 0.0
    for i, j in itertools.product(range(12), range(1, 9, 2)):
        if j > i:
            continue
        total += x[i, j]
        if total > 8:
            break
    else:
        total = -1.0
    return total, i, j


@case(X)
def returned_from(x):
    for i, j in np.ndindex(x.shape):
        x[i, j] = -x[i, j]
        if i * j > 20 and x[i, j] < -0.5:
            return i, j
    return -1, -1


@case(ROW)
def elements_of_arrays(x):
    total = 0.0
    for u, v, k in itertools.product(x, x[::-1], range(5)):
        total += np.sin(u * v) * k
    return total


@case(ROW)
def numbers_as_they_were(x):
    total = 0.0
    for u, v in itertools.product(x, x):
        x[0] += 1.0  # product has read them already
        total += u * v
    return total


@case(X)
def pairs(x):
    energy = 0.0
    for i, j in combinations(range(len(x)), 2):
        energy += 1 / np.sqrt(np.sum((x[i] - x[j]) ** 2) + 0.1)
    return energy, i, j


@case(ROW)
def triples(x):
    total = 0.0
    for u, v, w in combinations(x, 3):
        total = 0.9 * total + u * v - w
    return total


@case(ROW)
def pairs_with_themselves(x):
    total = 0.0
    for i, j in itertools.combinations_with_replacement(range(1, 9), 2):
        total = 0.9 * total + x[i] * x[j] * (j - i + 1)
    return total


@case(X)
def neighbours(x):
    total = 0.0
    for a, b in itertools.pairwise(x[:, 0]):
        total = 0.9 * total + a * b
    for a, b in itertools.pairwise(x):
        total += np.sum((a - b) ** 2)
        a[0] += 1.0  # rows are views
    return total


@case(X)
def counted_places(x):
    out = np.zeros(x.size)
    for k, (i, j) in enumerate(np.ndindex(x.shape)):
        out[k] = x[i, j]
    return out


@case(X)
def counted_pairs(x):
    out = np.zeros(66)
    for k, (i, j) in enumerate(combinations(range(12), 2)):
        out[k] = x[i, 0] - x[j, 1]
    return out


@case(X)
def appended(x):
    out = []
    for i, j in itertools.product(range(12), range(9)):
        out.append(x[i, j] * i)
    return np.array(out), np.array([x[i, j] for i, j in np.ndindex(6, 7)])


@case(X)
def flat_elements(x):
    out, total = np.zeros_like(x), 0.0
    for k, v in enumerate(x.flat):
        total = 0.5 * total + v
        out.flat[k] = total
    return out


# ---------------------------------------------------------------- tables


@case(X)
def edges(x):
    total = 0.0
    for i, j in EDGES:
        total += np.cos(x[i, 0] - x[j, 1]) * (i - j)
    return total


@case(0.7)
def weights(x):
    total = 0.0
    for w in WEIGHTS:
        total = 0.5 * total + np.tanh(w * x)
    return total


@case(X)
def edges_and_weights(x):
    total = 0.0
    for (i, j), w in zip(EDGES, WEIGHTS, strict=False):
        total += w * x[i, 2] * x[j, 3]
    return total


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_native_loops(name):
    f, args = CASES[name]
    agree(f, *args)
    found = decisions(f, *copy.deepcopy(args))
    assert found and all("native loop" in line for line in found), found


@pytest.mark.parametrize(
    "f", [places_of_traced_extents, left_early, elements_of_arrays, pairs, triples, edges, weights]
)
def test_gradients(f):
    x, *others = CASES[f.__name__][1]

    def value(x):
        out = f(np.copy(x), *others)
        return out[0] if isinstance(out, tuple) else out

    d = np.ones_like(x)
    slope = np.sum(tj.jit(tj.grad(value))(x) * d)
    assert slope == pytest.approx((value(x + 1e-6 * d) - value(x - 1e-6 * d)) / 2e-6, rel=1e-6)


def test_a_list_that_changes_is_read_at_every_call():
    table = [(i, 0.5 * i + 1) for i in range(40)]

    def f(x):
        total = x
        for i, w in table:
            total = 0.9 * total + w * i
        return total

    g = tj.jit(f)
    assert g(1.0) == pytest.approx(f(1.0))
    table[3] = (100, 2.0)
    assert g(1.0) == pytest.approx(f(1.0))


def test_neighbours_that_the_loop_changes():
    def f(x):
        total = 0.0
        for k, (a, b) in enumerate(itertools.pairwise(x)):
            x[min(k + 2, 8)] += 0.5 * a
            x[k + 1] -= 1.0
            total = 0.5 * total + a * b
        for a, b in itertools.pairwise(x):
            x[4] += a * b
        return total, x

    agree(f, ROW)


def test_lists_that_the_loop_changes():
    def grows(x):
        items, total = [float(i + 1) for i in range(40)], 0.0
        for v in items:
            if len(items) < 45:
                items.append(v + 1)
            total += v * x
        return total

    def writes(x):
        items, total = [float(i + 1) for i in range(40)], 0.0
        for k, v in enumerate(items):
            if k + 1 < 40:
                items[k + 1] = v * 0.5 + 1
            total += v * x
        return total

    for f in (grows, writes):
        agree(f, 2.0)


def test_numbers_that_only_python_has_stay_pythons():
    def large(x):
        total = 0
        for v in [10**17] * 50:
            total += v * v
        return total + x

    def zero(x):
        total = 0.0
        for v in [0.1 * i for i in range(50)]:
            total += 1 / v
        return total * x

    agree(large, 1.0)
    for f in (zero, tj.jit(zero)):
        with pytest.raises(ZeroDivisionError):
            f(1.0)


def test_elements_without_jit():
    def f(x):
        total = 0.0
        for (i, j), v in np.ndenumerate(x):
            total += (i - j) * v**2
        return total

    i, j = np.indices(X.shape)
    np.testing.assert_allclose(tj.grad(f)(X), 2 * (i - j) * X)
    np.testing.assert_allclose(tj.vmap(f)(np.stack([X, 2 * X])), [f(X), f(2 * X)])
    assert list(tj.jit(lambda x: [p for p, _ in np.ndenumerate(x)])(X[0, 0])) == [()]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: [1 for _ in np.ndindex(-1)],
        lambda x: [1 for _ in np.ndindex(2.5)],
        lambda x: [1 for _ in itertools.product(3)],
        lambda x: list(combinations(x, -1)),
        lambda x: list(combinations(x)),
    ],
)
def test_what_python_refuses(f):
    with pytest.raises((TypeError, ValueError)) as wanted:
        f(ROW)
    with pytest.raises(type(wanted.value)):
        tj.jit(f)(ROW)


def test_structures_that_are_not_loops():
    def f(x):
        empty = list(itertools.product(range(5), range(0), range(9)))
        return (
            x,
            empty,
            list(np.ndindex(2, 2)),
            list(combinations(range(3), 2)),
            list(combinations(range(2), 3)),
        )

    agree(f, 1.0)
    assert len(tj.jit(lambda x: (x, [*itertools.product(range(3), repeat=0)]))(1.0)[1]) == 1


# ---------------------------------------------------------------- iterators are used up


def goes_on(x):
    both, total = zip(x, x[::-1], strict=True), 0.0
    next(both)
    for u, v in both:
        total += u * v * v
    return total


def is_used_up(x):
    total = 0.0
    for both in (zip(x, x[2:], strict=False), enumerate(x), itertools.pairwise(x), itertools.product(x, x)):
        for u, v in both:
            total += u * v * v
        for _ in both:
            total += 100
    return total


def backward_once(x):
    places, total = reversed(range(9)), 0.0
    for k in places:
        total = 0.5 * total + x[k]
    for _ in places:
        total += 100
    return total


def two_at_a_time(x):
    both, total = zip(x, x[::-1], strict=True), 0.0
    for u, v in both:
        p, q = next(both, (0.0, 0.0))
        total += u * v * v - p * q
    return total


def a_range_is_not(x):
    places, total = range(9), 0.0
    for k in places:
        total += x[k]
    for k in places:
        total += 2 * x[k]
    return total


@pytest.mark.parametrize("f", [goes_on, is_used_up, backward_once, two_at_a_time, a_range_is_not])
def test_iterators(f):
    agree(f, ROW)


def test_the_rest_of_an_iterator_that_a_native_loop_left_is_refused():
    def f(x):
        both, total = zip(x, x[::-1], strict=True), 0.0
        for u, v in both:
            total += u * v
            if u > 0.5:
                break
        for u, _ in both:
            total += 10 * u
        return total

    with pytest.raises(TracedIterationError, match=r"the rest of zip"):
        tj.jit(f)(ROW)


def test_arrays_backward_are_native_loops() -> None:
    def f(x):
        total = 0.0
        for v in reversed(x):
            total = 0.5 * total + v
        return total

    x = np.arange(100.0)
    jitted = tj.jit(f, fallback=False)
    assert jitted(x) == pytest.approx(f(x), rel=1e-14)
    assert "scan" in jitted.lower(x).as_text()
