"""What may be given to a part that is compiled: of other things it is not sure that the compiled part does with them
what Python does, so Python runs the part."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit import frontend
from tracejit.frontend.impure import impure_origin
from tracejit.frontend.origins import is_library_class

_NUMBERS = frozenset({bool, int, float, complex})
_CONSTANTS = (type(None), str, range, slice, type(...), np.dtype, types.ModuleType)
_OF_LIBRARIES = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type(np.sum))
#: Elements of containers that are looked at: what holds more would become as many inputs.
_MOST = 2_000


class _Full(Exception):
    """There is more in it than is looked at."""


def why_unsure(x: Any) -> str | None:
    """What `x` is, or holds, that is not sure to be the same in a compiled part; None if all of it is."""
    try:
        found = _look(x, [0])
    except _Full:
        return f"a container of more than {_MOST} elements"
    return None if found is None else f"an object of the class {type(found[0]).__name__}"


def _look(x: Any, count: list[int]) -> tuple[Any] | None:
    """(the first thing that is not sure,), if there is one."""
    count[0] += 1
    if count[0] > _MOST:
        raise _Full
    cls = type(x)
    if cls in _NUMBERS or cls is np.ndarray or isinstance(x, (np.number, np.bool_)):
        return None
    if cls is list or cls is tuple or (isinstance(x, tuple) and hasattr(cls, "_fields")):
        return _first(x, count)
    if cls is dict:
        items: Any = x
        return _first([*items, *items.values()], count)
    return None if _is_certain(x, cls) else (x,)


def _first(items: Iterable[Any], count: list[int]) -> tuple[Any] | None:
    return next((found for x in items if (found := _look(x, count)) is not None), None)


def _is_certain(x: Any, cls: type) -> bool:
    if isinstance(x, _CONSTANTS):
        return cls in _CONSTANTS or isinstance(x, (np.dtype, types.ModuleType))
    if isinstance(x, type):
        return impure_origin(x) is None
    if isinstance(x, _OF_LIBRARIES):
        return frontend.kind_of(x) is not None or impure_origin(x) is None
    if isinstance(x, (BaseException, np.ndarray, bytearray)) or hasattr(cls, "__del__"):
        return False
    return frontend.kind_of(x) is not None or (dataclasses.is_dataclass(x) and not is_library_class(cls))
