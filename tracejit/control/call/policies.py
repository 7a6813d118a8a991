"""Policies for `checkpoint`, and names for values that policies speak of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.errors import ArgumentTypeError
from tracejit.ir.primitive import LINEAR, Op
from tracejit.ops.building import helpers
from tracejit.ops.building import identities as ids
from tracejit.records import record
from tracejit.tracing import is_tracing, to_raw, wrap

#: `(op, *avals, **params) -> bool`. If it has the attribute `refuses`, a no to a name is a no to the value.
Policy = Callable[..., bool]


@record(frozen=True)
class Budget:
    """The policy to keep what makes a derivative cheapest that needs at most `memory` bytes."""

    memory: int

    @staticmethod
    def of(policy: Any, memory: Any) -> Budget:
        """The policy of `checkpoint(policy="auto", memory=...)`. Raises ArgumentTypeError."""
        if policy not in (None, "auto"):
            raise ArgumentTypeError(name="checkpoint", problem="`memory` goes with policy='auto' only")
        if isinstance(memory, bool) or not isinstance(memory, (int, np.integer)) or memory < 0:
            problem = f"policy='auto' needs `memory`, a number of bytes, not {memory!r}"
            raise ArgumentTypeError(name="checkpoint", problem=problem)
        return Budget(int(memory))


@record(frozen=True)
class Spilled:
    """The policy to keep everything, the states of loops in files."""


@record(frozen=True)
class Planned:
    """The policy of what a plan has given: further derivatives keep nothing. It says what the plan is, for `explain`.

    `memory`: the budget; `bytes`: what the derivative needs; `kept`: (operation and type, line, bytes) of each value
    that is kept; `again`: operations outside of these loops that are done twice; `share`: the cost of all that is done
    again over that of the function; `loops`: of each loop with a schedule, how many states are kept at a time, how many
    steps are linearized at once, and how often one is done again.
    """

    function: str
    memory: int
    bytes: int
    kept: tuple[tuple[str, str, int], ...]
    again: int
    share: float
    loops: tuple[tuple[int, int, float], ...]

    def __call__(self, op: Op, *avals: Any, **params: Any) -> bool:
        """Whether a further derivative keeps a result."""
        return False


name_value = helpers.pointwise(
    "name",
    "the operand, under a name for checkpoint policies",
    lambda x, name: x,
    kernel=lambda k, x, name: x,
    derivatives=LINEAR,
    kinds="biufc",
    transpose=lambda ct, x, name: [ct],
    simplify=(ids.unchanged(lambda e: True),),
)


def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, a tree of arrays, with a name that checkpoint policies can speak of."""
    if not is_tracing():
        return x
    return tree.map(lambda leaf: wrap(name_value(to_raw(leaf), name=name)), x)


def _named(op: Op, params: dict[str, Any]) -> str | None:
    return params["name"] if op is name_value.op else None


class checkpoint_policies:
    """Ready-made policies for `checkpoint`: which results are kept for the derivative.

    A policy is a function `(op, *avals, **params) -> bool`, asked of every operation of the function.
    """

    @staticmethod
    def everything_saveable(op: Op, *_: Any, **__: Any) -> bool:
        """Keep every value, as without checkpoint."""
        return True

    @staticmethod
    def nothing_saveable(op: Op, *_: Any, **__: Any) -> bool:
        """Keep inputs only; the default."""
        return False

    @staticmethod
    def dots_saveable(op: Op, *_: Any, **__: Any) -> bool:
        """Keep matrix products."""
        return op.name == "dot_general"

    @staticmethod
    def dots_with_no_batch_dims_saveable(op: Op, *_: Any, **params: Any) -> bool:
        """Keep matrix products without batch axes: those with weights."""
        return op.name == "dot_general" and not params["dimension_numbers"][1][0]

    checkpoint_dots = dots_saveable
    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    @functools.cache
    def save_only_these_names(*names: str) -> Policy:
        """Keep what `checkpoint_name` gave one of these names."""
        return lambda op, *_, **params: _named(op, params) in names

    @staticmethod
    @functools.cache
    def save_any_names_but_these(*names: str) -> Policy:
        """Keep what `checkpoint_name` gave another name than these, and nothing without a name."""
        return lambda op, *_, **params: _named(op, params) not in (None, *names)

    @staticmethod
    @functools.cache
    def save_anything_except_these_names(*names: str) -> Policy:
        """Keep every value but those that `checkpoint_name` gave one of these names."""

        def policy(op: Op, *_: Any, **params: Any) -> bool:
            return _named(op, params) not in names

        policy.refuses = True  # type: ignore[attr-defined]
        return policy

    @staticmethod
    @functools.cache
    def save_from_both_policies(first: Policy, second: Policy) -> Policy:
        """Keep what one of the two policies keeps."""
        return lambda op, *avals, **params: first(op, *avals, **params) or second(op, *avals, **params)
