"""jet against series that are known, in the company of other transformations."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.dtypes import float0
from tracejit.errors import ArgumentTypeError, NotDifferentiableError, TangentMismatchError

ORDER = 8

FUNCTIONS: dict[str, tuple[Any, Any, float]] = {
    "exp": (np.exp, mpmath.exp, 0.3),
    "expm1": (np.expm1, mpmath.expm1, 0.3),
    "log": (np.log, mpmath.log, 1.7),
    "log1p": (np.log1p, lambda x: mpmath.log(1 + x), 0.7),
    "sin": (np.sin, mpmath.sin, 0.6),
    "cos": (np.cos, mpmath.cos, 0.6),
    "tan": (np.tan, mpmath.tan, 0.4),
    "tanh": (np.tanh, mpmath.tanh, 0.4),
    "sinh": (np.sinh, mpmath.sinh, 0.4),
    "arctan": (np.arctan, mpmath.atan, 0.4),
    "arcsin": (np.arcsin, mpmath.asin, 0.3),
    "arcsinh": (np.arcsinh, mpmath.asinh, 0.3),
    "sqrt": (np.sqrt, mpmath.sqrt, 1.3),
    "cbrt": (np.cbrt, mpmath.cbrt, 1.3),
    "reciprocal": (lambda x: 1 / x, lambda x: 1 / x, 1.3),
    "quotient": (lambda x: np.sin(x) / (1 + x * x), lambda x: mpmath.sin(x) / (1 + x * x), 0.4),
    "power": (lambda x: x**2.5, lambda x: x**2.5, 1.3),
    "cube": (lambda x: x**3, lambda x: x**3, 1.3),
    "both": (lambda x: x**x, lambda x: x**x, 1.3),
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), lambda x: 1 / (1 + mpmath.exp(-x)), 0.4),
    "chain": (lambda x: np.exp(np.sin(np.sqrt(x))), lambda x: mpmath.exp(mpmath.sin(mpmath.sqrt(x))), 1.2),
}


def along_a_line(f: Any, x: float, order: int = ORDER) -> list[float]:
    """f(x) and its derivatives."""
    value, series = tj.jet(f, (x,), ([1.0] + [0.0] * (order - 1),))
    return [value, *series]


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_against_mpmath(name: str) -> None:
    f, exact, x = FUNCTIONS[name]
    mpmath.mp.dps = 50
    want = [float(c * math.factorial(k)) for k, c in enumerate(mpmath.taylor(exact, x, ORDER))]
    np.testing.assert_allclose(along_a_line(f, x), want, rtol=1e-9)
    np.testing.assert_allclose(tj.jit(lambda x: along_a_line(f, x))(x), want, rtol=1e-9)


def test_a_curve_of_several_arguments() -> None:
    """x(h) = 2 + 3h + 4h²/2, y(h) = 5 + 6h + 7h²/2: (xy)'' = x''y + 2x'y' + xy''."""
    value, (first, second) = tj.jet(lambda x, y: x * y, (2.0, 5.0), ([3.0, 4.0], [6.0, 7.0]))
    assert (value, first, second) == (10, 3 * 5 + 2 * 6, 4 * 5 + 2 * 3 * 6 + 2 * 7)


def test_trees_and_constants() -> None:
    p = {"a": np.ones(2), "n": 3}
    moves = [{"a": np.array([1.0, 2.0]), "n": np.zeros((), float0)}, {"a": np.zeros(2), "n": 0}]
    value, out = tj.jet(lambda p: {"y": p["a"] ** p["n"], "c": 7.0}, (p,), (moves,))
    assert value["y"].tolist() == [1, 1] and value["c"] == 7
    assert [t.tolist() for t in out["y"]] == [[3, 6], [6, 24]] and list(out["c"]) == [0, 0]


def loop(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, c: np.sin(c) * x, x)


def scanned(x: Any) -> Any:
    c, ys = lax.scan(lambda c, v: (c * np.exp(-v * x), c + v), 1.0, np.arange(3.0))
    return c + ys.sum()


def while_(x: Any) -> Any:
    return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * np.cos(c[1] * x)), (0, x))[1]


def branch(x: Any) -> Any:
    return lax.cond(x > 0, lambda x: np.sin(x) * 2, lambda x: x, x * x) + lax.cond(
        x > 0, lambda: 1.0, lambda: 2.0
    )


def custom(x: Any) -> Any:
    f = tj.custom_jvp(lambda x: np.sin(x))
    f.defjvp(lambda p, t: (f(*p), np.cos(p[0]) * t[0]))
    return f(x) * tj.checkpoint(np.exp)(x) * tj.jit(np.tanh)(x)


def over_a_batch(x: Any) -> Any:
    return (tj.vmap(lambda v: np.exp(v * x))(np.arange(3.0)) @ np.ones(3)) ** 2


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", [loop, scanned, while_, branch, custom, over_a_batch], ids=lambda f: f.__name__)
def test_programs(f: Any) -> None:
    want = []
    g = f
    for _ in range(5):
        want.append(g(0.6))
        g = lambda x, g=g: tj.jvp(g, (x,), (1.0,))[1]
    np.testing.assert_allclose(along_a_line(f, 0.6, 4), want, rtol=1e-9)
    np.testing.assert_allclose(tj.jit(lambda x: along_a_line(f, x, 4))(0.6), want, rtol=1e-9)


def test_in_and_around_other_transformations() -> None:
    third = lambda x: along_a_line(lambda x: np.sin(x) ** 2, x, 3)[3]  # -4 sin 2x
    xs = np.array([0.1, 0.5])
    np.testing.assert_allclose(third(0.5), -4 * np.sin(1.0))
    np.testing.assert_allclose(tj.vmap(third)(xs), -4 * np.sin(2 * xs))
    np.testing.assert_allclose(tj.grad(third)(0.5), -8 * np.cos(1.0))
    np.testing.assert_allclose(tj.jit(tj.vmap(tj.grad(third)))(xs), -8 * np.cos(2 * xs))
    inside = along_a_line(tj.grad(lambda x: np.sin(x) ** 2), 0.5, 2)
    np.testing.assert_allclose(inside, [np.sin(1.0), 2 * np.cos(1.0), -4 * np.sin(1.0)])
    nested = tj.jet(lambda x: tj.jet(np.sin, (x,), ([1.0, 0.0],))[1][1], (0.5,), ([1.0, 0.0],))[1]
    np.testing.assert_allclose(nested, [-np.cos(0.5), np.sin(0.5)])


def test_deep_programs_and_high_orders() -> None:
    def f(x: Any) -> Any:
        for _ in range(500):
            x = np.sin(x) + 0.1 * x
        return x

    out = along_a_line(f, 0.3, 4)
    np.testing.assert_allclose(out[1], tj.grad(f)(0.3))
    exact = [math.factorial(k) * (-1) ** k for k in range(21)]
    np.testing.assert_allclose(along_a_line(lambda x: 1 / (1 + x), 0.0, 20), exact, rtol=1e-12)


def test_no_nan_at_the_edge_of_a_branch() -> None:
    f = lambda x: np.where(x > 0, np.sqrt(x), 0.0)
    assert along_a_line(f, 0.0, 1)[1] == 0


def test_errors() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        tj.jet(lambda x, y: x * y, (1.0, 2.0), ([1.0], [1.0, 2.0]))
    with pytest.raises(ValueError, match="1 series for 2 primals"):
        tj.jet(lambda x, y: x * y, (1.0, 2.0), ([1.0],))
    with pytest.raises(TangentMismatchError, match="order 2"):
        tj.jet(np.sin, (np.ones(3),), ([np.ones(3), np.ones(2)],))
    f = tj.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, g: (g,))
    assert along_a_line(f, 2.0, 2) == [2, 1, 0]
    with pytest.raises(NotDifferentiableError):
        along_a_line(lambda x: tj.pure_callback(np.sin, tj.ShapeDtypeStruct((), float), x), 1.0, 2)


def test_a_series_that_is_no_sequence_is_named() -> None:
    with pytest.raises(ArgumentTypeError, match="series 0 is a sequence of derivatives"):
        tj.jet(np.sin, (1.0,), (1.0,))  # type: ignore[arg-type]
