"""Containers and objects in results that are the user's own, and not new ones: they are handed back themselves."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

from tracejit import frontend, tree
from tracejit.errors import UnfollowedError

_KINDS = (list, dict, collections.OrderedDict, collections.defaultdict, collections.deque)


class Own:
    """A leaf of a result: a captured container or object, itself."""

    def __init__(self, value: Any) -> None:
        self.value = value


def owned(session: frontend.Session, out: Any) -> Any:
    """The result with captured containers as leaves.

    Raises:
        UnfollowedError: a container is in it twice; it would become two.
    """
    met: set[int] = set()

    def is_own(x: Any) -> bool:
        if type(x) not in _KINDS and not dataclasses.is_dataclass(x):
            return False
        if session.captured(x) is not None:
            return True
        if id(x) in met:
            raise UnfollowedError(what="the result", reason=f"it has the same {type(x).__name__} twice")
        met.add(id(x))
        return False

    leaves, structure = tree.flatten(out, is_leaf=is_own)
    own = [session.captured(x) for x in leaves]
    if all(x is None for x in own):
        return out
    return tree.unflatten(
        structure, [x if o is None else Own(o) for x, o in zip(leaves, own, strict=True)]
    )
