"""The fast path: a call with flat arguments goes from a dictionary to machine code."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.api.programs import Program
from tracejit.interpreters import jit as native


class FastCall:
    """A program and its machine code for flat arguments of one layout."""

    __slots__ = ("arrays", "convert", "direct", "native", "program", "scalar")

    def __init__(self, program: Program, args: tuple[Any, ...]) -> None:
        self.program = program
        self.arrays = program.guards.arrays
        self.convert = any(type(a) is not np.ndarray for a in args)
        operands = [native.operand(a) for a in args]
        # Captured arrays may change their layout between calls; arguments have it in the key.
        self.direct = not program.const_sources and program.single and all(map(_same, operands, args))
        self.native: Any = None
        if self.direct:
            compiled = program.compiled(tuple(map(native.element_strides, operands)))
            self.native = compiled if compiled.constants else compiled.run.call
        self.scalar = self.direct and program.jaxpr.outs[0].aval.shape == ()

    def constants(self) -> list[Any] | None:
        if not self.direct:
            return self.program.constants()
        return [] if self.arrays() is not None else None

    def run(self, consts: list[Any], args: tuple[Any, ...]) -> Any:
        if not self.direct:
            return self.program.run(consts, args)
        out = self.native(*(map(np.asarray, args) if self.convert else args))[0]
        return out[()] if self.scalar else out


def _same(operand: Any, arg: Any) -> bool:
    return operand is arg or type(arg) is not np.ndarray


def fast_key(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """A cheap signature for flat array arguments; None for anything else."""
    key: list[Any] = []
    for a in args:
        t = type(a)
        if t is np.ndarray:
            key.append(a.dtype)
            key.append(a.shape)
            key.append(a.strides)
        elif t is float or t is int or t is bool:
            key.append(t)
        else:
            return None
    return tuple(key)
