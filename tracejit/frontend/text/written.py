"""Functions of the standard library that make text of values, and what reads a text as a whole.

`json.dumps(x.tolist())` is a text of the program, like an f-string. `json.loads` needs the characters: its text is
taken for known.
"""

from __future__ import annotations

import functools
import json
import pprint
import textwrap
import types
from collections.abc import Callable
from typing import Any

from tracejit.errors import TracerIntegerError
from tracejit.frontend.text.deferred import Text, known, text_of
from tracejit.frontend.text.recipes import Made
from tracejit.frontend.text.shown import parts_of
from tracejit.numpy.boxes.conversions import known_value
from tracejit.tracing import Box

_PLAIN = (str, int, float, bool, type(None))


def writing(fn: Callable[..., str]) -> Callable[..., Any]:
    """The form of a function that makes text of its arguments, and does nothing else."""

    @functools.wraps(fn)
    def form(*args: Any, **kwargs: Any) -> Any:
        kwargs = {k: _option(v) for k, v in kwargs.items()}
        if not all(isinstance(v, _PLAIN) for v in kwargs.values()):
            return fn(*args, **kwargs)  # functions among them
        parts = [parts_of(x) for x in (*args, *kwargs.values())]
        values = [v for _, found in parts for v in found]
        if not values:
            return fn(*args, **kwargs)
        return text_of(Made(fn, tuple(r for r, _ in parts), tuple(kwargs)), values)

    return form


def _option(x: Any) -> Any:
    """A keyword argument: a traced integer is taken for known."""
    whole = type(x) is Box and not x.aval.shape and x.aval.dtype.kind in "bi"
    return known_value(x, TracerIntegerError).item() if whole else x


def _reading(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def form(text: Any, *args: Any, **kwargs: Any) -> Any:
        return fn(known(text, "its characters") if type(text) is Text else text, *args, **kwargs)

    return form


_WRITING = (json.dumps, pprint.pformat, textwrap.fill, textwrap.shorten, textwrap.indent, textwrap.dedent)
FORMS: dict[Any, Any] = {
    **{f: writing(f) for f in _WRITING},
    json.loads: _reading(json.loads),
    textwrap.wrap: _reading(textwrap.wrap),
}
#: By the names of their modules.
MODULES: dict[str, types.SimpleNamespace] = {
    m.__name__: types.SimpleNamespace(
        **{f.__name__: form for f, form in FORMS.items() if f.__module__ == m.__name__}
    )
    for m in (json, pprint, textwrap)
}
