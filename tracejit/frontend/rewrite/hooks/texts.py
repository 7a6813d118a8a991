"""Text that the functions' source makes: f-strings, `%`, `.format`, `.join`, and builtins that make text; special
members that it names."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from tracejit.frontend.rewrite.blocks.decisions import capturing
from tracejit.frontend.shadows import kinds
from tracejit.frontend.text import shown, templates
from tracejit.frontend.text.deferred import Text, concatenated, join
from tracejit.tracing import Box

_CONVERSIONS = {-1: None, 115: "s", 114: "r", 97: "a"}
_PLAIN: dict[int, Callable[[Any], Any]] = {-1: lambda x: x, 115: str, 114: repr, 97: ascii}


def text(*parts: Any) -> Any:
    """An f-string of these pieces."""
    return "".join(parts) if capturing() is None else concatenated(parts)


def field(value: Any, conversion: int, spec: Any) -> Any:
    """`{value!conversion:spec}` in an f-string."""
    if capturing() is None:
        return format(_PLAIN[conversion](value), spec)
    return templates.field(value, _CONVERSIONS[conversion], spec)


def spec(value: Any, conversion: int, inner: Any) -> Any:
    """The same inside of a format specification."""
    return field(value if capturing() is None else shown.known_spec(value), conversion, inner)


def mod(a: Any, b: Any) -> Any:
    """`a % b`, of numbers or of a string."""
    if (type(a) is Text or isinstance(a, str)) and capturing() is not None:
        return templates.percent(a, b)
    return a % b


def mul(a: Any, b: Any) -> Any:
    """`a * b`, one of which is a string."""
    return templates.times(a, b) if capturing() is not None else a * b


_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.BuiltinFunctionType)


def method(x: Any, name: str) -> Any:
    """The method `name` of a string, or of something else, or a special member."""
    if type(x) is Box:
        return kinds.traced_getattr(x, name)
    if x is object and capturing() is not None:
        return kinds.of_object(name)
    if (type(x) is not Text and type(x) is not str) or capturing() is None:
        return kinds.traced_getattr(x, name)
    if not isinstance(getattr(str, name, None), _METHODS):  # its class, say
        return getattr("" if type(x) is Text else x, name)
    if name == "format":
        return functools.partial(templates.format_method, x)
    return functools.partial(join, x) if name == "join" else templates.method(x, name)
