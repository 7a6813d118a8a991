"""Loops under disable_jit: the user's functions run as Python, with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import CarryStructureError, CarryTypeError, ScanResultError
from tracejit.test_util import assert_max_compiles

X = np.array([0.3, -0.7, 1.2])


def scanned(x: Any) -> Any:
    def f(c: Any, row: Any) -> Any:
        c = np.sin(c) + row["a"] * 2
        return c, (c * row["b"], row["b"])

    return lax.scan(f, x, {"a": X, "b": np.arange(6.0).reshape(3, 2)[:, 0]})


def backwards(x: Any) -> Any:
    return lax.scan(lambda c, y: (c * 0.5 + y, c - y), x, X, reverse=True)


def counted(x: Any) -> Any:
    return lax.fori_loop(2, 5, lambda i, c: c * i + np.cos(c), x)


def conditional(x: Any) -> Any:
    return lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * 1.5 + c[0]), (0, x))[1]


def nested(x: Any) -> Any:
    inner = lambda c: lax.fori_loop(0, 2, lambda i, d: d + np.sin(d) * i, c)
    return lax.scan(lambda c, y: (inner(c) + y, None), x, X)[0]


def updating(x: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        c[i] = c[i - 1] * 2
        return c

    return lax.fori_loop(1, 3, body, np.ones(3) * x)


def mapped(x: Any) -> Any:
    return lax.map(lambda y: y * x, X)


def no_steps(x: Any) -> Any:
    return lax.scan(lambda c, y: (c, y * 2), x, np.zeros((0, 2)))[1], lax.fori_loop(3, 1, lambda i, c: c, x)


ALL = [scanned, backwards, counted, conditional, nested, updating, mapped, no_steps]


def total(f: Any) -> Any:
    return lambda x: sum(np.sum(leaf) for leaf in tj.tree.leaves(f(x)))


def same(got: Any, want: Any) -> None:
    for a, b in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.sample(4)
@pytest.mark.parametrize("f", ALL)
def test_the_results_are_the_same(f: Any) -> None:
    ways = {
        "value": f,
        "jit": tj.jit(f),
        "grad": tj.grad(total(f)),
        "jit of grad": tj.jit(tj.grad(total(f))),
        "jvp": lambda x: tj.jvp(f, (x,), (1.0,)),
        "second": tj.grad(tj.grad(total(f))),
        "vmap": lambda x: tj.vmap(f)(x * np.ones(2)),
        "vmap of grad": lambda x: tj.vmap(tj.grad(total(f)))(x * np.ones(2)),
        "grad of vmap": tj.grad(lambda x: np.sum(tj.vmap(total(f))(x * np.ones(2)))),
        "checkpoint": tj.grad(tj.checkpoint(total(f))),
    }
    for way in ways.values():
        want = way(0.4)
        with tj.disable_jit():
            got = way(0.4)
        same(got, want)


def test_bodies_see_values() -> None:
    seen: list[Any] = []

    def look(*xs: Any) -> None:
        seen.append([next(t for t in (np.generic, int) if isinstance(x, t)) for x in xs])
        if float(xs[0]) > 100 or not xs[-1] < 1000:  # Python may branch
            raise AssertionError

    def f(x: Any) -> Any:
        lax.fori_loop(0, 1, lambda i, c: (look(i, c), c)[1], x)
        lax.fori_loop(np.int32(0), 1, lambda i, c: (look(i, c), c)[1], 1)
        lax.scan(lambda c, y: (c, look(c, y)), x, X[:1])
        lax.while_loop(lambda c: bool(c < 1), lambda c: (look(c), c + 1)[1], x)
        return x

    with tj.disable_jit():
        f(np.float64(0.5))
        tj.jit(f)(np.float64(0.5))
    generic = np.generic
    assert seen == [[int, generic], [generic, int], [generic, generic], [generic]] * 2


def test_prints_of_python_happen_in_every_step(capsys: Any) -> None:
    def body(i: Any, c: Any) -> Any:
        print(i, c)
        return c * 2

    with tj.disable_jit():
        lax.fori_loop(0, 3, body, 1.5)
        assert capsys.readouterr().out == "0 1.5\n1 3.0\n2 6.0\n"
        tj.grad(lambda x: lax.fori_loop(0, 3, lambda i, c: (print(i), c * x)[1], 1.0))(2.0)
        assert capsys.readouterr().out == "0\n1\n2\n"


def test_what_the_body_writes_is_its_own() -> None:
    x, rows = np.zeros(2), np.ones((2, 2))

    def f(c: Any, row: Any) -> Any:
        row += 1
        c += row
        return c, row

    with tj.disable_jit():
        c, ys = lax.scan(f, x, rows)
        c[0] = 9
    assert x.tolist() == [0, 0] and rows.tolist() == [[1, 1], [1, 1]] and ys.tolist() == [[2, 2], [2, 2]]


def test_lanes_that_end_at_different_steps() -> None:
    f = lambda x: lax.while_loop(lambda c: c < 10, lambda c: c * 3, x)
    g = lambda x: lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + c[1], c[1]), (0.0, x))[0]
    xs = np.array([1.0, 4.0, 30.0])
    for h in (f, g):
        want = tj.vmap(h)(xs)
        with tj.disable_jit():
            np.testing.assert_array_equal(tj.vmap(h)(xs), want)


def test_errors_are_the_same() -> None:
    with tj.disable_jit():
        with pytest.raises(CarryTypeError, match="carry"):
            lax.fori_loop(0, 3, lambda i, x: x * 1j, np.ones(2))
        with pytest.raises(CarryTypeError, match="carry"):
            lax.while_loop(lambda x: True, lambda x: x[:1], np.ones(2))
        with pytest.raises(CarryStructureError):
            lax.while_loop(lambda c: c[0] < 3, lambda c: c[0] + 1, (0,))
        with pytest.raises(ScanResultError):
            lax.scan(lambda c, x: c, 0.0, length=3)
        with pytest.raises(ZeroDivisionError):
            lax.fori_loop(0, 3, lambda i, x: x + 1 // i, 0)


def test_nothing_is_compiled() -> None:
    with tj.disable_jit(), assert_max_compiles(0):
        for f in ALL:
            f(0.4)
            tj.grad(total(f))(0.4)


def at_in_loops(x: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        c = c.at[i].set(x * i.astype(float))
        return (c * 2).at[0].add(c[1:].at[0].get()).at[-1].multiply(2.0)

    return lax.fori_loop(0, 3, body, np.ones(3) * x)


def at_in_scans(x: Any) -> Any:
    return lax.scan(
        lambda c, r: (c.at[1].set(r[0]), r.at[0].max(c[0])), np.ones(2) * x, X[:, None] * np.ones(2)
    )


def at_in_while(x: Any) -> Any:
    step = lambda s: (s[0] + s[0].dtype.type(1), s[1].at[s[0]].set(s[1].shape[0] + x))
    return lax.while_loop(lambda s: s[1].sum() < 3, step, (0, np.zeros(5)))


def at_in_branches(x: Any) -> Any:
    one, two = lambda a: a.at[0].set(x), lambda a: a.at[1].divide(x + a.ndim)
    return lax.switch(1, [one, two], np.ones(2)), lax.cond(True, one, two, np.ones(2))


def numbers_with_attributes(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, c: c * x + i.astype(np.float32).dtype.itemsize + c.ndim, 1.0)


def at_in_associative_scans(x: Any) -> Any:
    return lax.associative_scan(lambda a, b: a.at[...].add(b), X[:, None] * np.ones(2) * x)


@pytest.mark.parametrize(
    "f",
    [at_in_loops, at_in_scans, at_in_while, at_in_branches, numbers_with_attributes, at_in_associative_scans],
)
def test_bodies_written_for_traced_values(f: Any) -> None:
    for way in (f, tj.jit(f), tj.grad(total(f)), lambda x: tj.vmap(f)(x * np.ones(2))):
        want = way(0.4)
        with tj.disable_jit():
            same(way(0.4), want)


def test_arrays_in_bodies_are_shown_and_kept_as_arrays() -> None:
    kept = []
    with tj.disable_jit():
        out = lax.fori_loop(0, 2, lambda i, c: (kept.append((repr(c), f"{c} {i!r}")), c + 1)[1], np.zeros(2))
        assert type(out) is np.ndarray and type(lax.cond(True, lambda c: c, lambda c: c, out)) is np.ndarray
    assert kept == [("array([0., 0.])", "[0. 0.] 0"), ("array([1., 1.])", "[1. 1.] 1")]
