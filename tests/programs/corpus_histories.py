"""Programs that keep histories: lists of outside to which every call appends."""

from __future__ import annotations

import collections
import copy
from typing import Any

import numpy as np

from tests.programs.observe import program

THREE = [(1.0,), (2.0,), (3.0,)]


@program
def history_of_a_simulation() -> Any:
    class Sim:
        def __init__(self):
            self.x, self.t = np.ones(3), 0
            self.states, self.times, self.log = [], [], {"energy": [], "step": []}

        def step(self, dt):
            self.x = self.x * (1 - 0.1 * dt)
            self.t += 1
            self.states.append(self.x)
            self.times += [self.t * dt]
            self.log["energy"].append((self.x**2).sum())
            self.log["step"].append(self.t)
            return len(self.states), self.log["energy"][-1], self.times[-1]

    sim = Sim()
    return sim.step, THREE, lambda: sim


@program
def history_compared_with_its_last_items() -> Any:
    losses: list[float] = []

    def f(x):
        losses.append(x * 0.5)
        if len(losses) > 1 and losses[-1] > losses[-2]:
            return losses[-1] - losses[-2]
        return 0.0

    return f, [(3.0,), (2.0,), (5.0,), (1.0,)], lambda: losses


@program
def history_begins_with_a_default() -> Any:
    log: list[float] = []

    def f(x):
        before = log[-1] if log else 10.0
        log.append(before + x)
        return before, log[0], not log

    return f, [*THREE, (4.0,)], lambda: log


@program
def history_looked_at_as_a_whole() -> Any:
    log: list[float] = []

    def f(x):
        log.append(x)
        return sum(log) / len(log), max(log), list(log), x in log

    return f, THREE, lambda: log


@program
def history_returned() -> Any:
    log: list[float] = []

    def f(x):
        log.append(x + 1)
        return log, log is log

    return f, THREE, lambda: log


@program
def history_shown() -> Any:
    log: list[float] = []

    def f(x):
        log.append(x)
        return f"{log}", str(log), repr(len(log))

    return f, THREE, lambda: log


@program
def history_asked_for_its_class() -> Any:
    log: list[float] = []

    def f(x):
        log.append(x)
        return (
            isinstance(log, list),
            type(log) is list,
            hasattr(log, "append"),
            hasattr(log, "push"),
            bool(log),
        )

    return f, THREE, lambda: log


@program
def history_matched_by_pattern() -> Any:
    log: list[float] = []

    def f(x):
        log.append(x)
        match log:
            case [one]:
                return "one", one
            case [first, *_]:
                return "more", first
        return "none", 0.0

    return f, THREE, lambda: log


@program
def window_of_the_last_items() -> Any:
    log: list[float] = [1.0, 2.0, 3.0, 4.0]

    def f(x):
        log.append(x)
        last = log[-3:]
        return sum(last) / len(last), len(log), log[-1:], log[0]

    return f, THREE, lambda: log


@program
def window_that_is_full() -> Any:
    window: Any = collections.deque([1.0, 2.0], maxlen=3)

    def f(x):
        window.append(x)
        return window[-1] - window[-2]

    return f, [*THREE, (4.0,)], lambda: (list(window), window.maxlen)


@program
def window_read_in_its_middle() -> Any:
    window: Any = collections.deque([1.0, 2.0], maxlen=3)

    def f(x):
        window.append(x)
        return window[0], len(window), window[-3]

    return f, [*THREE, (4.0,)], lambda: list(window)


@program
def histories_that_become_one() -> Any:
    logs: dict[str, list[float]] = {"a": [], "b": []}

    def f(x):
        logs["a"].append(x)
        logs["b"].append(-x)
        return len(logs["a"]), logs["b"][-1]

    def before(n):
        if n == 2:
            logs["b"] = logs["a"]

    return f, [*THREE, (4.0,)], lambda: logs, before


@program
def history_replaced_between_calls() -> Any:
    class Owner:
        log: Any

    owner = Owner()
    owner.log = []

    def f(x):
        owner.log.append(x)
        return len(owner.log), owner.log[-1]

    def before(n):
        if n == 1:
            owner.log = [7, 8]
        if n == 2:
            owner.log = collections.deque([1.5], maxlen=2)
        if n == 3:
            owner.log = (1, 2)

    return f, [*THREE, (4.0,)], lambda: owner, before


@program
def history_of_arrays_changed_afterwards() -> Any:
    class Walk:
        def __init__(self):
            self.x, self.path = np.zeros(2), []

        def step(self, v):
            self.path.append(self.x)
            self.x += v
            self.path.append(self.x.copy())
            return self.path[-2] is self.x, len(self.path)

    walk = Walk()
    return walk.step, THREE, lambda: walk


@program
def stack_that_is_left_as_it_was() -> Any:
    stack: list[float] = [1.0, 2.0]

    def f(x):
        stack.append(x)
        stack.append(2 * x)
        return stack.pop() + stack.pop(), len(stack)

    return f, THREE, lambda: stack


@program
def items_changed_and_taken() -> Any:
    log: list[float] = []

    def f(x):
        log.append(x)
        log[-1] += 1
        log.append(log[-1])
        if len(log) > 5:
            log.pop(0)
        return log[-1]

    return f, [*THREE, (4.0,), (5.0,)], lambda: log


@program
def history_of_objects() -> Any:
    class Record:
        def __init__(self, t, x):
            self.t, self.x = t, x

    log: list[Any] = []

    def f(x):
        last = log[-1].t if log else 0
        log.append(Record(last + 1, x))
        return last, log[-1].x

    return f, [*THREE, (4.0,)], lambda: log


@program
def history_of_pairs() -> Any:
    log: list[Any] = [(0, 0.0)]

    def f(x):
        t, before = log[-1]
        log.append((t + 1, before + x))
        return log[-1][0], log[-1]

    return f, [*THREE, (4.0,)], lambda: log


@program
def history_copied() -> Any:
    log: list[float] = []
    kept: list[Any] = []

    def f(x):
        log.append(x)
        kept.append(log[:])
        kept.append(copy.copy(log))
        return len(kept)

    return f, THREE, lambda: (log, kept)


@program
def history_read_past_its_end() -> Any:
    log: list[float] = []

    def f(x):
        log.append(x)
        try:
            return log[-3]
        except IndexError as e:
            return str(e)

    return f, [*THREE, (4.0,)], lambda: log


@program
def history_that_is_emptied() -> Any:
    buffer: list[float] = []

    def f(x):
        buffer.append(x)
        if len(buffer) >= 2:
            out = sum(buffer)
            buffer.clear()
            return out
        return 0.0

    return f, [*THREE, (4.0,)], lambda: buffer


@program
def history_within_a_failing_call() -> Any:
    log: list[float] = []

    def f(x, i):
        log.append(x[0])
        y = x[i]
        log.append(y)
        return len(log)

    return f, [(np.arange(3.0), 1), (np.arange(3.0), 7), (np.arange(3.0), 2)], lambda: log


@program
def history_in_a_global_function() -> Any:
    log: list[float] = []
    append = log.append

    def note(x):
        append(x)
        return len(log)

    def f(x):
        return note(x) + note(2 * x)

    return f, THREE, lambda: log


@program
def a_history_of_pythons_numbers_after_a_first_step() -> Any:
    def f(target, n):
        before, x, seen = None, 0.0, []
        for _ in range(n):
            slope = 0.0 if before is None else (target - before) / 0.1
            before, target = target, target * 0.9
            x = x + slope
            seen.append(x)
        return seen, [(a, a > 0.5) for a in seen]

    return f, [(1.0, 40), (2.0, 40), (np.float64(3.0), 40)], None


@program
def a_history_of_numbers_that_an_object_keeps() -> Any:
    class Controller:
        def __init__(self):
            self.total, self.before = 0.0, None

        def step(self, error, dt):
            self.total += error * dt
            slope = 0.0 if self.before is None else (error - self.before) / dt
            self.before = error
            return error + 0.1 * self.total + 0.05 * slope

    seen: list[Any] = []

    def f(target):
        c, x = Controller(), 0.0
        for _ in range(30):
            x += c.step(target - x, 0.1) * 0.1
            seen.append(x)
        return seen[-1]

    return f, [(1.0,), (2.0,), (1.5,)], lambda: seen
