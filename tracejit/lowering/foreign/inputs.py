"""The inputs and results of programs that C calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.records import record


@record(frozen=True)
class SizeOf:
    """A size that is the value of the program's input of this number."""

    input: int


@record(frozen=True)
class Input:
    """An input of a program: its type and strides in elements, its memory if that is `fixed`, whether the program
    writes there, and whether it is a size of others. An array with such sizes is in C order."""

    dtype: np.dtype
    shape: tuple[Any, ...]  # ints and SizeOfs
    strides: tuple[int, ...]
    fixed: Any = None  # an array
    written: bool = False  # by the program
    is_size: bool = False

    @property
    def nbytes(self) -> int | None:
        """From the first to the last byte; None where sizes are inputs."""
        if 0 in self.shape:
            return 0
        if any(type(n) is SizeOf for n in self.shape):
            return None
        reach = sum((n - 1) * abs(s) for n, s in zip(self.shape, self.strides, strict=True))
        return (reach + 1) * self.dtype.itemsize

    @property
    def before(self) -> int:
        """Bytes that lie before the first element, where strides are negative."""
        if self.nbytes is None:
            return 0
        back = sum((n - 1) * min(s, 0) for n, s in zip(self.shape, self.strides, strict=True))
        return -back * self.dtype.itemsize


@record(frozen=True)
class Result:
    """A result: output `number` of the program, with `given` its input of that number, or an array that is `fixed`; the
    last two are copied."""

    dtype: np.dtype
    shape: tuple[Any, ...]  # ints and SizeOfs
    number: int
    given: bool = False
    fixed: Any = None
