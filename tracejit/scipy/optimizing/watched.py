"""Searches that a `callback` looks at.

They run in the trace of the user's function, as its own loops do, so that what the callback changes and tells is what
that function does. The solution is the root of its conditions from there on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tracejit import lax, tree
from tracejit.control.custom.convert import convert_all
from tracejit.errors import SolverOptionError
from tracejit.scipy import solving
from tracejit.scipy.optimizing.results import complete
from tracejit.tracing import Box

#: Whose callback gets the solver's own memory with `intermediate_result`, which later steps write into.
_IN_PLACE = ("newton-cg", "l-bfgs-b")


def teller(callback: Any, method: str) -> tuple[Any, ...] | None:
    """What `written.minima.reports.told` calls; None without a callback."""
    if callback is None:
        return None
    if set(inspect.signature(callback).parameters) != {"intermediate_result"}:
        return callback, None, None
    if method in _IN_PLACE:
        raise _refused(
            f"`intermediate_result`, whose x {method} writes into", "take the point itself, as `xk`"
        )
    return callback, complete, _kept


def _kept(point: Box) -> None:
    if point.storage.version:
        raise _refused("a callback that writes into the solver's point", "let it write into a copy")


def _refused(problem: str, remedy: str) -> SolverOptionError:
    return SolverOptionError(function="minimize", problem=problem, remedy=remedy)


def still(f: Callable[..., Any] | None, *examples: Any) -> Any:
    """The function of arguments like these, of which nothing that it closes over has a derivative; None for None."""
    if f is None:
        return None
    converted, hoisted = convert_all(f, *examples)
    fixed = lax.stop_gradient(hoisted)
    return lambda *args: converted(*args, *fixed)


def root_of(conditions: Any, start: Any, search: Callable[[Any], tuple[Any, Any]]) -> tuple[Any, Any]:
    """What `solving.root_of` gives, with a search in the current trace."""
    try:
        found, more = search(lax.stop_gradient(start))
    except StopIteration as e:  # by which SciPy is told to end
        raise _refused("a callback that ends the search", "let it end by its tolerances") from e
    x, _ = solving.root_of(conditions, found, lambda x: (x, None), solving.dense_solve)
    return x, more


def constants(options: dict[str, Any]) -> dict[str, Any]:
    """Options, of which none has a derivative."""
    return tree.map(lambda x: lax.stop_gradient(x) if isinstance(x, Box) else x, options)
