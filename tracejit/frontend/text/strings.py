"""What strings do, for `Text`: methods that give text, comparisons and questions, and what looks at the characters, for
which the text is taken for known."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.frontend import active
from tracejit.frontend.text.deferred import Text, asked, described, is_text, known, made, refusal
from tracejit.frontend.text.recipes import Known, Made, Recipe, joined, picked
from tracejit.tracing import Box

#: Methods of strings that give a string.
METHODS = (
    *("lower", "upper", "title", "capitalize", "swapcase", "casefold", "ljust", "rjust", "center", "zfill"),
    *("strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "replace", "expandtabs"),
)


def _has_text(recipe: Recipe) -> bool:
    """Whether it surely makes a text of some length."""
    if isinstance(recipe, Known):
        return bool(recipe.value)
    if not isinstance(recipe, Made):
        return False
    if recipe.fn is picked:
        return isinstance(recipe.parts[1], Known) and all(recipe.parts[1].value)
    return recipe.fn in (str, repr, format) or (recipe.fn is joined and any(map(_has_text, recipe.parts)))


def _part(text: str, start: int | None, stop: int | None, step: int | None) -> str:
    return text[start:stop:step]


def _looking(name: str, use: str) -> Callable[..., Any]:
    """A special method that looks at the characters."""
    function = _LOOKING[name]

    def method(self: Text, *args: Any) -> Any:
        if name in ("str", "repr") and active.session() is None:  # for people, in an error
            return function(described(self))
        if name == "getitem" and type(args[0]) is slice:
            at = args[0].start, args[0].stop, args[0].step
            if at[2] != 0 and all(x is None or type(x) is int for x in at):
                return made(_part, self, *at)
        return function(known(self, use), *args)

    method.__name__ = name
    return method


def _refuse(name: str, use: str) -> Callable[..., Any]:
    def method(self: Text, *_: Any, **__: Any) -> Any:
        raise refusal(self, use)

    method.__name__ = name
    return method


def _comparison(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def method(self: Text, other: Any) -> Any:
        if is_text(other):
            return asked(function, bool, self, other)
        if type(other) is Box:
            raise refusal(self, "a comparison with an array")
        return NotImplemented

    method.__name__ = name
    return method


def _question(name: str) -> Callable[..., Any]:
    function = getattr(str, name)

    def method(self: Text, *args: Any) -> Any:
        if not all(type(x) in (int, str, Text) for x in args):
            raise refusal(self, f"`{name}`")
        return asked(function, np.int64 if name in ("count", "find", "rfind") else bool, self, *args)

    method.__name__ = name
    return method


#: Special methods of which the result is one of the string's own.
_LOOKING: dict[str, Callable[..., Any]] = {
    "str": str,
    "repr": repr,
    "format": format,
    "iter": iter,
    "getitem": operator.getitem,
    "reversed": reversed,
    "rmod": lambda x, y: y % x,
    "len": len,
    "length_hint": len,
    "contains": operator.contains,
    "int": int,
    "float": float,
    "complex": complex,
}
#: Those that are refused: C code would hold the text as a key, or ask for what strings have not.
_USES = {
    "its characters": ("bytes", "fspath", "mod"),
    "its hash, as a key of a dict": ("hash",),
    "a number": ("index",),
    "an array of it": ("array", "array_interface", "array_struct"),
    "a copy for others": ("reduce", "reduce_ex", "sizeof", "dir"),
}
for _name in _LOOKING:
    setattr(Text, f"__{_name}__", _looking(_name, "its characters"))
for _use, _names in _USES.items():
    for _name in _names:
        setattr(Text, f"__{_name}__", _refuse(_name, _use))


def _missing(self: Text, name: str) -> Any:
    if name[:2] != "__" and hasattr(str, name):
        return getattr(known(self, f"`{name}`"), name)
    if hasattr(str, name):
        raise refusal(self, f"`{name}`")
    raise AttributeError(f"'str' object has no attribute {name!r}", name=name, obj=self)


def _is_some(self: Text) -> bool:
    return True if _has_text(self.recipe) else bool(known(self, "whether it is empty"))


_is_some.followed = lambda self: True if _has_text(self.recipe) else asked(bool, bool, self)  # type: ignore[attr-defined]
Text.__getattr__ = _missing
Text.__bool__ = _is_some


def _method(name: str) -> Callable[..., Any]:
    function = getattr(str, name)

    def method(self: Text, *args: Any) -> Any:
        if not all(type(x) in (int, str, Text, type(None)) for x in args):
            raise refusal(self, f"`{name}`")
        return made(function, self, *args)

    method.__name__ = name
    return method


for _name in METHODS:
    setattr(Text, _name, _method(_name))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Text, f"__{_name}__", _comparison(_name))
for _name in (
    "startswith",
    "endswith",
    "count",
    "find",
    "rfind",
    "isdigit",
    "isalpha",
    "isnumeric",
    "isspace",
):
    setattr(Text, _name, _question(_name))
