"""Which classes derive from a class of the user's: stand-ins are none of them.

Python lists in `cls.__subclasses__()` the classes that have `cls` among their `__bases__`; what an object is an
instance of, and where attributes are looked up, says their `__mro__`, which a metaclass decides. A stand-in has the
class in the one and not in the other.
"""

from __future__ import annotations

import abc
import contextlib
import functools
from typing import Any

from tracejit.frontend.origins import is_library_class

_bases = vars(type)["__bases__"]
_order = vars(type)["__mro__"]


def order_of(made: type) -> list[type] | None:
    """The classes in which attributes of a stand-in are looked up, if it is not its bases that decide."""
    after = vars(made).get("_tj_order")
    return None if after is None else [made, *after]


def _mro(made: Any) -> list[type]:
    return order_of(made) or type.mro(made)


@functools.lru_cache(maxsize=64)
def ordering(meta: type) -> type:
    """`meta`, with which a class can be taken out of those that derive from its base."""
    return type.__new__(type(meta), meta.__name__, (meta,), {"mro": _mro, "__module__": meta.__module__})


def unlist(made: type, cls: type) -> None:
    """Take a stand-in out of `cls.__subclasses__()`, where programs look for classes of their own. What changes in
    `cls` is no longer told to the stand-in, which `traced_class` makes up for.

    Objects of it have the memory of those of another class then, which Python itself compares; a class of the user's
    with slots has none like it, and its stand-in stays listed."""
    layout: Any = cls
    while (base := layout.__base__) is not None and _memory(base) == _memory(layout):
        layout = base
    if base is None or not is_library_class(base):
        return
    type.__setattr__(made, "_tj_order", _order.__get__(made)[1:])
    with contextlib.suppress(TypeError):  # `base` is of C, and has more than nothing
        _bases.__set__(made, tuple(_like(base) if b is cls else b for b in _bases.__get__(made)))
        return
    type.__delattr__(made, "_tj_order")


def _memory(cls: Any) -> tuple[int, ...]:
    return cls.__basicsize__, cls.__itemsize__, cls.__dictoffset__, cls.__weakrefoffset__


class _Empty:
    """A class with nothing, as which one can begin whose base would be told of it by its `__init_subclass__`."""

    __slots__ = ()


@functools.lru_cache(maxsize=64)
def _like(base: type) -> type:
    """A class whose objects have what those of a class without slots have that derives from `base`."""
    if not isinstance(base, abc.ABCMeta):
        made = type.__new__(type(base), "_Like", (base if base is object else _Empty,), {})
    else:
        made = abc.ABCMeta.__new__(type(base), "_Like", (_Empty,), {})
    if base is not object:
        _bases.__set__(made, (base,))
    return made
