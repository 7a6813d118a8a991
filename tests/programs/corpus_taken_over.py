"""Programs that call transformed functions with the attributes of the functions that they were made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tests.programs.observe import program


def _square() -> Any:
    def square(x):
        return x * x

    square.scale = 2.0  # type: ignore[attr-defined]
    square.seen = []  # type: ignore[attr-defined]
    return square


def _changing(transform: Callable[[Any], Any]) -> Any:
    plain = _square()
    del plain.seen
    made = transform(plain)

    def f(x):
        return made(x), getattr(made, "scale", None), plain.scale

    def before(n):
        if n == 1:
            made.scale = 3.0
        if n == 2:
            plain.scale = 5.0
        if n == 3:
            del made.scale

    return f, [(1.5,)] * 4, None, before


@program
def a_derivative_gets_an_attribute_again() -> Any:
    return _changing(tj.grad)


@program
def a_compiled_derivative_gets_an_attribute_again() -> Any:
    return _changing(lambda f: tj.jit(tj.grad(f)))


@program
def a_checkpointed_function_gets_an_attribute_again() -> Any:
    return _changing(tj.checkpoint)


@program
def a_list_that_a_derivative_has_taken_over() -> Any:
    plain = _square()
    slope = tj.grad(plain)

    def f(x):
        slope.seen.append(x)
        return slope(x) * slope.scale, len(plain.seen)

    return f, [(1.0,), (2.0,)], lambda: plain.seen


@program
def an_array_that_a_derivative_has_taken_over() -> Any:
    plain = _square()
    plain.weights = np.ones(3)
    slope = tj.grad(plain)

    def f(x):
        slope.weights[0] += x
        return slope(x) * slope.weights.sum()

    return f, [(1.0,), (2.0,)], lambda: plain.weights
