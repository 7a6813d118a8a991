"""Colouring of sparsity patterns: columns (or rows) that share a colour are computed in one derivative.

Greedy, the largest first; see A. H. Gebremedhin, F. Manne, A. Pothen, "What color is your Jacobian?",
SIAM Review 47 (2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np


def color_columns(pattern: Any) -> np.ndarray:
    """A colour for each column of a sparse pattern, such that no row has two columns of one colour."""
    by_column = pattern.tocsc()
    starts, rows = by_column.indptr, by_column.indices
    taken: list[set[int]] = [set() for _ in range(pattern.shape[0])]
    colors = np.zeros(pattern.shape[1], np.int64)
    for j in np.argsort(-np.diff(starts), kind="stable"):
        mine = rows[starts[j] : starts[j + 1]]
        forbidden: set[int] = set().union(*(taken[r] for r in mine))
        colors[j] = _first_free(forbidden)
        for r in mine:
            taken[r].add(int(colors[j]))
    return colors


def _first_free(forbidden: set[int]) -> int:
    color = 0
    while color in forbidden:
        color += 1
    return color


def color_symmetric(pattern: Any) -> np.ndarray:
    """A star colouring of a symmetric pattern: neighbours differ, and every path over four columns has
    three colours. Then each entry can be read off in its column or, by symmetry, in its row."""
    n = pattern.shape[0]
    rows = pattern.tocsr()
    if 4 * rows.nnz > n * n:  # too dense for colours to be shared
        return np.arange(n)
    starts = rows.indptr
    near = [[int(w) for w in rows.indices[starts[v] : starts[v + 1]] if w != v] for v in range(n)]
    colors = [-1] * n
    around: list[dict[int, int]] = [{} for _ in range(n)]  # how many neighbours have a colour
    for v in sorted(range(n), key=lambda v: -len(near[v])):
        forbidden: set[int] = set()
        for w in near[v]:
            if colors[w] >= 0:
                forbidden.add(colors[w])
            for x in near[w]:
                if x == v or colors[x] < 0:
                    continue
                if colors[w] < 0 or around[x].get(colors[w], 0) > 1:
                    forbidden.add(colors[x])
        colors[v] = _first_free(forbidden)
        for w in near[v]:
            around[w][colors[v]] = around[w].get(colors[v], 0) + 1
    return np.array(colors, np.int64)


def symmetric_sources(pattern: Any, colors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each entry (i, j) of a CSR pattern, (row, colour) of the compressed matrix where it stands alone."""
    csr = pattern.tocsr()
    out_rows, out_colors = [], []
    for i in range(csr.shape[0]):
        mine = csr.indices[csr.indptr[i] : csr.indptr[i + 1]]
        count = np.bincount(colors[mine], minlength=int(colors.max(initial=0)) + 1)
        alone = count[colors[mine]] == 1
        out_rows.append(np.where(alone, i, mine))
        out_colors.append(np.where(alone, colors[mine], colors[i]))
    empty = np.zeros(0, np.int64)
    return np.concatenate([empty, *out_rows]), np.concatenate([empty, *out_colors])
