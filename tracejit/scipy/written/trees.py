"""Trees of clusters: what `scipy.cluster.hierarchy` computes from the table of merges.

A row of the table `Z` has the numbers of the two clusters that are merged, their distance, and how many observations
there are in both. Clusters below n are the observations, n + i is the one that row i makes, after its parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.scipy.written.linkages import place


def calculate_cluster_sizes(Z: Any, sizes: Any, n: int) -> None:
    """How many observations are in each cluster."""
    for i in range(n - 1):
        for side in range(2):
            child = np.int64(Z[i, side])
            if child >= n:
                sizes[i] += sizes[child - n]
            else:
                sizes[i] += 1


def _largest(Z: Any, own: Any, largest: Any, n: int) -> None:
    """The largest value of `own` in each cluster and those that it is made of."""
    for i in range(n - 1):
        value = own[i]
        for side in range(2):
            child = np.int64(Z[i, side])
            if child >= n and largest[child - n] > value:
                value = largest[child - n]
        largest[i] = value


def get_max_dist_for_each_cluster(Z: Any, largest: Any, n: int) -> None:
    """The largest distance of merges in each cluster."""
    _largest(Z, Z[:, 2], largest, n)


def get_max_Rfield_for_each_cluster(Z: Any, R: Any, largest: Any, n: int, field: int) -> None:
    """The largest statistic of a column of R in each cluster."""
    _largest(Z, R[:, field], largest, n)


def inconsistent(Z: Any, R: Any, n: int, d: int) -> None:
    """The mean, deviation and number of the distances of the merges in a cluster, down to d levels; and by how many
    deviations its own is beyond the mean."""
    for i in range(n - 1):
        count = 0
        total = 0.0
        squares = 0.0
        node = np.zeros(n, dtype=np.int64)
        side = np.zeros(n, dtype=np.int64)
        node[0] = i
        level = 0
        while level >= 0:
            at = node[level]
            if level < d - 1 and side[level] < 2:
                child = np.int64(Z[at, side[level]])
                side[level] += 1
                if child >= n:
                    level += 1
                    node[level] = child - n
                    side[level] = 0
            else:
                far = Z[at, 2]
                count += 1
                total += far
                squares += far * far
                level -= 1
        R[i, 0] = total / count
        R[i, 2] = count
        if count < 2:
            spread = (squares - total * total) / count
        else:
            spread = (squares - total * total / count) / (count - 1)
        if spread > 0:
            spread = np.sqrt(spread)
            R[i, 1] = spread
            R[i, 3] = (Z[i, 2] - R[i, 0]) / spread
        else:
            R[i, 1] = 0.0


def prelist(Z: Any, members: Any, n: int) -> None:
    """The observations from left to right."""
    stack = np.zeros(2 * n, dtype=np.int64)
    stack[0] = 2 * n - 2
    top = 0
    found = 0
    while top >= 0:
        node = stack[top]
        top -= 1
        if node < n:
            members[found] = node
            found += 1
        else:
            stack[top + 1] = np.int64(Z[node - n, 1])
            stack[top + 2] = np.int64(Z[node - n, 0])
            top += 2


def cophenetic_distances(Z: Any, d: Any, n: int) -> None:
    """For each pair of observations, the distance at which they come into one cluster."""
    size = np.zeros(n - 1, dtype=np.int64)
    calculate_cluster_sizes(Z, size, n)
    order = np.zeros(n, dtype=np.int64)
    start = np.zeros(2 * n - 1, dtype=np.int64)
    for k in range(n - 1):
        i = n - 2 - k
        left = np.int64(Z[i, 0])
        right = np.int64(Z[i, 1])
        start[left] = start[n + i]
        start[right] = start[n + i] + 1
        if left >= n:
            start[right] = start[n + i] + size[left - n]
    for leaf in range(n):
        order[start[leaf]] = leaf
    for i in range(n - 1):
        middle = start[np.int64(Z[i, 1])]
        for a in range(start[n + i], middle):
            for b in range(middle, start[n + i] + size[i]):
                d[place(n, order[a], order[b])] = Z[i, 2]


def cluster_monocrit(Z: Any, criterion: Any, T: Any, cutoff: Any, n: int) -> None:
    """Flat clusters: the largest ones whose criterion is not above `cutoff`, by number."""
    stack = np.zeros(2 * n, dtype=np.int64)
    within = np.zeros(2 * n, dtype=np.int64)
    stack[0] = 2 * n - 2
    top = 0
    found = 0
    while top >= 0:
        node = stack[top]
        number = within[top]
        top -= 1
        if number == 0 and (node < n or criterion[node - n] <= cutoff):
            found += 1
            number = np.int64(found)
        if node < n:
            T[node] = number
        else:
            left = np.int64(Z[node - n, 0])
            right = np.int64(Z[node - n, 1])
            # Clusters come before observations, and what is left before what is right.
            last = right if right < n or left >= n else left
            stack[top + 1] = last
            stack[top + 2] = left + right - last
            within[top + 1] = number
            within[top + 2] = number
            top += 2


def cluster_dist(Z: Any, T: Any, cutoff: float, n: int) -> None:
    """Flat clusters in which no merge is of a distance above `cutoff`."""
    largest = np.zeros(n)
    _largest(Z, Z[:, 2], largest, n)
    cluster_monocrit(Z, largest, T, cutoff, n)


def cluster_in(Z: Any, R: Any, T: Any, cutoff: float, n: int) -> None:
    """Flat clusters in which no merge is inconsistent by more than `cutoff`."""
    largest = np.zeros(n)
    _largest(Z, R[:, 3], largest, n)
    cluster_monocrit(Z, largest, T, cutoff, n)


def cluster_maxclust_monocrit(Z: Any, criterion: Any, T: Any, n: int, most: int) -> None:
    """Flat clusters by the least cutoff for which there are not more than `most`."""
    if most >= n:
        for i in range(n):
            T[i] = i + 1
    else:
        below = -1
        above = n - 1
        while above - below > 1:
            middle = (below + above) // 2
            cut = np.zeros(n - 1, dtype=bool)
            cut[n - 2] = True
            count = 0
            for k in range(n - 1):
                i = n - 2 - k
                if cut[i] and criterion[i] <= criterion[middle]:
                    count += 1
                elif cut[i]:
                    for side in range(2):
                        child = np.int64(Z[i, side])
                        if child < n:
                            count += 1
                        else:
                            cut[child - n] = True
            if count > most:
                below = middle
            else:
                above = middle
        cluster_monocrit(Z, criterion, T, criterion[above], n)


def cluster_maxclust_dist(Z: Any, T: Any, n: int, most: int) -> None:
    """Flat clusters by distance, not more than `most`."""
    largest = np.zeros(n - 1)
    _largest(Z, Z[:, 2], largest, n)
    cluster_maxclust_monocrit(Z, largest, T, n, most)
