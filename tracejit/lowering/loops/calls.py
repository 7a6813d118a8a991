"""Calls of functions outside of the program, as the builder of the loop IR writes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.lowering.loops.nodes import I64, OUT_OF_MEMORY, UNKNOWN_COST, Call, External, Program
from tracejit.lowering.runtime import routines


class Calls:
    """The part of the builder for calls."""

    program: Program
    _externals: dict[External, int]
    reg: Any
    emit: Any
    cast: Any
    index: Any

    def external(self, name: str, signature: str) -> External:
        ext = External(name, signature)
        if ext not in self._externals:
            self._externals[ext] = len(self.program.externals)
            self.program.externals.append(ext)
        return ext

    def call(
        self,
        target: External,
        args: tuple[Any, ...],
        out: np.dtype | None = None,
        checked: bool = False,
        work: int = 0,
        cost: int = UNKNOWN_COST,
    ) -> Any:
        reg = self.reg(out) if out is not None else None
        self.emit(Call(target, args, reg, checked, work, cost))
        return reg

    def has(self, name: str) -> bool:
        """Whether the library's routine `name` (the name of an `External`) is there to be called."""
        return routines.is_there(name)

    def routine(self, name: str, signature: str, args: tuple[Any, ...], work: int) -> None:
        """Call a library's routine that gives 0, or else has found no memory; `work` as in `Call`."""
        code = self.call(self.external(name, signature), args, np.dtype(np.int32), work=work)
        self.index(self.cast(code, I64), 1, OUT_OF_MEMORY, wraps=False)
