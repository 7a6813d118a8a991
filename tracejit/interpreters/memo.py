"""Memoisation of jaxpr transformations: a jaxpr is transformed once for each set of arguments."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from tracejit.interpreters.eval import ROOT
from tracejit.ir.jaxpr import Jaxpr
from tracejit.tracing import LOCK, use_trace


def memoize_by_jaxpr(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Cache `fn(jaxpr, *hashable)`; entries die with the jaxpr.

    Transformations depend on the jaxpr alone, so they run under the root trace.
    """
    table: weakref.WeakKeyDictionary[Jaxpr, dict[Any, Any]] = weakref.WeakKeyDictionary()

    @functools.wraps(fn)
    def cached(jaxpr: Jaxpr, *args: Any) -> Any:
        with LOCK:
            results = table.setdefault(jaxpr, {})
            if args not in results:
                with use_trace(ROOT):
                    results[args] = fn(jaxpr, *args)
            return results[args]

    return cached
