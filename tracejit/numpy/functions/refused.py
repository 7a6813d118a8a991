"""NumPy's functions that traced values cannot be given to: why, and what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import RefusedFunctionError
from tracejit.numpy.dispatch import implements

_OUTSIDE = "return the value from the traced function, and call it on the result"
_FILES = ("it reads or writes files, which a compiled program would not do again", _OUTSIDE)
_DATES = (
    "its arguments are dates, which no derivative or compiled code has",
    "use integers or floats for times",
)
_MEMORY = ("it looks at an array's memory, and a traced value has none", _OUTSIDE)
_TEXT = ("it makes text of a number that is not known", "print with tracejit's debugging tools, or outside")
_CLASSES = ("its result is an object whose operations are not those of arrays", "use plain arrays and `@`")

#: Function -> (why it is refused, what to do instead).
REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            "fromfile",
            "fromregex",
            "genfromtxt",
            "load",
            "loadtxt",
            "save",
            "savetxt",
            "savez",
            "savez_compressed",
        ),
        _FILES,
    ),
    **dict.fromkeys(
        ("busday_count", "busday_offset", "datetime_as_string", "datetime_data", "is_busday"), _DATES
    ),
    **dict.fromkeys(("from_dlpack", "frombuffer", "nested_iters"), _MEMORY),
    **dict.fromkeys(("format_float_positional", "format_float_scientific"), _TEXT),
    **dict.fromkeys(("asmatrix", "bmat"), _CLASSES),
    "fromiter": (
        "it fills a real array with Python numbers, which traced values are not",
        "use numpy.stack(list(...)), or numpy.array(list(...))",
    ),
    "fromstring": ("it reads numbers from text", "call it outside of the traced function"),
    "frompyfunc": (
        "its results are arrays of Python objects",
        "use numpy.vectorize, whose results are arrays of numbers",
    ),
}


def _refuse(name: str) -> None:
    reason, remedy = REFUSED[name]

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise RefusedFunctionError(name=f"numpy.{name}", reason=reason, remedy=remedy)

    refused.__name__ = name
    refused.__doc__ = f"Refused for traced values: {reason}. Remedy: {remedy}."
    implements(getattr(np, name), name)(refused)


for _name in REFUSED:
    if _name not in ("frompyfunc", "frombuffer"):  # the latter takes traced bytes
        _refuse(_name)
