"""Transformations outside of jit of functions that only a program can serve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj
from tracejit.errors import LostDerivativeError, TracerBoolError

X = np.array([-1.0, 2.0, 30.0])


def halved(x: Any) -> Any:
    steps = 0
    while x > 1:
        x, steps = x / 2, steps + 1
    return x, steps


def leaky(x: Any) -> Any:
    return x if x > 0 else 0.1 * x


@pytest.mark.parametrize("f", [halved, leaky])
def test_branches_and_loops_on_lanes(f: Callable[..., Any]) -> None:
    want = (
        [np.stack(part) for part in zip(*map(f, X), strict=True)]
        if f is halved
        else np.stack([f(x) for x in X])
    )
    batched = tj.vmap(f)
    for _ in range(2):
        np.testing.assert_equal(batched(X), tuple(want) if f is halved else want)


def test_numbers_with_derivatives() -> None:
    for f, slope in (
        (lambda x: float(x) ** 2, 6.0),
        (lambda x: np.float32(x) ** 2, 6.0),
        (lambda x: np.asarray(x).item() ** 3, 27.0),
    ):
        assert tj.grad(f)(3.0) == slope
        assert tj.value_and_grad(f)(3.0)[1] == slope
    assert tj.vmap(tj.grad(lambda x: leaky(x) ** 2))(X).tolist() == pytest.approx([-0.02, 4.0, 60.0])
    np.testing.assert_allclose(tj.hessian(lambda x: float(x[0]) ** 2 * x[1])(X)[0], [4.0, -2.0, 0.0])


def test_arguments_are_copied_as_eagerly() -> None:
    def f(x: Any) -> Any:
        x[0] = 5.0
        return x.sum() if x[1] > 0 else -x.sum()

    x = np.array([[1.0, 1.0], [1.0, -1.0]])
    assert tj.vmap(f)(x).tolist() == [6.0, -4.0] and x.tolist() == [[1, 1], [1, -1]]


def test_what_does_more_is_done_once_and_told_what_to_write() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(1)
        return x if x > 0 else -x

    with pytest.raises(TracerBoolError):
        tj.vmap(f)(X)
    assert seen == [1]

    def g(x: Any) -> Any:
        print("once")
        return complex(x, 1.0).real * x

    with pytest.raises(LostDerivativeError, match=r"tj\.jit\(tj\.grad\(f\)\)"):
        tj.grad(g)(2.0)
    assert tj.jit(tj.grad(g))(2.0) == 4.0


def test_what_solvers_say_is_no_hindrance(capsys: pytest.CaptureFixture[str]) -> None:
    """They say it when they have ended: it was not said before they were refused."""
    slope = tj.grad(lambda c: so.fsolve(lambda x: x**3 - c, [1.0])[0])(2.0)
    assert slope == pytest.approx(2 ** (-2 / 3) / 3)
    with pytest.warns(RuntimeWarning, match="not making good progress") as seen:
        tj.grad(lambda c: so.fsolve(lambda x: x**2 + c, [1.0])[0])(2.0)
    assert len(seen) == 1
    assert tj.grad(lambda c: so.fmin_bfgs(lambda x: np.sum((x - c) ** 2), [1.0])[0])(2.0) == pytest.approx(1)
    assert capsys.readouterr().out.count("Optimization terminated successfully") == 1


def test_what_a_program_cannot_do_is_told_as_before() -> None:
    def f(x: Any) -> Any:
        return len(open("x.txt").read()) if x > 0 else x

    with pytest.raises(TracerBoolError, match=r"test_instead\.py"):
        tj.vmap(f)(X)
