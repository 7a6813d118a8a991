"""Handles, states and locks of random generators."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control.generators.tables import KINDS, pcg, state
from tracejit.errors import refusals
from tracejit.interpreters import generators


@pytest.mark.parametrize("make", [make for make, _ in KINDS])
def test_a_handle_leads_back_to_its_generator_and_keeps_it(make: Any) -> None:
    handle = generators.handle_of(make(3))
    assert type(generators.generator_at(handle)) is type(make(3))
    assert state(generators.generator_at(handle)) == state(make(3))


@pytest.mark.parametrize("make", [make for make, _ in KINDS])
def test_states_are_put_back(make: Any) -> None:
    rng = make(3)
    before = generators.state_of(rng)
    first = [rng.random() for _ in range(5)]
    copy = generators.copy_of(rng)
    generators.put_state(rng, before)
    assert [rng.random() for _ in range(5)] == first and copy.random() == rng.random()


def test_handles_are_of_the_classes_that_a_program_is_made_for() -> None:
    of_pcg = generators.Handle.of(pcg(0))
    assert of_pcg.is_native and generators.Handle.of(random.Random()).is_native
    assert of_pcg(pcg(1)).shape == (2,)
    for other in (np.random.RandomState(0), np.random.Generator(np.random.SFC64(0)), random.Random(0)):
        with pytest.raises(TypeError, match="another kind"):
            of_pcg(other)


def test_locks_are_held_in_a_run_and_let_go() -> None:
    rng, seen = pcg(0), []
    lock = rng.bit_generator.lock

    def free() -> bool:
        got: list[bool] = []

        def look() -> None:
            got.append(lock.acquire(blocking=False))
            if got[0]:
                lock.release()

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return got[0]

    def native(handle):
        seen.append(free())
        raise ValueError

    before = state(rng)
    with pytest.raises(ValueError) as e:
        generators.draws(native, [0], True)(generators.handle_of(rng))
    assert seen == [False] and free()
    rng.random()
    generators.take_back(e.value)
    assert state(rng) == before
    rng.random()
    generators.take_back(e.value)  # once
    assert state(rng) != before


def test_states_of_an_older_failure_are_not_put_back() -> None:
    rng = pcg(0)

    def native(handle):
        raise ValueError

    with pytest.raises(ValueError) as e:
        generators.draws(native, [0], True)(generators.handle_of(rng))
    rng.random()
    before = state(rng)
    refusals.failed(KeyError())  # that of another program
    generators.take_back(e.value)
    assert state(rng) == before


def test_threads_that_draw_from_the_same_generators_take_turns() -> None:
    """Neither order of the generators makes them wait for each other; no number is drawn twice."""
    a, b = pcg(1), pcg(2)

    def f(r, s, n):
        total = 0.0
        for _ in range(n):
            total += r.random() + s.random()
        return total

    g = tj.jit(f, fallback=False)
    g(pcg(3), pcg(4), 10)
    threads = [
        threading.Thread(target=lambda p=p: [g(*p, 2000) for _ in range(10)])
        for p in ((a, b), (b, a), (a, b), (b, a))
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    c, d = pcg(1), pcg(2)
    c.random(80_000), d.random(80_000)
    assert state(a) == state(c) and state(b) == state(d)
