"""What a function changes in containers and objects among its arguments, where it runs with copies of these.

An argument that holds an array on a device is taken apart and made again with what stands for the array. What the
function puts into a list, a dict or an object that was made so is put into the caller's, too.
"""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator
from typing import Any

from tracejit import tree
from tracejit.frontend.shadows import behind

_LISTS = (list, collections.deque)


@contextlib.contextmanager
def handed_back(given: Any, copied: Any) -> Iterator[None]:
    """While a function runs with copies, of the same structure as what is `given`: it changes these, and then what is
    given is changed alike, also where the function raises."""
    pairs: dict[int, tuple[Any, Any, Any]] = {}  # of copies: these, what they are of, and what they hold
    (args, kwargs), (others, named) = given, copied
    for x, y in zip((*args, *kwargs.values()), (*others, *named.values()), strict=True):
        _meet(x, y, pairs)
    try:
        yield
    finally:
        for copy, own, before in list(pairs.values()):
            if before is not None and not _same(now := _held(copy), before):
                _put(own, now, before, pairs)


def _held(x: Any) -> Any:
    """What a container or object holds that can be changed; None for others."""
    if isinstance(x, _LISTS):
        return list(x)
    if isinstance(x, dict):
        return dict(x)
    return None if isinstance(x, tuple) else _attributes(x)


def _attributes(x: Any) -> dict[str, Any]:
    """An object's attributes of its own."""
    slots = behind.slots(type(x))
    return {n: getattr(x, n) for n in slots if hasattr(x, n)} | getattr(x, "__dict__", {})


def _meet(own: Any, copy: Any, pairs: dict[int, tuple[Any, Any, Any]]) -> None:
    """Note a copy and what is in it. Attributes that are no part of the tree are the same objects in the copy."""
    if own is copy or id(copy) in pairs:
        return
    if tree.is_leaf(own):
        pairs[id(copy)] = copy, own, None
        return
    inside: Any = ()
    if isinstance(own, (*_LISTS, tuple)):
        inside = zip(own, copy, strict=True)
    elif isinstance(own, dict):
        inside = [(own[k], copy[k]) for k in own]
    else:
        there = _attributes(copy)
        for k, x in _attributes(own).items():
            if k not in there:
                object.__setattr__(copy, k, x)
        inside = [(x, there[k]) for k, x in _attributes(own).items() if k in there]
    pairs[id(copy)] = copy, own, _held(copy)
    for x, y in inside:
        _meet(x, y, pairs)


def _same(now: Any, before: Any) -> bool:
    if isinstance(now, list):
        return len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True))
    return list(now) == list(before) and all(now[k] is before[k] for k in now)


def _put(own: Any, now: Any, before: Any, pairs: dict[int, tuple[Any, Any, Any]]) -> None:
    """Let what is the caller's hold what its copy does."""

    def back(x: Any) -> Any:
        if id(x) in pairs:
            return pairs[id(x)][1]
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*map(back, x))
        return type(x)(map(back, x)) if type(x) in (list, tuple) else x

    if isinstance(own, list):
        own[:] = map(back, now)
    elif isinstance(own, collections.deque):
        own.clear()
        own.extend(map(back, now))
    elif isinstance(own, dict):
        values = {k: back(x) for k, x in now.items()}
        own.clear()
        own.update(values)
    else:
        for k in before.keys() - now.keys():
            object.__delattr__(own, k)
        for k, x in now.items():
            if k not in before or x is not before[k]:
                object.__setattr__(own, k, back(x))
