"""What failed checks raise, as JSON: the record that makes the exception, by its name and fields, and the user's line.

The records are in parts of tracejit that a process which only calls exported programs does not need; they are imported
when a check fails. Exceptions of the user's code are their class and arguments, with the number that a text among them
shows.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit.api.exporting.values import Unstorable, decode, encode
from tracejit.frontend.rewrite.hooks.messages import Raise
from tracejit.frontend.text.deferred import Text
from tracejit.frontend.text.recipes import PYTHON, Known, Made, Slot, joined
from tracejit.interpreters.jit_stored import Check, Failure

#: Where the records are that make exceptions.
_OURS = "tracejit."
#: Functions that make text of a number.
_FORMATS: dict[str, Any] = {"format": format, "str": str, "repr": repr}


def describe(failure: Failure) -> Any:
    """A check as JSON: (what makes the exception, the line). Raises Unstorable."""
    assert isinstance(failure, Check)
    line = None if failure.source is None else str(failure.source)
    return [_described(failure.make), line]


def read(d: Any) -> Failure:
    """The check of a description."""
    made, line = d
    kind, *rest = made
    if kind == "raise":
        error, args, bits, shown = rest
        numbers = decode(bits), decode(shown)
        return functools.partial(
            _users, decode(error), [a if a[0] else [0, decode(a[1])] for a in args], numbers
        )
    if kind != "record":
        raise ValueError(kind)
    _looked_at(made)
    return lambda details: _read(made)(details, line)


def _described(x: Any) -> Any:
    """What makes an exception, or a part of it."""
    if type(x) is Raise:
        return ["raise", *_raised(x)]
    if type(x) is tuple:
        return ["tuple", *map(_described, x)]
    module = type(x).__module__
    if dataclasses.is_dataclass(x) and module.startswith(_OURS):
        return [
            "record",
            module,
            type(x).__name__,
            *(_described(getattr(x, f.name)) for f in dataclasses.fields(x)),
        ]
    try:
        return ["value", encode(x)]
    except Unstorable:
        raise Unstorable("a check whose exception is made in Python") from None


def _looked_at(d: Any) -> None:
    """Raises ValueError for a description of anything but records of ours, tuples and values."""
    kind, *rest = d
    if kind == "tuple":
        for x in rest:
            _looked_at(x)
    elif kind == "record":
        module, name, *fields = rest
        if not module.startswith(_OURS) or not name.isidentifier():
            raise ValueError(name)
        for x in fields:
            _looked_at(x)
    elif kind == "value":
        decode(*rest)
    else:
        raise ValueError(kind)


def _read(d: Any) -> Any:
    kind, *rest = d
    if kind == "value":
        return decode(*rest)
    if kind == "tuple":
        return tuple(map(_read, rest))
    module, name, *fields = rest
    made: Any = getattr(importlib.import_module(module), name)
    return made(*map(_read, fields))


# ---------------------------------------------------------------- exceptions of the user's code


def _raised(make: Raise) -> list[Any]:
    """The class of a user's exception, its arguments, and the dtypes of the bits and of the number that they show."""
    name = type(make.error).__name__
    if any(not attribute.startswith("_tj_") for attribute in vars(make.error)):
        raise Unstorable(f"an exception with attributes ({name})")
    try:
        args = [[1, list(_pieces(a))] if type(a) is Text else [0, encode(a)] for a in make.args]
        return [encode(type(make.error)), args, encode(make.kind), encode(make.dtype)]
    except Unstorable as e:
        raise Unstorable(f"the exception {name} ({e})") from None


def _pieces(text: Text) -> Iterator[Any]:
    """A text as strings and, for what shows the number of the check, (function, whether the number is Python's,
    arguments). What shows others is what people see who look at it while it is traced."""
    recipe: Any = text.recipe
    given = iter(text.values)
    for part in recipe.parts if isinstance(recipe, Made) and recipe.fn is joined else (recipe,):
        slots = list(part.slots())
        values: list[Any] = [next(given) for _ in slots]
        hidden = [v for v in values if not v.shown]
        if hidden:
            yield "".join(f"Traced<{v.aval}>" for v in hidden)
        elif not slots:
            yield part(iter(()))
        else:
            yield _shown(part)


def _shown(part: Any) -> list[Any]:
    known = {f: name for name, f in _FORMATS.items()}
    first: Any
    rest: list[Any]
    first, *rest = part.parts if isinstance(part, Made) and not part.names else (part,)
    if not isinstance(part, Made) or part.fn not in known or type(first) is not Slot:
        raise Unstorable("a message that is computed")
    if not all(type(r) is Known for r in rest):
        raise Unstorable("a message with a computed format")
    return [known[part.fn], first.kind == PYTHON, *(encode(r.value) for r in rest)]  # type: ignore[attr-defined]


def _users(
    error: type[Exception], args: Any, numbers: tuple[Any, Any], details: tuple[int, ...]
) -> Exception:
    kind, shown = numbers
    number = None if shown is None else shown.type(np.int64(details[0]).view(kind))
    return error(*(_text(a, number) if computed else a for computed, a in args))


def _text(pieces: list[Any], number: Any) -> str:
    parts = []
    for p in pieces:
        if isinstance(p, str):
            parts.append(p)
        else:
            name, python, *rest = p
            parts.append(_FORMATS[name](number.item() if python else number, *map(decode, rest)))
    return "".join(parts)
