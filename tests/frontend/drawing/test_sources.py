"""Where generators come from, and what stands for them while a program is traced."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control.generators.tables import mersenne, pcg, same, state
from tracejit.errors import RandomLanesError, RandomStateError

RNG = pcg(3)


class Holder:
    def __init__(self, *generators: Any) -> None:
        self.first, self.second = generators


def test_another_generator_needs_no_new_trace_and_another_kind_does() -> None:
    f = tj.jit(lambda x, rng: x + rng.random(), fallback=False)
    for make, count in ((pcg, 1), (pcg, 1), (mersenne, 2), (np.random.RandomState, 3), (pcg, 3)):
        assert f(1.0, make(5)) == 1.0 + make(5).random() and f.trace_count == count


def test_two_names_of_one_generator_are_one() -> None:
    a, b = pcg(1), pcg(1)
    ours, theirs = Holder(a, a), Holder(b, b)

    def f(x, holder):
        return x + holder.first.random() - 2 * holder.second.random()

    g = tj.jit(f, fallback=False)
    assert g(1.0, ours) == f(1.0, theirs) and state(a) == state(b)
    assert g(1.0, Holder(pcg(1), pcg(1))) == f(1.0, Holder(pcg(1), pcg(1))) and g.trace_count == 2


def test_the_functions_of_modules_draw_from_their_generators() -> None:
    def f(x):
        np.random.seed(x)
        random.seed(x)
        return np.random.rand(), np.random.sample(2), random.random(), random.gauss(0, x)

    g = tj.jit(f, fallback=False)
    for x in (3, 4):
        assert same(g(x), f(x))
    assert g.trace_count == 1


def test_bound_methods_and_defaults() -> None:
    draw, ours, theirs = pcg(4).random, pcg(5), pcg(5)

    def f(x, rng=ours):
        return x + draw() + rng.random()

    other = pcg(4).random
    assert tj.jit(f, fallback=False)(1.0) == 1.0 + other() + theirs.random()


def test_what_stands_for_a_generator_says_it_is_one() -> None:
    def f(rng):
        classes = (np.random.Generator, np.random.RandomState)
        kinds = *[isinstance(rng, c) for c in classes], type(rng) is np.random.Generator, rng is not None
        return kinds, hasattr(rng, "normal"), np.random.default_rng(rng) is rng

    assert tj.jit(f, fallback=False)(pcg(0)) == f(pcg(0))


@pytest.mark.parametrize(
    "use",
    [
        lambda rng: rng.bit_generator.state["has_uint32"],
        lambda rng: len(rng.bytes(3)),
        lambda rng: copy.deepcopy(rng).random(),
        lambda rng: len(repr(rng)),
        lambda rng: hash(rng) * 0,
        lambda rng: np.random.Generator(rng.bit_generator).random(),
        lambda rng: rng.choice(["a", "b"]) == "a",
        lambda rng: rng.normal.__self__ is rng,
    ],
)
def test_what_shows_or_changes_more_than_the_numbers_to_come_is_refused(use: Any) -> None:
    with pytest.raises(RandomStateError):
        tj.jit(lambda x, rng: x + use(rng), fallback=False)(1.0, pcg(0))


def test_a_refusal_is_no_exception_of_the_function() -> None:
    def f(rng):
        try:
            return len(rng.bytes(3))
        except Exception:
            return -1

    with pytest.raises(RandomStateError):
        tj.jit(f, fallback=False)(pcg(0))


def test_generators_in_results() -> None:
    def f(x, rng):
        made = np.random.default_rng(7)
        return x + made.random(), made, rng, RNG

    rng, g = pcg(1), tj.jit(f, fallback=False)
    for _ in range(2):
        value, made, given, captured = g(1.0, rng)
        assert value == 1.0 + np.random.default_rng(7).random() and given is rng and captured is RNG
        other = np.random.default_rng(7)
        other.random()
        assert state(made) == state(other)
        made.random()


def test_known_numbers_are_constants_and_later_ones_are_drawn() -> None:
    def f(n):
        rng = np.random.default_rng(8)
        first = rng.normal(size=3)
        first[1] = n
        rng.shuffle(first)
        total = 0.0
        for _ in range(n):
            total += rng.random()
        return first, total, rng.integers(1000)

    g = tj.jit(f, fallback=False)
    assert same(g(20), f(20)) and same(g(21), f(21))
    text = str(tj.make_jaxpr(lambda x: x + np.random.default_rng(8).random())(1.0))
    assert "draw" not in text


def test_generators_that_the_program_makes() -> None:
    def f(seed):
        rng = np.random.default_rng(seed)
        a, b = np.random.default_rng(1).spawn(2)
        return (
            rng.random(),
            np.random.RandomState(seed).rand(),
            random.Random(seed).random(),
            a.random() + b.random(),
        )

    g = tj.jit(f, fallback=False)
    assert g(3) == f(3) and g(4) == f(4) and g.trace_count == 1
    unseeded = tj.jit(lambda: np.random.default_rng().random(), fallback=False)
    assert unseeded() != unseeded()


def test_under_vmap_a_program_does_not_draw() -> None:
    x = np.zeros(3)
    with pytest.raises(RandomLanesError):
        tj.vmap(tj.jit(lambda v: v + RNG.normal()))(x)
    for f in (lambda v: v + RNG.normal(), lambda v: v + RNG.normal(v)):
        with pytest.raises(RandomLanesError):
            tj.jit(tj.vmap(f), fallback=False)(x)


def test_a_rule_may_draw() -> None:
    @tj.custom_jvp
    def f(x):
        return x * 2

    rng = pcg(9)
    f.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0] * rng.random()))
    slope, want = tj.jit(tj.grad(f), fallback=False), pcg(9)
    assert [slope(1.0), slope(1.0)] == [want.random(), want.random()]
