"""Containers among the arguments of a call. They are part of its signature: taken apart, and made again for the traced
function. Where the function changes them, or asks which ones they are, it is traced again with these arguments followed
as objects of outside are."""

from __future__ import annotations

from typing import Any

from tracejit import frontend, tree
from tracejit.api.common import name_of
from tracejit.api.jit import handed
from tracejit.api.jit.signature import Call
from tracejit.errors import ArgumentContainerError, TracejitError, UnfollowedError
from tracejit.frontend.paths import Node


class MoreNeeded(Exception):
    """Tracing failed with `error` since arguments that are numbers decide what is traced: `sizes`, their positions
    and keywords; or since containers among the arguments are changed: those of `followed`."""

    def __init__(
        self, error: Exception, sizes: frozenset[int | str], followed: frozenset[int | str] = frozenset()
    ) -> None:
        super().__init__()
        self.sizes = sizes
        self.followed = followed
        self.error = error

    @property
    def counts(self) -> bool:
        """Whether the sizes only say how often a loop fills lists."""
        return getattr(self.error, "by_count", False)


def more(e: MoreNeeded, call: Any, options: Any, varying: Any) -> Any:
    """The options with which tracing may go on; raises what was raised where they are those of before."""
    if e.sizes <= options.sizes and e.followed <= options.followed:
        raise e.error from None
    if e.counts:
        varying.count((key, call.argument(key)) for key in e.sizes)
    return options.with_more(e.sizes, e.followed)


_Held = tuple[list[Any], Any, list[Any]]


def held(session: frontend.Session, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int | str, _Held]:
    """What each argument holds that is not followed: leaves, structure, containers."""
    given = [*enumerate(args), *kwargs.items()]
    return {
        k: (*tree.flatten_ordered(a), list(handed.containers([a])))
        for k, a in given
        if not session.is_stand_in(a)
    }


def look_at(call: Call, before: dict[int | str, _Held], after: dict[int | str, _Held]) -> None:
    """Raises ArgumentContainerError if dicts, lists or objects that were given now hold something else: `arguments` of
    it are those."""
    changed = frozenset(k for k, held in before.items() if not _same(held, after[k]))
    for key in changed:
        error = ArgumentContainerError(function=name_of(call.fun), argument=call.argument_name(key))
        error.arguments = changed
        raise error


def follow(call: Call, error: TracejitError) -> None:
    """Raises MoreNeeded if another trace may follow the arguments of which `error` tells; the error, if it may not."""
    if not error.arguments or not all(map(call.may_follow, error.arguments)):
        raise error
    raise MoreNeeded(error, frozenset(), error.arguments) from None


def follow_entities(call: Call) -> None:
    """Raises MoreNeeded for arguments that hold an object of a dataclass which compares and hashes its objects by
    identity: one that is made again is another one."""
    given = [*zip(call.positions(), call.dynamic, strict=True), *call.kwargs.items()]
    keys = frozenset(
        k for k, a in given if k not in call.followed_keys and call.may_follow(k) and _is_entity(a)
    )
    if keys:
        error = UnfollowedError(what="an argument", reason="it is compared and hashed by identity")
        raise MoreNeeded(error, frozenset(), keys)


def _is_entity(argument: Any) -> bool:
    classes = map(type, handed.containers([argument]))
    return any(c in tree.found_classes and c.__hash__ is object.__hash__ for c in classes)


def is_outside(call: Call, node: Node) -> UnfollowedError:
    """That what the function changes at `node` is among the arguments that are taken apart."""
    error = UnfollowedError(what=str(node), reason="it is changed, and is an argument of this call as well")
    owner = node.read(call.objects)
    given = [*enumerate(call.argument(n) for n in range(call.num_args)), *call.kwargs.items()]
    error.arguments = frozenset(k for k, a in given if any(x is owner for x in handed.containers([a])))
    return error


def _same(before: _Held, after: _Held) -> bool:
    """Whether an argument holds the same objects in the same structure."""
    (old, old_tree, outer), (new, new_tree, now) = before, after
    pairs = [*zip(old, new, strict=False), *zip(outer, now, strict=False)]
    return old_tree == new_tree and len(outer) == len(now) and all(x is y for x, y in pairs)
