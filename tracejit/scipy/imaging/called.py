"""`scipy.ndimage`'s functions that call one of the user's for each window, line or place, one after the other."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.lax import scan
from tracejit.numpy.operands import raw
from tracejit.ops.building.dims import normalize_axis
from tracejit.scipy.imaging import splines
from tracejit.scipy.imaging.filters import PART, axes_of, done, pad, precise
from tracejit.scipy.imaging.moving import check, given
from tracejit.scipy.imaging.shapes import elements
from tracejit.scipy.optimizing.results import python
from tracejit.scipy.solving import ask, scalar
from tracejit.tracing import to_raw, wrap


def _each(function: Any, rows: Any, more: Any, named: Any) -> Any:
    """What the user's function gives for each of the rows."""

    def step(state: Any, row: Any) -> Any:
        return state, function(row, *tuple(more), **(named or {}))

    return scan(step, tnp.zeros(()), rows)[1]


def _real(input: Any) -> Any:
    x = wrap(raw(input))
    if dtypes.is_complex(x.dtype):
        raise TypeError("Complex type not supported")
    return x


@PART.solver
def generic_filter(
    input: Any, function: Any, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, extra_arguments: Any = (),
    extra_keywords: Any = None, *, axes: Any = None,
) -> Any:  # fmt: skip
    """What `function` gives for the elements of each window, as a vector of floats."""
    x = _real(input)
    chosen = axes_of(x, axes)
    windows = elements("generic_filter", x.astype(float), size, footprint, (mode, cval, origin), chosen)

    def one(row: Any, *more: Any, **named: Any) -> Any:
        return scalar(ask(function, row, *more, **named))

    out = _each(one, windows.reshape(-1, windows.shape[-1]), extra_arguments, extra_keywords)
    return done("generic_filter", out.reshape(x.shape), input, output)


@PART.solver
def generic_filter1d(
    input: Any, function: Any, filter_size: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: Any = 0, extra_arguments: Any = (), extra_keywords: Any = None,
) -> Any:  # fmt: skip
    """What `function` writes into its second argument, for each line along `axis` with what lies beyond its ends."""
    x = _real(input)
    size, origin = operator.index(filter_size), operator.index(origin)
    if size < 1:
        raise RuntimeError("invalid filter size")
    axis = normalize_axis("generic_filter1d", axis, x.ndim)
    before = size // 2 + origin
    if not 0 <= before < size:
        raise ValueError("invalid origin")
    n = x.shape[axis]
    lines = tnp.moveaxis(pad(x.astype(float), axis, before, size - 1 - before, mode, cval), axis, -1)

    def one(row: Any, *more: Any, **named: Any) -> Any:
        line = tnp.zeros(n)
        ask(function, row, line, *more, **named)
        return line

    out = _each(one, lines.reshape(-1, lines.shape[-1]), extra_arguments, extra_keywords)
    out = tnp.moveaxis(out.reshape(*lines.shape[:-1], n), -1, axis)
    return done("generic_filter1d", out, input, output)


@PART.solver
def geometric_transform(
    input: Any, mapping: Any, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True, extra_arguments: Any = (),
    extra_keywords: Any = None,
) -> Any:  # fmt: skip
    """The spline at the places that `mapping` gives for those of the result."""
    x = precise(input)
    check("geometric_transform", order, mode, x.ndim)
    shape = x.shape if output_shape is None else tuple(map(operator.index, output_shape))
    if not x.ndim or not shape:
        raise RuntimeError("input and output rank must be > 0")
    rank = x.ndim

    def one(row: Any, *more: Any, **named: Any) -> Any:
        place = tuple(python(row[n]) for n in range(len(shape)))
        found = ask(mapping, place, *more, **named)
        if len(found) != rank:
            raise RuntimeError(f"`mapping` gives {len(found)} coordinates of an image of rank {rank}")
        return tnp.stack([tnp.asarray(v).astype(float) for v in found])

    places = np.indices(shape).reshape(len(shape), -1).T
    at = _each(one, wrap(to_raw(places)), extra_arguments, extra_keywords)
    x, pads = splines.filtered(x, order, mode, cval, prefilter)
    out = splines.values(x, [at[:, n] + pads for n in range(rank)], order, mode, cval)
    return given("geometric_transform", out.reshape(shape), input, output)


__all__ = ["generic_filter", "generic_filter1d", "geometric_transform"]
