"""`tracejit.numpy.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.numpy.functions.analysis import norm
from tracejit.numpy.functions.products import cross, matmul, matrix_power, multi_dot, outer, tensordot, vecdot
from tracejit.numpy.functions.shaping import diagonal, matrix_transpose, trace

LinAlgError = np.linalg.LinAlgError

__all__ = [
    "LinAlgError", "cross", "diagonal", "matmul", "matrix_power", "matrix_transpose", "multi_dot", "norm", "outer",
    "tensordot", "trace", "vecdot",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"tracejit.numpy.linalg has no {name!r}; use numpy.linalg.{name} on values that are not traced"
    )
