"""Derivatives that stay within a number of bytes: the function as one checkpoint whose residuals are planned."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tracejit.api.jit.jitted import Jitted, jit
from tracejit.control import call
from tracejit.errors import ArgumentTypeError


def within(f: Callable[..., Any], memory: int | None, offload: str | None = None) -> Callable[..., Any]:
    """`f`, whose derivative needs at most `memory` bytes between arguments and results, or keeps the states of loops on
    disk; itself if both are None.

    It is traced as `jit` traces, loops and branches of Python's too, since plans are made of whole programs.
    Raises ArgumentTypeError for another budget than a number of bytes, and another place than 'disk'.
    """
    if offload is not None and (offload != "disk" or memory is not None):
        problem = f"offload is 'disk' or None, and goes without `memory`: it was {offload!r}"
        raise ArgumentTypeError(name="grad", problem=problem)
    if memory is None and offload is None:
        return f
    traced = f if isinstance(f, Jitted) else functools.wraps(f)(_plain(jit(f)))
    if offload is not None:
        return call.checkpoint.checkpoint(traced, policy=call.policies.Spilled())
    return call.checkpoint.checkpoint(traced, policy="auto", memory=memory)


def _plain(f: Jitted) -> Callable[..., Any]:
    def traced(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return traced
