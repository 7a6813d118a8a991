"""The columns that lists of traced length begin with: arrays of numbers, with room for more."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.frontend.lists import arenas
from tracejit.frontend.lists.items import Kind
from tracejit.numpy.boxes.unsure import taken
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.operands import nested
from tracejit.tracing import Box, box, new_array

_I64 = np.dtype(np.int64)


def references(xs: list[Any], kind: Kind, size: int) -> Box:
    """The numbers of the arrays `xs`, with room for `size` in all."""
    arenas.arena_of(kind.dtype, kind.shape)
    return column([box(arenas.reference(x)) for x in xs], _I64, size)


def column(xs: list[Any], dtype: np.dtype, size: int, shape: tuple[int, ...] = ()) -> Box:
    """An array of the numbers or arrays `xs`, with room for `size` in all."""
    zeros = NUMPY_TO_TRACEJIT[np.zeros]
    if not xs:
        return zeros((size, *shape), dtype)
    if shape:
        stacked = NUMPY_TO_TRACEJIT[np.stack](xs)
        rest = zeros((size - len(xs), *shape), dtype)
        return new_array(NUMPY_TO_TRACEJIT[np.concatenate]([stacked, rest]).read())
    if any(type(x) is Box for x in xs):
        first = nested([taken(x) for x in xs], dtype)
    else:
        first = np.array(xs, dtype)
    rest = zeros(size - len(xs), dtype).read()
    return new_array(ops.concat.concatenate(first, rest, dimension=0))
