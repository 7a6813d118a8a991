"""Results that lie in memory of others are views of it, as NumPy's are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import Described, define
from tracejit.errors import ChosenArrayError, UnfollowedError


def test_a_part_of_an_argument_is_a_view_of_it():
    f = tj.jit(lambda x: (x[1:3], x.T, x[::-1, 1], x[0, :, None], x.reshape(-1)[4:]))
    for start in range(3):  # the last calls take the fast path
        x = np.arange(12.0).reshape(4, 3) + start
        got, want = f(x), f.fun(x)
        for a, b in zip(got, want, strict=True):
            assert a.strides == b.strides and np.array_equal(a, b) and a.ctypes.data == b.ctypes.data
        got[0][0, 0] = 100
        assert x[1, 0] == 100 and got[1][0, 1] == 100


def test_where_a_part_begins_may_be_traced():
    f = tj.jit(lambda x, i: (x[i], x[i:, 1]))
    x = np.arange(12.0).reshape(4, 3)
    for i in (0, 2, -1):
        row, column = f(x, i)
        assert np.array_equal(row, x[i]) and np.array_equal(column, x[i:, 1])
        assert np.shares_memory(row, x) and np.shares_memory(column, x)
    with pytest.raises(IndexError):
        f(x, 4)


def test_a_part_of_what_was_written():
    def f(x):
        y = x[1:3]
        y *= 10
        return y, x

    x = np.arange(4.0)
    y, same = tj.jit(f)(x)
    assert same is x and x.tolist() == [0, 10, 20, 3] and np.shares_memory(x, y)


def test_a_part_of_a_captured_array():
    table = np.arange(6.0).reshape(2, 3)
    f = tj.jit(lambda v: (table[1], v + table[0]))
    for _ in range(3):
        f(1.0)[0][0] += 1
    assert table[1, 0] == 6


def test_results_that_share_memory_or_are_one_object():
    def f(x):
        y = x * 2
        return y, y, y[1:], y[::-1]

    g = tj.jit(f)
    for _ in range(3):
        y, again, tail, back = g(np.arange(4.0))
        tail[0] = 50
        assert again is y and y[1] == 50 and back[2] == 50


def test_a_result_has_the_strides_of_numpys():
    f = tj.jit(
        lambda z: (z.T + 0, (2 * z)[:, ::2], (2 * z).T, (z * 1j).imag, np.broadcast_to(z[:1] * 2, (4, 3)))
    )
    z = np.arange(12.0).reshape(4, 3)
    for a, b in zip(f(z)[1:], f.fun(z)[1:], strict=True):
        assert a.strides == b.strides and np.array_equal(a, b) and a.flags.writeable == b.flags.writeable


def test_a_condition_chooses_which_array_it_is():
    def f(x, y):
        if x.sum() > 3:
            x = y
        return x[1:]

    g = tj.jit(f)
    for start in (0.0, 5.0, 0.0):
        x, y = np.zeros(3) + start, np.ones(3)
        g(x, y)[0] = 7
        assert [x[1], y[1]] == ([start, 7] if start else [7, 1])


def test_rows_in_a_long_list():
    f = tj.jit(lambda x: [x[i : i + 2] for i in range(len(x))])
    x = np.arange(20.0)
    f(x)[3][0] = -1
    assert x[3] == -1


def test_donated_memory_is_not_shared():
    x = np.arange(4.0)
    part, whole = tj.jit(lambda x: (x[1:], x + 1), donate_argnums=0)(x)
    assert part.tolist() == [1, 2, 3] and whole.tolist() == [1, 2, 3, 4] and not np.shares_memory(part, whole)


def test_parts_inside_other_transformations():
    row = tj.jit(lambda x, i: x[i])
    x = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(tj.vmap(row, in_axes=(None, 0))(x, np.array([0, 2])), x[[0, 2]])
    assert tj.grad(lambda x: row(x, 1).sum())(x).tolist() == [[0, 0], [1, 1], [0, 0]]


def test_a_part_that_the_program_cannot_name_is_refused():
    def f(m, c):
        other = np.zeros(2)
        for row in m:
            if c:
                other = row
            row += 1
        return other

    with pytest.raises(ChosenArrayError):
        tj.jit(f)(np.ones((20, 2)), np.bool_(True))


@pytest.mark.parametrize("question", [np.shares_memory, np.may_share_memory])
def test_what_lies_where_in_memory_is_pythons(question):
    x = np.zeros(4)
    assert tj.jit(lambda x: (question(x, x + 0), question(x, x[1:])))(x) == (False, True)
    with pytest.raises(UnfollowedError):
        tj.jit(lambda x, y: question(x, y))(x, x)
    with pytest.raises(UnfollowedError):
        tj.jit(lambda x: question(x[:1], x[2:]))(x)
    with pytest.raises(UnfollowedError):
        tj.jit(lambda x: x[1:].base is x)(x)
    assert tj.jit(lambda x: (x * 2).base is None)(x)


@pytest.mark.parametrize(
    "views", ["v[::-1]", "v[::-1], w", "v[1:], v[:2]", "v[:, ::2], v[0], w", "v[1:3], v.T"]
)
def test_views_of_a_chosen_array_lie_in_it(views: str):
    """Of a new array too, which nobody else has: there they have NumPy's strides, and share it."""
    names: dict[str, Any] = {}
    define(CHOOSES.format(views=views), names, f"<chooses {views}>")
    f, x = names["f"], np.arange(9.0).reshape(3, 3)
    g = tj.jit(f)
    for chosen in (1, 2, 1, 2):
        want, got = f(x, chosen), g(x, chosen)
        want[0][:1] = got[0][:1] = 7.0
        assert Described(got).found == Described(want).found


CHOOSES = """
def f(x, n):
    w = x * 2.0
    v = w
    if n > 1:
        v = v.copy()
    return {views},
"""
