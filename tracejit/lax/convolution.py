"""Convolutions under JAX's names, and Fourier transforms of trailing axes."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ConvolutionLayoutError, ShapeError, TypeRuleError
from tracejit.ir.avals import aval_of
from tracejit.ops.building.values import dtype_of, shape_of
from tracejit.ops.convolution.conv_shapes import Config, ConvDimensionNumbers, arranged, dilated, padding_of
from tracejit.ops.convolution.sliding import Windows
from tracejit.tracing import to_raw, wrap

_LETTERS = {1: "W", 2: "HW", 3: "DHW"}

# ---------------------------------------------------------------- layouts


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Dimension numbers as numbers. Strings such as ('NHWC', 'HWIO', 'NHWC') name the axes of operand, kernel
    and result; None is ('NCHW', 'OIHW', 'NCHW') and the like.

    Raises:
        ConvolutionLayoutError: the strings do not name each axis once.
    """
    op, ndim = "conv_dimension_numbers", len(lhs_shape)
    if len(rhs_shape) != ndim or ndim < 2:
        raise ConvolutionLayoutError(
            op=op,
            problem=f"shapes {tuple(lhs_shape)} and {tuple(rhs_shape)} are not of the same rank, 2 or more",
        )
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if dimension_numbers is None:
        return ConvDimensionNumbers(*(tuple(range(ndim)),) * 3)
    if not isinstance(dimension_numbers, (tuple, list)) or len(dimension_numbers) != 3:
        raise ConvolutionLayoutError(op=op, problem=f"{dimension_numbers!r} is not three layouts")
    if not all(isinstance(s, str) for s in dimension_numbers):
        return ConvDimensionNumbers(*(tuple(s) for s in dimension_numbers))
    lhs, rhs, out = dimension_numbers
    spatial = [c for c in rhs if c not in "OI"]
    specs = []
    for text, first in ((lhs, "NC"), (rhs, "OI"), (out, "NC")):
        names = [*first, *spatial]
        if len(text) != ndim or sorted(text) != sorted(names) or len(set(text)) != ndim:
            raise ConvolutionLayoutError(
                op=op,
                problem=f"{text!r} in {tuple(dimension_numbers)} does not name {ndim} axes, {first} among them",
            )
        specs.append(tuple(text.index(c) for c in names))
    return ConvDimensionNumbers(*specs)


def _ones(given: Any, rank: int) -> tuple[int, ...]:
    return (1,) * rank if given is None else tuple(int(n) for n in given)


def _config(
    name: str,
    x: Any,
    kernel_sizes: Sequence[int],
    numbers: Any,
    strides: Any,
    padding: Any,
    inner: Any,
    outer: Any,
) -> Config:
    """Parameters with their defaults, and padding as pairs."""
    rank = len(numbers.lhs_spec) - 2
    strides, inner, outer = (_ones(s, rank) for s in (strides, inner, outer))
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "SAME_LOWER", "VALID"):
            raise ConvolutionLayoutError(op=name, problem=f"unknown padding {padding!r}")
        if any(d != 1 for d in inner):
            raise ConvolutionLayoutError(
                op=name, problem=f"padding {padding!r} has no meaning for a dilated operand; give pairs"
            )
    xs = [shape_of(x)[n] for n in numbers.lhs_spec[2:]]
    ws = [dilated(n, d) for n, d in zip(kernel_sizes, outer, strict=False)]
    return Config(strides, padding_of(name, padding, xs, ws, strides), inner, outer, numbers)


# ---------------------------------------------------------------- convolutions


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The convolution of `lhs` with the kernel `rhs`, of one dtype, in any number of spatial dimensions.

    `padding`: 'SAME', 'SAME_LOWER', 'VALID', or pairs (before, after), negative ones cropping the dilated
    operand. `lhs_dilation` puts zeros between the operand's elements, `rhs_dilation` between the kernel's.
    In groups, feature group n of the operand (or part n of the batch) meets the nth part of the kernels.
    `preferred_element_type` is the dtype in which products are summed, and that of the result; `precision`
    is ignored.

    Raises:
        ConvolutionLayoutError: `dimension_numbers` or `padding` mean nothing.
        ShapeError: shapes and parameters do not fit together.
        TypeRuleError: the dtypes differ.
    """
    x, w = to_raw(lhs), to_raw(rhs)
    numbers = conv_dimension_numbers(shape_of(x), shape_of(w), dimension_numbers)
    sizes = [shape_of(w)[n] for n in numbers.rhs_spec[2:]]
    base = _config(
        "conv_general_dilated", x, sizes, numbers, window_strides, padding, lhs_dilation, rhs_dilation
    )
    groups = int(feature_group_count), int(batch_group_count)
    config = Config(base.window_strides, base.padding, base.lhs_dilation, base.rhs_dilation, numbers, *groups)
    if preferred_element_type is None:
        return wrap(ops.conv.conv_general_dilated(x, w, config))
    if dtype_of(x) != dtype_of(w):
        raise TypeRuleError(op="conv_general_dilated", problem=f"operands are {aval_of(x)} and {aval_of(w)}")
    preferred = dtypes.canonical(preferred_element_type)
    wide = np.result_type(dtype_of(x), preferred)
    x, w = ops.create.convert(x, wide), ops.create.convert(w, wide)
    return wrap(ops.create.convert(ops.conv.conv_general_dilated(x, w, config), preferred))


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`conv_general_dilated` of operands laid out as batch, features, space and outputs, inputs, space."""
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`conv_general_dilated` in the default layout."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        preferred_element_type=preferred_element_type,
    )


_TRANSPOSED_LAYOUTS = {
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """The transposed convolution: the operand dilated by `strides`, then convolved.

    'SAME' makes n elements n * stride. Pairs are padding of the dilated operand, or with
    `use_consistent_padding` that of the convolution of which this is the transpose. `transpose_kernel`
    reverses the kernel and exchanges its features, for a gradient. The default layout is channels-last.
    """
    x, w = to_raw(lhs), to_raw(rhs)
    ndim = len(shape_of(x))
    layout = _TRANSPOSED_LAYOUTS.get(ndim) if dimension_numbers is None else dimension_numbers
    numbers = conv_dimension_numbers(shape_of(x), shape_of(w), layout)
    outer = _ones(rhs_dilation, ndim - 2)
    sizes = [dilated(shape_of(w)[n], d) for n, d in zip(numbers.rhs_spec[2:], outer, strict=True)]
    if isinstance(padding, str):
        pads = [_padding_of_transpose(k, s, padding) for k, s in zip(sizes, strides, strict=True)]
    elif use_consistent_padding:
        pads = [(k - 1 - low, k - 1 - high) for k, (low, high) in zip(sizes, padding, strict=True)]
    else:
        pads = list(padding)
    if transpose_kernel:
        w = ops.shape.rev(w, dimensions=numbers.rhs_spec[2:])
        w = ops.shape.swapaxes(w, *numbers.rhs_spec[:2])
    return conv_general_dilated(
        wrap(x),
        wrap(w),
        (1,) * (ndim - 2),
        pads,
        strides,
        outer,
        numbers,
        preferred_element_type=preferred_element_type,
    )


def _padding_of_transpose(size: int, stride: int, padding: str) -> tuple[int, int]:
    """Padding of the dilated operand, for which the result has n * stride elements ('SAME'), or as many as
    a 'VALID' convolution of this size and stride reads."""
    if padding == "SAME":
        total = size + stride - 2
        before = size - 1 if stride > size - 1 else math.ceil(total / 2)
    elif padding == "VALID":
        total = size + stride - 2 + max(size - stride, 0)
        before = size - 1
    else:
        raise ConvolutionLayoutError(op="conv_transpose", problem=f"unknown padding {padding!r}")
    return before, total - before


# ---------------------------------------------------------------- patches


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """What a convolution with kernels of `filter_shape` multiplies: the features of the result are the
    operand's features (slowest) and the elements of a window."""
    x = to_raw(lhs)
    config = _patch_config(
        x, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers
    )
    out, sizes = _patches(x, filter_shape, config)
    rank = len(filter_shape)
    n, c = shape_of(out)[:2]
    order = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
    out = ops.shape.transpose(out, permutation=order)
    out = ops.shape.reshape(out, shape=(n, c * math.prod(filter_shape), *sizes))
    out = ops.shape.transpose(out, permutation=arranged(range(rank + 2), config.numbers.out_spec))
    dtype = dtype_of(x) if preferred_element_type is None else dtypes.canonical(preferred_element_type)
    return wrap(ops.create.convert(out, dtype))


def _patch_config(
    x: Any, sizes: Any, strides: Any, padding: Any, inner: Any, outer: Any, numbers: Any
) -> Config:
    ndim = len(sizes) + 2
    numbers = conv_dimension_numbers(shape_of(x), (1,) * ndim, numbers)
    config = _config("conv_general_dilated_patches", x, sizes, numbers, strides, padding, inner, outer)
    kernel = arranged((1, shape_of(x)[numbers.lhs_spec[1]], *sizes), numbers.rhs_spec)
    config.check("conv_general_dilated_patches", aval_of(x), aval_of(x).with_shape(kernel))
    return config


def _patches(x: Any, sizes: Sequence[int], config: Config) -> tuple[Any, tuple[int, ...]]:
    """(batch, features, places…, window…), and the numbers of places."""
    rank = len(sizes)
    rows = zip(config.padding, config.lhs_dilation, strict=True)
    x = ops.shape.transpose(x, permutation=config.numbers.lhs_spec)
    x = ops.concat.pad(x, 0, padding_config=[(0, 0, 0)] * 2 + [(lo, hi, d - 1) for (lo, hi), d in rows])
    windows = Windows(tuple(range(2, 2 + rank)), tuple(sizes), config.window_strides, config.rhs_dilation)
    out = ops.sliding.sliding_windows(x, windows)
    return out, shape_of(out)[2 : 2 + rank]  # type: ignore[return-value]


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Any:
    """A convolution with a kernel of its own at every place: the spatial axes of `rhs` are those of the
    result, and its input features are the operand's (slowest) and the elements of a window."""
    x, w = to_raw(lhs), to_raw(rhs)
    config = _patch_config(
        x, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers
    )
    numbers = conv_dimension_numbers(shape_of(x), shape_of(w), dimension_numbers)
    patches, sizes = _patches(x, filter_shape, config)
    rank = len(sizes)
    w = ops.shape.transpose(w, permutation=numbers.rhs_spec)
    o, taken, *places = shape_of(w)
    features = shape_of(patches)[1]
    if (taken, *places) != (features * math.prod(filter_shape), *sizes):
        raise ShapeError(
            op="conv_general_dilated_local",
            problem=f"the kernel is for {taken} elements at {tuple(places)}; windows have "
            f"{features} x {tuple(filter_shape)} at {tuple(sizes)}",
        )
    w = ops.shape.reshape(w, shape=(o, features, *filter_shape, *places))
    window = tuple(range(2 + rank, 2 + 2 * rank))
    here, there = tuple(range(2, 2 + rank)), window
    out = ops.linalg.dot_general(
        patches, w, dimension_numbers=(((1, *window), (1, *here)), (here, there))
    )  # (places…, batch, features)
    out = ops.shape.transpose(out, permutation=(rank, rank + 1, *range(rank)))
    return wrap(ops.shape.transpose(out, permutation=arranged(range(rank + 2), numbers.out_spec)))


# ---------------------------------------------------------------- Fourier transforms


class FftType(enum.IntEnum):
    """The kinds of `fft`."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """A Fourier transform over the last `len(fft_lengths)` axes; the inverse ones divide by the lengths.

    `fft_lengths` are the operand's sizes along them ('IRFFT': its last one is that of the result).

    Raises:
        ShapeError: the operand has not these sizes.
    """
    kind = FftType[fft_type.upper()] if isinstance(fft_type, str) else FftType(fft_type)
    raw, lengths = to_raw(x), tuple(int(n) for n in fft_lengths)
    ndim, sizes = len(shape_of(raw)), list(lengths)
    axes = tuple(range(ndim - len(lengths), ndim))
    if kind is FftType.IRFFT and lengths:
        sizes[-1] = lengths[-1] // 2 + 1
    if not lengths or axes[0] < 0 or list(shape_of(raw)[axes[0] :]) != sizes:
        raise ShapeError(op="fft", problem=f"{kind.name} of lengths {lengths} does not fit {aval_of(raw)}")
    if kind is FftType.FFT:
        return wrap(ops.fft.fft(raw, axes=axes))
    if kind is FftType.IFFT:
        return wrap(ops.fft.ifft(raw, axes=axes))
    if kind is FftType.RFFT:
        out = ops.fft.rfft(raw, axis=axes[-1])
        return wrap(ops.fft.fft(out, axes=axes[:-1]) if axes[:-1] else out)
    raw = ops.fft.ifft(raw, axes=axes[:-1]) if axes[:-1] else raw
    return wrap(ops.fft.irfft(raw, n=lengths[-1], axis=axes[-1]))
