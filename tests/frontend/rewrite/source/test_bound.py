"""Names that one branch binds: compiled code raises UnboundLocalError where Python does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def one_branch(x: Any) -> Any:
    if x > 0:
        y = 1.0
    return y


def read_on_some_ways(x: Any) -> Any:
    if x > 0:
        y = 1.0
    elif x < -5:
        y, w = 2.0, 1.0
    z = 3.0
    if x < 0:
        return z
    return y + z if x < 5 else w


def found_in_a_loop(x: Any) -> Any:
    for i in range(30):
        if i > x:
            last = i
            break
    return last * 1.0


def never_found(x: Any) -> Any:
    while x < 10:
        if x > 5:
            t = x
        x += 1
    return t


def augmented(x: Any) -> Any:
    if x > 0:
        s = x
    s += 1
    return s


def bound_whenever_read(x: Any) -> Any:
    if x > 0:
        y = 2.0
    else:
        y = x
    if x > 3:
        z = y
    return z * 2 if x > 3 else (y if x > 0 else -1.0)


def raised_otherwise(x: Any) -> Any:
    if x > 0:
        y = 2.0
    else:
        raise ValueError("negative")
    return y


def with_arrays(x: Any) -> Any:
    if x > 0:
        a = np.arange(3.0) * x
    total = 0.0
    for k in range(20):
        if x > 0.1 * k:
            total = total + a[k % 3]
    return total


@pytest.mark.parametrize(
    "f",
    [
        one_branch,
        read_on_some_ways,
        found_in_a_loop,
        never_found,
        augmented,
        bound_whenever_read,
        raised_otherwise,
        with_arrays,
    ],
)
def test_unbound_names(f: Callable[[Any], Any]) -> None:
    compiled = tj.jit(f, fallback=True)  # a refusal warns, which is an error here
    for x in (1.0, -1.0, -6.0, 7.0, 40.0):
        try:
            want = f(x)
        except Exception as e:
            with pytest.raises(type(e)) as raised:
                compiled(x)
            assert str(raised.value) == str(e)
        else:
            assert np.isclose(compiled(x), want, rtol=1e-14)


def test_their_derivatives_and_lanes() -> None:
    assert tj.jit(tj.grad(augmented))(2.0) == 1
    assert tj.vmap(tj.jit(augmented))(np.array([1.0, 2.0])).tolist() == [2, 3]
    with pytest.raises(UnboundLocalError, match="'s'"):
        tj.vmap(tj.jit(augmented))(np.array([1.0, -2.0]))


def test_names_that_are_surely_bound_have_no_flag() -> None:
    def f(x: Any) -> Any:
        if x > 0:
            y = 1.0
        else:
            y = 2.0
        for i in range(20):
            z = y * i
        return z

    assert "check_index" not in str(tj.make_jaxpr(tj.jit(f))(1.0))
