"""What the solvers of linear equations share: their table, and what they look at."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tracejit import numpy as tnp
from tracejit.ops._lazy import scipy_module
from tracejit.tracing import Box, is_tracing, to_raw, wrap

#: Name in scipy.sparse.linalg -> its traced form.
SOLVERS: dict[str, Callable[..., Any]] = {}


def solver(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: SciPy's function of this name where nothing is traced, else `fn`."""
    name = fn.__name__

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            return getattr(scipy_module("sparse.linalg"), name)(*args, **kwargs)
        return fn(*args, **kwargs)

    SOLVERS[name] = call
    return call


def is_sparse(x: Any) -> bool:
    """Whether `x` is one of SciPy's sparse arrays."""
    return type(x) is not Box and hasattr(x, "tocsc")


def as_int(x: Any) -> Any:
    """An integer of Python's."""
    x = tnp.asarray(x)
    return int(x) if type(x) is not Box else wrap(to_raw(x), True)
