"""Callbacks, which have no derivatives of their own."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

import tracejit as tj
from tests.cases.makers import Case, case, integers, normal
from tracejit.bars.bar import Bar
from tracejit.control.callbacks import counted
from tracejit.control.callbacks.counted import Counted
from tracejit.control.callbacks.natives import STATUS, NativeCall
from tracejit.control.callbacks.routines import native_call
from tracejit.control.structured import ticks
from tracejit.frontend.text.recipes import Made, listed
from tracejit.ir.avals import Aval
from tracejit.ir.natives import Native
from tracejit.ops.building.helpers import dtype_of, shape_of
from tracejit.scipy import special
from tracejit.tracing import to_raw, wrap


def _twice(x: Any, y: Any) -> Any:
    return x + x + y, y * y


def _like(*xs: Any) -> Any:
    return tuple(tj.ShapeDtypeStruct(shape_of(x), dtype_of(x)) for x in xs)


def _pure(x: Any, y: Any) -> list[Any]:
    out = tj.pure_callback(_twice, _like(x, y), wrap(x), wrap(y), vmap_method="sequential")
    return [to_raw(o) for o in out]


def _io(x: Any, y: Any) -> list[Any]:
    return [to_raw(o) for o in tj.io_callback(_twice, _like(x, y), wrap(x), wrap(y))]


def _debug(x: Any, y: Any) -> Any:
    tj.debug.callback(lambda *_: None, wrap(x), wrap(y))
    return x


def _tick(x: Any, k: Any) -> Any:
    ticks.tick(Bar("case", show=False), k, 1000)
    return x


def _counted(x: Any, k: Any) -> Any:
    entry = Counted("nothing", lambda *_: None, Made(listed, ()))
    counted.enter(entry, k)
    return x


def _spread(x: Any) -> Any:
    out = _like(x)[0]
    return to_raw(tj.pure_callback(lambda a: a * a, out, wrap(x), vmap_method="broadcast_all"))


def _library(x: Any) -> Any:
    return to_raw(special.diric(wrap(x), 3))


@numba.cfunc("int32(voidptr, voidptr, voidptr)")
def _plus(x, y, out):
    values = numba.carray(out, (5,), np.float64)
    for i in range(5):
        values[i] = numba.carray(x, (5,), np.float64)[i] + numba.carray(y, (1,), np.float64)[0]
    return 0


_NATIVE = Native(_plus.address or 0, 3, _plus)


def _native(x: Any, y: Any) -> Any:
    call = NativeCall(_NATIVE, "plus", [Aval((5,), np.dtype(float)), STATUS], frozenset())
    return native_call(call, x, y)[0]


CASES: dict[str, list[Case]] = {
    "pure_callback": [
        case(_pure, integers(3), integers(), smooth=False),
        case(_spread, integers(), smooth=False),
    ],
    "counted": [case(_counted, normal(3), integers(), smooth=False)],
    "tick": [case(_tick, normal(3), integers(), smooth=False)],
    "io_callback": [case(_io, integers(3), integers(), smooth=False)],
    "library_call": [
        case(_library, integers(5), smooth=False),
        case(_native, integers(5), integers(), smooth=False),
    ],
    "debug_callback": [case(_debug, integers(3), integers())],
}
