"""Tuples that know which object they are."""

from __future__ import annotations

import numpy as np

import tracejit as tj
from tracejit import tree
from tracejit.frontend.lists.items import items_of
from tracejit.frontend.lists.numbered import Made, Numbered, flatten, leaves, plain

P = Numbered.of((1.5, 2), np.int64(3))


def test_the_number_is_a_leaf_inside_and_nowhere_else() -> None:
    assert leaves([P, 4.0]) == [1.5, 2, 3, 4.0]
    assert tree.leaves([P, 4.0]) == [1.5, 2, 4.0]
    again = tree.unflatten(flatten(P)[1], [2.5, 3, np.int64(4)])
    assert type(again) is Numbered and again == (2.5, 3) and again.tj_number == 4
    assert type(tree.map(lambda x: x, P)) is tuple


def test_it_is_a_tuple_to_python() -> None:
    assert P == (1.5, 2) and hash(P) == hash((1.5, 2)) and P.__class__ is tuple and isinstance(P, tuple)
    assert type(P + (1,)) is type(P[:1]) is type(plain(P)) is tuple and repr(P) == "(1.5, 2)"


def test_its_number_does_not_order_items() -> None:
    items = items_of(P)
    assert items is not None and items.ordered_by == 2 and len(items.kinds) == 3
    nested = items_of(Numbered.of((P, 1.0), np.int64(4)))
    assert nested is not None and nested.ordered_by is None


def test_tuples_of_one_number_are_one() -> None:
    made, constant = Made({-1: (1, 2)}), (1, 2)
    a, b = made.all([P, Numbered.of((1.5, 2), np.int64(3))])
    assert a is b and type(a) is tuple
    assert made.all({1: P})[1] is a and made.all((P, 1))[0] is a
    assert made.one([1, 2], np.int64(-1)) is made[-1] and made[-1] == constant
    assert made.one([1.5, 2], 4) is not a


def _search(x, t):
    path, best = [], (x[0] * 0, 0)
    for i in range(len(x)):
        p = (x[i] * t, i)
        path.append(p)
        if p[0] > best[0]:
            best = p
    return path, best


def test_the_best_of_a_path_is_one_of_its_tuples() -> None:
    f, x = tj.jit(_search), np.sin(np.arange(40.0))
    for t in (1.0, 2.0, -1.0):
        path, best = f(x, t)
        assert (path, best) == _search(x, t)
        assert [n for n, p in enumerate(path) if p is best] == [path.index(best)]
    path, best = f(np.zeros(40), 1.0)
    assert best == (0.0, 0) == path[0] and best is not path[0]
    assert f.trace_count == 1


def test_calls_inside_of_others_say_the_same() -> None:
    f, x = tj.jit(_search), np.sin(np.arange(40.0))
    path, best = tj.jit(lambda x: f(x, 1.0))(x)
    assert best is path[path.index(best)] and (path, best) == _search(x, 1.0)


def test_a_gradient_does_not_see_the_number() -> None:
    def loss(x):
        path, best = _search(x, 2.0)
        return best[0] + sum(p[0] for p in path[:3])

    x = np.sin(np.arange(40.0))
    want = np.zeros(40)
    want[:3] += 2.0
    want[np.argmax(x)] += 2.0
    assert np.allclose(tj.jit(tj.grad(loss))(x), want)
