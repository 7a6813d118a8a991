"""What every distribution starts from: arguments checked, uniform and normal numbers of raw values.

Large draws outside of any trace are compiled, one program a shape, so that they too run at native speed.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit import numpy as tnp
from tracejit.errors import RandomArgumentError
from tracejit.interpreters.jit import execute
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.random.keys import Shape, as_shape, random_bits
from tracejit.tracing import Box, is_tracing, to_raw, wrap

#: Draws of more elements than this are compiled: the hash takes a hundred NumPy operations.
COMPILE_ABOVE = 4096

_STATIC = {"shape", "dtype", "method", "axis", "replace", "independent"}
_COUNTS = {"a", "x", "d", "n"}  # a Python int in their place is a size


def sampler(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A distribution. Called outside of any trace for a large shape, it runs compiled."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_tracing() or any(type(x) is Box for x in (*args, *kwargs.values())):
            return fn(*args, **kwargs)
        bound = _signature(fn).bind(*args, **kwargs)
        bound.apply_defaults()
        if _size(bound.arguments) > COMPILE_ABOVE:
            return _compiled(fn, bound.arguments)
        # Unsigned arithmetic wraps around, and the logarithm of no chance is minus infinity, on purpose.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return fn(*args, **kwargs)

    return call


_signature = functools.cache(
    inspect.signature
)  # reading all of them would take a while when this is imported


def _size(arguments: dict[str, Any]) -> int:
    """Elements to draw, roughly: of the shape, or of the largest argument."""
    sizes = [np.size(x) for x in arguments.values() if isinstance(x, np.ndarray)]
    shape = arguments.get("shape")
    return max(0 if shape is None else math.prod(as_shape(shape)), *sizes, 0)


def _compiled(fn: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    static = {
        k: v
        for k, v in arguments.items()
        if k in _STATIC or v is None or (k in _COUNTS and not hasattr(v, "shape") and hasattr(v, "__index__"))
    }
    shape = static.get("shape")
    if shape is not None:
        static["shape"] = as_shape(shape)
    traced = {k: v for k, v in arguments.items() if k not in static}
    raw = [to_raw(v) for v in traced.values()]
    weak = tuple(type(v) in (bool, int, float, complex) for v in traced.values())
    jaxpr, consts = _program(fn, tuple(sorted(static.items())), tuple(traced), tuple(map(aval_of, raw)), weak)
    return execute(jaxpr, [*consts, *raw])[0]


@functools.lru_cache(maxsize=256)
def _program(
    fn: Callable[..., Any],
    static: tuple[tuple[str, Any], ...],
    names: tuple[str, ...],
    avals: tuple[Any, ...],
    weak: tuple[bool, ...],
) -> tuple[Jaxpr, list[Any]]:
    def flat(*raw: Any) -> list[Any]:
        boxes = {k: wrap(r, w) for k, r, w in zip(names, raw, weak, strict=True)}
        return [to_raw(fn(**boxes, **dict(static)))]

    return stage(flat, avals, fn.__name__)


# ---------------------------------------------------------------- arguments


def float_dtype(function: str, dtype: Any, *params: Any) -> np.dtype:
    """The dtype of a draw: as asked for, or float64 unless a parameter is an array of another float."""
    if dtype is None:
        found = [np.dtype(float), *(aval_of(to_raw(p)).dtype for p in params if _is_array(p))]
        inexact = [d for d in found[1:] if dtypes.is_inexact(d)]
        return functools.reduce(np.promote_types, inexact) if inexact else found[0]
    dtype = dtypes.canonical(dtype)
    if not dtypes.is_inexact(dtype) or dtype.kind == "c":
        raise RandomArgumentError(function=function, problem=f"draws real floats, not {dtype}")
    return dtype


def _is_array(p: Any) -> bool:
    return (type(p) is Box and not p.weak) or isinstance(p, (np.ndarray, np.generic))


def shape_of_draw(function: str, shape: Shape | None, *params: Any) -> tuple[int, ...]:
    """The shape asked for, or the parameters' broadcast shape.

    Raises:
        RandomArgumentError: the parameters don't broadcast to the shape.
    """
    own = np.broadcast_shapes(*(np.shape(p) for p in params))
    if shape is None:
        return own
    shape = as_shape(shape)
    try:
        fits = np.broadcast_shapes(own, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise RandomArgumentError(
            function=function, problem=f"parameters of shape {own} don't broadcast to {shape}"
        )
    return shape


def spread(x: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A parameter as an array of the draw's shape and dtype."""
    return tnp.broadcast_to(tnp.asarray(x).astype(dtype), shape)


# ---------------------------------------------------------------- raw numbers


def unit_interval(key: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Raw floats in [0, 1): the leading bits of a word as the fraction of a number in [1, 2), minus 1."""
    info = dtypes.finfo(dtype)
    word = np.dtype(f"u{dtype.itemsize}")
    fraction = ops.compare.shift_right(random_bits(key, shape, word), word.itemsize * 8 - info.nmant)
    one = np.ones((), dtype).view(word)[()]
    number = ops.create.bitcast(ops.compare.or_(fraction, one), dtype=dtype)
    return ops.arithmetic.sub(number, dtype.type(1))


def uniform_between(key: Any, shape: tuple[int, ...], dtype: np.dtype, low: float, high: float) -> Any:
    """Uniform numbers in [low, high) for constants, rounding never below `low`."""
    u = unit_interval(key, shape, dtype)
    scaled = ops.arithmetic.add(ops.arithmetic.mul(u, dtype.type(high) - dtype.type(low)), dtype.type(low))
    return wrap(ops.arithmetic.maximum(scaled, dtype.type(low)))


def open_unit(key: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Uniform numbers in (0, 1): never 0, so that a logarithm is finite."""
    return uniform_between(key, shape, dtype, float(dtypes.finfo(dtype).tiny), 1.0)
