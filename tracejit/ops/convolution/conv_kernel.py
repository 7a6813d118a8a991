"""How convolutions are computed: by NumPy for eager code, and as a formula of other ops when compiled.

Both lay out the patches that the kernel is multiplied with as a matrix, a few examples at a time, and leave
the product to BLAS; where few products are summed, they add up shifted copies of the input instead.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ops.building.dims import dims_of
from tracejit.ops.building.helpers import move_batch_axis
from tracejit.ops.building.values import dtype_of
from tracejit.ops.convolution.conv_shapes import Config, out_sizes
from tracejit.ops.convolution.sliding import Windows, at_position, sliding_windows, strided_windows

_SHIFTS = 16  # products an element up to which shifted copies are added up
_FEW = 4  # output features a group below which a matrix product gains nothing
_COLUMNS = 128  # columns that a matrix product should have
_CHUNK = 1 << 21  # elements of the patches that eager code makes at a time

# ---------------------------------------------------------------- axes


def merge_axis(x: Any, src: int, dst: int, groups: int) -> Any:
    """The lanes at axis `src` made a part of axis `dst` (of an example): (groups, lanes, the rest)."""
    x = move_batch_axis(x, src, 0)
    lanes, *shape = dims_of(x)
    lead, size, tail = shape[:dst], shape[dst], shape[dst + 1 :]
    x = ops.shape.reshape(x, shape=(lanes, *lead, groups, size // groups, *tail))
    x = move_batch_axis(x, 0, dst + 1)
    return ops.shape.reshape(x, shape=(*lead, lanes * size, *tail))


def split_axis(x: Any, axis: int, lanes: int, groups: int) -> Any:
    """What `merge_axis` did to `axis` undone; the lanes are the first axis."""
    shape = dims_of(x)
    lead, size, tail = shape[:axis], shape[axis], shape[axis + 1 :]
    x = ops.shape.reshape(x, shape=(*lead, groups, lanes, size // (groups * lanes), *tail))
    x = move_batch_axis(x, axis + 1, 0)
    return ops.shape.reshape(x, shape=(lanes, *lead, size // lanes, *tail))


def move_groups(x: Any, src: int, dst: int, count: int) -> Any:
    """The first factor `count` of axis `src` made the first factor of axis `dst`."""
    shape = list(dims_of(x))
    lead, size, tail = shape[:src], shape[src], shape[src + 1 :]
    x = ops.shape.reshape(x, shape=(*lead, count, size // count, *tail))
    shape[src] //= count
    x = move_batch_axis(x, src, dst)
    shape[dst] *= count
    return ops.shape.reshape(x, shape=tuple(shape))


# ---------------------------------------------------------------- eager


def evaluate(x: Any, w: Any, config: Config) -> Any:
    """The convolution by NumPy."""
    dtype = x.dtype
    wide = _wide(dtype)
    x, w = np.asarray(x, wide), np.asarray(w, wide)
    x = np.transpose(_padded(x, config), config.numbers.lhs_spec)
    w = np.transpose(w, config.numbers.rhs_spec)
    by_batch, by_feature = config.batch_group_count, config.feature_group_count
    n, c, *sizes = x.shape
    x = x.reshape(by_batch, n // by_batch, by_feature, c // by_feature, *sizes)
    x = np.moveaxis(x, 0, 1).reshape(n // by_batch, config.groups, c // by_feature, *sizes)
    w = w.reshape(config.groups, w.shape[0] // config.groups, *w.shape[1:])
    out = _by_groups(x, w, config)
    out = out.reshape(out.shape[0], out.shape[1] * out.shape[2], *out.shape[3:])
    return np.transpose(out, np.argsort(config.numbers.out_spec)).astype(dtype, copy=False)


def _wide(dtype: np.dtype) -> np.dtype:
    """Half precision is summed in float32."""
    half = dtype.itemsize == 2 and dtype.kind not in "iu"
    return np.dtype(np.float32) if half else dtype


def _by_groups(x: np.ndarray, w: np.ndarray, config: Config) -> np.ndarray:
    """(n, g, i, spatial…) and (g, o, i, window…) -> (n, g, o, spatial…)."""
    rank = w.ndim - 3
    windows = Windows(tuple(range(3, 3 + rank)), w.shape[3:], config.window_strides, config.rhs_dilation)
    patches = strided_windows(x, windows)
    n, sizes = x.shape[0], patches.shape[3 : 3 + rank]
    out = np.zeros((n, *w.shape[:2], *sizes), x.dtype)
    if out.size == 0 or w.size == 0:
        return out
    g, o, taps = w.shape[0], w.shape[1], math.prod(w.shape[2:])
    if o < _FEW and taps <= _SHIFTS and x.dtype.kind != "b":
        for i, at in itertools.product(range(w.shape[2]), windows.positions()):
            factor = w[(slice(None), slice(None), i, *at)].reshape(g, o, *[1] * rank)
            out += patches[(slice(None), slice(None), i, ..., *at)][:, :, None] * factor
        return out
    inner, outer = (2, *range(3 + rank, 3 + 2 * rank)), range(3, 3 + rank)
    left = w.reshape(g, o, taps)
    step = max(1, _CHUNK // max(1, taps * g * math.prod(sizes)))
    for first in range(0, n, step):
        rows = patches[first : first + step].transpose(1, *inner, 0, *outer)
        got = np.matmul(left, rows.reshape(g, taps, -1)).reshape(g, o, -1, *sizes)
        out[first : first + step] = np.moveaxis(got, 2, 0)
    return out


def _padded(x: Any, config: Config) -> Any:
    """`x` dilated and padded with zeros."""
    rows = [(0, 0, 0)] * (len(config.padding) + 2)
    for axis, (low, high), dilation in zip(
        config.numbers.lhs_spec[2:], config.padding, config.lhs_dilation, strict=True
    ):
        rows[axis] = (low, high, dilation - 1)
    return ops.concat.pad(x, dtype_of(x).type(0), padding_config=rows)


# ---------------------------------------------------------------- compiled


def formula(x: Any, w: Any, *, config: Config) -> Any:
    """The convolution in terms of other ops."""
    dtype, wide = dtype_of(x), _wide(dtype_of(x))
    xs, ws = config.lhs_shape(dims_of(x)), config.rhs_shape(dims_of(w))
    sizes = out_sizes(xs[2:], ws[2:], config)
    out = config.numbers.out((xs[0] // config.batch_group_count, ws[0], *sizes))
    if 0 in (*out, *dims_of(x), *dims_of(w)):
        return ops.shape.broadcast_to(dtype.type(0), out)
    axis = next((n for n in range(len(sizes)) if _has_phases(config, n)), None)
    if axis is not None:
        return _interleaved(x, w, config, axis, out)
    if wide != dtype:
        x, w = ops.create.convert(x, wide), ops.create.convert(w, wide)
    return ops.create.convert(_Layout(x, w, config, sizes).product(), dtype)


def _has_phases(config: Config, n: int) -> bool:
    return config.lhs_dilation[n] > 1 and config.window_strides[n] == config.rhs_dilation[n] == 1


def _interleaved(x: Any, w: Any, config: Config, axis: int, shape: tuple[int, ...]) -> Any:
    """A convolution of x with zeros between its elements: of every `step`th output, only every `step`th
    element of the kernel meets an element of x. These are convolutions of their own."""
    numbers, step, (low, _) = config.numbers, config.lhs_dilation[axis], config.padding[axis]
    place, of_x, of_w = (spec[2 + axis] for spec in (numbers.out_spec, numbers.lhs_spec, numbers.rhs_spec))
    out = ops.shape.broadcast_to(dtype_of(x).type(0), shape)
    n, size = dims_of(x)[of_x], dims_of(w)[of_w]
    for phase in range(min(step, shape[place])):
        first = (low - phase) % step
        taps, count = -(-(size - first) // step), -(-(shape[place] - phase) // step)
        if taps < 1:
            continue
        before = (low - phase - first) // step
        padding = list(config.padding)
        padding[axis] = (before, count - 1 + taps - n - before)
        one = replace(
            config,
            padding=tuple(padding),
            lhs_dilation=_with(config.lhs_dilation, axis, 1),
        )
        some = _every(w, of_w, first, step)
        y = ops.conv.conv_general_dilated(x, some, one)
        ones = (0,) * len(shape)
        out = ops.slices.slice_update(
            out,
            y,
            start_indices=_with(ones, place, phase),
            limit_indices=shape,
            strides=_with((1,) * len(shape), place, step),
        )
    return out


def _with(xs: Sequence[int], n: int, x: int) -> tuple[int, ...]:
    return (*xs[:n], x, *xs[n + 1 :])


def _every(x: Any, axis: int, first: int, step: int) -> Any:
    """x[first::step] along `axis`."""
    ndim = len(dims_of(x))
    return ops.slices.slice(
        x,
        start_indices=_with((0,) * ndim, axis, first),
        limit_indices=dims_of(x),
        strides=_with((1,) * ndim, axis, step),
    )


class _Layout:
    """Operands whose axes have names: n and m (examples, in chunks of m), b and f (groups), i (input
    features), o (output features of a group), y0 y1 … (places), t0 t1 … (in a window)."""

    def __init__(self, x: Any, w: Any, config: Config, sizes: Sequence[int]) -> None:
        self.config = config
        self.numbers = numbers = config.numbers
        x = _padded(x, config)
        rank, groups = len(sizes), config.groups
        xs, ws = config.lhs_shape(dims_of(x)), config.rhs_shape(dims_of(w))
        self.ys, self.ts = [f"y{n}" for n in range(rank)], [f"t{n}" for n in range(rank)]
        examples = xs[0] // config.batch_group_count
        chunk = _chunk(examples, math.prod(sizes))
        self.size = dict(zip(self.ys, sizes, strict=True)) | dict(zip(self.ts, ws[2:], strict=True))
        self.size |= {"n": examples // chunk, "m": chunk, "i": ws[1], "o": ws[0] // groups}
        self.size |= {"b": config.batch_group_count, "f": config.feature_group_count}
        self.names = _at(numbers.lhs_spec, [["b", "n", "m"], ["f", "i"], *([y] for y in self.ys)])
        spatial = dict(zip(self.ys, xs[2:], strict=True))
        self.x = ops.shape.reshape(x, shape=tuple((self.size | spatial)[a] for a in self.names))
        names = _at(numbers.rhs_spec, [["b", "f", "o"], ["i"], *([t] for t in self.ts)])
        w = ops.shape.reshape(w, shape=tuple(self.size[a] for a in names))
        self.w_names, self.w = names, w

    def product(self) -> Any:
        """The result, in its layout."""
        size = self.size
        taps = size["i"] * math.prod(size[t] for t in self.ts)
        if dtype_of(self.x) != np.bool_ and size["o"] < _FEW:
            if taps <= _SHIFTS:
                return self._result(*self._shifted())
            if size["o"] == 1:
                return self._result(*self._summed())
        return self._result(*self._multiplied())

    @property
    def windows(self) -> Windows:
        axes = tuple(self.names.index(y) for y in self.ys)
        sizes = tuple(self.size[t] for t in self.ts)
        return Windows(axes, sizes, self.config.window_strides, self.config.rhs_dilation)

    def _patches(self) -> tuple[Any, list[str]]:
        return sliding_windows(self.x, self.windows), [*self.names, *self.ts]

    def _result(self, out: Any, names: list[str]) -> Any:
        order = _at(self.numbers.out_spec, [["n", "m"], ["b", "f", "o"], *([y] for y in self.ys)])
        shape = self.numbers.out(
            (
                self.size["n"] * self.size["m"],
                self.config.groups * self.size["o"],
                *(self.size[y] for y in self.ys),
            )
        )
        return ops.shape.reshape(_permuted(out, names, order), shape=shape)

    def _multiplied(self) -> tuple[Any, list[str]]:
        """A matrix product for every chunk and group; the patches keep the order of memory inside."""
        patches, have = self._patches()
        last, lead = self.names[-1], ["n", "b", "f"]
        by_row = last == "i" or (
            last in self.ys and self.size[last] < self.size[self.ts[self.ys.index(last)]]
        )
        inner = [*self.ts, "i"] if last == "i" else ["i", *self.ts]
        outer = [*self.ys, "m"] if last == "m" else ["m", *self.ys]
        w = _permuted(self.w, self.w_names, ["b", "f", "o", *inner])
        w = ops.shape.broadcast_to(w, (self.size["n"], *dims_of(w)))
        matrix = [*lead, *outer, *inner] if by_row else [*lead, *inner, *outer]
        p = _permuted(patches, have, matrix)
        batch, contracted = (0, 1, 2), tuple(range(4, 4 + len(inner)))
        first = 3 + len(outer) if by_row else 3
        of_p = tuple(range(first, first + len(inner)))
        if by_row:
            out = ops.linalg.dot_general(p, w, dimension_numbers=((of_p, contracted), (batch, batch)))
            return out, [*lead, *outer, "o"]
        out = ops.linalg.dot_general(w, p, dimension_numbers=((contracted, of_p), (batch, batch)))
        return out, [*lead, "o", *outer]

    def _names_of_result(self) -> list[str]:
        order = _at(self.numbers.out_spec, [["n", "m"], ["b", "f", "o"], *([y] for y in self.ys)])
        return list(order)

    def _spread(self, x: Any, names: list[str], order: list[str]) -> Any:
        """`x` with its axes in `order`, repeated along those it has not got."""
        x = _permuted(x, names, [a for a in order if a in names])
        x = ops.shape.expand_dims(x, tuple(n for n, a in enumerate(order) if a not in names))
        return ops.shape.broadcast_to(x, tuple(self.size[a] for a in order))

    def _shifted(self) -> tuple[Any, list[str]]:
        """The sum of shifted copies of the input, each times an element of the kernel."""
        order, windows = self._names_of_result(), self.windows
        shape = [*(self.size[a] for a in self.names), *windows.sizes]
        terms = []
        for i, at in itertools.product(range(self.size["i"]), windows.positions()):
            x = at_position(self.x, windows, shape, at)
            x, have = _taken(x, self.names, {"i": i})
            w, has = _taken(self.w, self.w_names, {"i": i, **dict(zip(self.ts, at, strict=True))})
            terms.append(ops.arithmetic.mul(self._spread(x, have, order), self._spread(w, has, order)))
        return functools.reduce(ops.arithmetic.add, terms), order

    def _summed(self) -> tuple[Any, list[str]]:
        """The patches times the kernel, summed: nothing of it is stored."""
        patches, have = self._patches()
        order, inner = self._names_of_result(), ["i", *self.ts]
        full = [*order, *inner]
        x, w = self._spread(patches, have, full), self._spread(self.w, self.w_names, full)
        return ops.reduce.reduce_sum(ops.arithmetic.mul(x, w), axes=range(len(order), len(full))), order


def _chunk(examples: int, places: int) -> int:
    """How many examples share a matrix product: the fewest that give it enough columns."""
    divisors = [d for d in range(1, examples + 1) if examples % d == 0]
    return next((d for d in divisors if d * places >= _COLUMNS), examples)


def _at(spec: Sequence[int], names: Sequence[list[str]]) -> list[str]:
    """Names given as (batch, features, spatial…), in the order of the axes."""
    order = sorted(range(len(spec)), key=spec.__getitem__)
    return [name for n in order for name in names[n]]


def _permuted(x: Any, names: Sequence[str], order: Sequence[str]) -> Any:
    """`x` with its axes in `order`: a reshape where only axes of size 1 move."""
    shape = dict(zip(names, dims_of(x), strict=True))
    if [a for a in names if shape[a] != 1] == [a for a in order if shape[a] != 1]:
        return ops.shape.reshape(x, shape=tuple(shape[a] for a in order))
    return ops.shape.transpose(x, permutation=tuple(names.index(a) for a in order))


def _taken(x: Any, names: Sequence[str], at: dict[str, int]) -> tuple[Any, list[str]]:
    """`x` at one index along some axes, without them."""
    axes = {names.index(a): n for a, n in at.items()}
    shape = dims_of(x)
    x = ops.slices.slice(
        x,
        start_indices=[axes.get(n, 0) for n in range(len(shape))],
        limit_indices=[axes[n] + 1 if n in axes else None for n in range(len(shape))],
    )
    return ops.shape.squeeze(x, dimensions=tuple(sorted(axes))), [
        a for n, a in enumerate(names) if n not in axes
    ]
