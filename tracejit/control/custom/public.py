"""Functions with rules of their own: derivatives, transposes, batching."""

from __future__ import annotations

from tracejit.control.custom.convert import closure_convert, custom_gradient
from tracejit.control.custom.jvp import custom_jvp
from tracejit.control.custom.linear_call import linear_call
from tracejit.control.custom.vjp import custom_vjp
from tracejit.control.custom.vmap import custom_vmap, sequential_vmap
from tracejit.control.custom.zeros import CustomVJPPrimal, SymbolicZero, zero_from_primal

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vmap",
    "linear_call",
    "sequential_vmap",
    "zero_from_primal",
]
