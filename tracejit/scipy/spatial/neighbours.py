"""`scipy.spatial`'s trees of points for traced values. SciPy, called by the program, finds which points are nearest;
how far they are is computed here, with derivatives."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.hosting import calls
from tracejit.scipy.hosting.likeness import Like, refuse
from tracejit.scipy.lazily import Part

PART = Part("scipy.spatial", lambda: scipy_module("spatial"))
_KEPT = 4
#: The last trees that were made.
_trees: list[Any] = []


class _Like(Like):
    """The class of the classes of `scipy.spatial`."""

    part = "spatial"


def _tree(data: np.ndarray) -> Any:
    """A tree of these points, one of those made before where there is one."""
    for tree in _trees:
        if np.array_equal(tree.data, data):
            return tree
    tree = scipy_module("spatial").cKDTree(data, copy_data=True)
    _trees[:] = [tree, *_trees[: _KEPT - 1]]
    return tree


def nearest_points(data: Any, x: Any, k: Any, eps: Any, p: Any, bound: Any) -> Any:
    """The numbers of the `k` points of `data` that are nearest to each of `x`."""
    return _tree(data).query(x, list(range(1, k + 1)), eps, p, bound)[1]


class KDTree(metaclass=_Like):
    """Points (n, m), of which the nearest ones to others can be asked for."""

    data: Any

    def __init__(
        self, data: Any, leafsize: int = 10, compact_nodes: bool = True, copy_data: bool = False,
        balanced_tree: bool = True, boxsize: Any = None,
    ) -> None:  # fmt: skip
        if boxsize is not None:
            refuse(type(self).__name__, "`boxsize`", "make the tree outside, and call it there")
        data = tnp.asarray(data)
        if data.dtype.kind == "c":
            raise TypeError("KDTree does not work with complex data")
        if data.ndim != 2:
            raise ValueError("data must be 2 dimensions")
        self.data = data.astype(float)

    @property
    def n(self) -> int:
        """How many points there are."""
        return self.data.shape[0]

    @property
    def m(self) -> int:
        """How many coordinates a point has."""
        return self.data.shape[1]

    def query(
        self, x: Any, k: Any = 1, eps: Any = 0.0, p: Any = 2.0, distance_upper_bound: Any = np.inf,
        workers: int = 1,
    ) -> tuple[Any, Any]:  # fmt: skip
        """How far the nearest points are, and which; infinity and `n` where there is none within the bound. `k`, `eps`
        and `p` are known while tracing."""
        at = tnp.asarray(x).astype(float)
        if at.shape[-1:] != (self.m,):
            raise ValueError(f"x must consist of vectors of length {self.m} but has shape {tuple(at.shape)}")
        chosen = list(range(1, operator.index(k) + 1)) if np.ndim(k) == 0 else [operator.index(n) for n in k]
        if not chosen or min(chosen) < 1:
            raise ValueError("k must be an integer or a sequence of integers")
        rows = at.reshape(-1, self.m)
        still = [
            lax.stop_gradient(v)
            for v in (self.data, rows, tnp.asarray(distance_upper_bound).astype(float)[()])
        ]
        found = calls.called(
            nearest_points,
            "scipy.spatial.cKDTree.query",
            (still[0], still[1], max(chosen), eps, p, still[2]),
            {},
        )
        if found is calls.NOT_TAKEN:
            raise ArgumentError(name="cKDTree.query", problem="these arguments have no traced form")
        found = found[:, [n - 1 for n in chosen]]
        none = found == self.n
        apart = rows[:, None, :] - self.data[tnp.where(none, 0, found)]
        far = tnp.where(none, np.inf, _lengths(tnp.where(none[..., None], 1.0, apart), p))
        one = np.ndim(k) == 0 and len(chosen) == 1
        shape = (*at.shape[:-1], *(() if one else (len(chosen),)))
        far, found = far.reshape(shape), found.reshape(shape)
        return (far, found) if shape else (far[()], found[()])

    def query_ball_point(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: how many there are depends on values."""
        refuse("KDTree.query_ball_point", "lists whose lengths depend on values", "compare distances")

    query_ball_tree = query_pairs = count_neighbors = sparse_distance_matrix = query_ball_point


class cKDTree(KDTree):
    """SciPy's older name of `KDTree`."""


def _lengths(v: Any, p: Any) -> Any:
    """Of vectors along the last axis; its slopes at zero are zero."""
    size = tnp.abs(v)
    if p == np.inf:
        return tnp.max(size, axis=-1)
    if p == 1:
        return tnp.sum(size, axis=-1)
    if p < 1:
        raise ValueError("Only p-norms with 1<=p<=infinity permitted")
    total = tnp.sum(size**p, axis=-1)
    none = total == 0
    total = tnp.where(none, 1.0, total)
    return tnp.where(none, 0.0, tnp.sqrt(total) if p == 2 else total ** (1 / p))


PART.names.update({c.__name__: c for c in (KDTree, cKDTree)})
