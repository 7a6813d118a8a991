"""What another compiler made: functions of Numba's, and of `np.vectorize`.

In comes such an object as the user's function meets it, and out goes a stand-in that follows its Python functions. Read
`numbers` (how Numba types numbers), `dispatchers` (`njit`), `ufuncs` (`vectorize`, `guvectorize`), `stencils`,
`instances` (`jitclass`), `typed` and `made` (`numba.typed`), then `addressed` (what has no Python function, and
functions of C) and `wrappers`.
Numba is not imported for this: whoever has such an object has imported it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracejit.frontend.paths import Node
from tracejit.frontend.shadows.compiled import (
    addressed,
    dispatchers,
    instances,
    left,
    overloads,
    stencils,
    typed,
    ufuncs,
)
from tracejit.frontend.shadows.compiled.numpys import wrap_numpys

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

wrap_function = overloads.wrap

__all__ = ["class_of", "kind_of", "wrap", "wrap_function", "wrap_numpys"]

_KINDS: dict[tuple[str, str], Callable[[Run, Node, Any], Any]] = {
    ("numba.np.ufunc.dufunc", "DUFunc"): ufuncs.wrap_vectorized,
    ("numba.np.ufunc.gufunc", "GUFunc"): ufuncs.wrap_generalized,
    ("numba.stencils.stencil", "StencilFunc"): stencils.wrap_stencil,
    ("numba.core.ccallback", "CFunc"): dispatchers.wrap_callback,
}


def wrap(session: Run, node: Node, value: Any) -> Any:
    """The stand-in of a function that Numba compiled; None for other objects."""
    cls = type(value)
    if not cls.__module__.startswith("numba."):
        return None
    if instances.kind_of(value) is not None:
        return instances.wrap_instance(session, node, value)
    if typed.kind_of(value) is not None:
        return typed.wrap_typed(session, node, value)
    handler = _KINDS.get((cls.__module__, cls.__name__))
    called = addressed.of(value)
    if called is not None:
        session.check(node, "is", value)
        return session.known(value) or session.remember(value, addressed.stand_in(session, value, called))
    reason = left.why(value)
    if reason is not None:
        session.check(node, "is", value)
        return session.known(value) or left.wrap_left(session, node, value, reason)
    if handler is None:
        handler = _followed if dispatchers.is_compiled(value) else None
    if handler is None:
        return None
    session.check(node, "is", value)
    return session.known(value) or handler(session, node.named(value), value)


def _followed(session: Run, node: Node, value: Any) -> Any:
    """A dispatcher whose Python function says what it does."""
    called = addressed.without_source(value)
    if called is not None:
        return addressed.wrap_sourceless(session, node, value, called)
    return dispatchers.wrap_compiled(session, node, value)


def pointer(session: Run, node: Node, value: Any) -> Any:
    """What stands for a function of ctypes that only computes; None for everything else."""
    made = addressed.of_c(value) if isinstance(value, addressed.POINTER) else None
    if made is not None:
        for name in ("argtypes", "restype", "errcheck"):
            session.check(node.attr(name), "is", getattr(value, name, None))
    return made


def member_of(session: Run, node: Node, value: Any) -> Callable[[str], Any] | None:
    """What gives functions of a library of C that only compute, by their names; None for what is no such library."""
    if type(value) is not addressed.LIBRARY:
        return None

    def member(name: str) -> Any:
        found = None if name.startswith("_") else getattr(value, name, None)
        made = pointer(session, node.attr(name), found)
        if made is None:
            return None
        session.check(node.attr(name), "is", found)
        return session.known(found) or session.remember(found, made, node.attr(name))

    return member


def kind_of(x: Any) -> Any:
    """What of an argument of Numba's belongs into the signature, if it is followed as an object; None for others."""
    if not type(x).__module__.startswith("numba."):
        return None
    return instances.kind_of(x) or typed.kind_of(x)


def class_of(cls: type) -> type | None:
    """The class of ours by which one of Numba's, or that Numba compiled, is followed; None for others."""
    return instances.class_of(cls) or typed.class_of(cls)
