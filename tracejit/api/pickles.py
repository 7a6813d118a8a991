"""How functions that transformations gave are pickled: by the transformation and its arguments.

Python pickles functions by their names only, and that of `grad(f)` is the name of `f`. A jitted function, which is an
object, says how its function was made; `cloudpickle`, which pickles functions by their code, needs none of this.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from tracejit.api.common import name_of

#: What makes functions that transformations gave: the transformation and its arguments.
_recipes: weakref.WeakKeyDictionary[Any, tuple[Any, ...]] = weakref.WeakKeyDictionary()


def remember(function: Any, transformation: Callable[..., Any], *args: Any) -> Any:
    """`function`, which is `transformation(*args)`: so it is pickled as part of a jitted function."""
    _recipes[function] = (transformation, *args)
    return function


def named(x: Any, function: Any) -> str | None:
    """The name of `function`, if it means `x` and is found where the pickle is read: not if cloudpickle writes one of
    what the main program has, which it does by value."""
    name, module = name_of(function), getattr(function, "__module__", None)
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    writer = sys._getframe(2).f_globals.get("__name__", "")
    return name if found is x and not (module == "__main__" and writer.endswith("cloudpickle")) else None


class Pickled:
    """A function on its way: itself, or how it was made, where that is known."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __reduce__(self) -> Any:
        recipe = _recipes.get(self.function) if type(self.function) is types.FunctionType else None
        if recipe is None:
            return _itself, (self.function,)
        transformation, function, *rest = recipe
        return _made, (transformation, Pickled(function), *rest)


def _itself(function: Any) -> Any:
    return function


def _made(transformation: Callable[..., Any], function: Any, *rest: Any) -> Any:
    return transformation(function, *rest)
