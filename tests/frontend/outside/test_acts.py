"""Functions that solvers call in derivatives outside of jit may do nothing besides: SciPy would do it more often."""

from __future__ import annotations

import itertools
import logging
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj
from tracejit.errors import SolverOptionError
from tracejit.frontend.outside.acts import Noting

CALLS = 0
SEEN: list[Any] = []
COUNTS = {"calls": 0}
ROW = np.zeros(1)
RNG = np.random.default_rng(1)


class Counter:
    """Counts its calls."""

    total = 0

    def __init__(self) -> None:
        self.calls = 0
        self.log: list[int] = []
        self.random = random.Random(3)

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return x**2 - 2.0


COUNTER = Counter()


def by_name(x: Any) -> Any:
    global CALLS
    CALLS += 1
    return x**2 - 2.0


def by_list(x: Any) -> Any:
    SEEN.append(1)
    return x**2 - 2.0


def by_dict(x: Any) -> Any:
    COUNTS["calls"] += 1
    return x**2 - 2.0


def by_array(x: Any) -> Any:
    ROW[0] += 1
    return x**2 - 2.0


def by_attribute(x: Any) -> Any:
    COUNTER.log.append(1)
    return x**2 - 2.0


def by_class(x: Any) -> Any:
    Counter.total += 1
    return x**2 - 2.0


def by_helper(x: Any) -> Any:
    return COUNTER(x)


def by_draws(x: Any) -> Any:
    return x**2 - 2.0 + 0.0 * RNG.normal()


def by_draws_of_an_attribute(x: Any) -> Any:
    return x**2 - 2.0 + 0.0 * COUNTER.random.random()


def by_draws_of_the_process(x: Any) -> Any:
    return x**2 - 2.0 + 0.0 * np.random.normal() * random.random()


def by_print(x: Any) -> Any:
    print("at")
    return x**2 - 2.0


def by_stream(x: Any) -> Any:
    sys.stderr.write("at\n")
    return x**2 - 2.0


def by_log(x: Any) -> Any:
    logging.getLogger("tests.acts").warning("at %s", x)
    return x**2 - 2.0


KINDS = [by_print, by_stream, by_log, by_draws, by_draws_of_an_attribute, by_draws_of_the_process]
KINDS += [by_name, by_list, by_dict, by_array, by_attribute, by_class, by_helper, COUNTER, COUNTER.__call__]


@pytest.mark.parametrize("count", KINDS)
def test_functions_that_do_something_are_refused(count: Callable[[Any], Any]) -> None:
    def solved(y: Any) -> Any:
        return y * 1.0, so.brentq(count, 0.0, 10.0)

    with pytest.raises(SolverOptionError, match="whenever it is called"):
        tj.value_and_grad(solved, has_aux=True)(1.0)


def test_what_is_done_before_and_after_is_none_of_the_functions() -> None:
    def solved(y: Any) -> Any:
        COUNTER.calls = 5
        SEEN.append(1)
        root = so.brentq(lambda x: x**2 - y * COUNTER.calls * len(SEEN), 0.0, 10.0)
        COUNTER.calls += 1
        SEEN.clear()
        return root

    SEEN.clear()
    value, slope = tj.value_and_grad(solved)(2.0)
    assert np.isclose(value, 10**0.5) and np.isclose(slope, 5 / (2 * 10**0.5))
    assert COUNTER.calls == 6 and not SEEN


def test_functions_of_elements_may_do_nothing_either() -> None:
    def counted(y: Any) -> Any:
        return y * 1.0, np.vectorize(by_list, otypes=[float])(np.arange(3.0) * y)

    with pytest.raises(tj.TracejitError, match="whenever it is called"):
        tj.value_and_grad(counted, has_aux=True)(1.0)


def test_draws_before_and_after_are_none_of_the_functions() -> None:
    def solved(y: Any) -> Any:
        first = rng.random()
        root = so.brentq(lambda x: x**2 - y, 0.0, 10.0)
        return root, first + rng.random()

    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    (value, drawn), _ = tj.value_and_grad(solved, has_aux=True)(2.0)
    assert np.isclose(value, 2**0.5) and drawn == same.random() + same.random()
    assert rng.random() == same.random()


def test_prints_before_and_after_are_none_of_the_functions(capsys: pytest.CaptureFixture[str]) -> None:
    def solved(y: Any) -> Any:
        print("before")
        root = so.brentq(lambda x: x**2 - y, 0.0, 10.0)
        print("after")
        return root

    streams = sys.stdout, sys.stderr, logging.getLogRecordFactory()
    assert np.isclose(tj.value_and_grad(solved)(2.0)[0], 2**0.5)
    assert capsys.readouterr().out == "before\nafter\n"
    assert streams == (sys.stdout, sys.stderr, logging.getLogRecordFactory())


KEPT: dict[str, Any] = {}


def by_questions_of_the_stream(x: Any) -> Any:
    """Nothing else than its number, which depends on what the stream is."""
    stream = sys.stdout
    KEPT.setdefault("stream", stream)
    return x**2 - (2.0 if stream is KEPT["stream"] and type(stream) is KEPT["type"] else 3.0)


def test_streams_stay_what_they_are() -> None:
    KEPT.update(type=type(sys.stdout), stream=sys.stdout)
    before = dict(vars(sys.stdout))
    got = tj.grad(lambda a: a * so.brentq(by_questions_of_the_stream, 0.0, 2.0))(1.0)
    assert np.isclose(got, np.sqrt(2.0)) and vars(sys.stdout) == before


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("own", (False, True))
def test_those_that_look_at_a_stream_leave_nothing_at_it(order: tuple[int, ...], own: bool) -> None:
    """In whichever order: threads may end as they like."""

    class Stream:
        def write(self, text: str) -> str:
            return text

    stream = Stream()
    told: list[Any] = []
    noted: list[Noting] = []
    if own:
        stream.write = lambda text: text * 2  # type: ignore[method-assign]
    before = dict(vars(stream))
    for n in range(3):
        session: Any = types.SimpleNamespace(acted=lambda what, n=n: told.append((n, what)))
        noting = Noting(stream.write, vars(stream).get("write"), session, "prints")
        stream.write = noting  # type: ignore[method-assign]
        noted.append(noting)
    left = [*order]
    while left:
        told.clear()
        assert stream.write("a") == ("aa" if own else "a") and {n for n, _ in told} == set(left)
        noted[left.pop(0)].leave(stream, "write")
    assert vars(stream) == before


class Slotted:
    """A stream of which nobody can see whether something writes into it."""

    __slots__ = ()

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


def test_streams_that_nobody_can_look_at_are_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Slotted())
    with pytest.raises(SolverOptionError, match="perhaps prints"):
        tj.grad(lambda a: a * so.brentq(lambda x: x**2 - 2.0, 0.0, 2.0))(1.0)
