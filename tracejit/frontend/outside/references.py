"""What refers to other things: weak references to objects of outside, which give what an eager run has for these, and
structured dtypes, of which the names of fields may be assigned."""

from __future__ import annotations

import queue
import weakref
from typing import Any

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.frontend import active
from tracejit.frontend.paths import Node
from tracejit.frontend.run import Run
from tracejit.frontend.shadows import objects


class _Reference(weakref.ref):
    """A weak reference as an eager run sees it."""

    __slots__ = ()

    def __call__(self) -> Any:
        x, session = super().__call__(), active.session()
        return x if x is None or session is None else session.stand_in(x, "referent")


def wrap_reference(session: Run, node: Node, value: Any) -> Any:
    """The stand-in of a weak reference."""
    if session.guarded or (x := value()) is None:
        return objects.wrap_object(session, node, value)
    return session.known(value) or session.remember(value, _Reference(x), node)


def wrap_holder(session: Run, node: Node, value: Any) -> Any:
    """A library's container of objects, weak or a queue: in an eager run it would be given what stands for objects,
    and would give others than the run has."""
    if not session.guarded:
        reason = f"a `{type(value).__name__}` holds objects, for which others stand here"
        raise UnfollowedError(what=node.text, reason=reason)
    return objects.wrap_object(session, node, value)


def wrap_structure(session: Run, node: Node, value: np.dtype) -> Any:
    """A structured dtype, as it is."""
    session.untouched.enter_dtype(node.text, value)
    return objects.wrap_object(session, node, value)


_HOLDERS = (
    *(weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet),
    *(queue.Queue, queue.LifoQueue, queue.PriorityQueue, queue.SimpleQueue),
)
HANDLERS = {
    weakref.ref: wrap_reference,
    np.dtypes.VoidDType: wrap_structure,
    **dict.fromkeys(_HOLDERS, wrap_holder),
}
