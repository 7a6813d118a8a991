"""Batching of one's own: `jax.custom_batching` for NumPy programs."""

from __future__ import annotations

from tracejit.control.custom.public import custom_vmap, sequential_vmap
from tracejit.docstrings import complete as _complete

__all__ = ["custom_vmap", "sequential_vmap"]

_complete(__name__)
