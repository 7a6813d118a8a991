"""Programs that change state, draw, print, log and warn together."""

from __future__ import annotations

import contextlib
import io
import logging
import random
import sys
import warnings
from typing import Any

import numpy as np

from tests.programs.observe import program

THREE = [(1.0,), (2.0,), (3.0,)]


@program
def a_simulation_that_draws_and_prints() -> Any:
    class Sim:
        def __init__(self):
            self.rng, self.n, self.hits, self.log = np.random.default_rng(3), 0, 0, []

        def step(self, scale):
            self.n += 1
            x = self.rng.normal(size=3) * scale
            self.log.append(x.sum())
            if self.rng.random() < 0.5:
                self.hits += 1
            print("step", self.n, f"{x.mean():.3f}", self.hits)
            return self.hits

    sim = Sim()
    return sim.step, [*THREE, (4.0,)], lambda: (sim, sim.rng.bit_generator.state)


@program
def metropolis_of_an_object() -> Any:
    class Chain:
        def __init__(self):
            self.x, self.taken, self.path = 0.0, 0, []

        def run(self, n):
            for _ in range(n):
                new = self.x + np.random.normal(0.0, 0.5)
                if random.random() < np.exp(-(new**2 - self.x**2) / 2):
                    self.x = new
                    self.taken += 1
            self.path.append(self.x)
            return self.taken / n

    chain = Chain()
    return chain.run, [(50,), (60,), (70,)], lambda: (chain, np.random.random(), random.random())


@program
def a_counter_that_logs_and_warns() -> Any:
    counts = {"calls": 0, "late": 0}
    log = logging.getLogger("tests.together")

    def f(x):
        counts["calls"] += 1
        log.warning("call %d with %.1f", counts["calls"], x)
        if x > 1.5:
            counts["late"] += 1
            warnings.warn(f"late: {x}", stacklevel=1)
        return counts["late"]

    return f, THREE, lambda: counts


@program
def a_stream_of_the_users_sees_the_state() -> Any:
    class Owner:
        def __init__(self):
            self.n, self.seen = 0, []

    owner = Owner()

    class Tee(io.StringIO):
        def write(self, text):
            owner.seen.append((owner.n, text))
            return super().write(text)

    def f(x):
        owner.n += 1
        print(f"{x:.1f}")
        owner.n += 1
        return owner.n

    def run(x):
        with contextlib.redirect_stdout(Tee()):
            return f(x)

    def before(n):
        sys.stdout.flush()

    return run, THREE, lambda: owner, before


@program
def a_filter_of_the_users_sees_the_state() -> Any:
    class Owner:
        n = 0

    owner = Owner()
    owner.n = 0
    seen: list[Any] = []

    def look(record):
        seen.append((owner.n, record.getMessage()))
        return True

    log = logging.Logger("tests.own")
    handler = logging.NullHandler()
    log.addHandler(handler)

    def f(x):
        owner.n += 1
        log.error("at %s", x)
        owner.n += 1
        return owner.n

    def before(n):
        if n == 1:
            log.addFilter(look)

    return f, [*THREE, (4.0,)], lambda: (owner.n, seen), before


@program
def a_check_fails_after_all_that() -> Any:
    class Sim:
        def __init__(self):
            self.rng, self.n = np.random.default_rng(5), 0

        def step(self, a, i):
            self.n += 1
            x = self.rng.normal()
            print("drawn", f"{x:.3f}")
            y = a[i] * x
            self.n += 1
            return y

    sim = Sim()
    a = np.arange(3.0)
    return sim.step, [(a, 1), (a, 7), (a, 2)], lambda: (sim.n, sim.rng.bit_generator.state)
