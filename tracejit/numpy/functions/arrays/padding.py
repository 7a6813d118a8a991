"""np.pad: every mode of NumPy's by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ArgumentError
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import implements
from tracejit.numpy.functions.arrays.joining import concatenate
from tracejit.numpy.functions.arrays.ranges import linspace
from tracejit.numpy.functions.arrays.shaping import box_of
from tracejit.numpy.operands import cast, raw, shape_of
from tracejit.numpy.ufuncs import TABLE
from tracejit.tracing import Box, new_array, wrap

Widths = list[tuple[int, int]]
_STATISTICS: dict[str, Any] = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}
_OPTIONS = {
    "constant": {"constant_values"}, "empty": set(), "edge": set(), "wrap": set(),
    "linear_ramp": {"end_values"}, "reflect": {"reflect_type"}, "symmetric": {"reflect_type"},
    **{name: {"stat_length"} for name in _STATISTICS},
}  # fmt: skip


@implements(np.pad, "pad")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Elements around an array, in any of NumPy's modes by name (a function as a mode writes into views).

    Raises ArgumentError for other modes, options that the mode does not take, and negative widths.
    """
    x = box_of(array)
    if not isinstance(mode, str) or mode not in _OPTIONS:
        raise ArgumentError(
            name="pad", problem=f"mode {mode!r} is not supported; use one of {sorted(_OPTIONS)}"
        )
    wrong = set(kwargs) - _OPTIONS[mode]
    if wrong:
        raise ArgumentError(
            name="pad", problem=f"unsupported keyword arguments for mode {mode!r}: {sorted(wrong)}"
        )
    widths = _widths(x.ndim, pad_width)
    if mode in ("constant", "empty"):
        if not widths:
            return new_array(raw(x))
        return _constant(x, widths, kwargs.get("constant_values", 0))
    for n, (lo, hi) in enumerate(widths):
        if (lo, hi) == (0, 0):
            continue
        if x.shape[n] == 0:
            problem = f"can't extend empty axis {n} using modes other than 'constant' or 'empty'"
            raise ArgumentError(name="pad", problem=problem)
        x = _along(x, n, lo, hi, mode, kwargs)
    return x.copy() if x is array else x


def _widths(ndim: int, given: Any) -> Widths:
    if isinstance(given, dict):
        given = [given.get(n, given.get(n - ndim, 0)) for n in range(ndim)]
        given = [w if isinstance(w, (tuple, list)) else (w, w) for w in given]
    pairs = np.broadcast_to(np.asarray(given), (ndim, 2))
    if pairs.dtype.kind not in "iu":
        raise ArgumentError(name="pad", problem="`pad_width` must be of integral type")
    if (pairs < 0).any():
        raise ArgumentError(name="pad", problem="index can't contain negative values")
    return [(int(a), int(b)) for a, b in pairs]


def _around(x: Box, widths: Widths, values: Any) -> Any:
    """An array of traced lengths between others of one number each."""
    for n, (lo, hi) in enumerate(widths):
        sizes = [x.aval.shape[:n] + (w,) + x.aval.shape[n + 1 :] for w in (lo, hi)]
        ends = [
            wrap(ops.shape.broadcast_to(cast(raw(values[n, k]), x.dtype), s)) for k, s in enumerate(sizes)
        ]
        x = concatenate([ends[0], x, ends[1]], n)
    return x


def _constant(x: Box, widths: Widths, values: Any) -> Any:
    if not x.aval.is_static:
        return _around(x, widths, NP[np.broadcast_to](box_of(values), (x.ndim, 2)))
    if not shape_of(raw(values)):
        config = tuple((lo, hi, 0) for lo, hi in widths)
        return wrap(ops.concat.pad(raw(x), cast(raw(values), x.dtype), padding_config=config))
    r = raw(x)
    pairs = NP[np.broadcast_to](box_of(values), (x.ndim, 2))
    for n, (lo, hi) in enumerate(widths):
        for config, v in (((lo, 0, 0), pairs[n, 0]), ((0, hi, 0), pairs[n, 1])):
            full = tuple(config if k == n else (0, 0, 0) for k in range(x.ndim))
            r = ops.concat.pad(r, cast(raw(v), x.dtype), padding_config=full)
    return wrap(r)


def _along(x: Box, n: int, lo: int, hi: int, mode: str, options: dict[str, Any]) -> Any:
    """`x` padded along one axis."""
    if mode == "linear_ramp":
        return _ramp(x, n, lo, hi, _pair(options.get("end_values", 0), x.ndim, n))
    if mode in _STATISTICS:
        return _statistic(x, n, lo, hi, _STATISTICS[mode], options.get("stat_length"))
    if options.get("reflect_type", "even") == "odd" and x.shape[n] > (mode == "reflect"):
        return _odd(x, n, lo, hi, x.shape[n] - (mode == "reflect"))
    if options.get("reflect_type", "even") not in ("even", "odd"):
        raise ArgumentError(name="pad", problem="reflect_type must be 'even' or 'odd'")
    return NP[np.take](x, np.pad(np.arange(x.shape[n]), (lo, hi), mode), n)  # type: ignore[call-overload]


def _pair(values: Any, ndim: int, n: int) -> tuple[Any, Any]:
    if not shape_of(raw(values)):
        return values, values
    pairs = NP[np.broadcast_to](box_of(values), (ndim, 2))
    return pairs[n, 0], pairs[n, 1]


def _cut(x: Box, n: int, a: int | None, b: int | None) -> Any:
    return x[(slice(None),) * n + (slice(a, b),)]


def _ramp(x: Box, n: int, lo: int, hi: int, ends: tuple[Any, Any]) -> Any:
    """Straight lines from the edges to the end values."""
    parts: list[Any] = [x]
    for width, end, first in ((lo, ends[0], True), (hi, ends[1], False)):
        if width:
            edge = _cut(x, n, 0, 1) if first else _cut(x, n, -1, None)
            at = edge[(slice(None),) * n + (0,)]
            line = linspace(box_of(end), at, width, endpoint=False, axis=n)
            if x.dtype.kind in "iu":
                line = TABLE["floor"](line)
            line = line.astype(x.dtype)
            parts.insert(0, line) if first else parts.append(NP[np.flip](line, n))
    return concatenate(parts, n)


def _statistic(x: Box, n: int, lo: int, hi: int, of: Callable[..., Any], length: Any) -> Any:
    """The statistic of the elements at each edge, repeated."""
    size = x.shape[n]
    pairs = None if length is None else np.broadcast_to(np.asarray(length), (x.ndim, 2))
    parts: list[Any] = [x]
    for width, first in ((lo, True), (hi, False)):
        if not width:
            continue
        m = size if pairs is None else min(int(pairs[n, 0 if first else 1]), size)
        if m < 1:
            raise ArgumentError(name="pad", problem="stat_length of 0 yields no value for padding")
        value = NP[of](_cut(x, n, 0, m) if first else _cut(x, n, size - m, None), axis=n, keepdims=True)
        value = TABLE["rint"](value) if x.dtype.kind in "iu" else value
        wide = NP[np.repeat](value.astype(x.dtype), width, n)
        parts.insert(0, wide) if first else parts.append(wide)
    return concatenate(parts, n)


def _odd(x: Box, n: int, lo: int, hi: int, period: int) -> Any:
    """Reflection through the edges' values: f(-i) = 2 f(0) - f(i), and likewise at the end.

    Two periods further the values are higher by 2 (last - first).
    """
    size = x.shape[n]
    at = np.arange(-lo, size + hi)
    k = at // period
    k = np.where((at >= 0) & (at < size), 0, k)
    rest = at - k * period
    back = k % 2 == 1
    place = np.where(back, size - 1 - rest, rest)
    wide = (-1,) + (1,) * (x.ndim - n - 1)
    sign, first, last = (
        np.reshape(v, wide).astype(x.dtype)
        for v in (np.where(back, -1, 1), np.where(back, 1 - k, -k), np.where(back, k + 1, k))
    )
    inner = NP[np.take](x, place, n)
    return (inner * sign + _cut(x, n, 0, 1) * first + _cut(x, n, -1, None) * last).astype(x.dtype)
