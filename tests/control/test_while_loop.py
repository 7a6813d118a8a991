"""while_loop against Python's while, in reverse mode too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.control.oracle import check, close
from tracejit import lax
from tracejit.api.batching import vmap
from tracejit.api.derivatives import grad, linearize
from tracejit.api.jitted import jit
from tracejit.errors import CarryTypeError, PredicateError

RNG = np.random.default_rng(2)


def python_while(cond: Any, body: Any, c: Any) -> Any:
    while cond(c):
        c = body(c)
    return c


def newton(loop: Any) -> Any:
    """The square root of x by Newton's method, until it is good."""

    def f(x: Any) -> Any:
        return loop(lambda y: np.abs(y * y - x) > 1e-7, lambda y: 0.5 * (y + x / y), x * 1.0)

    return f


def test_data_dependent_trips(run: Any) -> None:
    f = run(newton(lax.while_loop))
    assert f(2.0) == pytest.approx(np.sqrt(2.0))
    assert run(grad(newton(lax.while_loop)))(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-4)


def doubling(loop: Any) -> Any:
    def f(x: Any, limit: Any) -> Any:
        def body(c: Any) -> Any:
            n, v = c
            return n + 1, np.sin(v) + v * x

        return loop(lambda c: c[0] < limit, body, (np.int64(0), x))

    return f


@pytest.mark.parametrize("limit", [0, 1, 4])
def test_derivatives(run: Any, limit: int) -> None:
    x = np.array([0.7, 1.1])
    check(doubling(lax.while_loop), doubling(python_while), x, np.int64(limit), run=run)


def test_lanes_run_to_their_own_end(run: Any) -> None:
    f = doubling(lax.while_loop)
    xs, limits = np.array([0.7, 1.1, 0.2]), np.array([3, 0, 5])
    rows = [doubling(python_while)(x, n) for x, n in zip(xs, limits, strict=True)]
    close(run(vmap(f))(xs, limits), tuple(np.stack(c) for c in zip(*rows, strict=True)))
    value = lambda x, n: f(x, n)[1]
    slopes = np.array([grad(value)(x, n) for x, n in zip(xs, limits, strict=True)])
    close(run(vmap(grad(value)))(xs, limits), slopes, 1e-8)
    close(run(grad(lambda xs: np.sum(vmap(value)(xs, limits))))(xs), slopes, 1e-8)


def test_finished_lanes_make_no_nan(run: Any) -> None:
    """1 / (3 - n) is infinite one step after the lane has ended."""

    def f(x: Any, n: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + x / (3 - c[0])), (0, 0.0))[1]

    ns = np.array([3, 1, 2])
    expected = np.array([1 / 3 + 1 / 2 + 1, 1 / 3, 1 / 3 + 1 / 2])
    close(run(vmap(f, (None, 0)))(1.0, ns), expected)
    close(run(vmap(grad(f), (None, 0)))(1.0, ns), expected)


def test_inside_scan(run: Any) -> None:
    """Tapes of loops in loops: the inner one's length is known to nobody before."""

    def f(scan_like: Any, loop: Any) -> Any:
        def g(xs: Any) -> Any:
            def step(c: Any, x: Any) -> Any:
                c = loop(lambda y: y < 3.0, lambda y: y * (1.2 + x * x), c)
                return c * 0.4, np.sin(c)

            return scan_like(step, xs[0] * 1.0, xs)

        return g

    def unrolled(step: Any, c: Any, xs: Any) -> Any:
        ys = []
        for x in xs:
            c, y = step(c, x)
            ys.append(y)
        return c, np.array(ys)

    xs = np.array([0.9, 0.5, 0.3])
    check(f(lax.scan, lax.while_loop), f(unrolled, python_while), xs, run=run, second=False)


def test_errors() -> None:
    with pytest.raises(PredicateError, match=r"bool\[2\]"):
        lax.while_loop(lambda c: c > 0, lambda c: c, np.ones(2))
    with pytest.raises(CarryTypeError):
        lax.while_loop(lambda c: c[0] > 0, lambda c: c.astype(np.float32), np.ones(2))


def _settling(x: Any) -> Any:
    """A loop with several stacked residuals, whose trips depend on `x`."""
    m = np.array([[0.3, -0.5, 0.1], [0.6, 0.2, -0.4], [-0.1, 0.5, 0.3]])

    def step(c: Any) -> Any:
        n, v = c
        return n + 1, 0.6 * np.tanh(np.tanh(m @ v) + (np.outer(v, v) * m).sum(axis=0)) + 0.1 * x

    return np.sum(lax.while_loop(lambda c: (c[0] < 3) & (np.sum(np.abs(c[1])) > 1.0), step, (0, x * 1.5))[1])


def test_lanes_with_their_own_trips_to_second_order_in_one_program() -> None:
    """All scans over one lane's trips have rows of the same extent, whatever computed it."""
    w, xs = np.array([0.7, -0.4, 0.5]), np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.5]])

    def pushed_twice(x: Any) -> Any:
        push = linearize(_settling, x)[1]
        return push(w * 2.0) - push(w)

    f = grad(pushed_twice)
    close(vmap(jit(f))(xs), np.stack([f(x) for x in xs]))


def test_lanes_of_derivatives_of_lanes() -> None:
    w, x = np.array([0.7, -0.4, 0.5]), np.array([0.5, 0.4, 0.3])

    def lanes(f: Any) -> Any:
        return lambda x: np.sum(vmap(f)(np.stack([x, x * 2.0])))

    def along(f: Any) -> Any:
        return lambda x: grad(f)(x) @ w

    f = lanes(along(lanes(along(_settling))))
    close(jit(f)(x), f(x))
