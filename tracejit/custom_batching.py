"""Batching of one's own: `jax.custom_batching` for NumPy programs."""

from __future__ import annotations

from tracejit.control.custom.public import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
