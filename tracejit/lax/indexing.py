"""JAX's names for reading and writing at traced positions."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError
from tracejit.ir.avals import aval_of
from tracejit.ops.indexing.gather import GatherDimensionNumbers
from tracejit.ops.indexing.scatter import ScatterDimensionNumbers
from tracejit.tracing import to_raw, wrap

_ZERO = np.int64(0)


def _start(i: Any, size: Any, from_end: bool = True) -> Any:
    """A start as a raw int64; negative ones count from the end, as in JAX, unless `from_end` is off."""
    value = to_raw(i, "a start index")
    if aval_of(value).dtype != dtypes.int64:
        value = ops.create.convert(value, dtypes.int64)
    if not from_end:
        return value
    if isinstance(value, np.integer):
        return np.int64(value + size) if value < 0 and isinstance(size, int) else value
    if not isinstance(size, int):
        return value
    wrapped = ops.arithmetic.add(value, np.int64(size))
    return ops.compare.select(ops.compare.lt(value, _ZERO), wrapped, value)


def _starts(x: Any, indices: Any, from_end: bool | Sequence[bool]) -> list[Any]:
    shape = aval_of(x).shape
    allowed = [from_end] * len(shape) if isinstance(from_end, bool) else from_end
    starts = _items(indices)
    if not len(starts) == len(shape) == len(allowed):
        problem = f"{len(starts)} start indices for an array of {len(shape)} dimensions"
        raise ArgumentError(name="dynamic_slice", problem=problem)
    return [_start(i, n, f) for i, n, f in zip(starts, shape, allowed, strict=True)]


def dynamic_slice(
    operand: Any,
    start_indices: Sequence[Any],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """The window of `slice_sizes` at `start_indices`, clamped into the array.

    Negative starts count from the end, unless `allow_negative_indices` is off (for all axes or some).
    """
    x = to_raw(operand)
    starts = _starts(x, start_indices, allow_negative_indices)
    return wrap(ops.index.dynamic_slice(x, *starts, sizes=tuple(slice_sizes)))


def dynamic_update_slice(
    operand: Any,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """`operand` with `update` written at `start_indices`, clamped so that it fits."""
    x = to_raw(operand)
    starts = _starts(x, start_indices, allow_negative_indices)
    return wrap(ops.index.dynamic_update_slice(x, to_raw(update), *starts))


def _items(starts: Any) -> list[Any]:
    if isinstance(starts, (tuple, list)):
        return list(starts)
    if aval_of(to_raw(starts)).shape == ():
        return [starts]
    return [starts[n] for n in range(aval_of(to_raw(starts)).shape[0])]  # type: ignore[arg-type]


def _along(
    operand: Any, start: Any, size: Any, axis: int, from_end: bool
) -> tuple[Any, list[Any], list[Any]]:
    x = to_raw(operand)
    shape = aval_of(x).shape
    axis %= len(shape)
    starts: list[Any] = [_ZERO] * len(shape)
    starts[axis] = _start(start, shape[axis], from_end)
    sizes = list(shape)
    sizes[axis] = size
    return x, starts, sizes


def dynamic_slice_in_dim(
    operand: Any, start_index: Any, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Any:
    """`slice_size` entries from `start_index` along one axis."""
    x, starts, sizes = _along(operand, start_index, slice_size, axis, allow_negative_indices)
    dyn, static, bounds = ops.dims.split_dynamic(tuple(sizes))
    return wrap(ops.index.dynamic_slice(x, *starts, *dyn, sizes=static, bounds=bounds))


def dynamic_index_in_dim(
    operand: Any, index: Any, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Any:
    """One entry along an axis; the axis stays with size 1 if `keepdims`."""
    axis %= len(aval_of(to_raw(operand)).shape)
    out = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return out if keepdims else wrap(ops.shape.squeeze(to_raw(out), dimensions=(axis,)))


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`operand` with `update` written from `start_index` along one axis."""
    x, starts, _ = _along(operand, start_index, 1, axis, allow_negative_indices)
    return wrap(ops.index.dynamic_update_slice(x, to_raw(update), *starts))


def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`operand` with one entry along an axis replaced; `update` may lack the axis."""
    u = to_raw(update)
    ndim = len(aval_of(to_raw(operand)).shape)
    axis %= ndim
    if len(aval_of(u).shape) != ndim:
        u = ops.shape.expand_dims(u, (axis,))
    negative = {"allow_negative_indices": allow_negative_indices}
    return dynamic_update_slice_in_dim(operand, wrap(u), index, axis, **negative)


class GatherScatterMode(enum.Enum):
    """What gathers and scatters do with positions outside of the array, as in JAX.

    CLIP moves windows inside; FILL_OR_DROP reads a fill value and writes nothing; PROMISE_IN_BOUNDS
    says that there are none (reads clip all the same).
    """

    CLIP = "clip"
    FILL_OR_DROP = "fill"
    PROMISE_IN_BOUNDS = "promise_in_bounds"

    @staticmethod
    def from_any(mode: Any) -> GatherScatterMode:
        """A mode, or its name ('clip', 'fill', 'drop', 'fill_or_drop', 'promise_in_bounds'); None fills.

        Raises ArgumentError for anything else.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        names = {m.value: m for m in GatherScatterMode}
        names |= {None: GatherScatterMode.FILL_OR_DROP, "fill_or_drop": names["fill"], "drop": names["fill"]}
        try:
            return names[mode]
        except (KeyError, TypeError):
            known = "'clip', 'fill', 'drop', 'promise_in_bounds'"
            raise ArgumentError(name="gather/scatter", problem=f"mode {mode!r} is none of {known}") from None


def _mode(mode: Any) -> str:
    """The op's mode: a promise of validity clips, which costs little and cannot go wrong."""
    m = GatherScatterMode.from_any(mode)
    return "clip" if m is GatherScatterMode.PROMISE_IN_BOUNDS else m.value


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    """Windows of `operand` at an array of positions."""
    return wrap(
        ops.gather.gather(
            to_raw(operand),
            to_raw(start_indices),
            dimension_numbers=dimension_numbers,
            slice_sizes=tuple(slice_sizes),
            mode=_mode(mode),
            fill_value=fill_value,
            unique_indices=unique_indices,
        )
    )


def _scatter(fn: Any, name: str, doc: str) -> Any:
    def call(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Any:
        args = to_raw(operand), to_raw(scatter_indices), to_raw(updates)
        params = {"mode": _mode(mode), "unique_indices": unique_indices}
        out = fn(*args, dimension_numbers=dimension_numbers, **params)
        return wrap(out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


scatter = _scatter(ops.scatter.scatter, "scatter", "`operand` with updates written at an array of positions.")
scatter_add = _scatter(ops.scatter.scatter_add, "scatter_add", "`operand` with updates added at positions.")
scatter_mul = _scatter(
    ops.scatter.scatter_mul, "scatter_mul", "`operand` multiplied by updates at positions."
)
scatter_min = _scatter(
    ops.scatter.scatter_min, "scatter_min", "The minimum of `operand` and updates at positions."
)
scatter_max = _scatter(
    ops.scatter.scatter_max, "scatter_max", "The maximum of `operand` and updates at positions."
)


def scatter_sub(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """`operand` with updates subtracted at positions."""
    minus = wrap(ops.arithmetic.neg(to_raw(updates)))
    options = {"unique_indices": unique_indices, "mode": mode}
    return scatter_add(operand, scatter_indices, minus, dimension_numbers, **options)
