"""Ctrl-C ends long native loops, and leaves everything usable."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax, vmap


def forever(x: Any) -> Any:
    return lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] + 1, np.sin(c[1]) + 1e-3), (x, 0.5))[1]


def many(n: Any) -> Any:
    return lax.fori_loop(0, n, lambda i, c: np.sin(c) * 1.0001, 0.5)


def matrices(x: Any) -> Any:
    return lax.scan(lambda c, _: (c @ c * 0.1, None), x, None, length=10**12)[0]


def lanes(x: Any) -> Any:
    """Each lane ends soon, all of them never."""
    rows = np.full(1 << 24, 1.0)

    def lane(a: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < 3000, lambda c: (c[0] + 1, np.sin(c[1]) + a), (x, a))[1]

    return lax.scan(lambda c, _: (np.sin(c + np.sum(vmap(lane)(rows))), None), 0.0, None, length=10**6)[0]


LOOPS: dict[str, tuple[Callable[..., Any], Any]] = {
    "while": (forever, 1),
    "dynamic length": (many, 10**15),
    "small matrices": (matrices, np.eye(3)),
    "lanes of while loops": (lanes, 0),
    "BLAS": (matrices, np.eye(200)),
}


@pytest.fixture(autouse=True)
def _keyboard() -> Iterator[None]:
    """Python's handler, which processes that are started in the background don't have."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.sample(5)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", LOOPS)
def test_control_c_stops_a_loop(name: str, compiled: bool) -> None:
    f, x = LOOPS[name]
    f = tj.jit(f) if compiled else f
    sent: list[float] = []

    def press() -> None:
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.3, press)  # the loop is compiled and running by then
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        f(x)
    timer.join()
    assert time.perf_counter() - sent[0] < 30  # half a second on an idle machine
    assert tj.jit(lambda v: v + 1)(2) == 3
    assert lax.fori_loop(0, 10, lambda i, c: c + i, 0) == 45


def test_a_handler_of_the_users_may_raise_anything() -> None:
    def handler(*_: Any) -> None:
        raise TimeoutError("enough")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGUSR1))
        timer.start()
        with pytest.raises(TimeoutError, match="enough"):
            tj.jit(forever)(1)
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_handler_that_returns_lets_the_loop_go_on() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGUSR1))
        timer.start()
        f = tj.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i % 3, 0))
        while not seen:
            assert f(300_000_000) == 300_000_000 - 0
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_short_loops_do_not_look() -> None:
    text = (
        tj.jit(lambda x: lax.fori_loop(0, 1000, lambda i, c: c * 1.5, x))
        .lower(1.0)
        .compile()
        .as_text("source")
    )
    assert "look" not in text
    assert "look" in tj.jit(forever).lower(1).compile().as_text("source")


def steps_back(a: Any) -> Any:
    """As many iterations as `a` has elements, at most."""
    j = len(a) - 1
    while j >= 0 and a[j] > 0:
        j -= 1
    return j


def steps_back_often(a: Any, times: Any) -> Any:
    found = 0
    for _ in range(times):
        found += steps_back(a)
    return found


def _llvm(f: Any, *args: Any) -> str:
    return tj.jit(f).lower(*args).as_text("llvm")


def test_while_loops_that_count_within_a_range_do_not_look() -> None:
    assert "look" not in _llvm(steps_back, np.ones(1000))
    assert "look" in _llvm(steps_back, np.ones(10**8))
    assert "look" in _llvm(steps_back_often, np.ones(1000), 10**15)


def test_control_c_stops_a_loop_around_one_that_counts_within_a_range() -> None:
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        tj.jit(steps_back_often)(np.ones(1000), 10**15)
    timer.join()


def test_loops_around_while_loops_look_when_those_have_worked() -> None:
    """They do not call out in every iteration."""
    f = tj.jit(vmap(lambda x: lax.while_loop(lambda c: c < 9.0, lambda c: c * x, 1.0)))
    text = f.lower(np.full(1000, 1.5)).compile().as_text("source")
    assert text.count("look") >= 4 and text.count("store i64 0, ptr") >= 2
    assert f(np.full(1000, 1.5))[7] == 1.5**6
