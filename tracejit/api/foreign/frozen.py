"""Programs as C and Numba call them: machine code alone, with what it captured held where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.api.common import name_of
from tracejit.api.jit.programs import Program
from tracejit.errors import ForeignFunctionError
from tracejit.interpreters import jit as native
from tracejit.ir.jaxpr import DRAWN

#: Results that need no Python to make them.
_PLAIN = ("out", "array", "arg", "const", "value")
_CONTAINERS = (tuple, list, dict, type(None))
_NUMBERS = (bool, int, float, complex, np.generic)


class Frozen:
    """`program`, compiled for arguments of these layouts (strides in elements), with the captured arrays `consts`.

    Names are what they were: only the elements of captured arrays are read at every call. `inputs` are those of the
    machine code, the `first` of which are fixed.

    Raises ForeignFunctionError where `caller`, who is named in the message, would need Python.
    """

    def __init__(
        self, program: Program, consts: Sequence[Any], layouts: Sequence[tuple[int, ...]], caller: str
    ) -> None:
        self.program = program
        self.function = name_of(program.function)
        self.caller = caller
        self._refuse(_unfit(program))
        captured = [native.operand(c) for c in consts]
        strides = (*(native.element_strides(a) for a in captured), *layouts)
        self.compiled = program.without_warnings().machine(strides)
        self._refuse(_unfit_code(self.compiled))
        copied = [n for n in program.written if n < len(consts) and captured[n] is not consts[n]]
        if copied:
            self._refuse([("it writes into a captured array that is not aligned", "copy the array")])
        self.captured = captured
        self.inputs = self.compiled.foreign_inputs(captured, tuple(layouts))
        self.first = len(self.inputs) - len(layouts)

    def _refuse(self, problems: Any) -> None:
        for problem, remedy in problems:
            raise ForeignFunctionError(
                function=self.function, caller=self.caller, problem=problem, remedy=remedy
            )

    def c_function(self, declaration: str) -> native.CFunction:
        """The C function of this declaration. Raises CDeclarationError."""
        inputs = list(self.inputs)
        results = [self._result(kind, x, inputs) for kind, x in self.program.results]
        return self.compiled.c_function(inputs, results, declaration)

    def _result(self, kind: str, x: Any, inputs: list[Any]) -> native.Result:
        if kind in ("out", "array"):
            aval = self.compiled.lowered.out_avals[x]
            return native.Result(aval.dtype, aval.shape, x)
        if kind == "value":
            value = np.asarray(x)
            return native.Result(value.dtype, (), -1, fixed=value)
        n = x + (self.first if kind == "arg" else self.first - len(self.captured))
        return native.Result(inputs[n].dtype, inputs[n].shape, n, True)

    def rows_function(
        self, places: Sequence[int] | None = None, count: int | None = None
    ) -> native.CFunction:
        """`int32_t f(void **rows)`: pointers to the arguments (at `places`, if these are not all one after the other),
        then, from `count` on, to the outputs of the program that are no argument's memory. It gives 0 if it worked."""
        return self.compiled.rows_function(self.inputs, self.function, places, count)


def kinds(structure: Any) -> Iterator[type]:
    """The types of the containers of a structure."""
    if structure.type is not None:
        yield structure.type
    for child in structure.children():
        yield from kinds(child)


def _unfit(program: Program) -> Iterator[tuple[str, str]]:
    """What of the traced program needs Python, with a remedy."""
    if program.store is not None:
        what = ", ".join(c.what for c in program.store.changes[:2]) or "results that Python makes"
        yield f"it keeps state or makes objects ({what})", "return what it changes as arrays and numbers"
    if program.cached:
        yield "it calls functions that cache their results", "call the functions that are cached directly"
    if program.distinct:
        yield "it asks which of its inputs are one array", "compare what they hold"
    if DRAWN in program.jaxpr.effects:
        yield "it draws from a generator of random numbers", "draw by keys (`tracejit.random`), or outside"
    for container in kinds(program.out_tree):
        if container not in _CONTAINERS and not hasattr(container, "_fields"):
            yield (
                f"its result is or has a {container.__name__}, which Python makes",
                "return arrays and numbers only",
            )
    for kind, x in program.results:
        if kind == "part":
            yield (
                "its result is a view of another array, or not in C order",
                "return a copy: `np.array(x, order='C')`",
            )
        elif kind not in _PLAIN or (kind == "value" and not isinstance(x, _NUMBERS)):
            yield f"its result is no array or number ({x!r})", "return arrays and numbers only"


def _unfit_code(compiled: native.Compiled) -> Iterator[tuple[str, str]]:
    """What of the compiled program needs Python, with a remedy."""
    names = sorted({c.name or "a function" for c in compiled.lowered.callbacks})
    if names:
        yield f"it calls Python for {', '.join(names)}", "leave that out, or do it outside"
    if not all(a.is_static for a in compiled.lowered.out_avals):
        yield (
            "the shape of its result is known only at its end",
            "return arrays whose shapes follow from the arguments'",
        )
