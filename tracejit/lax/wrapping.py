"""From functions on raw values to functions on what users hold."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tracejit.tracing import to_raw, wrap

_PYTHON = (bool, int, float, complex)


def raw(x: Any) -> Any:
    """The raw value of an operand. Python scalars stay: they adopt the other operands' dtype."""
    return x if type(x) in _PYTHON else to_raw(x, "an operand")


def public(fn: Callable[..., Any], doc: str = "", names: str = "") -> Callable[..., Any]:
    """`fn(*raw, **params) -> raw` (or a list of raw) as a function of arrays and traced arrays.

    `names` are those of its operands, by which they may be given too; without, the arguments are `fn`'s own.
    """
    given = inspect.Signature([_operand(n) for n in names.split()]) if names else inspect.signature(fn)
    operands = [p.name for p in given.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]

    @functools.wraps(fn)
    def call(*args: Any, **params: Any) -> Any:
        values = [raw(x) for x in args]
        if params:
            args = given.bind(*args, **params).args
            values = [raw(x) for x in args]
            params = {k: v for k, v in params.items() if k not in operands}
        out = fn(*values, **params)
        return [wrap(o) for o in out] if isinstance(out, list) else wrap(out)

    call.__signature__ = given  # type: ignore[attr-defined]
    if doc:
        call.__doc__ = doc
    return call


def _operand(name: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
