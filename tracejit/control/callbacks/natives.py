"""Calls of functions that another compiler made: programs call them by address, without Python and its lock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import ExportRefusedError
from tracejit.ir.avals import Aval
from tracejit.ir.natives import Native
from tracejit.ops.building import helpers
from tracejit.ops.shapes import shape

__all__ = ["STATUS", "NativeCall", "flattened"]

#: The type of the last result: 0, or what went wrong.
STATUS = Aval((), np.dtype(np.int32))


class NativeCall:
    """`native` on arrays in C order. `results` are the types of what one call gives, `STATUS` the last one; with
    `mapped` it is called for each of `count` lanes, the first axis of these operands and of all results."""

    rule = "calls: foreign"  # of `explain`

    def __init__(
        self,
        native: Native,
        name: str,
        results: Sequence[Aval],
        effects: frozenset[str],
        mapped: tuple[bool, ...] | None = None,
        count: int = 1,
    ) -> None:
        self.native = native
        self.name = name
        self.results = tuple(results)
        self.effects = effects
        self.mapped = mapped
        self.count = count

    @property
    def told(self) -> str:
        """How `explain` lists it."""
        return self.name

    @property
    def reason(self) -> str:
        """Why it has no derivative."""
        return (
            "it is foreign compiled code, whose derivative is not known: give the function that calls it one by "
            "custom_jvp or custom_vjp, or apply stop_gradient to its arguments"
        )

    def _key(self) -> Any:
        return self.native.name, self.name, self.results, self.effects, self.mapped, self.count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NativeCall) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        """Raises ExportRefusedError: another process has nothing at this address."""
        raise ExportRefusedError(
            function=self.name,
            problem="it is foreign compiled code that a program calls by address, and the program is being pickled",
            remedy="pickle the function, of which the other process makes the program again",
        )

    def __repr__(self) -> str:
        return self.name

    def with_lanes(self, count: int, mapped: tuple[bool, ...]) -> NativeCall:
        """The calls for lanes."""
        return NativeCall(self.native, self.name, self.results, self.effects, mapped, count)

    def types(self) -> tuple[Aval, ...]:
        """The types of the results, of all lanes."""
        if self.mapped is None:
            return self.results
        return tuple(a.with_shape((self.count, *a.shape)) for a in self.results)

    def _steps(self, avals: Sequence[Any]) -> list[int]:
        """How many elements lie between the lanes of each operand and result; 0 where it has none."""
        mapped = self.mapped or (False,) * len(avals)
        steps = [math.prod(a.shape[1:]) if m else 0 for a, m in zip(avals, mapped, strict=True)]
        return steps + [math.prod(a.shape) if self.mapped else 0 for a in self.results]

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        ins = [np.ascontiguousarray(a).reshape(np.shape(a)) for a in arrays]
        outs = [np.zeros(a.shape, a.dtype) for a in self.types()]
        steps = self._steps(ins)
        *buffers, status = (*ins, *outs)
        for lane in range(self.count):
            at = [b.ctypes.data + lane * step * b.itemsize for b, step in zip(buffers, steps, strict=False)]
            status.reshape(-1)[lane] = self.native.call(*at)
        return outs

    def write(self, k: Any, operands: list[Any], results: list[Any], avals: list[Aval]) -> bool:
        """Write the calls into a program."""
        target = k.external(self.native.name, self.native.signature)
        *buffers, status = (*operands, *results)
        steps = self._steps(avals)
        if self.mapped is None:
            k.store(status, 0, k.call(target, tuple(buffers), np.dtype(np.int32)))
            return True
        with k.loop(0, self.count) as lane:
            at = [(b, lane * step) if step else b for b, step in zip(buffers, steps, strict=False)]
            k.store(status, lane, k.call(target, tuple(at), np.dtype(np.int32)))
        return True


def flattened(
    call: NativeCall, size: int, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[NativeCall, list[Any], Any]:
    """(call, operands, what makes results of its results): the calls of `size` lanes, each of which may have lanes."""
    moved = helpers.batch_axes_first(args, dims)
    outer = tuple(d is not None for d in dims)
    if call.mapped is None:
        return call.with_lanes(size, outer), moved, list
    count = call.count
    given = []
    for x, mine, theirs in zip(moved, outer, call.mapped, strict=True):
        if mine or theirs:
            rest = helpers.shape_of(x)[mine + theirs :]
            x = x if mine else helpers.broadcast_batch(x, 0, size)
            x = x if theirs else helpers.broadcast_batch(x, 1, count)
            x = shape.reshape(x, shape=(size * count, *rest))
        given.append(x)
    mapped = tuple(a or b for a, b in zip(outer, call.mapped, strict=True))

    def unflattened(outs: Sequence[Any]) -> list[Any]:
        return [shape.reshape(o, shape=(size, count, *helpers.shape_of(o)[1:])) for o in outs]

    return call.with_lanes(size * count, mapped), given, unflattened
