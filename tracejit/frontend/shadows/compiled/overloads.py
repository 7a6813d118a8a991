"""Functions that have another form in code that Numba compiles (`numba.extending.overload`): that form is followed
where they are called by such code, and the function itself elsewhere."""

from __future__ import annotations

import functools
import sys
import types
from typing import TYPE_CHECKING, Any

from tracejit.errors import UnfollowedError
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows.compiled.dispatchers import type_of
from tracejit.frontend.shadows.functions import wrap_function
from tracejit.tracing import STATE

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_REGISTRY = "numba.core.typing.templates"
_found: dict[int, tuple[Any, list[Any]]] = {}
_read = 0


def _forms(fn: Any) -> list[Any]:
    """What was given to `overload` for a function, the last one first."""
    global _read
    templates = sys.modules.get(_REGISTRY)
    entries = templates.builtin_registry.globals if templates is not None else []
    for key, type_ in entries[_read:]:
        if isinstance(key, types.FunctionType):
            made = [f for t in getattr(type_, "templates", ()) if (f := getattr(t, "_overload_func", None))]
            _found.setdefault(id(key), (key, []))[1][:0] = made
    _read = len(entries)
    key, forms = _found.get(id(fn), (None, []))
    return forms if key is fn else []


def wrap(session: Run, node: Node, fn: types.FunctionType) -> Any:
    """The stand-in of a Python function."""
    followed = wrap_function(session, node, fn)
    forms = _forms(fn) if _REGISTRY in sys.modules else []
    if not forms:
        return followed

    @functools.wraps(fn)
    def overloaded(*args: Any, **kwargs: Any) -> Any:
        if STATE.numbers is None:
            return followed(*args, **kwargs)
        form = _chosen(fn, forms, args, kwargs)
        if form is fn:  # `register_jitable`
            return followed(*args, **kwargs)
        session.sizes(form)
        return session.stand_in(form, fn.__name__)(*args, **kwargs)

    return session.remember(fn, overloaded, node)


def _chosen(fn: Any, forms: list[Any], args: Any, kwargs: Any) -> Any:
    """The form for arguments of these types. Raises UnfollowedError."""
    try:
        types_ = [type_of(x) for x in args]
        named = {name: type_of(x) for name, x in kwargs.items()}
        made = next((m for f in forms if (m := f(*types_, **named)) is not None), None)
    except Exception as e:
        reason = f"its form for Numba raises {e!r}"
        raise UnfollowedError(what=f"`{fn.__name__}`", reason=reason) from e
    if not isinstance(made, types.FunctionType):
        raise UnfollowedError(what=f"`{fn.__name__}`", reason="Numba has no form of it for these arguments")
    return made
