"""Members of objects and classes that traced code holds as they are: methods and properties run as copies.

Objects of pytree classes (dataclasses, named tuples, what users register) keep their class, since pytrees know them by
it; so do members of enumerations and objects whose class derives from one of C. What stands for other objects hands out
copies of their methods itself (`objects`, `classes`). So the source's `x.name` and `x(...)` are calls of hooks.
"""

from __future__ import annotations

import enum
import types
from typing import Any

import numpy as np

from tracejit.frontend import active
from tracejit.frontend.origins import is_generated, is_library_class, is_library_function
from tracejit.frontend.shadows import attributes, behind
from tracejit.tracing import Box

#: What is looked at most, and has no members of the user's.
_OTHERS = frozenset(
    {Box, np.ndarray, int, float, bool, str, tuple, list, dict, types.ModuleType, types.FunctionType}
)
_CALLED = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, type)


def member(x: Any, name: str, *default: Any) -> Any:
    """`x.name`, or `getattr(x, name, *default)`."""
    if type(x) in _OTHERS or (found := _followed(x, name)) is None:
        return getattr(x, name, *default)
    return found[0]


def callee(f: Any) -> Any:
    """What is called by `f(...)`: the copy of such an object's `__call__`."""
    if type(f) in _CALLED or isinstance(f, type) or (found := _followed(f, "__call__")) is None:
        return f
    return found[0]


def _followed(x: Any, name: str) -> tuple[Any] | None:
    """The copy of a method, or what the copy of a property gives; None if Python's own look-up serves."""
    session = active.session()
    if session is None or not session.guarded:
        return None
    cls = x if isinstance(x, type) else type(x)
    if is_library_class(cls) or behind.is_shadow(x) or "_tj_class" in vars(cls):
        return None
    owner, raw = behind.find(cls.__mro__, name)
    if not (_is_users(owner, raw) and _is_found(x, cls, name, raw)):
        return None
    return (attributes.bind_member(session, owner, name, raw, None if cls is x else x, cls),)


def _is_users(owner: Any, raw: Any) -> bool:
    """Whether a member of a class is the user's code."""
    fn = raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw
    fn = raw.fget if type(raw) is property else fn
    return (
        isinstance(fn, types.FunctionType)
        and not is_library_class(owner)
        and not is_generated(fn)
        and not is_library_function(fn)
    )


def _is_found(x: Any, cls: type, name: str, raw: Any) -> bool:
    """Whether Python finds it, and not an attribute of the object's own, of a metaclass, or by rules of the class."""
    if cls is x:
        return type(raw) is not property and type(cls) in (type, enum.EnumType)
    if cls.__getattribute__ not in _PLAIN_LOOKUPS:
        return False
    return type(raw) is property or name not in behind.instance_dict(x)


_PLAIN_LOOKUPS = (object.__getattribute__, tuple.__getattribute__)
