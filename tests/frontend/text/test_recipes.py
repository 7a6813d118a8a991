"""Recipes of text: what they make, interpreted and compiled, and which are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.frontend.text.recipes import (
    ARRAY,
    PYTHON,
    SCALAR,
    Known,
    Made,
    Recipe,
    Slot,
    example,
    filled,
    joined,
    listed,
    mapped,
    picked,
)

F8, I8 = np.dtype(float), np.dtype(np.int64)
NUMBER, COUNT = Slot(PYTHON, F8, 0), Slot(PYTHON, I8, 0)
FORMATTED = Made(format, (NUMBER, Known(".2f")))


@pytest.mark.parametrize(
    ("recipe", "given", "want"),
    [
        (Known("a"), (), "a"),
        (Made(joined, (Known("x="), FORMATTED)), (1.5,), "x=1.50"),
        (Made(repr, (Slot(SCALAR, F8, 0),)), (1.5,), "np.float64(1.5)"),
        (Made(repr, (Slot(ARRAY, F8, 1),)), ([1.0, 2.0],), "array([1., 2.])"),
        (Made(repr, (Slot(ARRAY, F8, 0),)), (1.0,), "array(1.)"),
        (Made(filled, (Known(list), NUMBER, COUNT)), (1.0, 2), [1.0, 2]),
        (Made(mapped, (Known(dict), Known(("a", 1)), NUMBER, Known(None))), (1.0,), {"a": 1.0, 1: None}),
        (Made(picked, (COUNT, Known(("no", "yes")))), (1,), "yes"),
        (Made(listed, ()), (), ()),
        (
            Made(sorted, (Made(filled, (Known(list), COUNT, Known(3))), Known(True)), ("reverse",)),
            (1,),
            [3, 1],
        ),
    ],
)
def test_both_ways_make_the_same(recipe: Recipe, given: Any, want: Any) -> None:
    arrays = [
        np.array(x)[()] if slot.ndim == 0 else np.array(x)
        for x, slot in zip(given, recipe.slots(), strict=True)
    ]
    for made in (recipe(iter(arrays)), recipe.compiled()(*arrays)):
        assert made == want and type(made) is type(want)


def test_constants_are_told_apart_by_type() -> None:
    values = [1, 1.0, True, "1", b"1", None, 0.0, -0.0, (1,), (1.0,)]
    assert len({Known(v) for v in values}) == len(values)
    assert Known(float("nan")) == Known(float("nan"))
    assert (
        FORMATTED == Made(format, (Slot(PYTHON, F8, 0), Known(".2f"))) != Made(format, (NUMBER, Known(".3f")))
    )
    assert Slot(PYTHON, F8, 0) != Slot(SCALAR, F8, 0)


def test_arrays_are_copies() -> None:
    x = np.ones(2)
    (y,) = Made(listed, (Slot(ARRAY, F8, 1),)).compiled()(x)
    x[:] = 5
    assert y.tolist() == [1, 1]


def test_examples_raise_what_the_function_raises() -> None:
    assert example(FORMATTED) == "0.00"
    with pytest.raises(ValueError, match="Unknown format code 'd'"):
        example(Made(format, (NUMBER, Known("d"))))


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(k, d) for k in (PYTHON, SCALAR) for d in ("f8", "f4", "i8", "i4", "?")],
)
def test_recipes_take_pythons_numbers_too(kind, dtype):
    """As native code hands them out, where all are numbers."""
    slot = Slot(kind, np.dtype(dtype), 0)
    recipe = Made(_parts, (slot, Known("x"), slot))
    x = np.array(1.0, dtype)[()]
    by_arrays, by_numbers = recipe.compiled()(x, x), recipe.compiled(numbers=True)(x.item(), x.item())
    assert by_arrays == by_numbers and list(map(type, by_arrays)) == list(map(type, by_numbers))


def _parts(*parts):
    return parts
