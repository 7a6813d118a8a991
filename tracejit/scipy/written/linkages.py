"""Linkages: the table of merges of `scipy.cluster.hierarchy` (see `trees`), from the distances of all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

#: SciPy's codes of methods.
_SINGLE, _COMPLETE, _AVERAGE, _CENTROID, _MEDIAN, _WARD = 0, 1, 2, 3, 4, 5


def place(n: Any, i: Any, j: Any) -> Any:
    """Where the distance of i and j is among the distances of all pairs of n."""
    a = np.minimum(i, j)
    return n * a - a * (a + 1) // 2 + np.maximum(i, j) - a - 1


def _joined(method: Any, dx: Any, dy: Any, dxy: Any, nx: Any, ny: Any, nz: Any) -> Any:
    """The distance of z to x and y together, by its distances to both, that of these, and their sizes."""
    if method == _SINGLE:
        return np.minimum(dx, dy)
    if method == _COMPLETE:
        return np.maximum(dx, dy)
    if method == _AVERAGE:
        return (nx * dx + ny * dy) / (nx + ny)
    if method == _CENTROID:
        return np.sqrt((((nx * dx * dx) + (ny * dy * dy)) - (nx * ny * dxy * dxy) / (nx + ny)) / (nx + ny))
    if method == _MEDIAN:
        return np.sqrt(0.5 * (dx * dx + dy * dy) - 0.25 * dxy * dxy)
    if method == _WARD:
        t = 1.0 / (nx + ny + nz)
        return np.sqrt((nz + nx) * t * dx * dx + (nz + ny) * t * dy * dy - nz * t * dxy * dxy)
    return 0.5 * (dx + dy)


def _numbered(merges: Any, n: int) -> Any:
    """The table of merges in their order: rows name an observation of each of the two clusters until then."""
    order = np.argsort(merges[:, 2], kind="stable")
    table = merges[order]
    parent = np.arange(2 * n - 1)
    size = np.ones(2 * n - 1, dtype=np.int64)
    for i in range(n - 1):
        x = np.int64(table[i, 0])
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        y = np.int64(table[i, 1])
        while parent[y] != y:
            parent[y] = parent[parent[y]]
            y = parent[y]
        parent[x] = n + i
        parent[y] = n + i
        size[n + i] = size[x] + size[y]
        table[i, 0] = np.minimum(x, y)
        table[i, 1] = np.maximum(x, y)
        table[i, 3] = size[n + i]
    return table


def mst_single_linkage(dists: Any, n: int) -> Any:
    """Single linkage: the edges of the least spanning tree."""
    merges = np.zeros((n - 1, 4))
    used = np.zeros(n, dtype=bool)
    near = np.full(n, np.inf)
    x = np.int64(0)
    for k in range(n - 1):
        used[x] = True
        least = np.float64(np.inf)
        y = np.int64(0)
        for i in range(n):
            if not used[i]:
                near[i] = np.minimum(near[i], dists[place(n, x, i)])
                if near[i] < least:
                    least = near[i]
                    y = np.int64(i)
        merges[k, 0] = x
        merges[k, 1] = y
        merges[k, 2] = least
        x = y
    return _numbered(merges, n)


def nn_chain(dists: Any, n: int, method: int) -> Any:
    """Linkage by chains of nearest neighbours, until two are nearest to each other."""
    merges = np.zeros((n - 1, 4))
    d = np.array(dists)
    size = np.ones(n, dtype=np.int64)
    chain = np.zeros(n + 1, dtype=np.int64)
    length = 0
    for k in range(n - 1):
        if length == 0:
            chain[0] = np.argmax(size > 0)
            length = 1
        x = np.int64(0)
        y = np.int64(-1)
        least = np.float64(np.inf)
        mutual = False
        while not mutual:
            x = chain[length - 1]
            y = np.int64(-1)
            least = np.float64(np.inf)
            if length > 1:  # the one before stays where another is as near
                y = chain[length - 2]
                least = d[place(n, x, y)]
            for i in range(n):
                if size[i] > 0 and i != x:
                    far = d[place(n, x, i)]
                    if far < least:
                        least = far
                        y = np.int64(i)
            if length > 1 and y == chain[length - 2]:
                mutual = True
            else:
                chain[length] = y
                length += 1
        length -= 2
        a = np.minimum(x, y)
        b = np.maximum(x, y)
        na = size[a]
        nb = size[b]
        merges[k, 0] = a
        merges[k, 1] = b
        merges[k, 2] = least
        size[a] = 0
        size[b] = na + nb
        for i in range(n):
            if size[i] > 0 and i != b:
                p = place(n, i, b)
                d[p] = _joined(method, d[place(n, i, a)], d[p], least, na, nb, size[i])
    return _numbered(merges, n)


def _nearest(n: int, d: Any, size: Any, x: Any) -> tuple[Any, Any]:
    """The nearest cluster of a larger number than x, -1 if there is none, and its distance."""
    least = np.float64(np.inf)
    y = np.int64(-1)
    for i in range(x + 1, n):
        if size[i] > 0 and d[place(n, x, i)] < least:
            least = d[place(n, x, i)]
            y = np.int64(i)
    return y, least


def _swap(heap: Any, where: Any, i: Any, j: Any) -> None:
    a = np.int64(heap[i])
    b = np.int64(heap[j])
    heap[i] = b
    heap[j] = a
    where[b] = i
    where[a] = j


def _sink(heap: Any, where: Any, value: Any, size: Any, i: Any) -> None:
    """Move the element at place i of a heap (of keys, whose values are in `value`) down to where it belongs."""
    at = np.int64(i)
    moving = True
    while moving:
        child = 2 * at + 1
        if child + 1 < size and value[heap[child + 1]] < value[heap[child]]:
            child += 1
        moving = False
        if child < size and value[heap[at]] > value[heap[child]]:
            _swap(heap, where, at, child)
            at = child
            moving = True


def _change(heap: Any, where: Any, value: Any, size: Any, key: Any, to: Any) -> None:
    """Give a key of a heap another value, and move it to where it belongs."""
    before = np.float64(value[key])
    value[key] = to
    at = np.int64(where[key])
    if to < before:
        while at > 0 and value[heap[(at - 1) // 2]] > value[heap[at]]:
            _swap(heap, where, at, (at - 1) // 2)
            at = (at - 1) // 2
    else:
        _sink(heap, where, value, size, at)


def fast_linkage(dists: Any, n: int, method: int) -> Any:
    """Linkage where a merge may bring clusters nearer: a heap of lower bounds of each cluster's distance to the nearest
    one of a larger number."""
    table = np.zeros((n - 1, 4))
    d = np.array(dists)
    size = np.ones(n, dtype=np.int64)
    name = np.arange(n)
    neighbour = np.zeros(n - 1, dtype=np.int64)
    bound = np.zeros(n - 1)
    heap = np.arange(n - 1)
    where = np.arange(n - 1)
    for x in range(n - 1):
        neighbour[x], bound[x] = _nearest(n, d, size, x)
    for i in range((n - 1) // 2):
        _sink(heap, where, bound, n - 1, (n - 1) // 2 - 1 - i)
    for k in range(n - 1):
        count = n - 1 - k  # in the heap
        x = np.int64(heap[0])
        tries = 0
        # No more than n - k times: distances that are no numbers would never fit.
        while tries < n - k and bound[x] != d[place(n, x, neighbour[x])]:
            y, least = _nearest(n, d, size, x)
            neighbour[x] = y
            _change(heap, where, bound, count, x, least)
            x = np.int64(heap[0])
            tries += 1
        y = np.int64(neighbour[x])
        least = np.float64(bound[x])
        _swap(heap, where, 0, count - 1)
        _sink(heap, where, bound, count - 1, 0)
        nx = size[x]
        ny = size[y]
        table[k, 0] = np.minimum(name[x], name[y])
        table[k, 1] = np.maximum(name[x], name[y])
        table[k, 2] = least
        table[k, 3] = nx + ny
        size[x] = 0
        size[y] = nx + ny
        name[y] = n + k
        for z in range(n):
            if size[z] > 0 and z != y:
                p = place(n, z, y)
                d[p] = _joined(method, d[place(n, z, x)], d[p], least, nx, ny, size[z])
        for z in range(x):
            if size[z] > 0 and neighbour[z] == x:
                neighbour[z] = y
        for z in range(y):
            if size[z] > 0 and d[place(n, z, y)] < bound[z]:
                neighbour[z] = y
                _change(heap, where, bound, count - 1, z, d[place(n, z, y)])
        if y < n - 1:
            z, least = _nearest(n, d, size, y)
            if z != -1:
                neighbour[y] = z
                _change(heap, where, bound, count - 1, y, least)
    return table
