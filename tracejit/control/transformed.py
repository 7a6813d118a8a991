"""Functions that transformations gave: objects that know which transformation of what they are, and are pickled so.

Python pickles plain functions by their names only, and the name of `grad(f)` is that of `f`.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any, ClassVar

from tracejit.errors import (
    LostDerivativeError,
    TracerArrayError,
    TracerBoolError,
    TracerFloatError,
    TracerIntegerError,
    UnfollowedError,
)

__all__ = ["Transformed", "named", "transformed"]


#: What Python could do only if it knew the values, or lost their derivatives.
NEEDS_PROGRAM = (
    TracerBoolError,
    TracerIntegerError,
    TracerFloatError,
    TracerArrayError,
    LostDerivativeError,
    UnfollowedError,
)


class Transformed:
    """A function that a transformation gave. Like a plain function it has the names of the one that it was made of,
    takes attributes, is a method where it is found in a class, and is its own copy."""

    __slots__ = "__dict__", "__weakref__", "_call", "_made", "_recipe", "jitted"
    #: The jitted function for a call that was refused, or None; `api.running` installs it.
    instead: ClassVar[Callable[..., Any]] = staticmethod(lambda f, error, args, kwargs: None)

    def __init__(
        self, call: Callable[..., Any], recipe: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
    ) -> None:
        held = vars(self)
        for name in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(call, name):
                held[name] = getattr(call, name)
        held.update(vars(call))
        self._call = call
        self._recipe = recipe
        self._made = dict(held)
        self.jitted: Any = None  # what serves calls that Python can't run (`api.instead`)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._call(*args, **kwargs)
        except NEEDS_PROGRAM as error:
            jitted = Transformed.instead(self, error, args, kwargs)
            if jitted is None:
                raise
        return jitted(*args, **kwargs)

    @property
    def transformation(self) -> str:
        """The name of the transformation."""
        return self._recipe[0].__name__

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __repr__(self) -> str:
        transformation, (function, *_), _ = self._recipe
        return f"<{transformation.__name__} of {getattr(self, '__qualname__', None) or repr(function)}>"

    def __reduce__(self) -> Any:
        """By name if it is what its name means, else by the transformation and its arguments."""
        return named(self, self) or (_made, self._recipe, self.users_attributes() or None)

    def __copy__(self) -> Transformed:
        return self

    def __deepcopy__(self, memo: Any) -> Transformed:
        return self

    def users_attributes(self) -> dict[str, Any]:
        """The attributes that the user gave to the function."""
        made = self._made
        return {n: x for n, x in vars(self).items() if n not in made or made[n] is not x}


def transformed(
    call: Callable[..., Any], transformation: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """`call` as the function that `transformation(*args, **kwargs)` gives; `args` begins with the user's function."""
    return Transformed(call, (transformation, args, kwargs))


def named(x: Any, function: Any) -> str | None:
    """The name of `function`, if it means `x` and is found where the pickle is read: not if cloudpickle writes one of
    what the main program has, which it does by value."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or ""
    module = getattr(function, "__module__", None)
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    writer = sys._getframe(2).f_globals.get("__name__", "")
    return name if found is x and not (module == "__main__" and writer.endswith("cloudpickle")) else None


def _made(transformation: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return transformation(*args, **kwargs)
