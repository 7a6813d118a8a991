"""Programs that set what was there before: states of generators, defaults of functions, how arrays are written."""

from __future__ import annotations

import functools
import random
import statistics
from typing import Any

import numpy as np

from tests.programs.observe import program

A = np.array([0.5, 1.5, -2.0])
CALLS = [(A, 1.0), (A + 1, -1.0), (A, 3.0)]


# ---------------------------------------------------------------- states of generators


@program
def common_random_numbers() -> Any:
    """Two ways are compared by the same draws."""
    rng = np.random.default_rng(5)

    def cost(x, rng):
        return ((x - rng.normal(size=3)) ** 2).mean()

    def f(x, step):
        state = rng.bit_generator.state
        here = cost(x, rng)
        rng.bit_generator.state = state
        there = cost(x + step, rng)
        return x + step if there < here else x, here, there

    return f, CALLS, lambda: rng


@program
def a_state_set_in_each_step() -> Any:
    rng = np.random.Generator(np.random.MT19937(2))

    def f(x, c):
        state, found = rng.bit_generator.state, []
        for k in range(20):
            if k % 5 == 0:
                rng.bit_generator.state = state
            found.append(rng.random() * c)
        return np.array(found) + x[0]

    return f, CALLS, lambda: rng


@program
def a_state_taken_in_each_step() -> Any:
    rng = np.random.default_rng(3)

    def f(x, c):
        total = 0.0
        for k in range(30):
            state = rng.bit_generator.state
            total += rng.random() * x[k % 3]
            if total > c:
                rng.bit_generator.state = state
                total -= 1.0
        return total

    return f, CALLS, lambda: rng


@program
def a_state_set_in_a_branch() -> Any:
    rng = np.random.default_rng(4)

    def f(x, c):
        state = rng.bit_generator.state
        a = rng.random()
        if c > 0:
            rng.bit_generator.state = state
        return a, rng.random() * x

    return f, CALLS, lambda: rng


@program
def pythons_state_around() -> Any:
    def f(x, c):
        before = random.getstate()
        random.seed(3)
        y = x + random.gauss(0, 1) * c
        random.setstate(before)
        return y, random.random()

    return f, CALLS, None


@program
def a_state_is_kept_for_later() -> Any:
    rng, kept = np.random.RandomState(4), {}

    def f(x, c):
        if "state" in kept:
            rng.set_state(kept["state"])
        kept["state"] = rng.get_state()
        return x + rng.normal()

    return f, CALLS, lambda: len(kept)


@program
def a_state_is_looked_into() -> Any:
    rng = np.random.RandomState(4)

    def f(x, c):
        state: Any = rng.get_state()
        name, _, position = state[:3]
        return name, position > 0, x + rng.normal()

    return f, CALLS, lambda: rng


@program
def the_state_of_another_generator() -> Any:
    one, two = np.random.default_rng(1), np.random.default_rng(2)

    def f(x, c):
        two.bit_generator.state = one.bit_generator.state
        return one.random() == two.random(), x * c

    return f, CALLS, lambda: (one, two)


@program
def a_bit_generator_stays_the_same() -> Any:
    rng = np.random.default_rng(1)

    def f(x, c):
        bits = rng.bit_generator
        state = bits.state
        return bits is rng.bit_generator, rng.random(), setattr(bits, "state", state), rng.random() * x

    return f, CALLS, lambda: rng


# ---------------------------------------------------------------- defaults


@program
def a_default_that_counts() -> Any:
    def helper(x, seen=0):
        return x + seen

    def f(x, c):
        y = helper(x)
        (seen,) = helper.__defaults__ or (0,)
        helper.__defaults__ = (seen + 1,)
        return y, helper(x)

    return f, CALLS, lambda: helper.__defaults__


@program
def a_default_in_a_branch() -> Any:
    def helper(x, rate=1.0):
        return x * rate

    def f(x, c):
        if c > 0:
            helper.__defaults__ = (2.0,)
        return helper(x)

    return f, CALLS, lambda: helper.__defaults__


@program
def a_keyword_default_of_a_traced_number() -> Any:
    def helper(x, *, rate=1.0, more=0):
        return x * rate + more

    def f(x, c):
        y = helper(x)
        helper.__kwdefaults__["rate"] = c * 2  # type: ignore[index]
        return y, helper(x, more=1)

    return f, CALLS, lambda: helper.__kwdefaults__


@program
def keyword_defaults_replaced_as_a_whole() -> Any:
    def helper(x, *, rate=1.0):
        return x * rate

    def f(x, c):
        helper.__kwdefaults__ = {"rate": 3.0}
        helper.__kwdefaults__["rate"] = c
        return helper(x)

    return f, CALLS, lambda: helper.__kwdefaults__


@program
def keywords_of_a_partial_that_others_see() -> Any:
    g = functools.partial(lambda x, k=0.0, j=1.0: x * k + j, k=2.0)
    held = g.keywords

    def f(x, c):
        held["k"] = c
        y = g(x)
        g.keywords["j"] = 5.0
        return y, g(x), held["j"], held is g.keywords

    return f, CALLS, lambda: (g.keywords, held)


# ---------------------------------------------------------------- attributes of classes


@program
def a_new_attribute_of_a_class() -> Any:
    class Model:
        pass

    m = Model()

    def f(x, c):
        had = hasattr(Model, "rate"), getattr(m, "rate", None)
        Model.rate = c  # type: ignore[attr-defined]
        return had, m.rate * x, Model.rate, hasattr(m, "rate"), "rate" in vars(m)  # type: ignore[attr-defined]

    return f, CALLS, lambda: Model.rate  # type: ignore[attr-defined]


@program
def a_new_attribute_of_a_class_in_a_branch() -> Any:
    class Model:
        pass

    def f(x, c):
        if c > 0:
            Model.found = x.sum()  # type: ignore[attr-defined]
        return getattr(Model, "found", None), x

    return f, CALLS, lambda: getattr(Model, "found", None)


@program
def a_new_attribute_of_a_class_whose_objects_are_made() -> Any:
    class Model:
        def __init__(self, x):
            self.x = x

    class Lazy(Model):
        def __getattr__(self, name):
            return name

    def f(x, c):
        one = Model(x)
        had = hasattr(one, "rate"), hasattr(Model(c), "rate"), Lazy(x).rate
        type(one).rate = c  # type: ignore[attr-defined]
        lazy = Lazy(x)
        lazy.rate = 5.0  # type: ignore[attr-defined]
        made: Any = one, Model(x)
        return had, made[0].rate, made[1].rate * x, lazy.rate, Lazy(x).rate, Lazy(x).other

    def before(n):
        if n:
            del Model.rate  # type: ignore[attr-defined]

    return f, CALLS, lambda: Model.rate, before  # type: ignore[attr-defined]


@program
def no_attribute_of_a_class_that_had_one() -> Any:
    class Model:
        pass

    def f(x, c):
        if c > 0:
            Model.rate = c  # type: ignore[attr-defined]
        try:
            return Model().rate * x, hasattr(Model, "rate")  # type: ignore[attr-defined]
        except AttributeError as e:
            return str(e), hasattr(Model(), "rate")

    def before(n):
        if hasattr(Model, "rate"):
            del Model.rate  # type: ignore[attr-defined]

    return f, [(A, 1.0), (A, -1.0), (A, 2.0)], lambda: vars(Model).get("rate"), before


@program
def a_new_attribute_of_a_base() -> Any:
    class Base:
        pass

    class Model(Base):
        pass

    def f(x, c):
        Base.count = getattr(Model, "count", 0) + 1  # type: ignore[attr-defined]
        return x * Model.count, Model().count  # type: ignore[attr-defined]

    return f, CALLS, lambda: (Base.count, "count" in vars(Model))  # type: ignore[attr-defined]


# ---------------------------------------------------------------- how arrays are written


def _usual(n: int) -> None:
    np.set_printoptions(precision=8, suppress=False, threshold=1000)


@program
def options_between_two_texts() -> Any:
    def f(x, c):
        np.set_printoptions(precision=2)
        a = str(x / 3)
        np.set_printoptions(precision=8)
        b = str(x / 3)
        np.set_printoptions(precision=3)
        return a, b, f"{x * c / 7}", np.get_printoptions()["precision"]

    return f, CALLS, lambda: np.get_printoptions()["precision"], _usual


@program
def options_after_a_text() -> Any:
    def f(x, c):
        a = str(x / 3)
        np.set_printoptions(precision=2)
        return a, x * c

    return f, CALLS, lambda: np.get_printoptions()["precision"], _usual


@program
def options_for_what_is_printed() -> Any:
    def f(x, c):
        print(x / 3)
        np.set_printoptions(precision=2, suppress=True)
        print(x / 3, c)
        np.set_printoptions(precision=8, suppress=False)
        print(x / 3)
        return x

    return f, CALLS, None, _usual


@program
def options_of_a_known_array() -> Any:
    table = np.array([1 / 3, 2 / 3])

    def f(x, c):
        np.set_printoptions(precision=2)
        return str(table), repr(np.arange(3) / 7), x * c

    return f, CALLS, lambda: np.get_printoptions()["precision"], _usual


# ---------------------------------------------------------------- outputs of another dtype


@program
def taken_into_integers() -> Any:
    def f(x, c):
        out, part = np.zeros(3, int), np.zeros(2, np.float32)
        np.take(x * c, [2, 0, 1], out=out)
        np.compress([True, False, True], x * c, out=part)
        return out, part

    return f, CALLS, None


@program
def too_few_numbers() -> Any:
    def f(x, c):
        found = []
        for values in (x[:1].tolist(), x[:2].tolist(), x.tolist()):
            try:
                found.append((statistics.stdev(values), statistics.pvariance(values)))
            except statistics.StatisticsError as e:
                found.append(str(e))
        return found

    return f, CALLS, None
