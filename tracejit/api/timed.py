"""Calls of jitted functions as spans of time, for the profiles that are on (`tracejit.timeline`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tracejit.api.common import name_of
from tracejit.api.jit.programs import Program
from tracejit.api.jit.signature import Call
from tracejit.api.jit.tracer import trace_program
from tracejit.api.jit.varying import Varying
from tracejit.api.tracebacks import calls_itself
from tracejit.errors import UnfollowedError
from tracejit.interpreters.jit import MISS
from tracejit.timeline import SWITCH, Span, span
from tracejit.tracing import is_tracing

_DEPTH = "it is nested deeper than Python's stack, whose depth is set by `sys.setrecursionlimit`"


def calls(general: Callable[..., Any]) -> Callable[..., Any]:
    """The general way of a call, as a span while a profile is on. Calls inside of traced functions are none, nor are
    those that another program of the same call (`turn`) has begun."""

    @functools.wraps(general)
    def call(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any], turn: Any = None) -> Any:
        if not SWITCH.on or turn is not None or is_tracing():
            return general(jitted, args, kwargs, turn)
        with Span("call", name_of(jitted.fun), place(jitted.fun)):
            return general(jitted, args, kwargs, turn)

    return call


def trace(call: Call, varying: Varying) -> tuple[Program, list[Any]]:
    """`trace_program` as a span. Raises UnfollowedError where Python's stack is too short for it."""
    try:
        with span("trace", name_of(call.fun)):
            return trace_program(call, varying)
    except RecursionError as e:
        if calls_itself(e):
            raise
        raise UnfollowedError(what=f"something in `{name_of(call.fun)}`", reason=_DEPTH) from e


class Fast:
    """A fast path as a span: it serves one profile, and no calls by `direct`."""

    def __init__(self, fast: Callable[..., Any], fun: Any) -> None:
        self.fast, self.epoch = fast, SWITCH.epoch
        self.name, self.where = name_of(fun), place(fun)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.epoch != SWITCH.epoch:
            return MISS
        whole, out = Span("call", self.name, self.where), MISS
        whole.__enter__()
        try:
            out = self.fast(args, kwargs)
        except BaseException:
            whole.end()
            raise
        whole.end(out is not MISS)
        return out

    def direct(self) -> None:
        """There is none."""


def place(fun: Any) -> tuple[str, int] | None:
    """The file and line of a function's definition."""
    code = getattr(inspect.unwrap(fun) if callable(fun) else fun, "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno)
