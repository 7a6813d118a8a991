"""Derivatives of one's own: `jax.custom_derivatives` for NumPy programs."""

from __future__ import annotations

from tracejit.control.custom.public import (
    CustomVJPPrimal,
    SymbolicZero,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    linear_call,
    zero_from_primal,
)
from tracejit.docstrings import complete as _complete

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "linear_call",
    "zero_from_primal",
]

_complete(__name__)
_complete("tracejit", globals())
