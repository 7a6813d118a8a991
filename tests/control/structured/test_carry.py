"""What users get wrong in loops and branches: each mistake is named, with its place and the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import errors, lax

X = np.ones(3)

#: name -> (the mistake, the error, what its message has to say)
MISTAKES: dict[str, tuple[Callable[[Any], Any], type[Exception], tuple[str, ...]]] = {
    "a leaf's shape": (
        lambda x: lax.scan(lambda c, _: ({"a": c["a"], "b": c["b"][:2]}, None), {"a": x, "b": x}, length=3),
        errors.CarryTypeError,
        ("scan", "carry['b']", "f64[3]", "f64[2]"),
    ),
    "a leaf's dtype": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: (c[0], c[1].astype(np.float32)), (x, x)),
        errors.CarryTypeError,
        ("fori_loop", "carry[1]", "f64[3]", "f32[3]"),
    ),
    "a dtype of while_loop": (
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: c * 1j, x),
        errors.CarryTypeError,
        ("while_loop", "f64[3]", "c128[3]"),
    ),
    "a leaf that is lost": (
        lambda x: lax.while_loop(lambda c: c["n"] < 3, lambda c: {"n": c["n"] + 1}, {"n": 0, "x": x}),
        errors.CarryStructureError,
        ("while_loop", "carry['x'] is missing"),
    ),
    "a leaf that is new": (
        lambda x: lax.scan(lambda c, r: ({"a": c["a"], "z": r}, None), {"a": 1.0}, x),
        errors.CarryStructureError,
        ("scan", "carry['z'] is new"),
    ),
    "a list for a tuple": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: list(c), (x, x)),
        errors.CarryStructureError,
        ("fori_loop", "(*, *)", "[*, *]"),
    ),
    "no carry": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: None, x),
        errors.CarryStructureError,
        ("fori_loop", "None"),
    ),
    "no pair": (lambda x: lax.scan(lambda c, r: c, 0.0, x), errors.ScanResultError, ("(carry, y)",)),
    "branches' shapes": (
        lambda x: lax.cond(x[0] > 0, lambda x: (x, x), lambda x: (x, x[:2]), x),
        errors.BranchTypeError,
        ("cond", "output[1]", "true_fun", "f64[3]", "false_fun", "f64[2]"),
    ),
    "branches' structures": (
        lambda x: lax.cond(x[0] > 0, lambda x: (x, x), lambda x: x, x),
        errors.BranchTypeError,
        ("cond", "true_fun gives (*, *)", "false_fun gives a single value"),
    ),
    "branches' dtypes": (
        lambda x: lax.switch(x[0].astype(int), [lambda x: x, lambda x: x > 0, lambda x: x], x),
        errors.BranchTypeError,
        ("switch", "branch 0", "f64[3]", "branch 1", "bool[3]"),
    ),
    "a predicate that is an array": (
        lambda x: lax.cond(x > 0, lambda: 1, lambda: 2),
        errors.PredicateError,
        ("cond", "bool[3]", ".all()"),
    ),
    "a predicate that is complex": (
        lambda x: lax.cond(x[0] * 1j, lambda: 1, lambda: 2),
        errors.PredicateError,
        ("cond", "c128[]"),
    ),
    "a predicate that is a tuple": (
        lambda x: lax.while_loop(lambda c: (c[0] > 0,), lambda c: c, x),
        errors.PredicateError,
        ("while_loop", "(*,)"),
    ),
    "an index that is a float": (
        lambda x: lax.switch(x[0], [lambda: 1, lambda: 2]),
        errors.PredicateError,
        ("switch", "f64[]", "integer"),
    ),
    "a length that is traced": (
        lambda x: lax.scan(lambda c, _: (c, c), 0.0, length=x[0].astype(int)),
        errors.LoopLengthError,
        ("traced", "fori_loop"),
    ),
    "a length that is a float": (
        lambda x: lax.scan(lambda c, _: (c, c), 0.0, length=2.5),  # type: ignore[arg-type]
        errors.LoopLengthError,
        ("length is 2.5",),
    ),
    "a negative length": (
        lambda x: lax.scan(lambda c, _: (c, c), 0.0, length=-2),
        errors.LoopLengthError,
        ("length is -2",),
    ),
    "no length": (lambda x: lax.scan(lambda c, _: (c, c), 0.0), errors.LoopLengthError, ("neither",)),
    "lengths that differ": (
        lambda x: lax.scan(lambda c, _: (c, c), 0.0, {"p": x, "q": x[:2]}),
        errors.LoopLengthError,
        ("xs['q']", "2", "3"),
    ),
    "rows of a number": (
        lambda x: lax.scan(lambda c, _: (c, c), 0.0, {"p": x, "q": 1.0}),
        errors.LoopLengthError,
        ("xs['q']", "no axis"),
    ),
    "a bound that is a float": (
        lambda x: lax.fori_loop(0, x[0], lambda i, c: c, 0),
        errors.LoopLengthError,
        ("upper", "f64[]"),
    ),
    "a bound that is an array": (
        lambda x: lax.fori_loop(x.astype(int), 3, lambda i, c: c, 0),
        errors.LoopLengthError,
        ("lower", "i64[3]"),
    ),
    "an unroll of zero": (
        lambda x: lax.scan(lambda c, r: (c, r), 0.0, x, unroll=0),
        errors.LoopLengthError,
        ("unroll is 0",),
    ),
    "an unroll that is no number": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: c, x, unroll="all"),  # type: ignore[arg-type]
        errors.LoopLengthError,
        ("unroll is 'all'",),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_mistakes_are_named(name: str, compiled: bool) -> None:
    f, error, parts = MISTAKES[name]
    if not compiled and name == "a length that is traced":
        f(X)  # it is known
        return
    with pytest.raises(error) as info:
        (tj.jit(f) if compiled else f)(X)
    message = str(info.value)
    assert [p for p in parts if p not in message] == []
    assert "PyTreeSpec" not in message
    assert "test_carry.py" in message


def test_unroll_changes_nothing() -> None:
    for unroll in (1, 3, True, False):
        ys = tj.jit(lambda x, u=unroll: lax.scan(lambda c, r: (c + r, c), 0.0, x, unroll=u)[1])(X)
        np.testing.assert_array_equal(ys, [0, 1, 2])
        assert lax.fori_loop(0, 3, lambda i, c: c + i, 0, unroll=unroll) == 3
