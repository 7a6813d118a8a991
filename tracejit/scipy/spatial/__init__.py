"""`scipy.spatial` for traced values: trees of points, `distance`, `transform`."""

from tracejit.scipy.spatial import distance, transform
from tracejit.scipy.spatial.neighbours import PART as _PART
from tracejit.scipy.spatial.neighbours import KDTree, cKDTree

__all__ = ["KDTree", "cKDTree", "distance", "transform"]

__getattr__, __dir__ = _PART.others(__all__)
