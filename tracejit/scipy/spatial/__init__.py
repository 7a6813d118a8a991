"""`scipy.spatial` for traced values: its `distance`."""

from typing import Any

from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.scipy.hosting.calls import other as _other
from tracejit.scipy.spatial import distance

__all__ = ["distance"]


def __getattr__(name: str) -> Any:
    """SciPy's other names."""
    return _other(lambda: _scipy_module("spatial"), name)
