"""Values that a program hands out as they are, since they are the same at every call."""

from __future__ import annotations

import enum
import types
from typing import Any

import numpy as np

from tracejit.frontend.origins import is_library_function
from tracejit.frontend.shadows import classes
from tracejit.frontend.shadows.scopes import GuardedGlobals


def is_constant(x: Any) -> bool:
    """Whether it is the same at every call: what belongs to a library, members of enumerations, classes."""
    if isinstance(x, (enum.Enum, np.ufunc)):
        return True
    if isinstance(x, types.BuiltinFunctionType):
        return x.__self__ is None or isinstance(x.__self__, types.ModuleType)
    if isinstance(x, type):
        real = classes.users_class(x)
        made = (getattr(f, "__globals__", None) for f in vars(real).values())
        return not any(isinstance(scope, GuardedGlobals) for scope in made)
    return (
        type(x) is types.FunctionType
        and not isinstance(x.__globals__, GuardedGlobals)
        and is_library_function(x)
    )
