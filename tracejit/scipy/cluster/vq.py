"""`scipy.cluster.vq` for traced values: the nearest codes of observations, and k-means. Other names are SciPy's."""

from __future__ import annotations

from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.scipy.cluster import means as _means
from tracejit.scipy.lazily import Part as _Part

__all__ = ["kmeans", "kmeans2", "vq"]

_PART = _Part("scipy.cluster.vq", lambda: _scipy_module("cluster.vq"))
kmeans = _PART.function(_means.kmeans)
kmeans2 = _PART.function(_means.kmeans2)
vq = _PART.function(_means.vq)

__getattr__, __dir__ = _PART.others(__all__)
