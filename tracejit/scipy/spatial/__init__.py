"""`scipy.spatial` for traced values: its `distance` and `transform`."""

from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.scipy.hosting.calls import others as _others
from tracejit.scipy.spatial import distance, transform

__all__ = ["distance", "transform"]

__getattr__, __dir__ = _others(__name__, lambda: _scipy_module("spatial"), __all__)
