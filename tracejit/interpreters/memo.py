"""Memoisation of jaxpr transformations: a jaxpr is transformed once for each set of arguments.

Users' rules inside of a jitted function run when its jaxpr is transformed. What they read is guarded beside the
result, with arrays by their values.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from tracejit.interpreters.eval import ROOT
from tracejit.ir.jaxpr import Jaxpr
from tracejit.tracing import LOCK, caller, use_trace

Checks = list[Callable[[], bool]]
#: The checks of the transformations that are under way, which depend on those inside them.
_under_way: list[Checks] = []


class _State(threading.local):
    kept = False


_state = _State()


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """For transformations of a jitted function's jaxpr, which is kept for later calls: what users' rules read in
    it is followed. Jaxprs of eager loops are made at every call, and have the values of their time."""
    before, _state.kept = _state.kept, True
    try:
        yield
    finally:
        _state.kept = before


def memoize_by_jaxpr(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Cache `fn(jaxpr, *hashable)`; entries die with the jaxpr.

    Transformations depend on the jaxpr alone, so they run under the root trace. Users' rules may also read
    arrays and numbers by name: where these have changed, a jaxpr that is `kept` is transformed again.
    """
    table: weakref.WeakKeyDictionary[Jaxpr, dict[Any, tuple[Any, Checks]]] = weakref.WeakKeyDictionary()

    @functools.wraps(fn)
    def cached(jaxpr: Jaxpr, *args: Any) -> Any:
        with LOCK:
            results = table.setdefault(jaxpr, {})
            if args not in results or not all(check() for check in results[args][1]):
                results[args] = _followed(fn, jaxpr, args)
            result, checks = results[args]
            if checks and _under_way:
                _under_way[-1].extend(c for c in checks if c not in _under_way[-1])
            return result

    return cached


def _followed(fn: Callable[..., Any], jaxpr: Jaxpr, args: tuple[Any, ...]) -> tuple[Any, Checks]:
    """The result, and the checks of what users' functions read for it."""
    inner: Checks = []
    _under_way.append(inner)
    try:
        with use_trace(ROOT), caller.followed() if _state.kept else contextlib.nullcontext([]) as own:
            result = fn(jaxpr, *args)
    finally:
        _under_way.pop()
    return result, [*own, *inner]
