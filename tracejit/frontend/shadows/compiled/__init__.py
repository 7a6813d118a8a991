"""What another compiler made: functions of Numba's, and of `np.vectorize`.

In comes such an object as the user's function meets it, and out goes a stand-in that follows its Python function. Read
`numbers` (how Numba types numbers), `dispatchers` (`njit`), `ufuncs` (`vectorize`, `guvectorize`), then `stencils`.
Numba is not imported for this: whoever has such an object has imported it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracejit.frontend.paths import Node
from tracejit.frontend.shadows.compiled import dispatchers, stencils, ufuncs
from tracejit.frontend.shadows.compiled.numpys import wrap_numpys

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

__all__ = ["wrap", "wrap_numpys"]

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
    handler = _KINDS.get((cls.__module__, cls.__name__))
    if handler is None:
        handler = dispatchers.wrap_compiled if dispatchers.is_compiled(value) else None
    if handler is None:
        return None
    session.check(node, "is", value)
    return session.known(value) or handler(session, node.named(value), value)
