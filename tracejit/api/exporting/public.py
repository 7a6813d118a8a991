"""`export` and `load_exported`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from tracejit.api.common import name_of
from tracejit.api.exporting import making
from tracejit.api.exporting.exported import Exported, File, written
from tracejit.api.introspect import size_name
from tracejit.api.tracebacks import door
from tracejit.errors import FunctionNeededError
from tracejit.interpreters.jit_stored import Written


def export(f: Callable[..., Any], *, vjp: bool = False) -> Callable[..., Exported]:
    """A function that traces and compiles `f` for given arguments (arrays, numbers or ShapeDtypeStructs) and gives the
    program as an `Exported`, which can be saved and loaded where `f` is not.

    Sizes of ShapeDtypeStructs may be names, for which calls have any number, the same one for the same name. With
    `vjp`, the program of its gradient as well. Raises ExportRefusedError for what needs Python, ExportedSizeError for a
    function that needs to know a named size."""
    FunctionNeededError.check("export", f)
    function = making.jitted(f)

    @door
    @functools.wraps(f, updated=())
    def make(*args: Any, **kwargs: Any) -> Exported:
        into = Written()
        functions = [making.describe(into, function, args, kwargs)]
        if vjp:
            given = (*args, making.cotangent(functions[0]))
            pull = making.jitted(making.backward(function.fun, len(args)))
            functions.append(making.describe(into, pull, given, kwargs))
            functions[0]["vjp"] = 1
        return File(written(functions, into), f"what was exported of {name_of(f)}").function(0)

    return make


@door
def load_exported(path: str | os.PathLike[str]) -> Exported:
    """The program that `Exported.save` has written into a file. It is neither traced nor, where the processor has the
    features that it was compiled for, compiled. Load files of people whom you trust: they have machine code.

    Raises ExportedFileError for a file that is none, is not whole, or was changed; OSError if there is no such file."""
    with open(path, "rb") as file:
        data = file.read()
    return File(data, os.fspath(path)).function(0)


@door
def symbolic_shape(text: str) -> tuple[Any, ...]:
    """A shape with named sizes for `export`: `symbolic_shape("n, 3")` is `("n", 3)`. Names stand for any number;
    a size may be computed from one, as `2*n+1` is.

    Raises ExportedSizeError for what is neither a name nor a number."""
    sizes = [size.strip() for size in text.strip().strip("()").split(",")]
    return tuple([int(size) if size.isdecimal() else size_name(size) for size in sizes if size])
