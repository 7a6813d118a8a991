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

#: The records that make exceptions of failed checks, and where they are.
_MAKERS = {
    "IndexFailure": "tracejit.ops.indexing.index_check",
    "Raising": "tracejit.ops.indexing.index_check",
    "NumberFailure": "tracejit.numpy.boxes.numbers",
    "CountFailure": "tracejit.numpy.boxes.masking.masked",
    "EmptyFailure": "tracejit.numpy.boxes.masking.calls",
    "Unfit": "tracejit.numpy.fitting",
    "PositionFailure": "tracejit.numpy.functions.arrays.positions",
    "RangeFailure": "tracejit.numpy.functions.statistics.histograms",
}
#: Functions that make text of a number.
_FORMATS: dict[str, Any] = {"format": format, "str": str, "repr": repr}


def describe(failure: Failure) -> Any:
    """A check as JSON: (the name of its record, its fields, the line). Raises Unstorable."""
    assert isinstance(failure, Check)
    make: Any = failure.make
    line = None if failure.source is None else str(failure.source)
    if type(make) is Raise:
        return ["Raise", _raised(make), line]
    name = type(make).__name__
    if _MAKERS.get(name) != type(make).__module__:
        raise Unstorable("a check whose exception is made in Python")
    return [name, [encode(getattr(make, f.name)) for f in dataclasses.fields(make)], line]


def read(d: Any) -> Failure:
    """The check of a description."""
    name, fields, line = d
    if name == "Raise":
        error, args, kind, shown = fields
        numbers = (decode(kind), decode(shown))
        return functools.partial(
            _users, decode(error), [a if a[0] else [0, decode(a[1])] for a in args], numbers
        )
    return functools.partial(_made, _MAKERS[name], name, tuple(map(decode, fields)), line)


def _made(
    module: str, name: str, fields: tuple[Any, ...], line: str | None, details: tuple[int, ...]
) -> Exception:
    return getattr(importlib.import_module(module), name)(*fields)(details, line)


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
    return [known[part.fn], first.kind == PYTHON, *(encode(r.value) for r in rest)]


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
