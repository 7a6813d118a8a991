"""Initialisers of weights: functions of (key, shape, dtype), or makers of such functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, random
from tracejit import numpy as tnp
from tracejit.errors import ShapeError

Initializer = Callable[..., Any]
Axes = int | Sequence[int]

# The standard deviation of a standard normal truncated to (-2, 2).
_TRUNCATED_STD = 0.87962566103423978


def zeros(key: Any, shape: Sequence[int], dtype: Any = float) -> Any:
    """All 0."""
    return tnp.zeros(shape, dtype)


def ones(key: Any, shape: Sequence[int], dtype: Any = float) -> Any:
    """All 1."""
    return tnp.ones(shape, dtype)


def constant(value: Any, dtype: Any = float) -> Initializer:
    """All `value`."""
    return lambda key, shape, dtype=dtype: tnp.full(shape, value, dtype)


def uniform(scale: float = 1e-2, dtype: Any = float) -> Initializer:
    """Uniform in [0, scale)."""
    return lambda key, shape, dtype=dtype: random.uniform(key, shape, dtype) * _as(dtype, scale)


def normal(stddev: float = 1e-2, dtype: Any = float) -> Initializer:
    """Normal with mean 0."""
    return lambda key, shape, dtype=dtype: random.normal(key, shape, dtype) * _as(dtype, stddev)


def truncated_normal(
    stddev: float = 1e-2, dtype: Any = float, lower: float = -2.0, upper: float = 2.0
) -> Initializer:
    """Normal truncated to (lower, upper) before it is scaled by `stddev`."""

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        return random.truncated_normal(key, lower, upper, shape, dtype) * _as(dtype, stddev)

    return init


def orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: Any = float) -> Initializer:
    """A uniformly distributed orthogonal matrix; of a shape that is not square, orthonormal columns or
    rows (Saxe, McClelland and Ganguli, 2014)."""

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        if len(shape) < 2:
            raise ShapeError(op="orthogonal", problem=f"needs two axes at least, not {tuple(shape)}")
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        a = random.normal(key, (max(rows, columns), min(rows, columns)), dtype)
        q, r = tnp.linalg.qr(a)
        q = q * tnp.sign(tnp.diagonal(r))
        q = q.T if rows < columns else q
        rest = [n for i, n in enumerate(shape) if i != column_axis % len(shape)]
        return tnp.moveaxis(q.reshape((*rest, columns)), -1, column_axis) * _as(dtype, scale)

    return init


def delta_orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: Any = float) -> Initializer:
    """Kernels of convolutions, shape (*window, n inputs, n outputs), that are an orthogonal matrix in the middle of the
    window and 0 elsewhere (Xiao and others, 2018).

    Raises:
        ShapeError: there are not three to five axes, or more inputs than outputs.
    """

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        if len(shape) not in (3, 4, 5) or shape[-1] < shape[-2]:
            problem = f"needs three to five axes and no more inputs than outputs, not {tuple(shape)}"
            raise ShapeError(op="delta_orthogonal", problem=problem)
        n = shape[-1]
        matrix = orthogonal(scale, column_axis, dtype)(key, (n, n))[: shape[-2]]
        middle = tuple((k - 1) // 2 for k in shape[:-2])
        return tnp.at(tnp.zeros(tuple(shape), dtype))[middle].set(matrix)

    return init


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = float,
) -> Initializer:
    """Numbers of variance scale / n, where n is the number of inputs ('fan_in'), outputs ('fan_out') or
    their mean ('fan_avg'), and `distribution` is 'truncated_normal', 'normal' or 'uniform'.

    Raises:
        ShapeError: another mode or distribution.
    """
    if mode not in ("fan_in", "fan_out", "fan_avg"):
        raise ShapeError(op="variance_scaling", problem=f"there is no mode {mode!r}")
    if distribution not in ("truncated_normal", "normal", "uniform"):
        raise ShapeError(op="variance_scaling", problem=f"there is no distribution {distribution!r}")

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
        std = math.sqrt(scale / n)
        if distribution == "normal":
            return random.normal(key, shape, dtype) * _as(dtype, std)
        if distribution == "uniform":
            limit = math.sqrt(3) * std
            return random.uniform(key, shape, dtype, _as(dtype, -limit), _as(dtype, limit))
        cut = random.truncated_normal(key, -2.0, 2.0, shape, dtype)
        return cut * _as(dtype, std / _TRUNCATED_STD)

    return init


def glorot_uniform(in_axis: Axes = -2, out_axis: Axes = -1, dtype: Any = float) -> Initializer:
    """Glorot and Bengio (2010), also called Xavier."""
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, dtype=dtype)


def glorot_normal(in_axis: Axes = -2, out_axis: Axes = -1, dtype: Any = float) -> Initializer:
    """Glorot and Bengio (2010), also called Xavier."""
    return variance_scaling(1.0, "fan_avg", "truncated_normal", in_axis, out_axis, dtype=dtype)


def lecun_uniform(in_axis: Axes = -2, out_axis: Axes = -1, dtype: Any = float) -> Initializer:
    """LeCun and others (1998)."""
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, dtype=dtype)


def lecun_normal(in_axis: Axes = -2, out_axis: Axes = -1, dtype: Any = float) -> Initializer:
    """LeCun and others (1998)."""
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, dtype=dtype)


def he_uniform(in_axis: Axes = -2, out_axis: Axes = -1, dtype: Any = float) -> Initializer:
    """He, Zhang, Ren and Sun (2015), also called Kaiming."""
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, dtype=dtype)


def he_normal(in_axis: Axes = -2, out_axis: Axes = -1, dtype: Any = float) -> Initializer:
    """He, Zhang, Ren and Sun (2015), also called Kaiming."""
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, dtype=dtype)


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


def _fans(shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """Inputs and outputs of one unit: the sizes of their axes times the receptive field."""
    if len(shape) < 2:
        raise ShapeError(op="variance_scaling", problem=f"needs two axes at least, not {tuple(shape)}")

    def size(axes: Axes) -> int:
        return math.prod(shape[a] for a in np.atleast_1d(axes).astype(int))

    ins, outs = size(in_axis), size(out_axis)
    field = math.prod(shape) / (ins * outs * size(batch_axis))
    return ins * field, outs * field


def _as(dtype: Any, value: float) -> Any:
    return dtypes.canonical(dtype).type(value)
