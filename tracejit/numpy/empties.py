"""What NumPy warns of by values: means of nothing, slices of nothing but NaN, fits that are poorly conditioned.

Where Python does calls over, it is NumPy itself that warns. Elsewhere the program finds out how often, and what is
warned, and from which line, is what NumPy has warned of a sample.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import is_internal
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import pythons_unless_any
from tracejit.tracing import caller, is_tracing

#: How the texts begin.
NO_MEAN, NO_FREEDOM, NO_NUMBER, NO_RANK = "Mean of empty", "Degrees of freedom", "All-NaN", "Polyfit may be"

_EMPTY: Any = np.zeros(0)
_NAN: Any = np.full(2, np.nan)
_MEANS = ("mean", "var", "std")
_OF_ARRAYS = (*_MEANS, "average", "median", "nanmean", "nanvar", "nanstd", "nanmedian", "nanmax", "nanmin")
_Sample = Callable[[Any, Any], Any]


def _of_array(f: Any) -> _Sample:
    return lambda x, axis: f(x, axis=axis)


def _of_quantile(f: Any) -> _Sample:
    return lambda x, axis: f(x, 0.5, axis=axis)


def _of_matrix(f: Any) -> _Sample:
    return lambda *_: f(np.zeros((1, 0)))


def _of_method(name: str) -> _Sample:
    return lambda x, axis: getattr(x, name)(axis=axis)


#: NumPy's function -> a call of it that warns, of a row, or of rows along their axis.
_SAMPLES: dict[Any, _Sample] = {
    **{f: _of_array(f) for f in (getattr(np, n) for n in _OF_ARRAYS)},
    **{f: _of_quantile(f) for f in (np.nanquantile, np.nanpercentile)},
    **{f: _of_matrix(f) for f in (np.cov, np.corrcoef)},
    np.polyfit: lambda *_: np.polyfit(np.ones(2), np.ones(2), 1),
}
_OF_METHODS: dict[Any, _Sample] = {getattr(np, n): _of_method(n) for n in _MEANS}


def or_warned(n: Any, most: Any, start: str, each: bool = False) -> Any:
    """The raw counts `n` of elements; where the program finds at most so many, NumPy warns with a text that begins so:
    once, or for `each` of them."""
    if type(most) is int and type(n) is not int:  # a known length: who asks for it warns
        few = (
            ops.compare.le(n, aval_of(n).dtype.type(most)) if isinstance(n, Value) else np.asarray(n) <= most
        )
        warn_where(few, start, each)
    return n


def warn_where(few: Any, start: str, each: bool = False) -> None:
    """Let NumPy warn, with a text that begins so, where the program finds that something of the raw `few` holds."""
    if _told.before:
        return
    if not isinstance(few, Value):
        times = np.count_nonzero(few) if is_tracing() else 0
        if times and (said := _said(start, np.ndim(few) > 0)) is not None:
            for _ in range(times if each else 1):
                caller.warn(said.text, said.category, said.at)
        return
    axes = tuple(range(aval_of(few).ndim))
    if caller.does_over():
        every = ops.reduce.reduce_and(ops.compare.not_(few), axes=axes)
        pythons_unless_any(every, "a warning of NumPy's")
    elif isinstance(few.trace, StageTrace) and (said := _said(start, len(axes) > 0)) is not None:
        few = few if each else ops.reduce.reduce_or(few, axes=axes)
        times = ops.create.convert(few, dtypes.int64)
        times = ops.reduce.reduce_sum(times, axes=axes) if each and axes else times
        caller.warn(said.text, said.category, said.at, times)


class _Told(threading.local):
    before = False


_told = _Told()


@contextlib.contextmanager
def told_before(said: bool) -> Iterator[None]:
    """Nothing is warned of inside if it has been `said`: a function that has other elements left out than its own."""
    was, _told.before = _told.before, _told.before or said
    try:
        yield
    finally:
        _told.before = was


class _Said(NamedTuple):
    """A warning, and where NumPy gives it: file, line, function and globals; None: at the line that calls NumPy."""

    text: str
    category: type[Warning]
    at: tuple[str, int, str, dict[str, Any]] | None


def _said(start: str, rows: bool) -> _Said | None:
    """What NumPy says of such a call as the user's code has made it, of one row or of rows: of the outermost
    function of NumPy's that the user's code is in, if a sample of it is known and warns so."""
    sample: _Sample | None = None
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        if f"tracejit{os.sep}scipy{os.sep}" in frame.f_code.co_filename:
            return None
        if frame.f_code.co_name == "call" and (function := frame.f_locals.get("np_function")) is not None:
            above = frame.f_back
            named = _OF_METHODS if above is not None and above.f_code.co_name == "method" else _SAMPLES
            sample = named.get(function, sample)
        frame = frame.f_back
    return None if sample is None else _shown(sample, start, rows)


@functools.cache
def _shown(sample: _Sample, start: str, rows: bool) -> _Said | None:
    with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        x = _NAN if start == NO_NUMBER else _EMPTY
        sample(x[None] if rows else x, -1 if rows else None)
    for w in told:
        if str(w.message).startswith(start):
            names = next(
                (vars(m) for m in [*sys.modules.values()] if getattr(m, "__file__", None) == w.filename), {}
            )
            at = None if w.filename == __file__ else (w.filename, w.lineno, "", names)
            return _Said(str(w.message), w.category, at)
    return None
