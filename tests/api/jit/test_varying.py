"""Which places of outside are inputs of a program, and which are guarded."""

from __future__ import annotations

import warnings

import numpy as np

import tracejit as tj
from tracejit.api.jit import varying
from tracejit.api.jit.varying import Varying, is_number
from tracejit.frontend.checks import Check
from tracejit.frontend.paths import argument
from tracejit.frontend.shadows import growing

NODE = argument(0, "self").attr("t")


def test_numbers_that_can_be_inputs() -> None:
    assert all(map(is_number, (1, -1.5, 2j, np.float32(1), np.int8(3))))
    assert not any(map(is_number, (True, None, "a", 2**40, np.bool_(True), np.zeros(2))))


def test_what_is_written_is_an_input_until_tracing_needs_it() -> None:
    v = Varying()
    assert NODE.parent is not None
    other, inner = NODE.parent.attr("x"), NODE.attr("y")
    assert v.learn([Check(inner, "value", 3)], {NODE.place()}, set()) == {
        inner.place()
    }  # in what is replaced
    checks = [Check(NODE, "value", 3), Check(NODE, "value", None), Check(other, "value", 3)]
    for _ in range(varying.MOST_FAILURES):
        assert v.learn(checks, {NODE.place()}, set()) == {NODE.place()} and v.is_input(NODE.place())
        assert v.fail([NODE.place()]) and not v.is_input(NODE.place())
    assert not v.learn(checks, {NODE.place()}, set())


def test_a_list_that_grows_is_copied_where_it_is_short_or_needed_as_a_whole() -> None:
    v, log = Varying(), NODE.place()
    last = NODE.item(-1).place()
    assert v.learn([], {log}, {log}) == {log} and v.grows(log, 0) and v.is_input(last)
    assert v.fail([growing.Short(log, 2)]) and v.know({log})
    assert not v.grows(log, 1) and v.grows(log, 2)
    assert v.fail([last]) and not v.know({log}) and not v.is_input(last)
    assert not v.learn([], {log}, {log})


def test_what_changes_often_is_an_input() -> None:
    rate = [0.1]

    class Settings:
        lr = 0.1

    s = Settings()
    f = tj.jit(lambda x: x * s.lr)
    for n in range(10):
        s.lr = rate[0] * n
        assert f(2.0) == 2 * s.lr
    assert f.trace_count == 1 + varying.OFTEN


def test_a_flag_stays_a_guard() -> None:
    class Switch:
        on = False

        def flip(self, x):
            self.on = not self.on
            return x if self.on else -x

    s = Switch()
    flip = tj.jit(Switch.flip)
    assert [flip(s, 1.0) for _ in range(6)] == [1, -1, 1, -1, 1, -1]
    assert flip.trace_count <= 3


def test_a_number_that_shapes_need_is_guarded() -> None:
    class Grows:
        n = 1

        def step(self):
            self.n += 1
            return np.zeros(self.n)

    g = Grows()
    step = tj.jit(Grows.step)
    with tj.config.override(fallback=True):
        assert [len(step(g)) for _ in range(4)] == [2, 3, 4, 5]


def test_what_traces_itself_again_for_ever_is_pythons() -> None:
    log: list[float] = []

    @tj.jit
    def f(x):
        log.append(x)
        return sum(log) * x

    with tj.config.override(fallback=True):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert [f(1.0) for _ in range(30)] == list(range(1, 31))
    assert len(told) == 1 and f.trace_count <= 2 + varying.MOST_AGAIN and len(log) == 30


WORD = ""


def test_text_that_changes_often_is_compared() -> None:
    @tj.jit
    def scaled(x):
        return x * len(WORD) if WORD != "aaa" else x - 1

    global WORD
    for n in (*range(9), 3, 1):
        WORD = "a" * n
        assert scaled(2.0) == (1.0 if n == 3 else 2.0 * n)
    assert scaled.trace_count == 9
