"""Truth values that may be known only when the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes import extents
from tracejit.tracing import Box


def truth(x: Any) -> bool | None:
    """`bool(x)`; None if it is a traced value. Raises what `bool` raises."""
    if type(x) is not Box or extents.known(x.read()) is not None:
        return bool(x)
    return None if x.aval.is_static and x.aval.size == 1 else bool(x)


def raw_truth(x: Any) -> Any:
    """`bool(x)` as a raw value of no dimensions."""
    known = truth(x)
    if known is not None:
        return np.bool_(known)
    raw = x.read()
    if x.aval.shape:
        raw = ops.shape.squeeze(raw, dimensions=tuple(range(x.aval.ndim)))
    dtype = aval_of(raw).dtype
    return raw if dtype == dtypes.bool_ else ops.compare.ne(raw, dtype.type(0))
