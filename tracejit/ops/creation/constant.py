"""`constant`: an array inside of a jaxpr.

Jaxprs close over nothing: what a function closes over becomes operands when it
is staged. A jaxpr that is made from another has no place for new operands,
though, and a user's rule that runs meanwhile may make or capture arrays. These
are equations without operands, until a program is made of the jaxpr.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.kernel import Constant
from tracejit.ir.primitive import NONLINEAR, ZERO_TANGENT, binds
from tracejit.ops.building.helpers import plain
from tracejit.tracing import bind


class Held:
    """An array as a param; equal to itself only, since its elements may change."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __eq__(self, other: object) -> bool:
        return type(other) is Held and other.array is self.array

    def __hash__(self) -> int:
        return hash(("Held", id(self.array)))

    def __repr__(self) -> str:
        return f"<{aval_of(self.array)}>"


def _batch(size: Any, args: Any, dims: Any, *, value: Held) -> tuple[Any, None]:
    return bind(constant_op, value=value), None


constant_op = plain(
    name="constant",
    doc="an array that a user's rule made or captured",
    type=lambda *, value: Aval(value.array.shape, value.array.dtype),
    eval=lambda *, value: value.array if value.array.ndim else value.array[()],
    jvp=ZERO_TANGENT,
    transpose=NONLINEAR,
    batch=_batch,
    kernel=Constant(),
)


@binds(constant_op)
def constant(array: np.ndarray) -> Any:
    """`array` as a value of the current trace, of any shape and dtype."""
    return bind(constant_op, value=Held(array))
