"""Collectives over vmap axes, with JAX's meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control.oracle import close
from tracejit import lax
from tracejit.api.autodiff.derivatives import grad
from tracejit.api.batching import vmap
from tracejit.api.jit.jitted import jit
from tracejit.errors import UnboundAxisError

X = np.array([[1.0, 2.0], [3.0, 5.0], [-1.0, 4.0]])


def over(f: Any) -> Any:
    return vmap(f, axis_name="i")


def test_values(run: Any) -> None:
    close(run(over(lambda x: x - lax.psum(x, "i")))(X), X - X.sum(0))
    close(run(over(lambda x: x - lax.pmean(x, "i")))(X), X - X.mean(0))
    close(run(over(lambda x: lax.pmax(x, "i") - x))(X), X.max(0) - X)
    close(run(over(lambda x: lax.pmin(x, "i") - x))(X), X.min(0) - X)
    close(run(over(lambda x: lax.all_gather(x, "i") * x))(X), X[None] * X[:, None])
    whole = np.broadcast_to(X.ravel(), (3, 6))
    close(run(over(lambda x: lax.all_gather(x, "i", axis=-1, tiled=True)))(X), whole)
    close(run(over(lambda x: x * lax.axis_index("i")))(X), X * np.arange(3)[:, None])
    close(run(over(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)])))(X), np.stack([X[0] * 0, X[0], X[1]]))
    close(run(over(lambda x: x * lax.psum(1, "i")))(X), X * 3)


def test_derivatives(run: Any) -> None:
    def spread(x: Any) -> Any:
        return over(lambda v: np.sum((v - lax.pmean(v, "i")) ** 2))(x)

    close(run(grad(lambda x: np.sum(spread(x))))(X), 2 * (X - X.mean(0)), 1e-8)
    inside = run(over(grad(lambda v: np.sum(lax.psum(v * v, "i")))))(X)
    close(inside, 2 * X * 3)
    top = run(grad(lambda x: np.sum(over(lambda v: lax.pmax(v, "i"))(x))))(X)
    close(top, (X == X.max(0)) * 3.0)
    gathered = run(grad(lambda x: np.sum(over(lambda v: lax.all_gather(v, "i") * v)(x))))(X)
    close(gathered, 2 * np.broadcast_to(X.sum(0), X.shape), 1e-8)
    ring = [(0, 1), (1, 2), (2, 0)]
    moved = run(grad(lambda x: np.sum(over(lambda v: lax.ppermute(v, "i", ring) * v)(x))))(X)
    close(moved, np.roll(X, 1, 0) + np.roll(X, -1, 0))


def test_two_axes(run: Any) -> None:
    f = vmap(vmap(lambda x: x / lax.psum(x, ("i", "j")), axis_name="j"), axis_name="i")
    close(run(f)(X), X / X.sum())
    g = vmap(vmap(lambda x: lax.psum(x, "i"), axis_name="j"), axis_name="i")
    close(run(g)(X), np.broadcast_to(X.sum(0), X.shape))


def test_in_loops_and_branches(run: Any) -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(0, 2, lambda i, c: c - 0.5 * lax.pmean(c, "i"), x)

    y = X - 0.5 * X.mean(0)
    close(run(over(f))(X), y - 0.5 * y.mean(0))
    picked = run(over(lambda x: lax.cond(x[0] > 0, lambda: lax.psum(x, "i"), lambda: x * 0.0)))(X)
    close(picked, np.where(X[:, :1] > 0, X.sum(0), 0.0))


def test_unbound_names() -> None:
    with pytest.raises(UnboundAxisError, match="'i'"):
        lax.psum(1.0, "i")
    with pytest.raises(UnboundAxisError, match="'j'"):
        over(lambda x: lax.psum(x, "j"))(X)


@pytest.mark.parametrize("run", [lambda f: f, jit])
def test_collectives_of_constants_in_a_body(run: Any) -> None:
    def f(x: Any) -> Any:
        return lax.scan(lambda c, y: (c + lax.psum(1.0, "i"), lax.axis_index("i")), x, np.ones(2))

    last, numbers = run(vmap(f, axis_name="i"))(np.arange(3.0))
    close(last, np.arange(3.0) + 6.0)
    close(numbers, np.arange(3).repeat(2).reshape(3, 2))


def test_a_branch_that_is_not_taken_does_not_raise() -> None:
    """With a collective all lanes run all branches; a matrix is only checked in lanes that take the branch."""

    def f(a):
        good = lambda: np.linalg.cholesky(a) + lax.psum(1.0, "i")
        return lax.cond(a[0, 0] > 0, good, lambda: a)

    stack = np.stack([np.eye(2), -np.eye(2)])
    want = np.stack([np.eye(2) + 2, -np.eye(2)])
    close(over(f)(stack), want)
    close(jit(over(f))(stack), want)


# ---------------------------------------------------------------- loops that end at different times in each lane

LENGTHS, START = np.array([1, 3, 6]), np.array([0.4, 1.1, 2.0])
MATRIX = np.cos(np.arange(9.0)).reshape(3, 3) * 0.3


def _while(k: Any, x: Any) -> Any:
    step = lambda s: (s[0] + 1, s[1] * 0.5 + lax.psum(np.sin(s[1]), "i") * x)
    return lax.while_loop(lambda s: s[0] < k, step, (0, x))[1]


def _fori(k: Any, x: Any) -> Any:
    return lax.fori_loop(0, k, lambda i, c: c * 0.5 + lax.psum(np.sin(c) * x, "i") + 0.1 * i, x)


def _vectors(k: Any, x: Any) -> Any:
    v = x * np.arange(1.0, 4.0)
    step = lambda i, s: (
        s[0] * 0.3 + lax.pmean(s[1], "i"),
        np.tanh(MATRIX @ s[0]) * x + lax.psum(s[1], "i") * 0.2,
    )
    a, b = lax.fori_loop(0, k, step, (v, np.cos(v)))
    return np.sum(a * b)


def _masked_in_python(f: Any, x: Any) -> Any:
    """All lanes as rows of arrays. A lane that is done keeps its values, and the others go on seeing them."""
    v = x[:, None] * np.arange(1.0, 4.0)
    a, b, c = v, np.cos(v), x
    for i in range(LENGTHS.max()):
        on = i < LENGTHS
        if f is _vectors:
            new = a * 0.3 + np.mean(b, 0), np.tanh(a @ MATRIX.T) * x[:, None] + np.sum(b, 0) * 0.2
            a, b = np.where(on[:, None], new[0], a), np.where(on[:, None], new[1], b)
        else:
            new = np.sum(np.sin(c)) * x if f is _while else np.sum(np.sin(c) * x) + 0.1 * i
            c = np.where(on, c * 0.5 + new, c)
    return np.sum(a * b, axis=1) if f is _vectors else c


@pytest.mark.sample(8)
@pytest.mark.parametrize("f", [_while, _fori, _vectors])
def test_lanes_that_talk_in_loops_of_different_lengths(run: Any, f: Any) -> None:
    """To second order, with a gradient inside the lanes (where a psum's transpose adds up over the lanes too)."""
    lanes = lambda g: lambda x: vmap(g, axis_name="i")(LENGTHS, x)
    want = lambda x: _masked_in_python(f, x)
    slope = grad(lambda x: np.sum(want(x)))
    ones = np.ones(3)
    close(run(lanes(f))(START), want(START), 1e-10)
    close(run(grad(lambda x: np.sum(lanes(f)(x))))(START), slope(START), 1e-10)
    close(run(lanes(grad(f, argnums=1)))(START), slope(START), 1e-10)
    close(
        run(lanes(lambda k, x: tj.jvp(lambda y: f(k, y), (x,), (1.0,))[1]))(START),
        tj.jvp(want, (START,), (ones,))[1],
        1e-10,
    )
    second = grad(lambda x: np.sum(slope(x)))(START)
    close(tj.jvp(run(lanes(grad(f, argnums=1))), (START,), (ones,))[1], second, 1e-10)
    close(run(lanes(grad(grad(f, argnums=1), argnums=1)))(START), second, 1e-10)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_each_lane_has_the_branch_that_it_chose(run: Any, count: int) -> None:
    branches = [lambda x, k=k: lax.psum(x, "i") * k + x for k in range(count)]
    x, chosen = np.arange(1.0, 7.0), np.array([0, 1, 2, 3, 1, 0]) % count
    got = run(vmap(lambda k, x: lax.switch(k, branches, x), axis_name="i"))(chosen, x)
    close(got, x.sum() * chosen + x)
