"""Objects that blocks replace: random programs about which object is which, jitted and plain."""

from __future__ import annotations

import random
import textwrap

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import verdict
from tracejit.config import config


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, by):
        return Point(self.x + by, self.y * 0.5)


class Body:
    def __init__(self):
        self.place = Point(1.0, 2.0)

    def step(self, dt):
        self.place = self.place.moved(dt)
        return self.place.x


def trajectory(x, n):
    p = Point(x, x * x)
    for _ in range(n):
        p = p.moved(0.1 * p.y)
    return p.x


def test_derivatives_through_objects_that_are_replaced():
    for n in (1, 40):
        slope = tj.jit(tj.grad(lambda x, n=n: trajectory(x, n)))(0.7)
        assert np.isclose(slope, (trajectory(0.7 + 1e-6, n) - trajectory(0.7 - 1e-6, n)) / 2e-6, rtol=1e-8)
    many = tj.jit(tj.vmap(lambda x: trajectory(x, 30)))(np.arange(3.0))
    assert np.allclose(many, [trajectory(x, 30) for x in range(3)])


def test_a_long_loop_over_an_object_is_compiled_as_one():
    f = tj.jit(trajectory)
    with config.override(fallback=False):
        assert [f(1.0, n) for n in (3, 50, 5000)] == [trajectory(1.0, n) for n in (3, 50, 5000)]
    assert f.trace_count == 1


def test_an_object_that_is_replaced_in_each_call_is_compiled_once():
    body = Body()
    step = tj.jit(body.step)
    for n in range(10_000):
        assert abs(step(0.5) - (1.0 + 0.5 * (n + 1))) < 1e-6
    assert step.trace_count == 1


_SIMPLE = (
    "{a} = {b}",
    "{a} = {b}.moved(0.5)",
    "{a} = Point({b}.y, x)",
    "{a}.x = {b}.y + 1.0",
    "{a}.y = {b}.x * 0.5",
    "{a}, {b} = {b}, {a}",
    "held[{n}] = {a}",
    "{a} = held[{n}]",
    "held = [{a}, {b}]",
    "box.x = {a}",
    "{a} = box.x if type(box.x) is Point else {b}",
)
_CONDITIONS = ("{a}.x > {b}.x", "i % 2", "x > 1.0", "{a} is {b}", "held[{n}] is {a}", "i < 3")


def _program(seed: int) -> str:
    r = random.Random(seed)

    def line(depth: int) -> list[str]:
        names = {"a": r.choice("pqs"), "b": r.choice("pqs"), "n": r.randrange(2)}
        if depth and r.random() < 0.3:
            body = [x for _ in range(r.randint(1, 2)) for x in line(depth - 1)]
            head = [f"if {r.choice(_CONDITIONS).format(**names)}:", *("    " + x for x in body)]
            return head if r.random() < 0.5 else [*head, "else:", *("    " + x for x in line(0))]
        return [r.choice(_SIMPLE).format(**names)]

    before = [x for _ in range(r.randint(0, 3)) for x in line(0)]
    body = [x for _ in range(r.randint(1, 4)) for x in line(2)]
    lines = [*before, r.choice(("for i in range(n):", "i = 0\nwhile i < n:")), *("    " + x for x in body)]
    if "while" in lines[len(before)]:
        lines.append("    i = i + 1")
    told = (
        "p.x, p.y, q.x, q.y, s.x, s.y, [h.x for h in held], p is q, q is s, held[0] is p, held[1] is held[0]"
    )
    return "\n".join(
        [
            "def f(x, n):",
            "    p, q, s = Point(x, 1.0), Point(2.0, x), Point(x, x)",
            "    held, box = [p, q], Point(p, 0.0)",
            textwrap.indent("\n".join(lines), "    "),
            f"    return {told}, box.x is p",
        ]
    )


def _check(seed: int, tmp_path) -> str:
    text = _program(seed)
    path = tmp_path / f"objects_{seed}.py"
    path.write_text(text)
    scope = {"Point": Point}
    exec(compile(text, str(path), "exec"), scope)
    kind, why = verdict(lambda: (scope["f"], [(1.5, 9), (0.5, 4), (2.0, 12)], None))
    assert kind in ("native", "fallback"), f"{text}\n{why}"
    return kind


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", [*range(6), 16, 50, 288, 332, 394, 532, 748])
def test_random_programs_about_objects(seed: int, tmp_path) -> None:
    _check(seed, tmp_path)


@pytest.mark.exhaustive
def test_many_random_programs_about_objects(tmp_path) -> None:
    kinds = [_check(seed, tmp_path) for seed in range(100, 1300)]
    assert kinds.count("native") > 900
