"""`debug.print`: format strings checked while tracing, printed while the program runs."""

from __future__ import annotations

import builtins
import string
from typing import Any

from tracejit.control.callbacks.ops import debug_callback
from tracejit.errors import DebugFormatError
from tracejit.ir.avals import aval_of
from tracejit.tracing import Box


def debug_print(
    fmt: str,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Print `fmt.format(*args, **kwargs)` to sys.stdout while the program runs, with the values of that moment.

    Under vmap it prints once a lane, under derivatives in the forward pass. With `ordered`, lines keep their
    order among all ordered callbacks.

    Raises DebugFormatError, while tracing, if the format string and the arguments do not fit; with
    `skip_format_check` that shows when it prints. `partitioned` is JAX's, and has no meaning here.
    """
    if not skip_format_check:
        check_format(fmt, args, kwargs)
    debug_callback(_Printer(fmt), *args, ordered=ordered, **kwargs)


class _Printer:
    """Prints its arguments by a format string."""

    by_value = True  # two for one format are the same callback

    def __init__(self, fmt: str) -> None:
        self.fmt = fmt
        self.__name__ = "debug.print"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Printer) and other.fmt == self.fmt

    def __hash__(self) -> int:
        return hash(self.fmt)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        builtins.print(self.fmt.format(*args, **kwargs), flush=True)


def check_format(fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises DebugFormatError if a field of `fmt` has no argument, or an argument no field."""
    if not isinstance(fmt, str):
        raise DebugFormatError(fmt=fmt, problem=f"the format is a {type(fmt).__name__}, not a string")
    used = _fields(fmt, fmt, args, kwargs)
    missed = [n for n in range(len(args)) if n not in used]
    unused = [f"argument {n}" for n in missed] + [repr(k) for k in kwargs if k not in used]
    if unused:
        raise DebugFormatError(fmt=fmt, problem=f"{', '.join(unused)} is not used")


def _fields(
    part: str, fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any], counter: list[int] | None = None
) -> set[Any]:
    """The positions and names that `part` of the format string uses, in its format specifications too."""
    counter = [0] if counter is None else counter
    used: set[Any] = set()
    try:
        parsed = list(string.Formatter().parse(part))
    except ValueError as e:
        raise DebugFormatError(fmt=fmt, problem=str(e)) from e
    for _, field, spec, conversion in parsed:
        if field is None:
            continue
        key: Any = field.replace("[", ".").split(".")[0]
        if not key:
            key = counter[0]
            counter[0] += 1
        elif key.isdigit():
            key = int(key)
        known = key < len(args) if type(key) is int else key in kwargs
        if not known:
            what = f"argument {key}" if type(key) is int else repr(key)
            raise DebugFormatError(fmt=fmt, problem=f"there is no {what}")
        used.add(key)
        value = args[key] if isinstance(key, int) else kwargs[key]
        if spec and not conversion and field in ("", str(key)) and _has_axes(value):
            raise DebugFormatError(fmt=fmt, problem=f"the specification {spec!r} is for numbers, not arrays")
        used |= _fields(spec, fmt, args, kwargs, counter) if spec else set()
    return used


def _has_axes(x: Any) -> bool:
    return type(x) is Box and bool(aval_of(x.read()).shape)
