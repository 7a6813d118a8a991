"""Dicts and sets whose keys are known, asked for a key that only the program knows.

What is read is chosen among their values. Into which such a key is put becomes a table before the block that does so
(`tables`). Outside of loops the key is taken for known, as others are (`rewrite.hooks.keys`).
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.regions.staging import convert
from tracejit.frontend import active
from tracejit.frontend.lists.items import Items, common, items_of
from tracejit.frontend.lists.picked import NOTHING, is_position, item
from tracejit.frontend.lists.tables import CLASSES, DICTS, FACTORIES, MISSING
from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.tracing import box, to_raw

#: Keys of dicts that are compared one after the other.
MOST_KNOWN = 256
_I64 = np.dtype(np.int64)


def is_key(k: Any) -> bool:
    """Whether `k` is an integer that is not known while tracing, or a tuple of integers with such."""
    if type(k) is tuple:
        return any(map(is_position, k)) and all(_is_integer(x) for x in k)
    return is_position(k)


def is_asked(k: Any) -> bool:
    """The same in the step of a native loop: elsewhere, and in branches, keys are taken for known."""
    return active.in_loop() is not None and is_key(k)


def _is_integer(x: Any) -> bool:
    return is_position(x) or type(x) is int or isinstance(x, np.integer)


def kinds_of(held: Any, *entry: Any) -> Items | None:
    """What the entries of a dict or set would be with one more; None if it can't be a table."""
    new = entry[0] if isinstance(held, set) else entry
    found = items_of(new)
    for x in held if isinstance(held, set) else held.items():
        mine = items_of(x)
        found = None if found is None or mine is None else found.joined(mine)
    keys = list(held)
    known = all(isinstance(k, (int, np.integer)) or type(k) is tuple for k in keys)
    return None if found is None or found.has_arrays or not known else found


#: Methods that `method` knows.
METHODS = frozenset(("get", "setdefault", "add", "pop", "remove", "discard"))


def ask(held: Any, *entry: Any) -> None:
    """An entry is put into a dict or set whose key may be traced: raises Turned where a block can have a table."""
    if is_asked(entry[0]) and type(held) in CLASSES:
        kinds = kinds_of(held, *entry)
        if kinds is not None:
            active.session().turn(held, kinds)


def ask_to_take(held: Any, key: Any) -> None:
    """The same where an entry is taken out."""
    if is_asked(key) and type(held) in CLASSES and held:
        ask(held, *((key,) if isinstance(held, set) else (key, next(reversed(held.values())))))


def method(held: Any, name: str, *args: Any) -> Any:
    """What a method of a dict or set gives, whose keys are known, unlike the one that it is given; NOTHING if it is
    Python's to do."""
    if not args or not is_asked(args[0]):
        return NOTHING
    key, *rest = args
    if name == "add":
        ask(held, key)
    elif name == "setdefault" and rest:
        ask(held, key, *rest)
    elif name in ("pop", "remove", "discard"):
        ask_to_take(held, key)
        if not held and (rest or name == "discard"):
            return rest[0] if rest else None
    elif name == "get" and not held:
        return rest[0] if rest else None
    elif name == "get" and rest:
        return _looked_up(held, key, rest[0])
    return NOTHING


def item_of(held: Any, key: Any) -> Any:
    """The same of `held[key]`, which may be an entry of a new key."""
    if not is_asked(key):
        return NOTHING
    factory = getattr(held, "default_factory", None)
    if factory in FACTORIES:
        ask(held, key, factory())
    if factory is not None or type(held) not in DICTS:
        return NOTHING
    if type(held) is collections.Counter:
        return _looked_up(held, key, 0) if held else 0
    return _looked_up(held, key) if held else NOTHING


def _looked_up(held: Any, key: Any, *default: Any) -> Any:
    """`held[key]` of a dict whose keys are known integers and whose values are alike, or a default; NOTHING if it is
    not such."""
    kinds = common((*held.values(), *default))
    known = type(key) is not tuple and all(type(k) is int or isinstance(k, np.integer) for k in held)
    if kinds is None or kinds.has_arrays or not known or len(held) > MOST_KNOWN:
        return NOTHING
    if any(kind.python is None for kind in kinds.kinds):
        return NOTHING
    raw = to_raw(key)
    if aval_of(raw).dtype == np.uint64:
        return NOTHING
    raw = convert(raw, _I64)
    at: Any = np.int64(len(held))
    for n, k in enumerate(held):
        at = ops.compare.select(ops.compare.eq(raw, np.int64(k)), np.int64(n), at)
    if not default:
        missing = ops.compare.eq(at, np.int64(len(held)))
        leave_if(missing, MISSING)
        at = ops.arithmetic.minimum(at, np.int64(len(held) - 1))
    return item([*held.values(), *default], box(at, weak=True))


def has(key: Any, held: Any) -> list[Any] | None:
    """Of each key of a dict or set whose keys are known whether it is `key`; None if that is Python's to ask."""
    if type(held) not in CLASSES or not is_asked(key):
        return None
    if type(key) is not tuple:
        return [k == key for k in held if isinstance(k, (int, float, np.number))]
    return None if held else []
