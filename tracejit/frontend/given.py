"""Objects among the arguments of a jitted call: followed from the argument on, so that a trace serves every object
of which the same is read, and keeps none of them alive."""

from __future__ import annotations

import collections
import functools
import types
from typing import Any

import numpy as np

from tracejit.frontend.drawing import sources
from tracejit.frontend.impure import impure_origin
from tracejit.frontend.origins import is_library_class, is_library_function, is_quiet, why_not
from tracejit.frontend.outside import iterators
from tracejit.frontend.raw import outside as raw
from tracejit.frontend.shadows import behind, compiled
from tracejit.frontend.shadows.containers import is_derived
from tracejit.frontend.shadows.objects import counterpart
from tracejit.frontend.shadows.scopes import GuardedGlobals

_HOLDERS = (set, frozenset, collections.Counter, types.SimpleNamespace, functools.partial)


def unseen(x: Any) -> str | None:
    """Why an argument that has to be the same object can't be: its contents may change, or it is used up."""
    cls = type(x)
    if cls.__hash__ is None or hasattr(cls, "__next__") or cls is memoryview or _holds_more(x):
        return "what it holds may be another at the next call"
    if isinstance(x, type) or is_library_class(cls) or is_quiet(cls):
        return None
    return why_not(cls)


def _holds_more(x: Any) -> bool:
    """Whether `x` is an object of a library, not a function or class, with attributes that may change."""
    if isinstance(x, type) or not is_library_class(type(x)) or is_quiet(type(x)):
        return False
    named = hasattr(x, "__name__") or isinstance(x, functools.partial)
    return (
        bool(getattr(x, "__dict__", None))
        and not named
        and type(x).__module__.partition(".")[0] != "tracejit"
    )


def kind_of(x: Any) -> Any:
    """What of an argument that is no array belongs into the signature, if paths are followed from it on; None if
    it has to be the same object."""
    cls = type(x)
    if isinstance(x, np.ndarray):  # a structured one
        return (cls, x.dtype, x.dtype.names, x.shape) if counterpart(x) is not None else None
    if cls is types.FunctionType:
        return None if isinstance(x.__globals__, GuardedGlobals) or is_library_function(x) else x.__code__
    if cls is types.MethodType:
        parts = kind_of(x.__func__), x.__self__ if isinstance(x.__self__, type) else kind_of(x.__self__)
        return None if None in parts else (cls, *parts)
    if cls in _HOLDERS:
        return cls
    ours = compiled.kind_of(x)
    if ours is not None:
        return ours
    if sources.is_followed(x):
        return sources.classes_of(x)
    if iterators.can_follow(x) or raw.can_follow(x):
        return cls
    if cls is types.BuiltinMethodType or cls is types.MethodWrapperType:  # `log.append`
        of_library = x.__self__ is None or isinstance(x.__self__, (types.ModuleType, type))
        return None if of_library else (cls, x.__name__, type(x.__self__))
    followed = not isinstance(x, type) and not behind.is_shadow(x) and "_tj_class" not in vars(cls)
    follows = followed and (why_not(cls) is None or counterpart(x) is not None or is_derived(x))
    return cls if follows else None


def is_shadowed(x: Any) -> bool:
    """Whether an argument that has to be the same object enters as a captured one: a module, a class of the user's,
    and what acts."""
    if kind_of(x) is not None:
        return False
    users = isinstance(x, type) and not is_library_class(x)
    return users or isinstance(x, types.ModuleType) or impure_origin(x) is not None
