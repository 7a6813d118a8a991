"""The values that are looked at: what a function is given in its first and in its second call, one kind each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Kind -> the arguments of two calls, made anew for each function that is called with them.
VALUES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "vector": lambda: (np.array([1.5, -2.0, 3.25]), np.array([0.5, 4.0, -1.0])),
    "integers": lambda: (np.array([3, 1, 2]), np.array([2, 5, 7])),
    "zero_d": lambda: (np.array(2.5), np.array(-0.5)),
    "np_float": lambda: (np.float64(2.5), np.float64(3.0)),
    "np_int": lambda: (np.int64(3), np.int64(2)),
    "np_bool": lambda: (np.True_, np.False_),
    "int": lambda: (3, 2),
    "float": lambda: (2.5, 3.0),
    "bool": lambda: (True, False),
    "complex": lambda: (1.5 + 2j, 3.0 + 0j),
}

#: What `x` is when it is looked at: the argument, or what was computed of it, which is of the same kind.
SOURCES: dict[str, dict[str, str]] = {
    "argument": {},
    "computed": {
        "bool": "x = not x",
        "np_bool": "x = ~x",
        "zero_d": "x = np.array(x + 0.25)",
        "int": "x = x + 1",
        "np_int": "x = x + 1",
        "integers": "x = x + 1",
        "": "x = x * 0.5 + 1.0",
    },
}


def line(source: str, kind: str) -> str:
    """The line that makes `x` of the argument."""
    lines = SOURCES[source]
    return lines.get(kind, lines.get("", "pass"))
