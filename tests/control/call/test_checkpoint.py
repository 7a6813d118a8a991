"""checkpoint: the same derivatives, with what they keep counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.control.oracle import check
from tracejit import lax
from tracejit.api.autodiff.derivatives import grad
from tracejit.api.introspect import make_jaxpr
from tracejit.control.call.checkpoint import checkpoint, checkpoint_policies
from tracejit.errors import ArgumentTypeError

X = np.array([0.3, -0.7, 1.2])


def layers(x: Any) -> Any:
    for _ in range(3):
        x = np.sin(x) * np.cos(x)
    return x


@pytest.mark.sample(2)
def test_same_derivatives(run: Any) -> None:
    check(checkpoint(layers), layers, X, run=run)
    check(checkpoint(checkpoint(layers)), layers, X, run=run, second=False)


@pytest.mark.sample(2)
def test_in_scan(run: Any) -> None:
    def f(xs: Any) -> Any:
        return lax.scan(checkpoint(lambda c, x: (layers(c + x), None)), 0.5, xs)[0]

    def oracle(xs: Any) -> Any:
        c: Any = 0.5
        for x in xs:
            c = layers(c + x)
        return c

    check(f, oracle, X, run=run)


def test_sines_are_computed_again() -> None:
    def count(f: Any) -> int:
        return str(make_jaxpr(grad(lambda x: np.sum(f(x))))(X)).count("= sin")

    assert count(checkpoint(layers)) > count(layers)
    assert count(checkpoint(layers, policy=checkpoint_policies.everything_saveable)) == count(layers)


@pytest.mark.sample(2)
def test_policy_saves_products(run: Any) -> None:
    w = np.arange(9.0).reshape(3, 3) / 9

    def f(x: Any) -> Any:
        return np.tanh(w @ np.tanh(w @ x))

    check(checkpoint(f, policy=checkpoint_policies.dots_saveable), f, X, run=run)
    text = str(
        make_jaxpr(grad(lambda x: np.sum(checkpoint(f, policy=checkpoint_policies.dots_saveable)(x))))(X)
    )
    assert text.count("= dot_general") == 4


@pytest.mark.sample(2)
def test_static_arguments(run: Any) -> None:
    f = checkpoint(lambda n, x: x**n, static_argnums=0)
    check(lambda x: f(3, x), lambda x: x**3, X, run=run)


def test_a_policy_that_is_no_function_is_named() -> None:
    with pytest.raises(ArgumentTypeError, match="a policy is a function"):
        checkpoint(np.sin, policy=3)  # type: ignore[arg-type]
