"""Overlapping windows of an array: reading them (a view), and adding into them. Convolutions and pooling
are formulas of these.

Along each of `axes`, window number o begins at o * stride and has `sizes` elements, `dilation` apart.
"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import DynamicExtentError, ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim, DimSize
from tracejit.ir.kernel import Segment, Update
from tracejit.ir.primitive import FROM_JVP, LINEAR, NO_BOUNDS, NO_EFFECTS, NO_IDENTITIES, Op
from tracejit.ir.values import AddInto, Overwrite, is_linear
from tracejit.ops.building.dims import check_axes
from tracejit.ops.building.helpers import shift_axes, to_batch_axis, view
from tracejit.ops.kernels import scalar
from tracejit.records import record
from tracejit.tracing import bind

Ints = tuple[int, ...]


@record(frozen=True)
class Windows:
    """Where windows lie: one entry of each tuple an axis of `axes` (distinct, in any order)."""

    axes: Ints
    sizes: Ints
    strides: Ints
    dilation: Ints

    def rows(self) -> Iterator[tuple[int, int, int, int]]:
        return zip(self.axes, self.sizes, self.strides, self.dilation, strict=True)

    def shifted(self, dim: int) -> Windows:
        """The same with a new axis at `dim`."""
        return Windows(shift_axes(self.axes, dim), self.sizes, self.strides, self.dilation)

    def positions(self) -> Iterator[Ints]:
        """The positions in a window, in C order."""
        return itertools.product(*map(range, self.sizes))


def count(size: int, window: int, stride: int, dilation: int) -> int:
    """How many windows fit into `size` elements."""
    reach = (window - 1) * dilation + 1 if window else 0
    return max((size - reach) // stride + 1, 0)


def windows_shape(name: str, x: Aval, windows: Windows) -> tuple[DimSize, ...]:
    """The shape of the array of windows: numbers of windows in the place of `axes`, sizes at the end."""
    check_axes(name, windows.axes, x.ndim)
    shape = list(x.shape)
    for axis, size, stride, dilation in windows.rows():
        n = shape[axis]
        if isinstance(n, Dim):
            raise DynamicExtentError(op=name, problem=f"the size of axis {axis} of {x} is a traced integer")
        if size < 0 or stride < 1 or dilation < 1:
            raise ShapeError(
                op=name, problem=f"windows of {size} elements, {stride} apart, dilated by {dilation}"
            )
        shape[axis] = count(n, size, stride, dilation)
    return (*shape, *windows.sizes)


def part(windows: Windows, shape: Sequence[Any], position: Ints) -> tuple[Ints, Ints, Ints]:
    """(start, limit, stride) of the elements that lie at `position` in their windows; `shape` is that of
    the array of windows."""
    ndim = len(shape) - len(windows.axes)
    start, limit, step = [0] * ndim, [None] * ndim, [1] * ndim
    limit = list[Any](limit)
    for (axis, _, stride, dilation), p in zip(windows.rows(), position, strict=True):
        start[axis] = p * dilation
        limit[axis] = p * dilation + max((shape[axis] - 1) * stride + 1, 0)
        step[axis] = stride
    return tuple(start), tuple(limit), tuple(step)


def _slices(windows: Windows, shape: Sequence[int], position: Ints) -> tuple[builtins.slice, ...]:
    return tuple(map(builtins.slice, *part(windows, shape, position)))


# ---------------------------------------------------------------- reading


def _type(x: Aval, *, windows: Windows) -> Aval:
    return Aval(windows_shape("sliding_windows", x, windows), x.dtype)


def strided_windows(x: Any, windows: Windows) -> np.ndarray:
    """A read-only NumPy view of the windows."""
    x = np.asarray(x)
    strides = list(x.strides)
    shape = windows_shape("sliding_windows", Aval(x.shape, x.dtype), windows)
    for axis, _, stride, _ in windows.rows():
        strides[axis] *= stride
    inner = [x.strides[axis] * dilation for axis, _, _, dilation in windows.rows()]
    return np.lib.stride_tricks.as_strided(x, shape, (*strides, *inner), writeable=False)


def _batch(size: int, args: Any, dims: Any, *, windows: Windows) -> tuple[Any, int]:
    return bind(sliding_windows_op, args[0], windows=windows.shifted(dims[0])), dims[0]


def _position(k: Any, idx: Any, ndim: int, windows: Windows) -> Any:
    at = list(idx[:ndim])
    for (axis, _, stride, dilation), i in zip(windows.rows(), idx[ndim:], strict=True):
        at[axis] = k.add(k.mul(at[axis], stride), k.mul(i, dilation))
    return tuple(at)


def _pull(k: Any, idx: Any, operands: Any, out: Any, *, windows: Windows) -> Any:
    return operands[0][_position(k, idx, operands[0].aval.ndim, windows)]


sliding_windows_op = view(
    "sliding_windows",
    "overlapping windows along axes, their elements in new axes at the end",
    type=_type,
    eval=lambda x, *, windows: strided_windows(x, windows),
    transpose=lambda ct, x, *, windows: [
        AddInto(sliding_windows_add_op, x.aval, (ct,), {"windows": windows})
    ],
    batch=_batch,
    pull=_pull,
)


def sliding_windows(x: Any, windows: Windows) -> Any:
    """The windows of `x`: out[…, o, …, p] = x[…, o * stride + p * dilation, …]."""
    return bind(sliding_windows_op, x, windows=windows) if windows.axes else x


def at_position(x: Any, windows: Windows, shape: Sequence[Any], position: Ints) -> Any:
    """The elements of `x` at one position of all windows: a strided slice. `shape`: of the windows' array."""
    start, limit, step = part(windows, shape, position)
    return ops.slices.slice(x, start_indices=start, limit_indices=limit, strides=step)


# ---------------------------------------------------------------- adding


def _add_type(x: Aval, u: Aval, *, windows: Windows) -> Aval:
    shape = windows_shape("sliding_windows_add", x, windows)
    if u.dtype != x.dtype or u.shape != shape:
        raise TypeRuleError(
            op="sliding_windows_add", problem=f"the windows of {x} are of shape {shape}, not {u}"
        )
    return x


def add_windows(x: np.ndarray, u: Any, windows: Windows) -> np.ndarray:
    """`x` after adding `u` into its windows."""
    for position in windows.positions():
        x[_slices(windows, u.shape, position)] += u[(..., *position)]
    return x


def _add_transpose(ct: Any, x: Any, u: Any, *, windows: Windows) -> list[Any]:
    # A copy, so that an update may overwrite the cotangent.
    ct_u = ops.create.copy(sliding_windows(ct, windows)) if is_linear(u) else None
    return [Overwrite() if is_linear(x) else None, ct_u]


def _add_batch(size: int, args: Any, dims: Any, *, windows: Windows) -> tuple[Any, int]:
    x, u = (to_batch_axis(a, d, 0, size) for a, d in zip(args, dims, strict=True))
    return bind(sliding_windows_add_op, x, u, windows=windows.shifted(0)), 0


def _add_segments(params: Any, avals: Any, out: Any) -> list[Segment]:
    def place(k: Any, idx: Any, operands: Any, out: Any) -> Any:
        return _position(k, idx, out.aval.ndim, params["windows"]), None

    return [Segment(1, place, scalar.add, repeats=True)]


sliding_windows_add_op = Op(
    name="sliding_windows_add",
    doc="x with values added into its overlapping windows",
    multi=False,
    type=_add_type,
    eval=lambda x, u, *, windows: add_windows(np.array(x), u, windows),
    inplace=lambda x, u, *, windows: add_windows(x, u, windows),
    jvp=LINEAR,
    linearize=FROM_JVP,
    transpose=_add_transpose,
    batch=_add_batch,
    simplify=NO_IDENTITIES,
    effects=NO_EFFECTS,
    bounds=NO_BOUNDS,
    kernel=Update(lambda params: 0, _add_segments),
)


def sliding_windows_add(x: Any, u: Any, windows: Windows) -> Any:
    """`x` with every element of `u`, which has the shape of the windows' array, added where it lies."""
    return bind(sliding_windows_add_op, x, u, windows=windows)
