"""Declarations of C functions, and what their parameters mean to a program.

    double f(double x, void *user_data)
    int (double *buffer, intptr_t size, double *result)

The grammar is that of C for one function of numbers and pointers to numbers; names may be left out. The parameters are
gone through from left to right, with the inputs of the program and then its results:

- `void *` is ignored;
- an integer that is named `n`, `size`, `rank`, `length`, or something that ends with `_size`, `_rank` or `_length` is a
  length: the k-th of them is the number of elements behind the k-th pointer, which the function checks;
- another number is the next input, which has to be a number;
- a pointer is the next input if that is an array, or else the numbers that follow among the inputs, one behind the
  other; where no inputs are left it is the next result, or the numbers that follow among them.

What the function returns is the result that is left. If none is left, `int` and `bool` are 1 if it worked, else 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import CDeclarationError
from tracejit.records import record

#: C's names of number types, with their dtypes.
TYPES: dict[str, str] = {
    "double": "f8",
    "float": "f4",
    "bool": "?",
    "_Bool": "?",
    "char": "i1",
    "short": "i2",
    "int": "i4",
    "unsigned": "u4",
    "unsigned int": "u4",
    "long": "l",
    "unsigned long": "L",
    "long long": "i8",
    "ssize_t": "i8",
    "size_t": "u8",
    "intptr_t": "i8",
    "uintptr_t": "u8",
    "npy_intp": "i8",
    **{f"int{n}_t": f"i{n // 8}" for n in (8, 16, 32, 64)},
    **{f"uint{n}_t": f"u{n // 8}" for n in (8, 16, 32, 64)},
}
_LENGTH = re.compile(r"(?:\w+_)?(?:size|rank|length)|n")
_FUNCTION = re.compile(r"(?P<result>[\w\s]+?)(?P<name>\b\w+)?\s*\((?P<parameters>[^()]*)\)\s*;?")


@record(frozen=True)
class Parameter:
    """A number of `dtype`, or with `pointer` where some lie; of no dtype: `void`."""

    type: str
    dtype: np.dtype | None
    pointer: bool
    name: str = ""

    @property
    def is_length(self) -> bool:
        kind = self.dtype.kind if self.dtype is not None else ""
        return not self.pointer and kind in ("i", "u") and bool(_LENGTH.fullmatch(self.name))

    def __str__(self) -> str:
        return f"{self.type} *" if self.pointer else self.type


@record(frozen=True)
class Declaration:
    """A C function: `result` has the type that it returns; `str` is how SciPy and C write its type."""

    text: str
    result: Parameter
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        return f"{self.result} ({', '.join(map(str, self.parameters))})"

    def error(self, problem: str) -> CDeclarationError:
        return CDeclarationError(declaration=self.text, problem=problem)


def parse(text: str) -> Declaration:
    """The declaration that `text` is. Raises CDeclarationError."""
    text = " ".join(text.split())
    found = _FUNCTION.fullmatch(text)
    if found is None:
        raise CDeclarationError(declaration=text, problem="it is not `type name(type name, ...)`")
    inside = found["parameters"].strip()
    given = [] if inside in ("", "void") else inside.split(",")
    words = [found["result"], found["name"] or ""]
    result = _parameter(" ".join(words), text, returned=True)
    return Declaration(text, result, tuple(_parameter(p, text) for p in given))


def _parameter(part: str, text: str, returned: bool = False) -> Parameter:
    words = part.replace("*", " * ").split()
    words = [w for w in words if w not in ("const", "restrict")]
    stars = words.count("*")
    name = ""
    kind = " ".join(w for w in words if w != "*")
    if kind not in TYPES and kind != "void" and words and words[-1] != "*":
        kind, name = " ".join(w for w in words[:-1] if w != "*"), words[-1]
    dtype = np.dtype(TYPES[kind]) if kind in TYPES else None
    nothing = kind == "void" and (stars == 1 or returned)
    if stars > 1 or (returned and stars) or (dtype is None and not nothing):
        what = "what it returns" if returned else f"its parameter `{part.strip()}`"
        raise CDeclarationError(
            declaration=text, problem=f"{what} is no number and no pointer to numbers that it can have"
        )
    return Parameter(kind, dtype, bool(stars), name)


# ---------------------------------------------------------------- what parameters mean

#: A number or array of a program: dtype and shape.
Value = tuple[np.dtype, tuple[int, ...]]


@record(frozen=True)
class Place:
    """Where an input comes from or a result goes: parameter `parameter` itself, or behind this pointer (`pointer`)
    at byte `offset`. Results that are returned have the parameter -1."""

    parameter: int
    pointer: bool = False
    offset: int = 0


@record(frozen=True)
class Meaning:
    """`inputs` and `results`: a place for each. `lengths`: (parameter, the number it has to be). `reports`: how the
    function tells that it failed: 'number' (NaN), 'status' (0), or '' (not at all)."""

    inputs: list[Place]
    results: list[Place]
    lengths: list[tuple[int, int]]
    reports: str


def meaning(declaration: Declaration, inputs: Sequence[Value], results: Sequence[Value]) -> Meaning:
    """What the parameters are to a program of these inputs and results. Raises CDeclarationError."""
    reader = _Reader(declaration, inputs, results)
    for n, p in enumerate(declaration.parameters):
        reader.read(n, p)
    return reader.finish()


class _Reader:
    def __init__(self, declaration: Declaration, inputs: Sequence[Value], results: Sequence[Value]) -> None:
        self.declaration = declaration
        self.given = {"input": list(inputs), "result": list(results)}
        self.places: dict[str, list[Place]] = {"input": [], "result": []}
        self.lengths: list[int] = []  # parameters
        self.counts: list[int] = []  # elements behind each pointer

    def left(self, what: str) -> list[Value]:
        return self.given[what][len(self.places[what]) :]

    def read(self, n: int, p: Parameter) -> None:
        if p.dtype is None:
            return
        if p.is_length:
            self.lengths.append(n)
        elif p.pointer:
            self._pointer(n, p)
        else:
            self._number(n, p)

    def _number(self, n: int, p: Parameter) -> None:
        left = self.left("input")
        if not left:
            raise self._error(p, "the program has no input for it")
        dtype, shape = left[0]
        if shape or not _widens(p.dtype, dtype):
            raise self._error(p, f"the program's next input is {_words(left[0])}")
        self.places["input"].append(Place(n))

    def _pointer(self, n: int, p: Parameter) -> None:
        what = "input" if self.left("input") else "result"
        left = self.left(what)
        if not left:
            raise self._error(p, "the program has no argument or result for it")
        count = next((k for k, (_, shape) in enumerate(left) if shape), len(left)) or 1
        dtype = p.dtype
        for k, value in enumerate(left[:count]):
            if value[0] != dtype:
                raise self._error(p, f"the program's next {what} is {_words(value)}")
            self.places[what].append(Place(n, True, k * value[0].itemsize))
        self.counts.append(int(np.prod(left[0][1])) if count == 1 else count)

    def finish(self) -> Meaning:
        declaration, returned = self.declaration, self.declaration.result
        if self.left("input"):
            raise declaration.error(f"no parameter is the program's input {_words(self.left('input')[0])}")
        left, reports = self.left("result"), ""
        if left:
            value = left[0]
            if len(left) > 1 or value[1] or returned.dtype is None or not _widens(value[0], returned.dtype):
                raise declaration.error(
                    f"the program's result {_words(value)} has no place: it is neither behind a pointer nor what the "
                    "function returns"
                )
            self.places["result"].append(Place(-1))
            reports = "number" if returned.dtype.kind == "f" else ""
        elif returned.dtype is not None:
            if returned.type not in ("int", "bool", "_Bool"):
                raise declaration.error(f"there is no result that it could return as {returned}")
            reports = "status"
        if len(self.lengths) > len(self.counts):
            raise declaration.error("it has more lengths than pointers")
        lengths = list(zip(self.lengths, self.counts, strict=False))
        return Meaning(self.places["input"], self.places["result"], lengths, reports)

    def _error(self, p: Parameter, problem: str) -> CDeclarationError:
        return self.declaration.error(f"its parameter `{p} {p.name}`".rstrip("` ") + f"`: {problem}")


def _widens(have: Any, want: Any) -> bool:
    """Whether each number of one dtype is one of the other, of the same kind."""
    return have == want or (have.kind == want.kind and have.itemsize < want.itemsize)


def _words(value: Value) -> str:
    dtype, shape = value
    return f"a {dtype} number" if not shape else f"a {dtype} array of shape {shape}"
