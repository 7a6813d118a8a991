"""`any` and `all` stop where Python's do."""

from __future__ import annotations

import itertools

import numpy as np

import tracejit as tj

X = np.array([-1.0, 2.0, 3.0])


def same(f, *args):
    with tj.config.override(fallback=True):
        assert tj.jit(f)(*args) == f(*args)


def test_what_computes_nothing_else_is_one_condition():
    f = tj.jit(
        lambda xs: (any(x > 2 for x in xs), all(x * 2 < 8 for x in xs), any(x < 0 for x in xs if x > 2))
    )
    assert f(X) == (True, True, False) and f(-X) == (False, True, False)
    assert f.trace_count == 1
    assert tj.jit(lambda xs: all(x > 0 for x in xs if x != 0))(np.array([0.0, 2.0]))


def test_later_items_are_not_computed_where_that_is_seen():
    def appends(xs):
        seen = []

        def large(x):
            seen.append(float(x) if type(x) is float else 0.0)
            return x > 1

        return any(large(x) for x in xs), len(seen)

    def counts(xs):
        n = 0

        def positive(x):
            nonlocal n
            n += 1
            return x > 0

        return all(positive(x) for x in xs), n

    def writes(xs):
        out = np.zeros(3)

        def put(i):
            out[i] = 1
            return xs[i] > 0

        return any(put(i) for i in range(3)), out.tolist()

    def binds(xs):
        return any((y := x) > 0 for x in xs), y

    for f in (appends, counts, writes, binds):
        for xs in (X, -X, X[::-1].copy()):
            same(f, xs.tolist())


def test_the_rest_of_an_iterator_is_left():
    def f(xs):
        rest = iter(xs)
        found = any(x > 0 for x in rest)
        given = iter([x > 0 for x in xs])
        return found, list(rest), any(given), list(given)

    for xs in ([-1.0, 2.0, 3.0], [1.0, 2.0], [-1.0]):
        same(f, xs)


def test_another_function_of_that_name():
    def f(xs, any):
        return any(x > 0 for x in xs)

    same(f, [1.0, -2.0], list)


def test_every_one_of_several_counts():
    f = tj.jit(
        lambda a, b, c: (any([a > 0, b > 0, c > 0]), all((a > 0, b > 0, c > 0, True)), any([a > 0, False]))
    )
    for bits in itertools.product((-1.0, 1.0), repeat=3):
        assert f(*bits) == (max(bits) > 0, min(bits) > 0, bits[0] > 0)
    assert f.trace_count == 1
