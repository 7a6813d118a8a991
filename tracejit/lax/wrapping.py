"""From functions on raw values to functions on what users hold."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tracejit.tracing import to_raw, wrap

_PYTHON = (bool, int, float, complex)


def raw(x: Any) -> Any:
    """The raw value of an operand. Python scalars stay: they adopt the other operands' dtype."""
    return x if type(x) in _PYTHON else to_raw(x, "an operand")


def public(fn: Callable[..., Any], doc: str = "") -> Callable[..., Any]:
    """`fn(*raw, **params) -> raw` (or a list of raw) as a function of arrays and traced arrays."""

    @functools.wraps(fn)
    def call(*args: Any, **params: Any) -> Any:
        out = fn(*[raw(x) for x in args], **params)
        return [wrap(o) for o in out] if isinstance(out, list) else wrap(out)

    if doc:
        call.__doc__ = doc
    return call
