"""`scipy.cluster.hierarchy` for traced values: SciPy's own code, over forms of its compiled functions."""

from __future__ import annotations

from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.scipy.lazily import Part as _Part
from tracejit.scipy.written import linkages as _linkages
from tracejit.scipy.written import trees as _trees

__all__: list[str] = []

_PART = _Part("scipy.cluster.hierarchy", lambda: _scipy_module("cluster.hierarchy"))
_PART.written(
    "_hierarchy",
    _trees.calculate_cluster_sizes,
    _trees.cluster_dist,
    _trees.cluster_in,
    _trees.cluster_maxclust_dist,
    _trees.cluster_maxclust_monocrit,
    _trees.cluster_monocrit,
    _trees.cophenetic_distances,
    _trees.get_max_Rfield_for_each_cluster,
    _trees.get_max_dist_for_each_cluster,
    _linkages.fast_linkage,
    _trees.inconsistent,
    _linkages.mst_single_linkage,
    _linkages.nn_chain,
    _trees.prelist,
)

__getattr__, __dir__ = _PART.others(__all__)
