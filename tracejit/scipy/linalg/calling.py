"""How these functions take their operands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from tracejit.errors import ArgumentError
from tracejit.numpy.boxes.layouts import as_numpys
from tracejit.numpy.dispatch import plain
from tracejit.numpy.operands import has_box
from tracejit.ops import _lazy

F = TypeVar("F", bound=Callable[..., Any])


def of_scipy(fn: F) -> F:
    """Decorator: SciPy's function of this name where no argument is traced, else `fn`."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        scipys = getattr(_lazy.scipy_linalg(), fn.__name__)
        if has_box(args) or (kwargs and has_box(kwargs.values())):
            return as_numpys(scipys, args, kwargs, fn(*args, **kwargs), ordered=True, regular=True)
        return plain(scipys, args, kwargs)

    return call  # type: ignore[return-value]


def refuse(name: str, **options: Any) -> None:
    """Raises ArgumentError for options that are given and have no traced form."""
    for option, value in options.items():
        if value is not None and value is not False:
            raise ArgumentError(name=name, problem=f"{option}={value!r} is not available for traced values")
