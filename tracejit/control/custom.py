"""`custom_jvp` and `custom_vjp`: functions with derivative rules of their own."""

from __future__ import annotations

from tracejit.control.custom_jvp import custom_jvp
from tracejit.control.custom_vjp import custom_vjp

__all__ = ["custom_jvp", "custom_vjp"]
