"""Many threads at once: everything is traced and compiled once, and no thread disturbs another."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.test_util import assert_max_compiles, count_compiles

THREADS = 32
X = np.linspace(0.1, 1.0, 7)


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    """Threads change places as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """The results of `work(n)` in threads that start at the same moment; the first exception is raised."""
    gate = threading.Barrier(count)
    results: list[Any] = [None] * count
    errors: list[BaseException] = []

    def run(n: int) -> None:
        gate.wait()
        try:
            results[n] = work(n)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not any(t.is_alive() for t in threads), "threads wait for each other"
    if errors:
        raise errors[0]
    return results


def loss(x: Any) -> Any:
    return np.sum(np.sin(x) ** 2 + np.exp(-x))


def slope(x: Any) -> Any:
    return np.sin(2 * x) - np.exp(-x)


def test_the_first_call_compiles_once() -> None:
    f = tj.jit(lambda x: loss(x) * 1.5)
    with count_compiles() as n:
        results = together(lambda _: f(X))
    assert len({r.tobytes() for r in results}) == 1 and results[0] == pytest.approx(1.5 * loss(X))
    assert f.trace_count == 1 and n.value == 1


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda: tj.jit(tj.grad(lambda x: loss(x) + 0.0)), slope),
        (lambda: tj.grad(tj.jit(lambda x: loss(x) + 0.0)), slope),
        (lambda: tj.jit(tj.vmap(tj.grad(lambda x: loss(x) + 0.0))), slope),
        (lambda: tj.vmap(tj.jit(lambda x: np.sin(x))), np.sin),
        (lambda: tj.vmap(tj.grad(tj.jit(lambda x: np.sin(x)))), np.cos),
        (lambda: tj.jit(lambda x: tj.jit(lambda y: np.sin(y))(tj.jit(lambda y: y * 1)(x))), np.sin),
        (lambda: lambda x: lax.fori_loop(0, 3, lambda i, c: c + np.sin(x), x), lambda x: x + 3 * np.sin(x)),
        (lambda: tj.grad(lambda x: np.sum(lax.map(lambda y: np.sin(y), x))), np.cos),
        (lambda: tj.jacrev(tj.jit(np.sin)), lambda x: np.diag(np.cos(x))),
        (lambda: tj.grad(tj.checkpoint(tj.jit(lambda x: loss(x) + 0.0))), slope),
    ],
)
def test_every_way_at_the_same_time(make: Any, want: Any) -> None:
    f = make()
    with count_compiles() as once:
        make()(X)
    tj.jit(lambda x: x)(X)
    with assert_max_compiles(max(once.value, 1)):
        results = together(lambda _: f(X), 16)
    for r in results:
        np.testing.assert_allclose(r, want(X), rtol=1e-12)


def test_different_signatures_at_the_same_time() -> None:
    f = tj.jit(lambda x: np.cumsum(x * 2))
    results = together(lambda n: f(np.arange(float(n % 8 + 1))))
    for n, r in enumerate(results):
        np.testing.assert_array_equal(r, np.cumsum(2 * np.arange(float(n % 8 + 1))))
    assert f.trace_count == 8


def test_different_functions_at_the_same_time() -> None:
    def made(n: int) -> Any:
        return tj.jit(tj.grad(lambda x: x**n * n))

    results = together(lambda n: made(n + 1)(0.5), 12)
    assert results == pytest.approx([(n + 1) ** 2 * 0.5**n for n in range(12)])


factor = 1.0
weights = np.ones(7)


def test_guards_that_change_under_threads() -> None:
    """Each result belongs to one value of the name, and after the change all belong to the new one."""
    f = tj.jit(lambda x: x * factor)
    stop = threading.Event()
    seen: set[float] = set()

    def work(n: int) -> None:
        global factor
        if n == 0:
            for k in range(12):
                factor = float(k % 3 + 1)
                stop.wait(0.002)
            stop.set()
            return
        while not stop.is_set():
            seen.add(float(f(1.0)))

    try:
        together(work, 6)
        assert seen <= {1.0, 2.0, 3.0}
        assert f(1.0) == factor
        assert f.trace_count <= 12 + 3
    finally:
        globals()["factor"] = 1.0


def test_captured_arrays_under_threads() -> None:
    f = tj.jit(lambda x: np.sum(x * weights))

    def work(n: int) -> None:
        global weights
        for k in range(20):
            if n == 0:
                weights = np.full(7, float(k + 1))
            got = f(np.ones(7)) / 7
            assert got == int(got) and 1 <= got <= 20

    try:
        together(work, 6)
        assert f(np.ones(7)) == 140 and f.trace_count == 1
    finally:
        globals()["weights"] = np.ones(7)


def test_each_thread_updates_its_own_arrays() -> None:
    @tj.jit
    def f(x: Any) -> None:
        x += 1
        x[0] = x.sum()

    def work(n: int) -> Any:
        x = np.full(3, float(n))
        for _ in range(10):
            f(x)
        return x

    want = work(5)
    assert together(work)[5].tolist() == want.tolist() and f.trace_count == 1


def test_exceptions_stay_in_their_thread() -> None:
    def refuse(x: Any) -> Any:
        if x < 0:
            raise KeyError(float(x))
        return x

    out = tj.ShapeDtypeStruct((), np.float64)
    f = tj.jit(lambda x, i: X[i] * 0 + tj.pure_callback(refuse, out, x))
    g = tj.jit(lambda a, i: a[i])

    def work(n: int) -> Any:
        for _ in range(10):
            if n % 3 == 0:
                with pytest.raises(KeyError) as caught:
                    f(float(-n - 1), 0)
                assert caught.value.args == (float(-n - 1),)
            elif n % 3 == 1:
                with pytest.raises(IndexError, match=f"index {n + 7} "):
                    g(X, n + 7)
            else:
                assert f(float(n), 1) == n and g(X, 2) == X[2]
        return True

    assert all(together(work))


def test_an_exception_while_tracing_leaves_no_lock() -> None:
    def f(x: Any, n: int) -> Any:
        if n % 2:
            raise ZeroDivisionError(n)
        return x + n

    jitted = tj.jit(f, static_argnums=1)

    def work(n: int) -> Any:
        if n % 2:
            with pytest.raises(ZeroDivisionError):
                jitted(1.0, n)
            return None
        return jitted(1.0, n)

    assert together(work, 12) == [1.0 + n if n % 2 == 0 else None for n in range(12)]


def test_transformations_do_not_see_other_threads() -> None:
    """A trace is current in its own thread only."""
    inside, outside = threading.Event(), threading.Event()
    got: list[Any] = []

    def f(x: Any) -> Any:
        inside.set()
        assert outside.wait(20)
        return np.sin(x)

    def other() -> None:
        assert inside.wait(20)
        got.append(np.sin(X) + tj.numpy.sin(X))
        got.append(type(tj.numpy.zeros(3)))
        got.append(tj.debug.print("{}", 1.0))
        outside.set()

    thread = threading.Thread(target=other)
    thread.start()
    assert tj.grad(f)(0.5) == pytest.approx(np.cos(0.5))
    thread.join(20)
    assert got[1] is np.ndarray and not thread.is_alive()


def test_callbacks_that_compile_in_threads() -> None:
    inner = tj.jit(lambda x: np.sin(x) * 0.25)
    out = tj.ShapeDtypeStruct((), np.float64)
    f = tj.jit(lambda x: tj.pure_callback(lambda v: inner(v) + tj.grad(inner)(v), out, x))
    results = together(lambda n: f(float(n)), 16)
    assert results == pytest.approx([0.25 * (np.sin(n) + np.cos(n)) for n in range(16)])
    assert f.trace_count == 1


def test_a_callback_that_waits_for_a_thread_that_compiles() -> None:
    """No lock is held while a callback runs."""

    def elsewhere(v: Any) -> Any:
        got: list[Any] = []
        thread = threading.Thread(target=lambda: got.append(tj.jit(lambda y: y * float(v))(2.0)))
        thread.start()
        thread.join(30)
        return got[0]

    out = tj.ShapeDtypeStruct((), np.float64)
    f = lambda x: tj.pure_callback(elsewhere, out, x)
    assert tj.jit(f)(3.0) == 6.0
    assert tj.vmap(lambda x: tj.io_callback(elsewhere, out, x))(np.array([3.0])) == [6.0]
    assert tj.jit(lambda x: lax.fori_loop(0, 2, lambda i, c: f(c), x))(3.0) == 12.0


def test_effects_of_a_thread_are_its_own() -> None:
    mine = threading.local()

    @tj.jit
    def f(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            tj.debug.callback(lambda v: mine.log.append(float(v)), c, ordered=True)
            return c + 1

        return lax.fori_loop(0, 10, step, x)

    def work(n: int) -> Any:
        mine.log = []
        f(100.0 * n)
        return mine.log

    logs = together(work, 12)
    assert logs == [[100.0 * n + k for k in range(10)] for n in range(12)] and f.trace_count == 1


def test_pullbacks_shared_by_threads() -> None:
    _, pull = tj.vjp(tj.jit(lambda x: np.sin(x) * x), X)
    want = np.cos(X) * X + np.sin(X)
    for n, r in enumerate(together(lambda n: pull(np.full(7, float(n)))[0], 16)):
        np.testing.assert_allclose(r, n * want, rtol=1e-13)


def test_caches_that_are_cleared_under_threads() -> None:
    f = tj.jit(lambda x: np.sin(x) * 2)

    def work(n: int) -> None:
        for _ in range(15):
            if n == 0:
                f.clear_cache()
            np.testing.assert_allclose(f(X), 2 * np.sin(X))

    together(work, 6)


def test_a_bounded_cache_under_threads() -> None:
    with tj.config.override(cache_size=2):
        functions = [tj.jit(lambda x, n=n: x + n) for n in range(6)]

        def work(n: int) -> None:
            for k in range(18):
                m = (n + k) % 6
                assert functions[m](1.0) == 1.0 + m

        together(work, 6)
