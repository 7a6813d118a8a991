"""Texts by templates: f-strings, `%`, `str.format`, and `str.join`."""

from __future__ import annotations

import operator
import string
from collections.abc import Callable, Iterator
from typing import Any

from tracejit.errors import TracedTextError
from tracejit.frontend.text.deferred import Text, concatenated, recipe_of, text_of
from tracejit.frontend.text.recipes import Made, Recipe
from tracejit.frontend.text.shown import format_, has_own_text, is_unknown, known_spec, parts_of, repr_, str_
from tracejit.tracing import Box


def field(value: Any, conversion: str | None, spec: Any) -> Any:
    """One field of an f-string or of `str.format`."""
    if conversion == "r":
        value = repr_(value)
    elif conversion == "s":
        value = str_(value)
    elif conversion == "a":
        value = ascii(value)
    return format_(value, spec)


def percent(template: Any, given: Any) -> Any:
    """`template % given`, of a string."""
    second, more = arguments_of(given)
    first, values = recipe_of(template)
    if not values and not more:
        return template % given
    return text_of(Made(operator.mod, (first, second)), (*values, *more))


def arguments_of(given: Any) -> tuple[Recipe, tuple[Any, ...]]:
    """What a template with `%` is given. Raises TracedTextError for objects whose text is made by functions of the
    user's, where it is not known which of them."""
    items = given if type(given) is tuple else tuple(given.values()) if type(given) is dict else (given,)
    for x in items:
        if type(x) not in (str, int, float, Box, Text) and has_own_text(x):
            raise TracedTextError(aval=f"{type(x).__name__} in `%`", use="its characters")
    return parts_of(given)


def times(a: Any, b: Any) -> Any:
    """`a * b`, a string as often as a number says."""
    if not (is_unknown(a) or is_unknown(b)):
        return a * b
    first, second = parts_of(a), parts_of(b)
    return text_of(Made(operator.mul, (first[0], second[0])), (*first[1], *second[1]))


def format_method(template: Any, *args: Any, **kwargs: Any) -> Any:
    """`template.format(*args, **kwargs)`."""
    if type(template) is not str:
        raise TracedTextError(aval="template", use="its fields")
    return concatenated(_fields(template, args, kwargs, _Numbering(), 2))


class _Numbering:
    """Numbers the fields of a template that have no number; a template has these or numbers of its own."""

    def __init__(self) -> None:
        self.next = 0
        self.manual = False

    def named(self, name: str) -> str:
        first = name.replace("[", ".").split(".")[0]
        if first.isdigit() and self.next:
            raise ValueError("cannot switch from automatic field numbering to manual field specification")
        if first:
            self.manual = self.manual or first.isdigit()
            return name
        if self.manual:
            raise ValueError("cannot switch from manual field specification to automatic field numbering")
        self.next += 1
        return f"{self.next - 1}{name}"


def _fields(template: str, args: Any, kwargs: Any, numbering: _Numbering, depth: int) -> Iterator[Any]:
    for text, name, spec, conversion in string.Formatter().parse(template):
        yield text
        if name is None:
            continue
        if depth == 0:
            raise ValueError("Max string recursion exceeded")
        value, _ = string.Formatter().get_field(numbering.named(name), args, kwargs)
        inner = concatenated(_fields(spec, args, kwargs, numbering, depth - 1)) if spec else ""
        if depth < 2:
            value = known_spec(value)
        yield field(value, conversion, inner)


def method(x: Any, name: str) -> Callable[..., Any]:
    """A method of strings, of arguments some of which may be unknown numbers."""

    def called(*args: Any) -> Any:
        if not any(map(is_unknown, args)):
            return getattr(x, name)(*args)
        parts = [recipe_of(x), *map(parts_of, args)]
        values = [v for _, found in parts for v in found]
        return text_of(Made(getattr(str, name), tuple([r for r, _ in parts])), values)

    return called
