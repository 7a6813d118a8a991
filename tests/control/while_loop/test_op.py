"""while_loop against Python's while, in reverse mode too."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control.oracle import check, close
from tracejit import lax
from tracejit.api.autodiff.derivatives import grad, linearize
from tracejit.api.batching import vmap
from tracejit.api.jit.jitted import jit
from tracejit.errors import CarryTypeError, PredicateError
from tracejit.interpreters.jit import Compiled
from tracejit.lowering.runtime import pool

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


@pytest.mark.sample(8)
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


@pytest.mark.sample(2)
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


# ---------------------------------------------------------------- the tape


def _decay(x: Any, rate: Any, limit: Any) -> Any:
    """x' = -rate sin(x) in steps until x is below the limit: the trips depend on the values."""
    return lax.while_loop(lambda c: c > limit, lambda c: c - rate * np.sin(c), x)


def _decay_slope(x: float, rate: float, limit: float) -> tuple[int, float]:
    """(steps, the derivative with respect to x) by hand."""
    steps, slope = 0, 1.0
    while x > limit:
        slope *= 1 - rate * np.cos(x)
        x -= rate * np.sin(x)
        steps += 1
    return steps, slope


@pytest.mark.parametrize("rate", [0.5, 3e-2, 1e-4])
def test_tapes_grow(rate: float) -> None:
    """Some ten to 40,000 steps: many doublings, at the first call and after longer and shorter ones."""
    f = tj.jit(tj.grad(_decay))
    for x, limit in ((1.0, 1e-2), (1.5, 2e-2), (0.5, 0.4), (0.3, 0.4)):
        steps, slope = _decay_slope(x, rate, limit)
        assert steps > 5 or x < limit or limit == 0.4
        assert f(x, rate, limit) == pytest.approx(slope, rel=1e-9)
        assert tj.grad(_decay)(x, rate, limit) == pytest.approx(slope, rel=1e-9)


def test_the_loop_runs_once() -> None:
    """One forward loop and one scan, through compiled functions too."""
    for f in (_decay, tj.jit(_decay), tj.jit(tj.jit(_decay))):
        text = tj.jit(tj.grad(f)).lower(1.0, 0.1, 0.5).as_text("jaxpr")
        assert text.count("= while[") == 1 and text.count("= scan[") == 1


def test_callbacks_happen_once_a_step() -> None:
    calls: list[float] = []

    def factor() -> float:
        calls.append(1.0)
        return 2.0

    def f(x: Any) -> Any:
        step = lambda c: c * tj.io_callback(factor, tj.ShapeDtypeStruct((), float))
        return lax.while_loop(lambda c: c < 5.0, step, x)

    for g in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        calls.clear()
        assert g(1.0) == 8.0
        assert len(calls) == 3


def test_eager_gradients_of_any_length_are_the_same_programs() -> None:
    f = lambda x: lax.while_loop(lambda c: c > 0.1, lambda c: c - 0.3 * np.sin(c), x)
    gradient, along = tj.grad(f), lambda x: tj.jvp(tj.grad(f), (x,), (1.0,))[1]
    for g in (gradient, along):
        g(1.0)
        before = Compiled.count
        for x in (0.7, 1.4, 0.2, 1.1):
            g(x)
        assert Compiled.count == before


def test_linear_maps_outlive_their_loops() -> None:
    """Tapes that are given to Python stay as long as a pullback needs them, and no longer."""
    released: list[int] = []
    free = pool.Block.__del__

    def counted(block: pool.Block) -> None:
        released.append(block.pointer)
        free(block)

    f = lambda x: np.sum(lax.while_loop(lambda c: np.sum(c * c) > 1e-2, lambda c: 0.8 * np.sin(c) * x, x))
    xs = [np.array([0.9, 0.5, 0.3]) * k for k in (1.0, 0.7, 1.1, 0.5)]
    gc.collect()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool.Block, "__del__", counted)
        for g in (f, tj.jit(f)):
            pulls = [tj.vjp(g, x)[1] for x in xs]
            assert released == []
            wanted = [tj.jit(tj.grad(f))(x) for x in xs]
            for _ in range(2):
                close([pull(1.0)[0] for pull in pulls], wanted)
            del pulls
            gc.collect()
            assert len(released) >= len(xs) - 1  # something may still refer to the last trace
            released.clear()


def test_an_error_in_the_body_leaves_everything_usable() -> None:
    def f(x: Any, n: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, np.sin(c[1]) * x[c[0]]), (0, x[0]))[1]

    x = np.linspace(0.5, 1, 6)
    for g in (tj.jit(tj.grad(f)), tj.grad(f)):
        for _ in range(2):
            with pytest.raises(IndexError):
                g(x, 9)
            close(g(x, 3), tj.grad(lambda x: np.sin(np.sin(np.sin(x[0]) * x[0]) * x[1]) * x[2])(x))


def test_single_precision_rows() -> None:
    x = np.float32(1.25)
    slope = tj.jit(tj.grad(lambda x: lax.while_loop(lambda c: c > 0.1, lambda c: c - 0.3 * np.sin(c), x)))(x)
    assert slope.dtype == np.float32
    assert slope == pytest.approx(_decay_slope(1.25, 0.3, 0.1)[1], rel=1e-5)


def test_rows_of_all_orders() -> None:
    """A tape of a tape: rows that an outer derivative needs are pushed beside the inner one's."""
    f = lambda x: _decay(x, 0.4, 0.2)
    third = tj.grad(tj.grad(tj.grad(f)))
    unrolled = tj.grad(
        tj.grad(tj.grad(lambda x: python_while(lambda c: c > 0.2, lambda c: c - 0.4 * np.sin(c), x)))
    )
    assert tj.jit(third)(1.1) == pytest.approx(unrolled(1.1), rel=1e-9)
    assert third(1.1) == pytest.approx(unrolled(1.1), rel=1e-9)


_NO_MEMORY = """
import resource
import numpy as np
import tracejit as tj

def f(x, n):
    step = lambda c: (c[0] + 1, np.sin(c[1]) * x)
    return np.sum(tj.lax.while_loop(lambda c: c[0] < n, step, (0, x))[1])

x = np.linspace(0.1, 1, 1000)
g = tj.jit(tj.grad(f))
want, eager = g(x, 3), tj.grad(f)
eager(x, 3)
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
resource.setrlimit(resource.RLIMIT_AS, (int(open("/proc/self/statm").read().split()[0]) * 4096 + (1 << 27),) * 2)
for h in (g, g, g, eager):
    try:
        h(x, 100_000)  # 1.6 GB
    except MemoryError as e:
        print("none left")
    assert np.array_equal(g(x, 3), want)
assert np.isfinite(g(x, 3000)).all()  # 48 MB: what had been pushed was freed
"""


def test_a_tape_that_finds_no_memory() -> None:
    done = subprocess.run([sys.executable, "-c", _NO_MEMORY], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[:4] == ["none left"] * 4, done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
