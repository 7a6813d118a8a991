"""What derivatives give is the caller's own: writable, and no part of an argument, a constant or another result."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import tree

X, Y = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 4.0])
FIXED = np.array([2.0, 5.0, 7.0])
FIXED.flags.writeable = False

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "the other argument": lambda x, y: (x * y).sum(),
    "a constant": lambda x, y: (x * FIXED).sum() + (y * FIXED).sum(),
    "ones": lambda x, y: x.sum() + y.sum(),
    "zeros": lambda x, y: x.sum() + 0 * y[0],
    "a part": lambda x, y: x[1] * 2 + y[:2].sum(),
    "the same": lambda x, y: x @ x + y @ y,
}
TRANSFORMED: dict[str, Callable[..., Any]] = {
    "grad": lambda f: lambda x, y: tj.grad(f, argnums=(0, 1))(x, y),
    "jit of grad": lambda f: tj.jit(tj.grad(f, argnums=(0, 1))),
    "value_and_grad": lambda f: lambda x, y: tj.value_and_grad(f, argnums=(0, 1))(x, y)[1],
    "vjp": lambda f: lambda x, y: tj.vjp(f, x, y)[1](1.0),
    "linear maps": lambda f: lambda x, y: tj.linearize(lambda x, y: (x * f(x, y), y * FIXED), x, y)[1](y, x),
    "jacobian": lambda f: lambda x, y: tj.jacobian(lambda x: x * f(x, y))(x),
    "hessian": lambda f: lambda x, y: tj.hessian(f)(x, y),
}


@pytest.mark.parametrize("how", TRANSFORMED)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_the_callers(name: str, how: str) -> None:
    x, y = X.copy(), Y.copy()
    call = TRANSFORMED[how](FUNCTIONS[name])
    first = tree.leaves(call(x, y))
    kept = [r.copy() for r in first]
    others = [x, y, FIXED]
    for r in first:
        assert r.flags.writeable
        assert not any(np.shares_memory(r, o) for o in others)
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(first, 2))
    for r in first:
        r[...] = 99.0
    again = tree.leaves(call(x, y))
    for r, k in zip(again, kept, strict=True):
        np.testing.assert_array_equal(r, k)
    assert (x == X).all() and (y == Y).all() and FIXED[0] == 2.0
