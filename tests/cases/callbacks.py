"""Callbacks. Their operands are integers: they have no derivatives of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tests.cases.makers import Case, case, integers
from tracejit.tracing import to_raw, wrap


def _twice(x: Any, y: Any) -> Any:
    return 2 * x + y, np.int64(7) * y


def _out(n: int) -> Any:
    return tj.ShapeDtypeStruct((n,), np.int64), tj.ShapeDtypeStruct((), np.int64)


def _pure(x: Any, y: Any) -> list[Any]:
    out = tj.pure_callback(_twice, _out(3), wrap(x), wrap(y), vmap_method="sequential")
    return [to_raw(o) for o in out]


def _io(x: Any, y: Any) -> list[Any]:
    return [to_raw(o) for o in tj.io_callback(_twice, _out(3), wrap(x), wrap(y))]


def _debug(x: Any, y: Any) -> Any:
    tj.debug.callback(lambda *_: None, wrap(x), wrap(y))
    return x


def _spread(x: Any) -> Any:
    out = tj.ShapeDtypeStruct((), np.int64)
    return to_raw(tj.pure_callback(lambda a: a * a, out, wrap(x), vmap_method="broadcast_all"))


CASES: dict[str, list[Case]] = {
    "pure_callback": [case(_pure, integers(3), integers()), case(_spread, integers())],
    "io_callback": [case(_io, integers(3), integers())],
    "debug_callback": [case(_debug, integers(3), integers())],
}
