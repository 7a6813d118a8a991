"""Loops and conditionals that may fail: nothing is copied inside of them, and the caller sees no half-done array."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj


def inner_copies(f, *args) -> list[str]:
    """Copies of whole arrays inside of loops."""
    lines = tj.jit(f).lower(*args).compile().as_text("loops").splitlines()
    return [line for line in lines if line.startswith("        ") and "copy(" in line]


def guarded(t, p):
    for i in range(t.shape[0]):
        for j in range(i):
            t[i, j] = max(t[i, j], t[i, j - 1])
            if p[i] > 0:
                if p[j] > 0:
                    t[i, j] += t[j, i + 1]
                else:
                    t[i, j] = p[i]


def test_nested_conditionals_with_checks_update_in_place():
    t, p = np.arange(144.0).reshape(12, 12), np.where(np.arange(12) % 3, 1.0, -1.0)
    p[11] = -1.0
    wanted = t.copy()
    guarded(wanted, p)
    assert inner_copies(guarded, t, p) == []
    tj.jit(guarded)(t, p)
    np.testing.assert_array_equal(t, wanted)


def test_the_callers_array_is_whole_after_an_error():
    t, p = np.arange(144.0).reshape(12, 12), np.ones(12)
    with pytest.raises(IndexError, match="12 is out of bounds"):
        tj.jit(guarded)(t, p)
    np.testing.assert_array_equal(t, np.arange(144.0).reshape(12, 12))

    def afterwards(t, p):
        guarded(t, p)
        t[0, 0] = 7.0

    with pytest.raises(IndexError):
        tj.jit(afterwards)(t, p)
    np.testing.assert_array_equal(t, np.arange(144.0).reshape(12, 12))


def test_an_element_written_twice_and_read_in_between_is_in_place():
    def f(a):
        for i in range(a.shape[0]):
            for j in range(i):
                a[i, j] -= a[i, :j] @ a[j, :j]
                a[i, j] /= a[j, j]

    a = np.random.default_rng(0).normal(size=(12, 12)) + 12 * np.eye(12)
    assert inner_copies(f, a) == []
    wanted = a.copy()
    f(wanted)
    tj.jit(f)(a)
    np.testing.assert_allclose(a, wanted, rtol=1e-12)


def test_of_two_writes_the_first_is_left_out():
    def f(a, i):
        a[i] = 1.0
        a[i] = a[i] + 1
        return a

    program = str(tj.jit(f).lower(np.zeros(9), 3).compile().jaxpr)
    assert program.count("dynamic_update_slice") == 1


def test_branches_of_numbers_that_hand_arrays_on():
    """A branch that checks numbers, beside an array that one of them updates."""

    def f(x, n):
        for _ in range(5):
            if n % 2 == 0:
                n = 3 * n + 1
                y = x
            else:
                n = n // 2
                y = x + 1
            x = y
        return x, n

    x = np.arange(3.0)
    for n in (3, 10, 27, 2**30):
        got, wanted = tj.jit(f)(x, n), f(x, n)
        assert np.array_equal(got[0], wanted[0]) and got[1] == wanted[1]


def test_only_the_check_of_the_branch_that_is_chosen_is_looked_at():
    """Both branches are computed; no value is chosen again by whether a check failed: that costs as much again."""

    def f(x, n, limit):
        total = 0.0
        for i in range(n):
            y = x + i
            if y > limit:
                total += 1 / y
            else:
                total -= y
        return total

    jitted = tj.jit(f, fallback=False)
    for args in ((-3.0, 9, 0.5), (-3.0, 9, 100.0), (1.0, 9, -5.0)):
        assert jitted(*args) == f(*args), "a zero in the other branch is no error"
    with pytest.raises(ZeroDivisionError):
        f(-3.0, 9, -5.0)
    with pytest.raises(ZeroDivisionError):
        jitted(-3.0, 9, -5.0)
    lines = jitted.lower(-3.0, 9, 0.5).as_text("loops").splitlines()
    assert any("or fail(" in line for line in lines)
    assert " " * 8 + "else:" not in lines, "the choice is made in any case"
