"""`scipy.spatial` for traced values: its `distance`."""

from typing import Any

from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.scipy.spatial import distance

__all__ = ["distance"]


def __getattr__(name: str) -> Any:
    """SciPy's other names, for values that are not traced."""
    if name.startswith("__") or not hasattr(_scipy_module("spatial"), name):
        raise AttributeError(f"neither scipy.spatial nor tracejit.scipy.spatial has {name!r}")
    return getattr(_scipy_module("spatial"), name)
