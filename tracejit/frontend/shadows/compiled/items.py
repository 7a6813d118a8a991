"""The types of items in lists and dicts of `numba.typed`."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.numpy.boxes.numbers import is_python
from tracejit.numpy.functions.arrays.mapping import PYTHONS
from tracejit.numpy.operands import cast, dtype_of, kind_of, shape_of
from tracejit.tracing import Box, box

#: The module whose functions and classes are followed.
MODULE = "numba.typed.traced"
#: Python's numbers, each with those before it in it.
ORDER = "bifc"
NUMBERS = (bool, int, float, complex)


def sealed(cls: type, abstract: Any) -> None:
    """Let a class of ours count as one of `MODULE`, whose objects stay in traced code and are `abstract`."""
    cls.__module__ = MODULE
    cls._tj_stays = True
    abstract.register(cls)
    for f in vars(cls).values():
        f = getattr(f, "__func__", f)
        if isinstance(f, types.FunctionType):
            f.__module__ = MODULE


def refused(cls: str, name: str) -> Any:
    """Raises UnfollowedError for what lists and dicts have beside what is followed; AttributeError for what they may
    lack."""
    if name[:1] == "_":
        raise AttributeError(name)
    raise UnfollowedError(what=f"`{name}` of a `numba.typed.{cls}`", reason="it is left to Numba")


def number_of(type_: Any) -> np.dtype | None:
    """The dtype of the Python number that is of this type of Numba's; None for others, those of 32 bits among them."""
    name = {"bool": "bool", "boolean": "bool"}.get(str(type_), str(type_))
    return next((d for d in PYTHONS.values() if d.name == name), None)


def array_of(type_: Any) -> tuple[np.dtype, int] | None:
    """The dtype and number of dimensions of an array of this type of Numba's; None for others."""
    if type(type_).__name__ != "Array":
        return None
    name = {"bool": "bool", "boolean": "bool"}.get(str(type_.dtype), str(type_.dtype))
    return (np.dtype(name), type_.ndim) if name in _ELEMENTS else None


_ELEMENTS = frozenset(np.dtype(c).name for c in "?bhilBHILfdFD")


def kind_of_type(type_: Any) -> Any:
    """The kind of items of this type of Numba's. Raises UnfollowedError for those that are not followed."""
    kind = number_of(type_) or array_of(type_) or (str if str(type_) == "unicode_type" else None)
    if kind is None:
        raise UnfollowedError(
            what=f"a list or dict of {type_}", reason="only numbers of 64 bits and arrays are"
        )
    return kind


def number(value: Any, dtype: np.dtype) -> Any:
    """A number as one of Python's of this dtype; None where that loses something, or it is no number."""
    if not isinstance(value, (Box, np.generic, *NUMBERS)) or shape_of(value):
        return None
    given = np.dtype(kind_of(value))
    if given not in PYTHONS.values() or ORDER.index(given.kind) > ORDER.index(dtype.kind):
        return None
    return box(cast(value.read(), dtype), weak=True) if type(value) is Box else dtype.type(value).item()


def fitting(kind: Any, item: Any) -> tuple[Any, Any]:
    """(the kind of the items, the item as one of them), where `kind` is None for the first one.

    Raises UnfollowedError where that is for Numba to say."""
    if kind is None:
        kind = _kind_of(item)
    if isinstance(kind, np.dtype):
        made = number(item, kind)
        if made is not None:
            return kind, made
    elif kind is str and type(item) is str:
        return kind, item
    elif isinstance(kind, tuple) and isinstance(item, (Box, np.ndarray)):
        if (dtype_of(item), len(shape_of(item))) == kind:
            return kind, item
    raise UnfollowedError(what="an item of a list or dict of Numba's", reason="it is of another type")


def _kind_of(item: Any) -> Any:
    if type(item) is str:
        return str
    if isinstance(item, (Box, np.ndarray)) and shape_of(item):
        return dtype_of(item), len(shape_of(item))
    if isinstance(item, np.generic) or is_python(item) or type(item) is Box:
        dtype = np.dtype(kind_of(item))
        return dtype if dtype in PYTHONS.values() else None
    return None
