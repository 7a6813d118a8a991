"""`is` of arrays, containers and objects, which branches and loops may have chosen."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import UnfollowedError
from tracejit.frontend.lists.arenas import is_same
from tracejit.frontend.rewrite.blocks.chosen import known
from tracejit.frontend.rewrite.blocks.decisions import capturing
from tracejit.frontend.rewrite.blocks.identity import FALSE, TRUE, Reach, flag_of, reached, same_chain
from tracejit.frontend.shadows import behind
from tracejit.frontend.shadows.classes import users_class
from tracejit.numpy.boxes.sharing.either import VAGUE, listed, may_share, storages_of
from tracejit.numpy.boxes.sharing.references import Row, row_at
from tracejit.numpy.operands import is_subclassed
from tracejit.tracing import Box, Storage

_ARRAYS = "whether two arrays are one"


def are_one(x: Any, y: Any) -> Any:
    """Whether two objects, which are not the same one here, are one: False, or a raw truth value. Raises
    UnfollowedError."""
    if type(x) is Box and type(y) is Box:
        return _are_one_array(x, y)
    if is_subclassed(x) and is_subclassed(y) and (x.tj_is_chosen() or y.tj_is_chosen()):
        raise UnfollowedError(what=_ARRAYS, reason="a branch or loop decides which they are")
    choices = capturing().choices
    for a in (x, *(o.container for o in choices.options(x))):
        for b in (y, *(o.container for o in choices.options(y))):
            if a is not b:
                _refuse_given(a, b)
    return choices.ask(x, y)


def _are_one_array(x: Box, y: Box) -> Any:
    """The same of arrays, each of which is one of those that it reaches, as flags say."""
    items = listed(x) is not None, listed(y) is not None
    given = (any(s.origin is not None for s in storages_of(a)) for a in (x, y))
    if any(items) and all(item or outside for item, outside in zip(items, given, strict=True)):
        raise may_share(UnfollowedError(what=_ARRAYS, reason="a branch or loop decides which they are"))
    if x.aval.dtype != y.aval.dtype or len(x.aval.shape) != len(y.aval.shape):
        return False
    found: Any = False
    mine, yours = _reached(x), _reached(y)
    for a in mine:
        for b in yours:
            same = _is_one(a, b)
            if same is not FALSE:
                flag = known(_both(same, _both(flag_of(a), flag_of(b))), _ARRAYS)
                found = flag if found is False else _either(found, flag)
    return found


def _reached(x: Box) -> list[Reach]:
    """What an array may be. Blocks have to know of these which they are when a step begins."""
    found = [*reached(x.storage, x.chain, x.identity)]
    for frame in capturing().frames:
        frame.asked.update((id(r.storage), r.storage) for r in found)
    return found


def _is_one(a: Reach, b: Reach) -> Any:
    """A raw truth value: whether the same view of an array, or that array itself, is reached on both ways. Raises
    UnfollowedError."""
    row, other = row_at(a.storage, a.chain), row_at(b.storage, b.chain)
    if row is not None or other is not None:
        return _is_one_of_rows(a, b, row, other)
    if a.storage is b.storage:
        return np.bool_(_is_one_view(a, b))
    if a.identity is None and b.identity is None:
        _tell_apart(a.storage, b.storage)
    return FALSE


def _is_one_of_rows(a: Reach, b: Reach, row: Row | None, other: Row | None) -> Any:
    """The same where one of them lies in an arena at least: no other array does that is not known to."""
    if a.identity is not None or b.identity is not None:
        if a.identity is b.identity is not VAGUE or (a.identity is None) != (b.identity is None):
            return np.bool_(a.identity is b.identity)
        if VAGUE not in (a.identity, b.identity):
            return FALSE
        raise UnfollowedError(what=_ARRAYS, reason="a branch or loop decides which they are")
    ends = [
        [s for s, _ in r.arena.outside] if r is not None else [x.storage] for r, x in ((row, a), (other, b))
    ]
    for s, t in itertools.product(*ends):
        if s is not t:
            _tell_apart(s, t)
    return FALSE if row is None or other is None else is_same(row, other)


def _is_one_view(a: Reach, b: Reach) -> bool:
    """Whether two views of an array are one. Raises UnfollowedError."""
    if a.identity is not b.identity and VAGUE not in (a.identity, b.identity):
        return False
    if None in (a.identity, b.identity) and a.identity is not b.identity:
        return False  # a view is never the array itself
    if a.chain is None or b.chain is None or a.identity == VAGUE or b.identity == VAGUE:
        raise UnfollowedError(what=_ARRAYS, reason="a branch or loop decides which they are")
    return a.identity is not None or same_chain(a.chain, b.chain)


def _tell_apart(a: Storage, b: Storage) -> None:
    """Two arrays of outside are not one in this call. Raises UnfollowedError."""
    if a.origin is None or b.origin is None:
        return
    session: Any = capturing()
    if not session.guarded:
        raise UnfollowedError(what=_ARRAYS, reason="that may differ from call to call")
    session.distinct.append((a, b))


def _refuse_given(x: Any, y: Any) -> None:
    """Nothing, unless one is a container of outside: at another call they may be one."""
    session: Any = capturing()
    among = frozenset(session.arguments[id(v)] for v in (x, y) if id(v) in session.arguments)
    if (
        among
        and _class_of(x) is _class_of(y)
        and all(id(v) in session.arguments or session.is_stand_in(v) for v in (x, y))
    ):
        error = UnfollowedError(
            what="whether two containers are one", reason="that may differ from call to call"
        )
        error.arguments = among
        raise error
    if type(x) is not Box:
        session.told_apart(x, y)


def _class_of(x: Any) -> type:
    """The user's class of an object, or of what stands for it."""
    return type(behind.state_of(x).original) if behind.is_shadow(x) else users_class(type(x))


def _both(a: Any, b: Any) -> Any:
    return b if a is TRUE else a if b is TRUE else ops.compare.and_(a, b)


def _either(a: Any, b: Any) -> Any:
    return TRUE if a is TRUE or b is TRUE else b if a is FALSE else a if b is FALSE else ops.compare.or_(a, b)
