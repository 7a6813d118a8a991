"""tj.progress in Python and in native loops."""

import numpy as np
import pytest

import tracejit as tj
from tracejit.bars.bar import END, Bar


@pytest.fixture
def told(monkeypatch):
    found = []
    monkeypatch.setattr(Bar, "tell", lambda self, k, n: found.append((self.title, k, n)))
    return found


def known(x, n):
    for i in tj.progress(range(500), "known"):
        x = 0.5 * x + i
    return x


def traced(x, n):
    for i in tj.progress(range(n), "traced", show=False):
        x = 0.5 * x + i
    return x


def rows(x, n):
    total = 0.0
    for k, v in enumerate(tj.progress(np.arange(300.0) * x, "rows")):
        total += k * v
    return total


def left(x, n):
    for i in tj.progress(range(500), "left"):
        x = x + i
        if x > 200:
            break
    return x


def short(x, n):
    for i in tj.progress([1, 2, 3], "short"):
        x = x + i
    return x


def nested(x, n):
    for i in tj.progress(range(100), "outer"):
        for j in range(100):
            x = 0.5 * x + i - j
    return x


@pytest.mark.parametrize("f", [known, traced, rows, left, short, nested], ids=lambda f: f.__name__)
def test_it_is_python_s_loop(f, told):
    expected = f(1.0, 500)
    python = list(told)
    told.clear()
    jitted = tj.jit(f, fallback=False)
    assert np.isclose(jitted(1.0, 500), expected, rtol=1e-12) and type(jitted(1.0, 500)) is type(expected)
    native = told[: len(told) // 2]
    assert native[0][:2] == python[0][:2] and native[-1][1] == END
    if f is not traced:  # the number of steps is known
        assert [k for _, k, _ in native] == [k for _, k, _ in python]
    if f not in (short,):
        assert "native loop" in tj.explain(jitted)(1.0, 500).loops_and_branches[0]


def test_gradients_and_batches(told):
    slope = tj.jit(tj.grad(known), fallback=False)(1.0, 0)
    assert slope == 0.5**500 and told[0][1] == 0 and sum(k == END for _, k, _ in told) == 1
    told.clear()
    many = tj.jit(tj.vmap(known, (0, None)), fallback=False)(np.ones(3), 0)
    assert np.allclose(many, known(1.0, 0)) and told[0][1] == 0


def test_a_generator_is_left_as_it_is(told):
    assert list(tj.progress((k * k for k in range(3)), "g", total=3)) == [0, 1, 4]
    assert told == [("g", 0, 3), ("g", 1, 3), ("g", 2, 3), ("g", END, 3)]
    assert len(tj.progress(range(7))) == 7
