"""Methods that NumPy calls: the functions that they are given are those that the code around them knows."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj

NAMES = {np.multiply: "mul", np.add: "add", np.concatenate: "join"}


class Quantity:
    """A number with a unit, by both protocols."""

    def __init__(self, value: Any, unit: str) -> None:
        self.value, self.unit = value, unit

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__" or ufunc not in NAMES:
            return NotImplemented
        values = [a.value if isinstance(a, Quantity) else a for a in args]
        units = [a.unit if isinstance(a, Quantity) else "" for a in args]
        unit = "".join(units) if ufunc is np.multiply else f"{NAMES[ufunc]}({units[0]})"
        return Quantity(ufunc(*values), unit)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        values = [x.value for x in args[0]]
        return Quantity(function(values), NAMES[function] if function is np.concatenate else "?")


HELD: Any = Quantity(np.array([1.0, 2.0]), "s")


def combined(x: Any) -> Any:
    made: Any = Quantity(x, "m")
    product: Any = np.multiply(made, HELD)
    total: Any = np.add(product, product)
    joined: Any = np.concatenate([made, total])
    return joined.value.sum(), (product.unit, total.unit, joined.unit)


def test_functions_are_those_that_are_compared_with() -> None:
    x = np.array([3.0, 4.0])
    want = combined(x)
    assert want == (29.0, ("ms", "add(ms)", "join"))
    assert tj.jit(combined, fallback=False)(x) == want
    (value, said), slope = tj.value_and_grad(combined, has_aux=True)(x)
    assert (value, said) == want and slope.tolist() == [3.0, 5.0]
    assert tj.jit(tj.value_and_grad(combined, has_aux=True))(x)[0] == want
