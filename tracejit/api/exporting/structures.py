"""Structures of arguments and results as JSON: containers of Python's, with numbers in the places of arrays.

Named tuples are stored by their name and fields: results get a class of that name, arguments may be of any class with
these fields. Other classes are not stored, since the process that loads the file does not have them.
"""

from __future__ import annotations

import collections
import functools
import json
from typing import Any

from tracejit.api.exporting.values import Unstorable, decode, encode


class Leaf:
    """In a structure, the place of array or number `n`."""

    def __init__(self, n: int) -> None:
        self.n = n


def describe(x: Any) -> Any:
    """A tree of `Leaf`s and plain values as JSON. Raises Unstorable."""
    kind = type(x)
    if kind is Leaf:
        return ["leaf", x.n]
    if kind in (tuple, list):
        return [kind.__name__, *map(describe, x)]
    if kind in (dict, collections.OrderedDict):
        return [kind.__name__, *([encode(k), describe(v)] for k, v in x.items())]
    if isinstance(x, tuple) and hasattr(kind, "_fields"):
        return ["named", kind.__name__, list(kind._fields), *map(describe, x)]  # type: ignore[attr-defined]
    return ["value", encode(x)]


def build(d: Any, leaves: Any) -> Any:
    """The tree of a description, with these leaves."""
    kind, *rest = d
    if kind == "leaf":
        return leaves[rest[0]]
    if kind == "value":
        return decode(rest[0])
    if kind == "tuple":
        return tuple([build(x, leaves) for x in rest])
    if kind == "list":
        return [build(x, leaves) for x in rest]
    if kind == "named":
        return _named(rest[0], tuple(rest[1]))(*(build(x, leaves) for x in rest[2:]))
    return _DICTS[kind]((decode(k), build(v, leaves)) for k, v in rest)


_DICTS = {"dict": dict, "OrderedDict": collections.OrderedDict}
_SEQUENCES = {"tuple": tuple, "list": list}


@functools.lru_cache(maxsize=256)
def _named(name: str, fields: tuple[str, ...]) -> Any:
    """A class of named tuples."""
    return collections.namedtuple(name, fields)


class Differs(Exception):
    """In words, how a tree is not of a structure."""


def flatten(d: Any, x: Any, path: str, leaves: list[Any]) -> None:
    """Put the arrays and numbers of `x`, a tree of the structure that `d` describes, into their places among `leaves`.

    Raises Differs; `path` is how messages call `x`."""
    kind, *rest = d
    if kind == "leaf":
        leaves[rest[0]] = x
    elif kind == "value":
        if _text(x) != json.dumps(rest[0]):
            raise Differs(f"{path} is {x!r}, where it was {decode(rest[0])!r}")
    elif kind in ("tuple", "list"):
        if type(x) is not _SEQUENCES[kind] or len(x) != len(rest):
            raise Differs(f"{path} is {_words(x)}, where it was a {kind} of {len(rest)}")
        for n, (inner, part) in enumerate(zip(rest, x, strict=True)):
            flatten(inner, part, f"{path}[{n}]", leaves)
    elif kind == "named":
        if not isinstance(x, tuple) or list(getattr(x, "_fields", ())) != rest[1]:
            raise Differs(
                f"{path} is {_words(x)}, where it was a named tuple {rest[0]}({', '.join(rest[1])})"
            )
        for name, inner, part in zip(rest[1], rest[2:], x, strict=True):
            flatten(inner, part, f"{path}.{name}", leaves)
    else:
        keys = [k for k, _ in rest]
        if type(x) is not _DICTS[kind] or list(map(_text, x)) != list(map(json.dumps, keys)):
            wanted = ", ".join(repr(decode(k)) for k in keys)
            raise Differs(
                f"{path} is {_words(x)}, where it was a {kind} with the keys {wanted}, in this order"
            )
        for (_, inner), (k, part) in zip(rest, x.items(), strict=True):
            flatten(inner, part, f"{path}[{k!r}]", leaves)


def _text(x: Any) -> str:
    """A value as it is in files, where 1, 1.0 and True are different; '' for what no file has."""
    try:
        return json.dumps(encode(x))
    except Unstorable:
        return ""


def _words(x: Any) -> str:
    if isinstance(x, dict):
        return f"a {type(x).__name__} with the keys {', '.join(map(repr, x))}"
    return f"a {type(x).__name__}" + (f" of {len(x)}" if isinstance(x, (tuple, list)) else "")
