"""Functions of graphs (`scipy.sparse.csgraph`), which the program calls: SciPy's own, of weights that are traced.

Where the edges of a sparse graph are is known while tracing. A dense graph is an array like others. The derivative of a
distance is that of the sum of the weights on the path that was found.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.control.custom.jvp import custom_jvp
from tracejit.numpy.dispatch import LIBRARIES
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.hosting import calls
from tracejit.scipy.hosting.following import copy_of
from tracejit.scipy.sparse.forms import known
from tracejit.scipy.sparse.solving import is_sparse
from tracejit.tracing import Box, call_user, is_tracing

_NAMES = (
    *("bellman_ford", "breadth_first_order", "connected_components", "construct_dist_matrix"),
    *("csgraph_from_dense", "csgraph_to_dense", "depth_first_order", "dijkstra", "floyd_warshall", "johnson"),
    *("maximum_bipartite_matching", "min_weight_full_bipartite_matching", "minimum_spanning_tree"),
    *("reconstruct_path", "reverse_cuthill_mckee", "shortest_path", "structural_rank", "yen"),
)
#: Those whose first result are distances between all vertices, and which can tell the paths.
_DISTANCES = frozenset(("bellman_ford", "dijkstra", "floyd_warshall", "johnson", "shortest_path"))


#: Families of samples without negative weights, for which some of the functions never end.
_FAMILIES = 3


class _OfEdges:
    """SciPy's function `name` of a sparse graph, as a function of the weights of its edges."""

    def __init__(self, name: str, indices: Any, indptr: Any, shape: tuple[int, ...]) -> None:
        self.name = name
        self.indices, self.indptr, self.shape = indices, indptr, shape

    def _key(self) -> Any:
        return self.name, id(self.indices), id(self.indptr), self.shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _OfEdges) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        made = scipy_module("sparse").csr_array((data, self.indices, self.indptr), shape=self.shape)
        return _scipys(self.name)(made, *args, **kwargs)


def _scipys(name: str) -> Any:
    return getattr(scipy_module("sparse.csgraph"), name)


def _form(name: str) -> Callable[..., Any]:
    function = _scipys(name)

    @functools.wraps(function, updated=())
    def call(graph: Any, *args: Any, **kwargs: Any) -> Any:
        sparse = is_sparse(graph)
        weights = graph.tocsr().data if sparse and is_tracing() else graph
        if type(weights) is not Box:
            return function(graph, *args, **kwargs)
        host: Any = function
        if sparse:
            rows = graph.tocsr()
            host = _OfEdges(name, np.asarray(known(rows.indices)), np.asarray(known(rows.indptr)), rows.shape)
        if name in _DISTANCES:
            found = _distances(name, host, weights, args, kwargs)
        else:
            found = calls.called(host, f"scipy.sparse.csgraph.{name}", (weights, *args), kwargs, _FAMILIES)
        return function(graph, *args, **kwargs) if found is calls.NOT_TAKEN else found

    return call


class _NotTaken(Exception):
    """SciPy's function can't be called by a program."""


def _distances(name: str, host: Any, weights: Any, args: Any, kwargs: Any) -> Any:
    given = inspect.signature(_scipys(name)).bind(None, *args, **kwargs).arguments
    directed, told = given.get("directed", True), given.get("return_predecessors", False)

    def called(w: Any, **more: Any) -> Any:
        options = {k: v for k, v in given.items() if k != "csgraph"} | more
        found = calls.called(host, f"scipy.sparse.csgraph.{name}", (w,), options, _FAMILIES)
        if found is calls.NOT_TAKEN:
            raise _NotTaken
        return found

    @custom_jvp
    def found(w: Any) -> Any:
        return called(w)

    @found.defjvp
    def _slopes(primals: Any, tangents: Any) -> Any:
        (w,), (dw,) = primals, tangents
        out = called(w, return_predecessors=True)
        distances, before = out[:2]
        if given.get("unweighted", False):
            moved = tnp.zeros_like(distances)
        else:
            moved = _along(_edges(host, w, before, directed)(dw), before)
        if not told:
            return distances, moved
        return out, (moved, *(tnp.zeros_like(x) for x in out[1:]))

    try:
        return found(weights.astype(float))
    except _NotTaken:
        return calls.NOT_TAKEN


def _edges(host: Any, w: Any, before: Any, directed: bool) -> Callable[[Any], Any]:
    """The linear function from changes of the weights to those of the last edge to each vertex, which comes from the
    vertex `before` it (negative where there is none)."""
    n = before.shape[-1]
    start, end = tnp.maximum(before, 0).astype(np.int64), tnp.broadcast_to(np.arange(n), before.shape)
    if isinstance(host, _OfEdges):
        rows = np.repeat(np.arange(n), np.diff(host.indptr))
        numbers = rows * n + host.indices
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]

        def place(i: Any, j: Any) -> tuple[Any, Any]:
            at = tnp.minimum(tnp.searchsorted(ordered, i * n + j), ordered.size - 1)
            return tnp.take(order, at), tnp.take(ordered, at) == i * n + j
    else:
        w = w.reshape(-1)

        def place(i: Any, j: Any) -> tuple[Any, Any]:
            at = i * n + j
            return at, tnp.isfinite(w[at]) & (w[at] != 0)

    at, there = place(start, end)
    if not directed:
        back, other = place(end, start)
        at = tnp.where(there & (~other | (w[at] <= w[back])), at, back)
    reached = before >= 0
    return lambda dw: tnp.where(reached, dw.reshape(-1)[at], 0.0)


def _along(lengths: Any, before: Any) -> Any:
    """The sum of the `lengths` of the edges on the way to each vertex: of twice as many edges in each round."""
    n = before.shape[-1]
    end = np.full((*before.shape[:-1], 1), n)
    step = tnp.concatenate([tnp.where(before >= 0, before, n).astype(np.int64), end], axis=-1)
    total = tnp.concatenate([lengths, tnp.zeros(end.shape)], axis=-1)
    for _ in range(max(1, int(n - 1).bit_length())):
        total = total + tnp.take_along_axis(total, step, axis=-1)
        step = tnp.take_along_axis(step, step, axis=-1)
    return total[..., :-1]


def _laplacian(function: Any) -> Callable[..., Any]:
    """`laplacian` is Python code, which is followed."""
    own = copy_of(function)

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return call_user(own, *args, **kwargs) if is_tracing() else function(*args, **kwargs)

    return call


def _entries(module: Any) -> dict[Any, Callable[..., Any]]:
    entries = {getattr(module, name): _form(name) for name in _NAMES if hasattr(module, name)}
    return entries | {module.laplacian: _laplacian(module.laplacian)}


LIBRARIES["scipy.sparse.csgraph"] = _entries
