"""What stands for a thing that can't be followed: it may be held and handed on, but not used.

A function may hold such a thing in a cell, a list or a dict without using it, or only for a callback, which gets the
thing itself. Whatever else is done with it refuses the trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.errors import UnfollowedError
from tracejit.frontend.capture import Unfollowed


class Refusing:
    """The stand-in of a thing that can't be followed, but for its attributes that `member` gives."""

    __slots__ = ("_tj_held", "_tj_member", "_tj_thing")

    def __init__(self, thing: Unfollowed, held: Any, member: Callable[[str], Any] | None = None) -> None:
        object.__setattr__(self, "_tj_thing", thing)
        object.__setattr__(self, "_tj_held", held)
        object.__setattr__(self, "_tj_member", member)

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":  # our own looks at what something is are no use of it
            return Refusing
        member = object.__getattribute__(self, "_tj_member")
        if member is not None and (found := member(name)) is not None:
            return found
        raise refusal(object.__getattribute__(self, "_tj_thing"))


def refusal(thing: Unfollowed) -> UnfollowedError:
    """The error for a use of `thing`."""
    return UnfollowedError(what=thing.path, reason=thing.reason)


def held(x: Any) -> Any:
    """The thing behind a stand-in of this kind; anything else as it is."""
    return object.__getattribute__(x, "_tj_held") if type(x) is Refusing else x


def _use(self: Refusing, *_: Any, **__: Any) -> Any:
    raise refusal(object.__getattribute__(self, "_tj_thing"))


_BINARY = (
    "add",
    "sub",
    "mul",
    "matmul",
    "truediv",
    "floordiv",
    "mod",
    "divmod",
    "pow",
    "lshift",
    "rshift",
    "and",
)
_BINARY += ("or", "xor")
_OTHERS = (
    "call",
    "getitem",
    "setitem",
    "delitem",
    "iter",
    "next",
    "len",
    "contains",
    "bool",
    "int",
    "float",
    "index",
)
_OTHERS += (
    "complex",
    "str",
    "repr",
    "format",
    "bytes",
    "hash",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "neg",
    "pos",
)
_OTHERS += (
    "abs",
    "invert",
    "round",
    "enter",
    "exit",
    "setattr",
    "delattr",
    "await",
    "aiter",
    "anext",
    "reversed",
)
_OTHERS += (
    "copy",
    "deepcopy",
    "reduce_ex",
    "instancecheck",
    "subclasscheck",
    "array",
    "fspath",
    "length_hint",
    "dir",
)
for _name in (*_OTHERS, *_BINARY, *(f"r{n}" for n in _BINARY), *(f"i{n}" for n in _BINARY)):
    setattr(Refusing, f"__{_name}__", _use)
