"""Pullbacks are pytrees, and keep the values of the time at which they were made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.api.autodiff import pullbacks
from tracejit.errors import CotangentMismatchError

X = np.array([0.5, -1.0, 2.0])


def wave(x: Any, y: Any) -> Any:
    return np.sin(x) * y + x**3


def with_pullback() -> Any:
    """`wave` with the pullback itself as the residual of its rules."""
    f = tj.custom_vjp(wave)
    f.defvjp(lambda *xs: tj.vjp(wave, *xs), lambda pullback, ct: pullback(ct))
    return f


def with_pullback_of_one() -> Any:
    f = tj.custom_vjp(lambda x: np.sin(x) * x)
    f.defvjp(lambda x: (np.sin(x) * x, x), lambda x, ct: (ct * (np.cos(x) * x + np.sin(x)),))
    return f


@pytest.mark.parametrize("region", ["none", "jit", "checkpoint", "scan", "cond"])
def test_a_pullback_as_residuals_of_a_custom_vjp(region: str) -> None:
    f = with_pullback()
    around = {
        "none": lambda x, y: f(x, y),
        "jit": tj.jit(f),
        "checkpoint": tj.checkpoint(f),
        "scan": lambda x, y: lax.scan(lambda c, _: (f(c, y), None), x, None, length=1)[0],
        "cond": lambda x, y: lax.cond(x.sum() > 0, f, lambda x, y: x, x, y),
    }[region]
    loss = lambda f: lambda x, y: np.sum(f(x, y) ** 2)
    want = tj.grad(loss(wave), (0, 1))(X, X + 1)
    slope = tj.grad(loss(around), (0, 1))
    for g in (slope, tj.jit(slope)):
        for a, b in zip(g(X, X + 1), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)


def test_under_vmap() -> None:
    f = with_pullback()
    rows = np.stack([X, X + 1, X * 2, -X])
    slope = lambda f: tj.vmap(tj.grad(lambda x, y: np.sum(f(x, y))))
    np.testing.assert_allclose(slope(f)(rows, rows), slope(wave)(rows, rows), rtol=1e-14)


def test_a_pullback_leaves_jit_and_enters_another() -> None:
    y, pullback = tj.jit(lambda x: tj.vjp(wave, x, x + 1.0))(X)
    np.testing.assert_allclose(y, wave(X, X + 1), rtol=1e-14)
    want = tj.vjp(wave, X, X + 1)[1](X)
    back = tj.jit(lambda p, ct: p(ct))
    for got in (pullback(X), back(pullback, X), back(pullback, X)):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)


def test_mapped_pullbacks() -> None:
    rows = np.stack([X, X + 1])
    _, pulls = tj.vmap(lambda x: tj.vjp(np.sin, x))(rows)
    (got,) = tj.vmap(lambda p, ct: p(ct))(pulls, rows)
    np.testing.assert_allclose(got, np.cos(rows) * rows, rtol=1e-14)


def test_leaves_are_the_residuals() -> None:
    _, pullback = tj.vjp(lambda x: x * X, X)
    leaves, structure = tj.tree.flatten(pullback)
    assert any(np.array_equal(x, X) for x in leaves)
    (doubled,) = tj.tree.unflatten(structure, [x * 2 for x in leaves])(np.ones(3))
    np.testing.assert_array_equal(doubled, 2 * X)
    with pytest.raises(CotangentMismatchError):
        pullback(np.ones(2))


# ---------------------------------------------------------------- writes between vjp and its pullback

C = np.array([2.0, 3.0, 5.0])
KEEPS: dict[str, Any] = {
    "the argument": lambda x: x * x,
    "a function of it": np.sin,
    "the result": np.exp,
    "a view": lambda x: x[::-1] * x[1:].sum(),
    "what repeats it": lambda x: (np.broadcast_to(x, (4, 3)) * np.ones((4, 3))) ** 2,
    "a captured array": lambda x: C * x,
    "a view of a captured array": lambda x: C[::-1] * np.sin(x),
    "under jit": tj.jit(lambda x: np.exp(np.sin(x)) * C),
    "a large array made again": lambda x: np.tanh(np.repeat(x, 400)) * np.tile(x, 400),
    "in a scan": lambda x: lax.scan(lambda c, r: (c * r, c * c), x, np.stack([x, x + 1]))[1],
    "by a rule of the user": with_pullback_of_one(),
}


@pytest.mark.parametrize("name", KEEPS)
def test_writes_before_the_pullback_change_nothing(name: str) -> None:
    """Into the argument, into the result and into captured arrays, against a pullback without writes."""
    f, x, w, captured = KEEPS[name], X.copy(), X.copy(), C.copy()
    reverse_only = name == "by a rule of the user"
    try:
        y, pull = tj.vjp(f, X)
        ct = np.cos(y)
        gradient = pull(ct)[0]
        y, pull = tj.vjp(f, x)
        slope = gradient if reverse_only else tj.jvp(f, (X,), (C,))[1]
        z, push = (y, lambda _: slope) if reverse_only else tj.linearize(f, w)
        for a in (x, y, w, z, C):
            a[...] = 17.0
        np.testing.assert_array_equal(pull(ct)[0], gradient)
        np.testing.assert_allclose(push(captured), slope, rtol=1e-13)
    finally:
        C[...] = captured


def test_only_what_others_hold_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = []
    copy = pullbacks._copy
    monkeypatch.setattr(pullbacks, "_copy", lambda x: copies.append(x) or copy(x))
    x, fixed = np.full(1000, 1.5), np.full(1000, 1.5)
    fixed.flags.writeable = False

    def count(run: Any) -> int:
        copies.clear()
        run()
        return len(copies)

    assert count(lambda: tj.vjp(lambda x: np.sin(np.exp(x) * 3) * np.log(x), x)) <= 1
    assert count(lambda: tj.vjp(lambda x: np.sum(x + x), x)) == 0
    assert count(lambda: tj.vjp(lambda x: x * x, fixed)) == 0
    assert count(lambda: tj.vjp(lambda x: x * x, x)) == 1
    assert count(lambda: tj.grad(lambda x: np.sum(x * np.exp(x)))(x)) == 0
    assert count(lambda: tj.jit(lambda x: tj.vjp(lambda x: x * x, x)[1](x))(x)) == 0
    wide = lambda: tj.vjp(lambda a: a * np.broadcast_to(x, (1000, 1000)), np.ones((1000, 1000)))
    assert count(wide) == 1 and copies[0].strides[0] == 0
    leaf = next(a for a in tj.tree.leaves(wide()[1]) if a.shape == (1000, 1000))
    assert leaf.strides[0] == 0 and not np.shares_memory(leaf, x)
