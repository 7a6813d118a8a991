"""What the linear loop of a scan is given, and what it reads or computes again: the rows that a derivative keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

RNG = np.random.default_rng(0)
N = 24


def rows_kept(f: Callable[..., Any], *args: Any) -> int:
    """How many elements the loops of the gradient's program leave as rows for what runs after them."""

    def count(jaxpr: Any) -> int:
        found = 0
        for e in jaxpr.eqns:
            if e.op.name == "scan":
                rows = e.outvars[e.params["carry"] :]
                found += sum(
                    int(np.prod([d if type(d) is int else d.bound for d in v.aval.shape])) for v in rows
                )
            if e.op.name == "while":
                found += N * (len(e.outvars) - len(e.params["cond"].invars) + e.params["cond_consts"])
            found += sum(count(p) for p in e.params.values() if hasattr(p, "eqns"))
        return found

    argnums = tuple(range(len(args)))
    compiled = tj.jit(tj.grad(f, argnums=argnums), fallback=False)
    for got, want in zip(compiled(*args), tj.grad(f, argnums=argnums)(*args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)
    return count(compiled.lower(*args).compile().jaxpr)


def smoothing(image: Any, kernel: Any) -> Any:
    out = np.zeros((len(image) - 2, len(image) - 2))
    for i in range(len(out)):
        for j in range(len(out)):
            for a in range(3):
                for b in range(3):
                    out[i, j] += image[i + a, j + b] * kernel[a, b]
    return np.sum(out**2)


def test_elements_of_constants_are_read_again() -> None:
    assert rows_kept(smoothing, RNG.normal(size=(7, 7)), RNG.normal(size=(3, 3))) == 0


def sparse_rows(data: Any, x: Any) -> Any:
    starts, columns = np.arange(0, 3 * N + 1, 3), (np.arange(3 * N) * 7) % N
    y = np.zeros(N)
    for i in range(N):
        part = slice(starts[i], starts[i + 1])
        y[i] = data[part] @ x[columns[part]]
    return np.sum(y**2)


def test_parts_at_places_that_constants_hold_are_read_again() -> None:
    assert rows_kept(sparse_rows, RNG.normal(size=3 * N), RNG.normal(size=N)) == 0


def table_of_states(table: Any, x: Any) -> Any:
    """The inner loop reads few elements of what the outer one changes: these are kept, not all of it."""
    for i in range(N):
        s = 0.0
        for k in range(2):
            s += table[(3 * i + k) % N] * table[k] * x
        table = np.roll(table, 1) + 0.1 * s
    return np.sum(table**2)


def test_elements_of_what_changes_are_kept() -> None:
    assert rows_kept(table_of_states, RNG.normal(size=N), 0.3) <= 8 * N


def relaxed(u: Any, tolerance: float = 1e-3) -> Any:
    change, steps = 1.0, 0
    while change > tolerance and steps < 20:
        new = u.copy()
        new[1:-1] = 0.5 * (u[:-2] + u[2:])
        change = np.abs(new - u).max()
        u = new
        steps += 1
    return np.sum(u**2)


def test_what_only_the_condition_needs_is_not_kept() -> None:
    assert rows_kept(relaxed, RNG.normal(size=N)) == 0


def window(a: Any) -> Any:
    s = 0.0
    for i in range(N):
        near = 0.0
        for k in range(max(i - 2, 0), min(i + 3, N)):
            for m in range(max(k - 2, 0), min(k + 3, N)):
                near += np.exp(-((a[k] - a[m]) ** 2))
        s += near**2
    return s


def test_windows_take_no_whole_rows() -> None:
    """Kept at their bounds, the rows of the innermost loop would be N³ elements."""
    assert rows_kept(window, RNG.normal(size=N)) <= 4 * N**2


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", (np.float64, np.float32))
def test_carries_without_cotangents(dtype: Any) -> None:
    """A carry that nothing after the loop needs, one that another needs in the step after, one that is needed."""

    def f(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            a, b, d = c
            return (a * b, np.sin(d), d + x * x), a

        (_, b, _), _ = tj.lax.scan(step, (x, x + 1, x * 2), None, length=5)
        return b

    x = dtype(0.3)
    d = np.float64(0.3) * 2 + 4 * np.float64(0.3) ** 2  # as it is before the last step
    want = np.cos(d) * (2 + 8 * 0.3)
    np.testing.assert_allclose(tj.grad(f)(x), want, rtol=1e-5 if dtype is np.float32 else 1e-12)
    np.testing.assert_allclose(tj.jit(tj.grad(f))(x), want, rtol=1e-5 if dtype is np.float32 else 1e-12)


def test_loops_that_run_once_keep_their_rows() -> None:
    """Those of a jitted call are in no other loop: running the inner one again would gain little."""

    def pairs(a: Any) -> Any:
        s = 0.0
        for i in range(N):
            for k in range(i):
                s += np.exp(a[i] * a[k])
        return s

    program = str(tj.make_jaxpr(tj.grad(tj.jit(pairs, fallback=False)))(RNG.normal(size=N)))
    assert program.count("= exp ") == 1
