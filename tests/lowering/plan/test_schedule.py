"""Axes of one element, where an element's index and that of the whole are the same; random programs on such arrays."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def of_an_element(y: Any) -> Any:
    """A sum over elements reads a number that is computed from one of them."""
    z = y * 1.3 + np.sin(y)
    e = np.sqrt((abs(np.exp(z[0]) - y * z) ** 2).sum())
    return np.where(e < 1e9, z, y), e


def of_rows(y: Any) -> Any:
    z = y * 1.3 + np.sin(y)
    s = -2 * z[:, 0]
    e = (abs(s[:, None] - y * z) ** 2).sum(axis=1)
    return np.where(e[:, None] < 1e9, z, y), e, s


def in_a_loop(y: Any) -> Any:
    for _ in range(3):
        y, _ = of_an_element(y)
    return y


@pytest.mark.parametrize(
    ("f", "shape"), [(of_an_element, 1), (of_an_element, 3), (of_rows, (4, 1)), (of_rows, (1, 1)), (in_a_loop, 1)]
)  # fmt: skip
def test_numbers_of_elements_are_there_before_the_sums_that_read_them(f: Any, shape: Any) -> None:
    y = np.linspace(0.5, 1.5, np.prod(shape)).reshape(shape)
    for got, want in zip(tj.jit(f)(y), f(y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


SHAPES = [(1,), (2,), (1, 1), (1, 3), (3, 1), (1, 1, 2), (2, 1, 1), (1, 2, 1)]


class Writer:
    """Writes a function of two arrays of `shape`, a number and a count of steps; names of later values are likelier."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.shape = self.rng.choice(SHAPES)
        self.lines: list[str] = []
        self.arrays, self.numbers, self.count = ["x", "y"], ["h"], 0

    def array(self) -> str:
        return self.rng.choice(self.arrays[-4:])

    def number(self) -> str:
        return self.rng.choice(self.numbers[-3:])

    def element(self) -> str:
        return f"{self.array()}[{','.join(str(self.rng.randrange(d)) for d in self.shape)}]"

    def add(self, indent: str) -> None:
        rng, a, b = self.rng, self.array(), self.array()
        arrays = [
            f"{a} {rng.choice('+-*')} {rng.choice([b, self.number()])}",
            f"np.{rng.choice(['sin', 'tanh', 'abs', 'cos'])}({a})",
            f"{a} + np.{rng.choice(['sum', 'max', 'mean'])}({b}, {rng.randrange(len(self.shape))}, keepdims=True)",
            f"np.where({self.number()} < {self.number()}, {a}, {b})",
            f"{a}.reshape(-1)[::-1].reshape({self.shape})",
        ]
        numbers = [
            f"np.cos({self.element()})",
            f"0.5 * {self.element()}",
            f"np.{rng.choice(['sum', 'max', 'mean'])}({a} {rng.choice('*+-')} {rng.choice([b, self.number()])})",
        ]
        self.count += 1
        kind = rng.random() < 0.6
        self.lines.append(f"{indent}v{self.count} = {rng.choice(arrays if kind else numbers)}")
        (self.arrays if kind else self.numbers).append(f"v{self.count}")

    def source(self) -> str:
        for _ in range(self.rng.randrange(3, 9)):
            self.add("    ")
        if self.rng.random() < 0.5:
            self.lines += ["    u, w = 1 * x, 1.0 * h", f"    for _ in range({self.rng.choice(['3', 'm'])}):"]
            kept = [*self.arrays, "u"], [*self.numbers, "w"]
            self.arrays, self.numbers = [*kept[0]], [*kept[1]]
            for _ in range(self.rng.randrange(2, 9)):
                self.add("        ")
            self.lines.append(f"        u, w = np.tanh({self.array()}), np.cos({self.number()})")
            self.arrays, self.numbers = kept
        results = [self.array(), self.array(), self.number(), self.number()]
        return "\n".join(["def f(x, y, h, m):", *self.lines, f"    return {', '.join(results)}"])


def check(seed: int) -> None:
    writer = Writer(seed)
    text, name, space = writer.source(), f"<program {seed}>", {"np": np}
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    exec(compile(text, name, "exec"), space)
    f: Any = space["f"]
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=writer.shape), rng.normal(size=writer.shape)
    for got, want in zip(tj.jit(f)(x, y, 0.3, 3), f(x, y, 0.3, 3), strict=True):
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11, err_msg=text)


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    check(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_many_random_programs(first: int) -> None:
    for seed in range(first, first + 100):
        check(seed)
