"""Exported programs as libraries of C: which functions there are, and the header that declares them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import LibraryBuildError
from tracejit.interpreters import jit_stored
from tracejit.interpreters.jit_stored import Member, Result, SizeOf
from tracejit.version import __version__

_NAME = re.compile(r"[A-Za-z_]\w*")
#: Words of C that are no names.
_WORDS = frozenset(
    (
        *(
            "auto",
            "bool",
            "break",
            "case",
            "char",
            "const",
            "continue",
            "default",
            "do",
            "double",
            "else",
            "enum",
        ),
        *(
            "extern",
            "float",
            "for",
            "goto",
            "if",
            "inline",
            "int",
            "long",
            "main",
            "register",
            "restrict",
            "return",
        ),
        *("short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void"),
        *("volatile", "while"),
    )
)
_HEADER = """\
/* Made by tracejit {version} for {machine} ({cpu}). The functions need neither Python nor tracejit.

   Arrays are in C order, numbers are given by value, sizes first, and results go where the pointers behind the
   arguments say. Memory that is written belongs to one parameter. A function returns 1 if it worked. If a check failed
   it returns 0, and ..._status has the code and the numbers that the check has looked at, until the next failure; -2 is
   the lack of memory, -101 a negative size, -102 memory of two parameters of which one is written.{externals} */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif
{functions}
#ifdef __cplusplus
}}
#endif
"""


def write(path: str, header: str | None, functions: Mapping[str, Any], libraries: Sequence[str]) -> None:
    """Write the library of these exported programs, and its header. Raises LibraryBuildError, OSError."""
    found = dict(_functions(functions))
    for name in found:
        if not _NAME.fullmatch(name) or name in _WORDS:
            raise LibraryBuildError(path=path, problem=f"{name!r} is no name in C")
    try:
        members = [_member(path, name, e) for name, e in found.items()]
        jit_stored.build(path, jit_stored.compiled(members), libraries)
    except LibraryBuildError as e:  # what looks at routines and types knows no path
        raise LibraryBuildError(path=path, problem=e.details["problem"]) from None
    if header is not None:
        with open(header, "w", encoding="utf-8") as file:
            file.write(_header(members, list(found.values())))


def _functions(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The programs and their gradients, by the names in C."""
    for name, e in given.items():
        yield name, e
        if e.has_vjp:
            yield f"{name}_vjp", e.vjp()


def _member(path: str, name: str, e: Any) -> Member:
    stored = e._stored
    inputs = stored.inputs([_places(leaf.shape, e) for leaf in e._leaves])
    if stored.lowered.callbacks:
        names = ", ".join(sorted({c.name for c in stored.lowered.callbacks}))
        raise LibraryBuildError(
            path=path, problem=f"{name} needs NumPy or SciPy for {names}, which C does not have"
        )
    if not all(n.isidentifier() for n in e._sizes):
        raise LibraryBuildError(path=path, problem=f"a size of {name} is computed from a name, as 2*n is")
    known = all(type(n) is int or n in e._sizes for a in _outs(e) for n in a.shape)
    if not known:
        raise LibraryBuildError(path=path, problem=f"the shape of the result of {name} is computed")
    results = [_result(path, name, stored, inputs, e, kind, x) for kind, x in e._results]
    given = [_c_name(leaf.name) for leaf in e._leaves]
    made = ["result"] if len(results) == 1 else [f"result{n}" for n in range(len(results))]
    return Member(name, stored.executable, inputs, results, _unique([*given, *made]))


def _outs(e: Any) -> list[Any]:
    """The types of the outputs of a program, with the names of its sizes."""
    return [e._output(n) for n in range(len(e._stored.lowered.out_avals))]


def _places(shape: Sequence[Any], e: Any) -> tuple[Any, ...]:
    """A shape with the number of an argument, as text, for a size that this is."""
    return tuple(str(e._sizes.index(n)) if type(n) is str else n for n in shape)


def _result(path: str, name: str, stored: Any, inputs: list[Any], e: Any, kind: str, x: Any) -> Result:
    if kind in ("out", "array"):
        aval = e._output(x)
        return Result(aval.dtype, stored.shape(_places(aval.shape, e)), x)
    if kind in ("arg", "const"):
        n = x + len(stored.fixed) - (0 if kind == "arg" else len(stored.captured))
        a = inputs[n]
        if a.fixed is None or a.fixed.flags.c_contiguous:
            return Result(a.dtype, a.shape, n, given=True)
    elif kind == "value":
        value = np.asarray(e._given[e._results.index([kind, x])])
        if value.dtype.kind in "biuf":
            return Result(value.dtype, (), -1, fixed=value)
    elif kind == "part":
        raise LibraryBuildError(
            path=path,
            problem=f"a result of {name} is a view of another array; let it be a copy, `np.array(x, order='C')`",
        )
    raise LibraryBuildError(path=path, problem=f"a result of {name} is no array and no number")


def _c_name(leaf: str) -> str:
    """The name of a parameter: that of an argument, with the way to its part."""
    name = re.sub(r"\W+", "_", leaf).strip("_")
    return f"a{name}" if not name or name[0].isdigit() else f"{name}_" if name in _WORDS else name


def _unique(names: list[str]) -> list[str]:
    seen: set[str] = set()
    out = []
    for name in names:
        while name in seen:
            name += "_"
        seen.add(name)
        out.append(name)
    return out


def _header(members: Sequence[Member], programs: Sequence[Any]) -> str:
    host = programs[0].host
    missing = jit_stored.undefined(members)
    externals = f"\n\n   It is to be linked with BLAS and LAPACK: {', '.join(missing)}." if missing else ""
    return _HEADER.format(
        version=__version__,
        machine=host["machine"],
        cpu=jit_stored.processor(),
        externals=externals,
        functions="\n".join(_described(m, e) for m, e in zip(members, programs, strict=True)),
    )


def _described(m: Member, e: Any) -> str:
    """The declaration of a function, below what it is and how it can fail."""
    lines = [repr(e).strip("<>").replace("*/", "* /"), ""]
    first = sum(x.fixed is not None for x in m.inputs)
    free = [x for x in m.inputs if x.fixed is None]
    shapes = [
        tuple(m.names[n.input - first] if type(n) is SizeOf else n for n in x.shape)
        for x in (*free, *m.results)
    ]
    what = [
        ("a size" if n < len(free) and free[n].is_size else _sizes(shape)) for n, shape in enumerate(shapes)
    ]
    rows = sorted(zip(m.names, what, strict=True), key=lambda row: row[1] != "a size")
    lines += [f"  {name}: {is_}" for name, is_ in rows]
    for code, d in e._description["program"]["failures"]:
        kind = type(m.executable.lowered.failures[code]((0, 0, 0))).__name__
        lines.append(f"  status {code}: {kind} at {d[-1]}" if d[-1] else f"  status {code}: {kind}")
    text = "\n   ".join(lines)
    return f"\n/* {text} */\n{m.declaration()[0].text};\nextern int64_t {m.name}_status[3];"


def _sizes(shape: tuple[Any, ...]) -> str:
    return " x ".join(map(str, shape)) if shape else "a number"
