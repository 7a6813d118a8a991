"""Names of `jax.experimental` that programs import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.control.callbacks.ops import io_callback
from tracejit.lazily import parts as _parts

if TYPE_CHECKING:
    from tracejit.experimental import ode

__all__ = ["io_callback", "ode"]
__getattr__, __dir__ = _parts(__name__, ["ode"])
