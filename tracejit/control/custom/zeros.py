"""Tangents and cotangents as users' rules get them: what rules with `symbolic_zeros=True` see of values that are not
differentiated, and where arrays are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.ir.values import Value, Zero
from tracejit.lazily import LazyModule
from tracejit.ops.building import helpers
from tracejit.records import record
from tracejit.tracing import to_raw, wrap

_eager: Any = LazyModule("tracejit.interpreters.jit_cuda.eager")


class SymbolicZero:
    """A tangent or cotangent that is known to be zero: no array, only its `shape` and `dtype`."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


@tree.register_leaf
@record(frozen=True)
class CustomVJPPrimal:
    """A leaf of the arguments of a `fwd` rule with symbolic zeros: its `value`, and whether a derivative
    with respect to it is being taken."""

    value: Any
    perturbed: bool


def zero_from_primal(x: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangents of a tree of values: arrays (float0 ones for integers), or `SymbolicZero`s."""

    def zero(leaf: Any) -> Any:
        aval = aval_of(to_raw(leaf)).tangent()
        return SymbolicZero(aval) if symbolic_zeros else wrap(helpers.instantiate(Zero(aval)))

    return tree.map(zero, x)


def zero_or(t: Any, symbolic: bool) -> Any:
    """A raw tangent for a user's rule: a known zero as a `SymbolicZero` or as an array of zeros."""
    if type(t) is not Zero:
        return t
    return SymbolicZero(t.aval) if symbolic else helpers.instantiate(t)


def tangents_for(values: Sequence[Any], ts: Sequence[Any], symbolic: bool) -> list[Any]:
    """Raw tangents or cotangents for a user's rule, on the device that raw `values` which it gets are on: what NumPy
    makes of one would not go with the others."""
    there = next(filter(is_elsewhere, values), None)
    return [zero_or(t if symbolic and type(t) is Zero else beside(there, t), symbolic) for t in ts]


def beside(x: Any, derivative: Any) -> Any:
    """A derivative, given as a raw value or a Zero, on the device that `x` is on, if it is on one."""
    if not is_elsewhere(x) or is_elsewhere(derivative):
        return derivative
    made = helpers.instantiate(derivative)
    return made if isinstance(made, Value) or made.dtype == dtypes.float0 else _eager.beside(x, made)
