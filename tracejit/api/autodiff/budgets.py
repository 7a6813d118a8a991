"""Derivatives that stay within a number of bytes: the function as one checkpoint whose residuals are planned."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tracejit.api.jit.jitted import Jitted, jit
from tracejit.control import call


def within(f: Callable[..., Any], memory: int | None) -> Callable[..., Any]:
    """`f`, whose derivative needs at most `memory` bytes between arguments and results; itself if that is None.

    It is traced as `jit` traces, loops and branches of Python's too, since plans are made of whole programs.
    Raises ArgumentTypeError for another budget than a number of bytes.
    """
    if memory is None:
        return f
    traced = f if isinstance(f, Jitted) else functools.wraps(f)(_plain(jit(f)))
    return call.checkpoint.checkpoint(traced, policy="auto", memory=memory)


def _plain(f: Jitted) -> Callable[..., Any]:
    def traced(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return traced
