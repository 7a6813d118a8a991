"""Names of JAX that tell its compiler something, and functions that are approximate on its other devices."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit import tree
from tracejit.control.call.checkpoint import optimization_barrier as _barrier
from tracejit.control.structured.loops import scan
from tracejit.errors import ArgumentError, ShapeError
from tracejit.lax.arrays import top_k
from tracejit.lax.wrapping import _PYTHON
from tracejit.tracing import call_user, to_raw, wrap


class Precision(enum.Enum):
    """How exact products are on devices that can choose. On a CPU they are always as exact as their dtype."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        """JAX's names for them as text, such as "highest"."""
        return _SPELLED.get(value) if isinstance(value, str) else None


_SPELLED = {
    **dict.fromkeys(("default", "fastest", "bfloat16"), Precision.DEFAULT),
    **dict.fromkeys(("high", "bfloat16_3x", "tensorfloat32"), Precision.HIGH),
    **dict.fromkeys(("highest", "float32"), Precision.HIGHEST),
}

PrecisionLike = Precision | str | tuple[Any, Any] | None

_TAG = -1  # no barrier of `checkpoint` has it


def optimization_barrier(operand: Any) -> Any:
    """The tree `operand` with the same arrays. While a program is simplified, what is computed from them is not taken
    to be what is computed from the operand. Derivatives pass through."""
    return tree.map(
        lambda x: x if type(x) in _PYTHON else wrap(_barrier(to_raw(x, "an operand"), tag=_TAG)), operand
    )


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The `k` largest along an axis, largest first, and their positions. They are found exactly, as by `top_k`."""
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The `k` least along an axis, least first, and their positions. They are found exactly."""
    operand = tnp.asarray(operand)
    # The negative of the least integer is itself, and of unsigned ones 0 would stay the least.
    turned = tnp.negative if operand.dtype.kind == "f" else tnp.invert
    values, places = top_k(turned(operand), k, axis=reduction_dimension)
    return turned(values), places


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """Products of groups of rows of `lhs` (m, k), each with its matrix of `rhs` (g, k, n): shape (m, n).

    The first `group_sizes[0]` rows are multiplied by `rhs[0]`, and so on; rows that belong to no group give 0. One
    product of all rows is done for each group.

    Raises:
        ShapeError: the shapes do not fit.
    """
    lhs, rhs, sizes = (tnp.asarray(x) for x in (lhs, rhs, group_sizes))
    if lhs.ndim != 2 or rhs.ndim != 3 or lhs.shape[1] != rhs.shape[1] or sizes.shape != rhs.shape[:1]:
        problem = f"shapes {lhs.shape}, {rhs.shape} and {sizes.shape} are not (m, k), (g, k, n) and (g,)"
        raise ShapeError(op="ragged_dot", problem=problem)
    dtype = preferred_element_type or np.result_type(lhs.dtype, rhs.dtype)
    row = np.arange(lhs.shape[0])
    ends = tnp.cumsum(sizes)

    def add(out: Any, group: Any) -> Any:
        matrix, first, end = group
        own = tnp.where(((row >= first) & (row < end))[:, None], lhs, lhs.dtype.type(0))
        return out + (own @ matrix).astype(dtype), None

    return scan(add, tnp.zeros((lhs.shape[0], rhs.shape[2]), dtype), (rhs, ends - sizes, ends))[0]


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """The function for the platform "cpu", else `default`, of the arguments.

    Raises:
        ArgumentError: there is none.
    """
    chosen = per_platform.get("cpu", default)
    if chosen is None:
        problem = f"there are functions for {', '.join(per_platform) or 'no platform'} only, and no default"
        raise ArgumentError(name="platform_dependent", problem=problem)
    return call_user(chosen, *args)


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """`decomposition` itself: no operation of this name is known, so that it is compiled as it is."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return call_user(decomposition, *args, **kwargs)

    return call


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """`x` with axes of length 1 in front, so that it has `rank` axes. Raises ShapeError if it has more."""
    x = tnp.asarray(x)
    if x.ndim > rank:
        raise ShapeError(op="broadcast_to_rank", problem=f"the array has {x.ndim} axes, more than {rank}")
    return x.reshape((1,) * (rank - x.ndim) + x.shape)
