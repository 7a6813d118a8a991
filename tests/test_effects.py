"""The table of effects, row by row: where a write happens and what it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import ReadOnlyArgumentError, TracejitError


def bump(x: Any) -> Any:
    x += 1.0
    x[0] = 10.0 * x[1]
    return x.sum()


def bumped() -> np.ndarray:
    y = np.arange(4.0)
    bump(y)
    return y


def test_jit_updates_the_callers_array() -> None:
    x = np.arange(4.0)
    assert tj.jit(bump)(x) == bump(np.arange(4.0))
    np.testing.assert_array_equal(x, bumped())


def test_jit_updates_strided_arguments() -> None:
    base = np.arange(8.0)
    tj.jit(bump)(base[::2])
    want = np.arange(8.0)
    bump(want[::2])
    np.testing.assert_array_equal(base, want)


def test_jit_of_overlapping_arguments_is_numpy() -> None:
    def f(x: Any, y: Any) -> Any:
        x[:] = y + 1.0
        return x.sum() + y.sum()

    a, b = np.arange(6.0), np.arange(6.0)
    assert tj.jit(f)(a[1:], a[:-1]) == f(b[1:], b[:-1])
    np.testing.assert_array_equal(a, b)


def test_read_only_arguments_are_refused() -> None:
    x = np.arange(4.0)
    x.flags.writeable = False
    with pytest.raises(ReadOnlyArgumentError, match="`x`"):
        tj.jit(bump)(x)


def test_jit_inside_jit_writes_into_the_callers_box() -> None:
    inner = tj.jit(bump)

    def outer(x: Any) -> Any:
        s = inner(x)
        return s + x[0]

    x, y = np.arange(4.0), np.arange(4.0)
    want = bump(y) + y[0]
    assert tj.jit(outer)(x) == want
    np.testing.assert_array_equal(x, y)


def test_jit_inside_grad_writes_into_the_callers_box() -> None:
    inner = tj.jit(bump)

    def outer(x: Any) -> Any:
        z = x * 1.0
        s = inner(z)
        return s + 3.0 * z[0]

    x = np.arange(4.0)
    # z = x + 1 after bump, z[0] = 10 (x1 + 1): s = 11 z1 + z2 + z3, and 3 z0 = 30 z1
    np.testing.assert_allclose(tj.grad(outer)(x), [0.0, 41.0, 1.0, 1.0])


@pytest.mark.parametrize("transform", ["grad", "jvp", "vjp", "vmap"])
@pytest.mark.parametrize("jitted", [False, True])
def test_other_transformations_work_on_their_own_copy(transform: str, jitted: bool) -> None:
    x = np.arange(4.0)
    run = {
        "grad": lambda x: tj.grad(bump)(x),
        "jvp": lambda x: tj.jvp(bump, (x,), (np.ones(4),))[1],
        "vjp": lambda x: tj.vjp(bump, x)[1](1.0)[0],
        "vmap": lambda x: tj.vmap(lambda r: bump(r))(np.stack([x, x])),
    }[transform]
    out = tj.jit(run)(x) if jitted else run(x)
    np.testing.assert_array_equal(x, np.arange(4.0))
    expected = {
        "grad": [0.0, 11.0, 1.0, 1.0],
        "jvp": 13.0,
        "vjp": [0.0, 11.0, 1.0, 1.0],
        "vmap": [bump(np.arange(4.0))] * 2,
    }[transform]
    np.testing.assert_allclose(out, expected)


def test_operands_of_scan_and_cond_are_the_functions_own() -> None:
    def f(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            c += 1.0
            return c, c[0]

        y, firsts = lax.scan(step, x, None, length=3)
        z = lax.cond(y[0] > 0, lambda v: bump(v), lambda v: v.sum(), x)
        return x.sum(), y.sum(), firsts.sum(), z

    x = np.arange(4.0)
    for run in (f, tj.jit(f)):
        np.testing.assert_allclose(run(x), [6.0, 18.0, 6.0, bump(np.arange(4.0))])
        np.testing.assert_array_equal(x, np.arange(4.0))


def test_vmap_writing_batched_values_into_an_unbatched_argument() -> None:
    def f(acc: Any, i: Any, v: Any) -> Any:
        acc[i] = v
        return acc

    acc = np.zeros(3)
    out = tj.vmap(f, in_axes=(None, 0, 0))(acc, np.array([0, 2]), np.array([5.0, 7.0]))
    np.testing.assert_array_equal(out, [[5.0, 0, 0], [0, 0, 7.0]])
    np.testing.assert_array_equal(acc, np.zeros(3))


LOG = np.zeros(3)


def writes_captured(x: Any) -> Any:
    LOG[1] += x
    return x * 2.0


def test_a_captured_array_under_jit() -> None:
    LOG[:] = 0.0
    f = tj.jit(writes_captured)
    assert f(2.0) == 4.0 and f(3.0) == 6.0
    np.testing.assert_array_equal(LOG, [0.0, 5.0, 0.0])


def test_a_captured_array_under_vmap_is_refused() -> None:
    LOG[:] = 0.0
    with pytest.raises(TracejitError):
        tj.vmap(writes_captured)(np.arange(3.0))
    np.testing.assert_array_equal(LOG, np.zeros(3))


def test_an_exception_in_a_trace_leaves_nothing_half_done() -> None:
    def f(x: Any) -> Any:
        x += 1.0
        raise ValueError("stop")

    x = np.arange(3.0)
    with pytest.raises(ValueError, match="stop"):
        tj.jit(f)(x)
    np.testing.assert_array_equal(x, np.arange(3.0))
    assert tj.jit(lambda x: x + 1)(1.0) == 2.0


def test_n_eager_writes_cost_o_n() -> None:
    """Counted, not timed: bytes of arrays made while writing n elements of an n-array under grad."""
    import tracemalloc

    def f(x: Any, n: int) -> Any:
        z = np.zeros(n)
        for i in range(64):
            z[i] = x[i] * 2.0
        return z.sum()

    def peak_allocated(n: int) -> int:
        tracemalloc.start()
        tj.grad(lambda x: f(x, n))(np.ones(n))
        total = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return total

    peak_allocated(64)
    # 64 writes (and reads) into 10^5 elements: copies of each would take 64 * 0.8 MB and more.
    assert peak_allocated(100_000) < 20 * 800_000
