"""Objects of classes that Numba compiled are followed as objects of the user's are."""

from __future__ import annotations

import warnings
from typing import Any

import numba
import numpy as np
import pytest
from numba.experimental import jitclass

import tracejit as tj
from tracejit.errors import FallbackWarning, UnfollowedError

X = np.arange(1.0, 6.0)


@jitclass(
    [("rate", numba.float64), ("count", numba.int64), ("weights", numba.float64[:]), ("on", numba.boolean)]
)
class Model:
    def __init__(self, rate: Any, weights: Any) -> None:
        self.rate = rate
        self.weights = weights
        self.count = 0
        self.on = True

    def apply(self, x: Any) -> Any:
        out = np.empty(len(x))
        for n in range(len(x)):
            out[n] = self.rate * x[n] + self.weights[n]
        return out

    def learn(self, x: Any, steps: Any) -> Any:
        for _ in range(steps):
            self.rate = 0.5 * self.rate + x.sum() / self.weights.sum()
            self.count += 1
        return self.rate

    def scale(self, by: Any) -> None:
        for n in range(len(self.weights)):
            self.weights[n] *= by
        self.weights[0] = self.count

    def ratio(self, by: Any) -> Any:
        return self.count / by

    def replace(self, x: Any) -> None:
        self.weights = x
        self.rate = 3

    @property
    def twice(self) -> Any:
        return 2 * self.rate

    @twice.setter
    def twice(self, value: Any) -> None:
        self.rate = value / 2

    @staticmethod
    def square(x: Any) -> Any:
        return x * x

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, n: Any) -> Any:
        return self.weights[n]


@jitclass([("rate", numba.float32)])
class Small:
    def __init__(self, rate: Any) -> None:
        self.rate = rate

    def apply(self, x: Any) -> Any:
        return self.rate * x[0]


@numba.njit
def applied(model: Any, x: Any) -> Any:
    return model.apply(x)[0] + model.twice


def _model() -> Any:
    return Model(2.0, np.ones(5))


def _state(m: Any) -> Any:
    return [m.rate, m.count, *m.weights, m.on]


def learns(x: Any, m: Any) -> Any:
    return m.learn(x, 10), m.count, m.rate


def scales(x: Any, m: Any) -> Any:
    m.count = 7
    m.scale(x[1])
    return m.weights.sum(), len(m), m[1]


def replaces(x: Any, m: Any) -> Any:
    m.replace(x)
    m.weights[1] = -1
    m.on = x[0] > 0
    return m.apply(x), m.rate, m.on


def by_property(x: Any, m: Any) -> Any:
    m.twice = x[0]
    return m.twice, m.rate, m.square(x), Model.square(x[1])


def makes(x: Any, m: Any) -> Any:
    made = Model(x[0], x)
    made.learn(x, 5)
    return made.apply(m.weights), made.count, isinstance(made, Model), isinstance(m, Model), len(made)


def branches(x: Any, m: Any) -> Any:
    if x.sum() > 3:
        m.rate = x[0]
    else:
        m.count += 1
    return m.rate


FUNCTIONS = [learns, scales, replaces, by_property, makes, branches, lambda x, m: applied(m, x)]
_LONG = [pytest.param(f, True, marks=pytest.mark.exhaustive) for f in FUNCTIONS[2:]]


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("f", "captured"),
    [*((f, False) for f in FUNCTIONS), *((f, True) for f in FUNCTIONS[:2]), *_LONG],
    ids=lambda f: getattr(f, "__name__", f),
)
def test_functions(f: Any, captured: bool) -> None:
    ours, theirs = _model(), _model()
    jitted = tj.jit((lambda x: f(x, ours)) if captured else f, fallback=False)
    for x in (X, 2 * X, -X):
        ours.rate += 1  # what has changed in between is seen
        theirs.rate += 1
        got, want = jitted(*([x] if captured else [x, ours])), f(x, theirs)
        for a, b in zip(*map(tj.tree.leaves, (got, want)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-15)
        np.testing.assert_allclose(_state(ours), _state(theirs), rtol=1e-15)


def test_derivatives() -> None:
    m = _model()
    assert tj.grad(lambda x: m.apply(x).sum())(X).tolist() == [2] * 5
    assert tj.jit(tj.grad(lambda x, m: m.apply(x).sum()))(X, m).tolist() == [2] * 5
    assert tj.grad(lambda rate: Model(rate, X).apply(X).sum())(3.0) == X.sum()
    assert tj.vmap(m.ratio)(np.array([1.0, 2.0])).tolist() == [0, 0]


def test_numbers_are_numbas() -> None:
    m = _model()
    m.count = 3
    ratio = tj.jit(lambda by: m.ratio(by), fallback=False)
    assert ratio(2) == 1.5
    with pytest.raises(ZeroDivisionError):
        ratio(0)


def test_one_object_twice() -> None:
    def f(a: Any, b: Any, x: Any) -> Any:
        a.rate = x
        return b.rate

    m, other, jitted = _model(), _model(), tj.jit(f, fallback=False)
    assert (jitted(m, other, 5.0), jitted(m, m, 6.0), jitted(other, m, 7.0)) == (2, 6, 6)


def test_memory_that_an_array_shares() -> None:
    held = np.ones(5)
    m = Model(1.0, held)

    def f(x: Any) -> Any:
        held[0] = x
        return m.weights[0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        assert tj.jit(f)(4.0) == 4.0


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda x: Model(x[0], x), "Model"),
        (lambda x: Small(2.0).apply(x), "need its values"),
        (lambda x: setattr(_m, "count", x[0]), "given another type"),
        (lambda x: setattr(_m, "weights", x[0]), "given another type"),
        (lambda x: setattr(_m, "weights", x[:, None]), "given another type"),
    ],
)
def test_what_is_refused(f: Any, why: str) -> None:
    with pytest.raises(UnfollowedError, match=why):
        tj.jit(f, fallback=False)(X)


_m = _model()


def test_without_jit_none_leaves() -> None:
    with pytest.raises(UnfollowedError, match="Model"):
        tj.vmap(lambda x: Model(x, X))(X)
