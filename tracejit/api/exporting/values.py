"""Plain values as JSON and back: numbers, text, dtypes and classes of exceptions, and tuples of them.

Nothing of this makes an object by calling what a file names: names are looked up in tables.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from tracejit import dtypes, errors
from tracejit.interpreters.jit_stored import DTYPES

#: Where classes of exceptions are, by the name of the place.
_PLACES: dict[str, Any] = {
    "builtins": builtins,
    "numpy.linalg": np.linalg,
    "numpy.exceptions": np.exceptions,
    "tracejit.errors": errors,
}
#: The classes of NumPy's numbers, with the names of their dtypes.
_NAMES = {dtype.type: name for name, dtype in DTYPES.items()}


class Unstorable(Exception):
    """What has no place in a file, in words."""


def encode(value: Any) -> Any:
    """A value as JSON. Raises Unstorable."""
    kind, x = type(value), value
    if x is None or kind in (bool, int, str):
        return x
    if kind is float:
        return ["float", x.hex()]
    if kind is complex:
        return ["complex", x.real.hex(), x.imag.hex()]
    if kind is bytes:
        return ["bytes", x.hex()]
    if kind is tuple:
        return ["tuple", *map(encode, x)]
    if isinstance(value, np.dtype) and x.name in DTYPES:
        return ["dtype", x.name]
    if kind in _NAMES:
        return ["scalar", _NAMES[kind], x.tobytes().hex()]
    if kind is np.ndarray and x.dtype == dtypes.float0:
        return ["float0", *x.shape]
    if isinstance(value, type):
        return _class(value)
    raise Unstorable(f"a {kind.__qualname__}")


def _class(x: type) -> Any:
    if x in _NAMES:
        return ["type", _NAMES[x]]
    for place, module in _PLACES.items():
        if issubclass(x, Exception) and getattr(module, x.__name__, None) is x:
            return ["error", place, x.__name__]
    raise Unstorable(f"the class {x.__qualname__}")


def decode(d: Any) -> Any:
    """The value that `encode` has encoded. Raises ValueError, KeyError, TypeError, IndexError or AttributeError for
    what it has not."""
    if d is None or type(d) in (bool, int, str):
        return d
    kind, *rest = d
    return _KINDS[kind](*rest)


def _scalar(name: str, data: str) -> Any:
    return np.frombuffer(bytes.fromhex(data), DTYPES[name])[0]


def _error(place: str, name: str) -> type[Exception]:
    found = getattr(_PLACES[place], name)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        raise ValueError(f"{name} is no exception")
    return found


_KINDS: dict[str, Any] = {
    "float": float.fromhex,
    "complex": lambda re, im: complex(float.fromhex(re), float.fromhex(im)),
    "bytes": bytes.fromhex,
    "tuple": lambda *parts: tuple(map(decode, parts)),
    "dtype": DTYPES.__getitem__,
    "scalar": _scalar,
    "float0": lambda *shape: np.zeros(shape, dtypes.float0),
    "type": lambda name: DTYPES[name].type,
    "error": _error,
}
