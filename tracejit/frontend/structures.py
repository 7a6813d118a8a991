"""SciPy's sparse arrays: which of their elements are stored is known while tracing, and guarded by what it is.

SciPy's own code makes decisions by it at every turn, and the sizes of results follow from it. The stored elements
themselves are inputs of the program, as all arrays are. So is where they are, while nothing but products with
dense arrays needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.frontend.checks import array_type
from tracejit.frontend.paths import Node
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import aval_of
from tracejit.numpy.captured.array import CapturedArray
from tracejit.ops.sparse.places import Unread
from tracejit.tracing import Box, current_trace, new_array
from tracejit.tree.sparse import is_sparse

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_NAMES = frozenset({"indices", "indptr", "offsets"})


def part(session: Run, cls: type, node: Node, value: Any) -> Any:
    """The stand-in of an attribute of a sparse array of class `cls` that says where its elements are; None for
    others."""
    if not session.guarded or not is_sparse(cls):
        return None
    if node.key == "coords" and type(value) is tuple and all(map(_is_known, value)):
        session.check(node, "type", tuple)
        session.check(node, "len", len(value))
        return tuple([known(session, node.item(n), x) for n, x in enumerate(value)])
    if node.key not in _NAMES or not _is_known(value):
        return None
    return _unread(session, node, value) if _is_compressed(cls) else known(session, node, value)


def _is_compressed(cls: type) -> bool:
    """Whether the products of a class take where elements are as inputs."""
    return any(c.__name__ in ("_csr_base", "_csc_base") for c in cls.__mro__)


def _is_known(value: Any) -> bool:
    return type(value) in (np.ndarray, CapturedArray) and value.dtype.kind == "i"


def known(session: Run, node: Node, value: Any) -> Box:
    """The stand-in of an integer array whose elements are known, and guarded."""
    met = session.known(value)
    if met is not None:
        session.alias(node, value)
        return met
    plain = _copy(value)
    session.check(node, "content", plain)
    _know_integers()
    return _entered(session, node, value, new_array(plain))


def _unread(session: Run, node: Node, value: Any) -> Box:
    """The same, which is guarded by its elements once it is read, and may be an input until then."""
    met = session.known(value)
    if met is not None:
        session.alias(node, value)
        return met
    plain = _copy(value)

    def asked() -> None:
        session.check(node, "content", plain)
        _know_integers()

    storage = Unread(plain, current_trace(), asked, lambda: captured(session, node, out))
    out = Box(storage, (), aval_of(plain))
    session.check(node, "array", array_type(value))
    return _entered(session, node, value, out)


def _copy(value: Any) -> np.ndarray:
    return np.array(value.plain if type(value) is CapturedArray else value)


def _entered(session: Run, node: Node, value: Any, out: Box) -> Box:
    session.structures.append((node, out, out.storage.version))
    return session.remember(value, out, node)


def captured(session: Run, node: Node, box: Box) -> Box:
    """The array of outside itself for which `box` stands, as an input."""
    if id(box) not in session.captured_structures:
        session.array_nodes.append(node)
        session.captured_structures[id(box)] = session.capture.array(node, session.original_of(box))
    return session.captured_structures[id(box)]


def _know_integers() -> None:
    """What is computed of the structure is known as well."""
    trace = current_trace()
    while trace is not None:
        if isinstance(trace, StageTrace):
            trace.structures = True
        trace = trace.parent


def handed_back(session: Run, leaves: list[Any]) -> list[Any]:
    """The leaves of a run's result with the arrays of outside themselves, or views of them, where these say where the
    elements of sparse arrays are.

    Raises UnfollowedError where one was written into."""
    met = {id(box.storage): (node, box) for node, box, _ in session.structures}
    for node, box, version in session.structures:
        if box.storage.version != version:
            what = f"a write into {node}, which says where the elements of a sparse array are"
            raise UnfollowedError(what=what, reason="what was traced depends on them")
    out = []
    for x in leaves:
        if type(x) is Box and id(x.storage) in met:
            node, box = met[id(x.storage)]
            whole = captured(session, node, box)
            if x.chain or x.identity is not None:
                x, view = Box(whole.storage, x.chain, x.aval), x
                x.identity = view.identity
            else:
                x = whole
        out.append(x)
    return out
