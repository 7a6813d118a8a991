"""Programs in the style of other people's code that mix what each of them does alone elsewhere: trainers, simulators,
parsers, schedulers, with state that later calls see."""

from __future__ import annotations

import abc
import bisect
import collections
import contextlib
import dataclasses
import enum
import functools
import heapq
import itertools
import math
import operator
import random
import re
import types
from typing import Any, NamedTuple

import numpy as np

from tests.programs.observe import program

_NUMBERS: list[Any] = [(1.0,), (2.5,), (-3.0,)]


def _vectors(*shifts: float) -> list[Any]:
    return [(np.arange(4.0) + s,) for s in shifts]


@program
def early_stopping_with_patience() -> Any:
    class Stopper:
        def __init__(self, patience: int) -> None:
            self.best, self.bad, self.patience = math.inf, 0, patience
            self.history: list[tuple[int, float]] = []

        def update(self, loss: float) -> bool:
            self.history.append((len(self.history), loss))
            if loss < self.best:
                self.best, self.bad = loss, 0
            else:
                self.bad += 1
            return self.bad >= self.patience

    stopper = Stopper(2)

    def f(w):
        for k in range(6):
            loss = float(((w - k) ** 2).sum())
            if stopper.update(loss):
                return k, loss
        return None, stopper.best

    return f, _vectors(0, 1, 5), lambda: vars(stopper)


@program
def adam_in_a_closure() -> Any:
    def adam(rate=0.1, betas=(0.9, 0.99)):
        moments: dict[str, np.ndarray] = {}
        steps = 0

        def step(params, grads):
            nonlocal steps
            steps += 1
            for name, g in grads.items():
                m = moments.setdefault("m" + name, np.zeros_like(g))
                v = moments.setdefault("v" + name, np.zeros_like(g))
                m[...] = betas[0] * m + (1 - betas[0]) * g
                v[...] = betas[1] * v + (1 - betas[1]) * g**2
                hat = m / (1 - betas[0] ** steps), v / (1 - betas[1] ** steps)
                params[name] -= rate * hat[0] / (np.sqrt(hat[1]) + 1e-8)
            return params

        step.moments = moments
        return step

    step = adam()
    params = {"w": np.ones(4), "b": np.zeros(1)}

    def f(x):
        error = x @ params["w"] + params["b"] - 1.0
        step(params, {"w": error * x, "b": error})
        return error**2, params["b"][0]

    return f, _vectors(0, 1, -1), lambda: (params, step.moments)


@program
def event_queue_with_ties() -> Any:
    counter = itertools.count()
    queue: list[Any] = []
    done: list[Any] = []

    def push(time, name, **extra):
        heapq.heappush(queue, (time, next(counter), name, extra))

    def f(x):
        push(2, "late", value=x * 2)
        push(1, "early", value=x)
        push(2, "tie", value=-x)
        total = 0.0
        while len(queue) > 1:
            time, number, name, extra = heapq.heappop(queue)
            done.append((time, name))
            total = total + extra["value"] / (number + 1)
        return total, len(queue)

    return f, _NUMBERS, lambda: (done, [q[:3] for q in queue])


@program
def tokens_and_a_stack() -> Any:
    operators = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
    seen = collections.Counter()

    def f(x, text):
        stack: list[Any] = []
        for kind, number in re.findall(r"([-+*/x])|(\d+)", text):
            seen[kind or "n"] += 1
            if number:
                stack.append(float(number))
            elif kind == "x":
                stack.append(x)
            else:
                b, a = stack.pop(), stack.pop()
                try:
                    stack.append(operators[kind](a, b))
                except ZeroDivisionError:
                    stack.append(math.nan)
        (result,) = stack
        return result

    return f, [(2.0, "x 3 * 1 -"), (3.0, "x 0 /"), (4.0, "x x * x +")], lambda: dict(seen)


class Shape(abc.ABC):
    registry: dict[str, type] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Shape.registry[cls.__name__.lower()] = cls

    @abc.abstractmethod
    def area(self) -> Any: ...

    @classmethod
    def make(cls, name: str, *sizes: Any) -> Any:
        return cls.registry[name](*sizes)

    def __lt__(self, other: Any) -> Any:
        return self.area() < other.area()


class Circle(Shape):
    def __init__(self, r: Any) -> None:
        self.r = r

    def area(self) -> Any:
        return math.pi * self.r**2


class Rect(Shape):
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def area(self) -> Any:
        return self.a * self.b


@program
def shapes_by_name_sorted() -> Any:
    def f(x):
        shapes = [Shape.make("circle", x), Shape.make("rect", x, 2.0), Rect(abs(x), 1.5)]
        first, *rest = sorted(shapes)
        return type(first).__name__, first.area(), sum(s.area() for s in rest), isinstance(first, Shape)

    return f, _NUMBERS, lambda: sorted(Shape.registry)


@program
def running_statistics_by_welford() -> Any:
    @dataclasses.dataclass
    class Running:
        n: int = 0
        mean: float = 0.0
        m2: float = 0.0
        extremes: list[float] = dataclasses.field(default_factory=lambda: [math.inf, -math.inf])

        def push(self, x: float) -> Running:
            self.n += 1
            d = x - self.mean
            self.mean += d / self.n
            self.m2 += d * (x - self.mean)
            self.extremes = [min(self.extremes[0], x), max(self.extremes[1], x)]
            return self

        @property
        def std(self) -> float:
            return math.sqrt(self.m2 / (self.n - 1)) if self.n > 1 else math.nan

    running = Running()

    def f(x):
        before = dataclasses.replace(running)
        for v in x:
            running.push(float(v))
        return running.std, running.n - before.n, running.mean - before.mean

    return f, _vectors(0, 2, -1), lambda: running


class Level(enum.IntEnum):
    LOW = 1
    MID = 2
    HIGH = 3

    @classmethod
    def of(cls, x: Any) -> Level:
        return cls.HIGH if x > 2 else cls.MID if x > 0 else cls.LOW


@program
def alarms_by_levels() -> Any:
    counts = dict.fromkeys(Level, 0)
    handlers: dict[Level, Any] = {}

    def on(level):
        def register(fn):
            handlers[level] = fn
            return fn

        return register

    @on(Level.HIGH)
    def high(x):
        return f"HIGH {x:.1f}"

    @on(Level.MID)
    def mid(x):
        return x * 2

    def f(x):
        level = Level.of(x)
        counts[level] += 1
        handler = handlers.get(level, lambda v: None)
        return handler(x), level.name, level + 1, counts[level]

    return f, _NUMBERS, lambda: counts


@program
def pipeline_of_generators() -> Any:
    stats = types.SimpleNamespace(read=0, kept=0)

    def source(x):
        for v in x:
            stats.read += 1
            yield v

    def positive(items):
        for v in items:
            if v > 0:
                stats.kept += 1
                yield v

    def batched(items, size):
        it = iter(items)
        while batch := list(itertools.islice(it, size)):
            yield batch

    def f(x):
        return [sum(b) for b in batched(positive(source(x)), 2)]

    return f, _vectors(-1, 0, -5), lambda: vars(stats)


@program
def matrix_chain_by_memo() -> Any:
    calls = collections.Counter()

    def f(x, sizes):
        @functools.cache
        def best(i, j):
            calls[j - i] += 1
            if i == j:
                return 0
            return min(
                best(i, k) + best(k + 1, j) + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)
            )

        return x * best(0, len(sizes) - 2)

    return f, [(1.0, (2, 3, 4)), (2.0, (2, 3, 4, 5)), (0.5, (2, 3, 4))], lambda: dict(calls)


class Reading(NamedTuple):
    at: int
    value: Any

    def scaled(self, by: Any) -> Reading:
        return self._replace(value=self.value * by)


@program
def interpolated_readings() -> Any:
    readings = [Reading(0, 0.0), Reading(4, 2.0)]

    def f(at, value):
        n = bisect.bisect([r.at for r in readings], at)
        left, right = readings[n - 1], readings[min(n, len(readings) - 1)]
        span = right.at - left.at or 1
        guess = left.value + (right.value - left.value) * (at - left.at) / span
        readings.insert(n, Reading(at, value).scaled(0.5))
        return guess, value - guess, [r.at for r in readings]

    return f, [(2, 1.0), (1, 3.0), (6, -1.0)], lambda: readings


@program
def bank_with_transactions() -> Any:
    class Refused(Exception):
        def __init__(self, need: Any, have: Any) -> None:
            super().__init__(f"need {need:.2f}, have {have:.2f}")
            self.missing = need - have

    class Account:
        def __init__(self, balance: float) -> None:
            self._balance, self.log = balance, []

        balance = property(lambda self: self._balance)

        @contextlib.contextmanager
        def transaction(self):
            before = self._balance
            try:
                yield self
            except Refused as e:
                self._balance = before
                self.log.append(("rolled back", e.missing))
                raise
            else:
                self.log.append(("done", self._balance - before))

        def draw(self, amount):
            if amount > self._balance:
                raise Refused(amount, self._balance)
            self._balance -= amount

    account = Account(5.0)

    def f(x):
        try:
            with account.transaction() as a:
                a.draw(x)
                a.draw(1.0)
        except Refused as e:
            return str(e), account.balance
        return account.balance

    return f, [(1.0,), (2.5,), (0.25,)], lambda: (account.balance, account.log)


@program
def random_walk_with_its_own_generator() -> Any:
    rng = random.Random(3)
    places: dict[tuple[int, int], int] = collections.defaultdict(int)
    moves = {"n": (0, 1), "s": (0, -1), "e": (1, 0), "w": (-1, 0)}

    def f(x, steps):
        here, path = (0, 0), ""
        for _ in range(steps):
            name = rng.choice(sorted(moves))
            here = here[0] + moves[name][0], here[1] + moves[name][1]
            places[here] += 1
            path += name
        return path, x * math.hypot(*here), max(places.values())

    return f, [(1.0, 5), (2.0, 3), (1.0, 7)], lambda: (dict(places), rng.getstate()[1][:3])
