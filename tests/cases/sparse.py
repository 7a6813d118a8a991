"""Products of sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.makers import Case, case, normal
from tracejit.ops.sparse import products
from tracejit.tracing import to_raw

#: A matrix (3, 4) with an empty row, and an element that belongs to no row.
_INDPTR = np.array([0, 2, 2, 5], np.int32)
_INDICES = np.array([3, 0, 1, 3, 2, 0], np.int32)


def _dot(data: Any, x: Any) -> Any:
    return products.dot(to_raw(_INDPTR), to_raw(_INDICES), data, x)


def _dot_transposed(data: Any, x: Any) -> Any:
    return products.dot_transposed(to_raw(_INDPTR), to_raw(_INDICES), data, x, columns=4)


def _sampled(x: Any, y: Any) -> Any:
    return products.sampled_dot(to_raw(_INDPTR), to_raw(_INDICES), x, y)


CASES: dict[str, list[Case]] = {
    "csr_dot": [
        case(_dot, normal(6), normal(4)),
        case(_dot, normal(6), normal(4, 2)),
        case(_dot, normal(6), normal(4, 9)),
    ],
    "csr_dot_transposed": [
        case(_dot_transposed, normal(6), normal(3)),
        case(_dot_transposed, normal(6), normal(3, 2)),
    ],
    "csr_sampled_dot": [case(_sampled, normal(3), normal(4)), case(_sampled, normal(3, 2), normal(4, 2))],
}
