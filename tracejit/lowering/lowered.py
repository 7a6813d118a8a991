"""What the lowering hands to the emitters and the runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from tracejit.ir.avals import Aval
from tracejit.ir.primitive import Op
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import Buffer, For, Program
from tracejit.records import record

Spec = tuple[Buffer, tuple[Any, ...], np.dtype]
Failure = Callable[[tuple[int, ...]], Exception]


@record(frozen=True)
class Check:
    """A failed check of the user's program as an exception: `make(details, source)`; `source` is the line."""

    make: Callable[[tuple[int, ...], Any], Exception]
    source: Any

    def __call__(self, details: tuple[int, ...]) -> Exception:
        return self.make(details, self.source)


@record(frozen=True)
class Callback:
    """A call out of native code: external 'callback:N' is number N of `Lowered.callbacks`.

    The external takes the pointers of the operands and of the results (C-ordered blocks), then as
    int64 the extents that are dynamic, in order. `fn(operands, results)` fills the arrays of the results.
    A spec is (buffer, shape, dtype); a shape's entry is None where the extent is dynamic: the array
    is then the leading part of a block whose strides are those of `bounds` (see `in_bounds`). What it raises is a
    failed check, unless it is `users`: a function of the user's. Otherwise `op` with `params` is what it evaluates.
    """

    fn: Callable[[list[Any], list[Any]], None]
    in_specs: list[Spec]
    out_specs: list[Spec]
    in_bounds: list[tuple[int, ...]] = field(default_factory=list)
    out_bounds: list[tuple[int, ...]] = field(default_factory=list)
    name: str = ""  # of the op
    users: bool = False
    op: Op | None = None
    params: dict[str, Any] = field(default_factory=dict)


@record(frozen=True)
class View:
    """A strided part of a buffer; strides and offset are in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: np.dtype


@record(frozen=True)
class Library:
    """A call of a device's library: external 'library:NAME:N' is number N of `Lowered.libraries`, and takes the buffers
    of `ins`, then of `outs`. `name` is one of `cuda.libs.operations.OPERATIONS`; `op` evaluates the same on the host,
    where there is such a thing."""

    name: str
    params: dict[str, Any]
    ins: list[View]
    outs: list[View]
    op: Op | None = None


@record()
class Lowered:
    """A jaxpr as one program of structured loops, with what is needed to call it.

    `in_strides`: per input, in elements, or None for C order which only a run knows. `out_dims`: per output a
    tuple of ints, ('input', n) or ('output', n): the extent is the integer value of that input or output.
    `aliases`: output -> the input whose buffer holds it after the call. `given`: outputs that the program
    allocates itself, since nothing says before how large they are -> their strides in elements, or None for C
    order at the bounds of extents; their arguments are two int64 (see `nodes.Give`). `failures`: status code ->
    exception factory. `libraries`: what a device's libraries are to do. `small`: the work is so little that a call
    need not release the GIL.
    """

    program: Program
    in_avals: list[Aval]
    in_strides: list[tuple[int, ...] | None]
    out_avals: list[Aval]
    out_dims: list[tuple[Any, ...]]
    aliases: dict[int, int]
    given: dict[int, tuple[int, ...] | None] = field(default_factory=dict)
    callbacks: list[Callback] = field(default_factory=list)
    failures: dict[int, Failure] = field(default_factory=dict)
    libraries: list[Library] = field(default_factory=list)
    small: bool = False

    @property
    def temporary_bytes(self) -> int:
        """Bytes of all buffers that are neither inputs nor outputs, at their peak, if one thread does everything.
        Those whose size only a run knows are not counted."""
        fixed = (b for b in self.program.buffers if b.kind in ("stack", "heap") and isinstance(b.size, int))
        scratch = max((s.scratch for s in walk(self.program.body.stmts) if isinstance(s, For)), default=0)
        return self.program.arena_bytes + scratch + sum(b.size * b.dtype.itemsize for b in fixed)
