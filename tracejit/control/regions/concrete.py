"""Values as loops and branches in Python hand them to users' functions: arrays of NumPy and numbers of Python,
which print and compare as such, with what traced values have besides (`x.at`, and `i.astype` of a number)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.values import Value
from tracejit.tracing import box, is_tracing


class ConcreteArray(np.ndarray):
    """A NumPy array that has `x.at` (added by tracejit.numpy), and so has what NumPy computes from it."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else array.view(type(self))

    def __repr__(self) -> str:
        return repr(np.asarray(self))


class Number:
    """A Python number with the attributes of NumPy's. What is computed from it is Python's."""

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        return getattr(np.asarray(+self)[()], name)  # type: ignore[operator]


class ConcreteInt(Number, int):
    """A Python int."""


class ConcreteFloat(Number, float):
    """A Python float."""


class ConcreteComplex(Number, complex):
    """A Python complex."""


_NUMBERS = {int: ConcreteInt, float: ConcreteFloat, complex: ConcreteComplex}


def concrete(raw: Any, weak: bool = False) -> Any:
    """The raw value as a user's function gets it: its own copy, or a box of the transformation that is under way.
    `weak` ones stand for Python's numbers."""
    if isinstance(raw, Value) or is_tracing():
        return box(raw, weak)
    if weak:
        number = raw.item()
        return _NUMBERS.get(type(number), type(number))(number)
    return raw.copy().view(ConcreteArray) if isinstance(raw, np.ndarray) else raw
