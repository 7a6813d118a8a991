"""cond and switch against Python's if."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control.oracle import check, close
from tracejit import lax
from tracejit.api.autodiff.derivatives import grad
from tracejit.api.batching import vmap
from tracejit.api.introspect import make_jaxpr
from tracejit.errors import BranchTypeError, IndexOutOfRangeError, PredicateError

X = np.array([0.3, -0.7, 1.2])


def both(pred: Any, yes: Any, no: Any, *args: Any) -> Any:
    """cond in Python."""
    return yes(*args) if pred else no(*args)


def model(cond: Any) -> Any:
    def f(x: Any, y: Any) -> Any:
        return cond(
            np.sum(x) > y,
            lambda x, y: (np.sin(x) * y, y * y),
            lambda x, y: (x * x * x, np.cos(y) + np.sum(x)),
            x,
            y,
        )

    return f


@pytest.mark.sample(4)
@pytest.mark.parametrize("y", [0.1, 5.0])
def test_cond(run: Any, y: float) -> None:
    check(model(lax.cond), model(both), X, np.float64(y), run=run)


def test_predicate_that_differs_between_lanes(run: Any) -> None:
    ys = np.array([0.1, 5.0, -1.0])
    f, plain = model(lax.cond), model(both)
    expected = [plain(X, y) for y in ys]
    close(run(vmap(f, (None, 0)))(X, ys), tuple(np.stack(c) for c in zip(*expected, strict=True)))
    scalar = lambda x, y: np.sum(f(x, y)[0]) + f(x, y)[1]
    rows = [grad(scalar, (0, 1))(X, y) for y in ys]
    close(
        run(vmap(grad(scalar, (0, 1)), (None, 0)))(X, ys),
        tuple(np.stack(c) for c in zip(*rows, strict=True)),
        1e-8,
    )
    total = run(grad(lambda x, ys: np.sum(vmap(scalar, (None, 0))(x, ys)), (0, 1)))(X, ys)
    np.testing.assert_allclose(total[0], sum(r[0] for r in rows))
    np.testing.assert_allclose(total[1], [r[1] for r in rows])


@pytest.mark.sample(2)
def test_closures_become_operands(run: Any) -> None:
    def f(cond: Any) -> Any:
        def g(x: Any, y: Any) -> Any:
            z = x * 2.0
            return cond(y > 0, lambda: z * y, lambda: z - x)

        return g

    check(f(lax.cond), f(both), X, np.float64(2.0), run=run)
    check(f(lax.cond), f(both), X, np.float64(-2.0), run=run)


def test_branch_not_taken_makes_no_nan(run: Any) -> None:
    def f(x: Any) -> Any:
        return lax.cond(x > 0, lambda x: np.sqrt(x) * np.log(x), lambda x: x * 2.0, x)

    xs = np.array([4.0, -1.0, 0.0])
    close(run(vmap(f))(xs), np.array([2 * np.log(4.0), -2.0, 0.0]))
    slope = np.array([np.log(4.0) / 4 + 0.5, 2.0, 2.0])
    close(run(vmap(grad(f)))(xs), slope)
    close(run(grad(lambda xs: np.sum(vmap(f)(xs))))(xs), slope)
    close(run(vmap(grad(grad(f))))(xs)[1:], np.zeros(2))


def test_checks_of_a_branch_not_taken_do_not_fire(run: Any) -> None:
    def f(i: Any, x: Any) -> Any:
        return lax.cond(i < 3, lambda: x[i], lambda: x[0] * 0.0)

    close(run(vmap(f, (0, None)))(np.array([0, 7, 2]), X), np.array([0.3, 0.0, 1.2]))
    with pytest.raises(IndexOutOfRangeError):
        run(vmap(lambda i, x: lax.cond(i > 3, lambda: x[i], lambda: x[0]), (0, None)))(np.array([0, 7, 2]), X)


def test_cheap_branches_are_selected() -> None:
    text = str(make_jaxpr(vmap(lambda x: lax.cond(x > 0, lambda: x * 2.0, lambda: x - 1.0)))(X))
    assert "select" in text
    assert "scan" not in text
    text = str(make_jaxpr(vmap(lambda x: lax.cond(x > 0, lambda: np.log(x), lambda: x - 1.0)))(X))
    assert "scan" in text


@pytest.mark.sample(2)
def test_switch(run: Any) -> None:
    branches = [lambda x: x * 2.0, lambda x: np.sin(x), lambda x: x * x * x, lambda x: np.ones(3) * x[0]]

    def f(x: Any, k: Any) -> Any:
        return lax.switch(k, branches, x)

    for k in (-5, 0, 1, 2, 3, 9):
        check(f, lambda x, k: branches[min(max(k, 0), 3)](x), X, np.int64(k), run=run, second=k == 2)
    ks = np.array([2, 0, 9, 1])
    close(run(vmap(f, (None, 0)))(X, ks), np.stack([f(X, k) for k in ks]))


def test_of_a_known_predicate_one_branch_runs() -> None:
    text = str(make_jaxpr(lambda x: lax.cond(True, lambda: np.sin(x), lambda: np.cos(x)))(X))
    assert "sin" in text and "cos" not in text
    no = lambda x: tj.pure_callback(lambda x: 1 / 0, X, x)
    close(lax.cond(True, lambda x: x + 1, no, X), X + 1)
    close(grad(lambda x: np.sum(lax.switch(7, [no, lambda x: x * x], x)))(X), 2 * X)
    x = X.copy()
    assert lax.cond(np.bool_(True), lambda a: a.__iadd__(1).sum(), lambda a: 0.0, x) == (X + 1).sum()
    close(x, X)


@pytest.mark.parametrize("how", ["eager", "grad", "jvp", "vmap", "jit"])
def test_of_a_known_predicate_both_branches_are_compared(how: str) -> None:
    """As under `jit`: what one branch gives cannot depend on the predicate's being known."""

    def under(f: Any) -> Any:
        g = {"eager": f, "grad": grad(lambda x: np.sum(f(x))), "vmap": vmap(f), "jit": tj.jit(f)}
        g["jvp"] = lambda x: tj.jvp(f, (x,), (x,))[0]
        return g[how]

    for no in (lambda x: x[:0], lambda x: x * 1j, lambda x: (x, x), lambda x: None):
        for pred in (True, False):
            with pytest.raises(BranchTypeError, match="true_fun"):
                under(lambda x: lax.cond(pred, lambda x: x * 2, no, x))(np.ones((2, 2)))
        with pytest.raises(BranchTypeError, match="branch 1"):
            under(lambda x: lax.switch(0, [lambda x: x * 2, no], x))(np.ones((2, 2)))
    narrow = np.float32(2)
    assert (
        lax.cond(True, lambda: 0.5, lambda: narrow).dtype
        == tj.jit(lax.cond, static_argnums=(1, 2))(True, lambda: 0.5, lambda: narrow).dtype
        == np.float32
    )


def test_python_scalars_adopt_the_other_branch(run: Any) -> None:
    f = run(lambda p, x: lax.cond(p > 0, lambda: x, lambda: 0))
    out = f(np.float64(-1), np.float32(2))
    assert out == 0
    if getattr(out, "dtype", None) is not None:
        assert out.dtype in (np.float32, np.int64)


def test_errors() -> None:
    traced = lambda f: make_jaxpr(f)(X)
    with pytest.raises(BranchTypeError, match=r"f64\[3\].*f64\[2\]"):
        traced(lambda x: lax.cond(x[0] > 0, lambda: x, lambda: x[:2]))
    with pytest.raises(BranchTypeError, match="output"):
        traced(lambda x: lax.cond(x[0] > 0, lambda: (x, x), lambda: x))
    with pytest.raises(PredicateError, match=r"bool\[3\]"):
        traced(lambda x: lax.cond(x > 0, lambda: x, lambda: x))
    with pytest.raises(PredicateError):
        lax.switch(1.5, [lambda: 1, lambda: 2])
