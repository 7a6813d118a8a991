"""What an index of a structured array is, and which methods its elements have not."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.tracing import Box

#: Methods of arrays of numbers only.
OF_NUMBERS = frozenset(("mean", "sum", "prod", "std", "var", "cumsum", "cumprod", "conj", "conjugate"))


def are_names(index: Any) -> bool:
    """Whether it is a list of names of fields."""
    return type(index) is list and bool(index) and all(type(n) is str for n in index)


def is_integer(place: Any) -> bool:
    """Whether one place of an index is an integer, traced perhaps."""
    if type(place) is Box:
        return not place.aval.shape and place.aval.dtype.kind in "iu"
    return isinstance(place, (int, np.integer)) and not isinstance(place, (bool, np.bool_))
