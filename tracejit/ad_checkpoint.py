"""What derivatives keep: `jax.ad_checkpoint` for NumPy programs."""

from __future__ import annotations

from tracejit.api.autodiff.residuals import SavedResidual, print_saved_residuals, saved_residuals
from tracejit.control.call.checkpoint import checkpoint, checkpoint_name, checkpoint_policies, remat
from tracejit.docstrings import complete as _complete

__all__ = [
    "SavedResidual",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
]

_complete(__name__)
_complete("tracejit", globals())
