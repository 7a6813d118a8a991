"""Cases of functions that hold a dtype: conversions, the reading of bits, what is made of nothing, and loops."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import tracejit as tj
from tests.cases.makers import Case, Maker, case
from tracejit import lax, ops
from tracejit.ops.elementwise import bitcasts
from tracejit.tracing import to_raw, wrap

_DTYPES = [np.dtype(c) for c in "?bhiqBHIQefdFD"] + [np.dtype(ml_dtypes.bfloat16)]


def _numbers(d: np.dtype, *shape: int) -> Maker:
    """Small numbers that every dtype has."""
    return lambda rng: rng.integers(0, 3, shape).astype(d)


def _conversions(d: np.dtype) -> list[Case]:
    def to(new: np.dtype) -> Any:
        return lambda x: ops.create.convert_element_type(x, dtype=new)

    return [case(to(new), _numbers(d, 3), smooth=d.kind in "fcV") for new in _DTYPES]


def _bits(d: np.dtype) -> list[Case]:
    def to(new: np.dtype, shape: tuple[int, ...]) -> Case:
        fn = lambda x: bitcasts.bitcast_convert(x, dtype=new)
        return case(fn, _numbers(d, *shape), smooth=False)

    real = [new for new in _DTYPES if new.kind not in "cb"]
    rows = [(new, (2, max(new.itemsize // d.itemsize, 1))) for new in real if new != d]
    return [to(new, shape if shape[1] > 1 else (2,)) for new, shape in rows] if d in real else []


def _made(d: np.dtype) -> list[Case]:
    make = lambda x: [ops.create.iota(shape=(2, 3), dtype=d, dimension=1), x]
    return [case(make, _numbers(d, 2), smooth=False)] if d.kind != "b" else []


def _scans(d: np.dtype) -> list[Case]:
    def fn(c: Any, xs: Any) -> Any:
        out = lax.scan(lambda c, x: (c + x * x, c * x), wrap(c), wrap(xs))
        return [to_raw(o) for o in tj.tree.leaves(out)]

    return [case(fn, _numbers(d), _numbers(d, 3)), case(fn, _numbers(d, 2), _numbers(d, 3, 2))]


def _whiles(d: np.dtype) -> list[Case]:
    def fn(x: Any, w: Any) -> Any:
        step = lambda c: (c[0] + 1, c[1] * wrap(w) + wrap(x))
        return [to_raw(o) for o in lax.while_loop(lambda c: c[0] < 3, step, (np.int32(0), wrap(x)))]

    return [case(fn, _numbers(d, 3), _numbers(d, 3))]


OF_DTYPE = {
    "convert_element_type": _conversions,
    "bitcast": _bits,
    "iota": _made,
    "scan": _scans,
    "while": _whiles,
}
