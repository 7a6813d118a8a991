"""What objects of a class may hold that a block can change: found once a class, since blocks look at many objects."""

from __future__ import annotations

import array
import collections
import random
import types
import weakref
from typing import Any

from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.raw.hashes import Hash
from tracejit.frontend.raw.numbers import Raw
from tracejit.frontend.shadows.growing import Growing
from tracejit.records import record

#: Classes of containers, whose own methods read and refill those that derive from them.
_CONTAINERS = (collections.OrderedDict, dict, list, set, collections.deque)
_BYTES = (bytearray, array.array)
_APPENDED: Any = vars(Growing)["tj_new"]
_OF_FUNCTIONS = tuple(vars(types.FunctionType)[n] for n in ("__code__", "__defaults__", "__kwdefaults__"))


@record()
class Kind:
    """Objects of a class hold the items of the container `base`, if that is not None, or bytes; the state of a
    generator, if they `may_draw`; attributes in a `__dict__` that is to be looked at, if they have `names` (modules
    that are imported do not); and `slots`."""

    base: Any
    is_bytes: bool
    may_draw: bool
    has_names: bool
    slots: tuple[Any, ...]


#: By the class's identity, since a metaclass may not let its classes be hashed. Weak: classes made in functions may
#: hold arrays in their closures.
_kinds: dict[int, tuple[weakref.ref[type], Kind]] = {}


def kind_of(cls: type) -> Kind:
    """What objects of a class may hold."""
    found = _kinds.get(id(cls))
    if found is not None and found[0]() is cls:
        return found[1]
    kind = _kind_of(cls)
    key = id(cls)
    _kinds[key] = weakref.ref(cls, lambda _: _kinds.pop(key, None)), kind
    return kind


def _kind_of(cls: type) -> Kind:
    root = cls.__module__.partition(".")[0]
    base = next((b for b in _CONTAINERS if issubclass(cls, b)), None)
    names, slots = not _is_library(cls), _descriptors(cls)
    if issubclass(cls, (Columns, Raw, Hash)):
        names, slots = False, tuple(getattr(cls, n) for n in cls.tj_followed)
    elif cls is Growing:
        names, slots = False, (_APPENDED,)
    elif not names:
        slots = ()
    return Kind(
        base=None if root in ("tracejit", "numpy") else base,
        is_bytes=issubclass(cls, _BYTES),
        may_draw=issubclass(cls, random.Random) or cls.__module__.startswith("numpy.random"),
        has_names=names,
        slots=slots,
    )


def _is_library(cls: type) -> bool:
    """Whether nothing of the attributes of objects of `cls` is to be looked at."""
    if cls is types.FunctionType or cls is types.ModuleType:
        return False
    if issubclass(cls, types.ModuleType):
        return True
    if cls.__module__ == "builtins":  # so are classes of code that was run by `exec` without a module's name
        heap = cls.__flags__ & (1 << 9)  # Py_TPFLAGS_HEAPTYPE: made by a class statement
        return not (heap or issubclass(cls, BaseException))
    return cls.__module__.partition(".")[0] == "tracejit"


def _descriptors(cls: type) -> tuple[Any, ...]:
    """The slots that a class declares."""
    if cls is types.FunctionType:
        return _OF_FUNCTIONS
    own = (vars(BaseException)["args"],) if issubclass(cls, BaseException) else ()
    return own + tuple(
        d
        for base in cls.__mro__
        if "__slots__" in vars(base)
        for name, d in vars(base).items()
        if type(d) is types.MemberDescriptorType and not name.startswith("_tj_")
    )
