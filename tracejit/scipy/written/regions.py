"""Regions of images: what `scipy.ndimage` computes of masks element by element: numbers of regions, nearest holes.

Nearest holes are found one axis after the other: C. R. Maurer, R. Qi, V. Raghavan, IEEE Trans. PAMI 25 (2003).
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _root(parent: Any, i: Any) -> Any:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def _label(input: Any, structure: Any, output: Any) -> Any:
    """Numbers the regions in the order of their first elements, and says how many there are."""
    mask = np.pad(input != 0, 1)
    steps = np.array(mask.strides) // mask.itemsize
    before = [int(s) for s in (np.argwhere(structure) - 1) @ steps if s < 0]
    mask = mask.reshape(-1)
    n = len(mask)
    parent = np.arange(n)
    for i in range(n):
        if mask[i]:
            mine = np.int64(i)
            for step in before:
                if mask[i + step]:
                    other = _root(parent, i + step)
                    if other < mine:
                        parent[mine] = other
                        mine = other
                    else:
                        parent[other] = mine
    number = np.zeros(n, dtype=np.int64)
    count = 0
    for i in range(n):
        if mask[i]:
            if parent[i] == i:
                count += 1
                number[i] = count
            else:
                number[i] = number[_root(parent, i)]
    number = number.reshape([s + 2 for s in input.shape])
    output[...] = number[(slice(1, -1),) * input.ndim]
    return count


def _beside(found: Any, m: Any, k: Any, places: Any, scale: Any, axis: int) -> Any:
    """How far, squared, the hole of element k of line m is from the line."""
    total = 0.0
    for j in range(len(places)):
        if j != axis:
            t = (places[j][m] - found[j, m, k]) * scale[j]
            total += t * t
    return total


def _along_lines(found: Any, places: Any, scale: Any, axis: int) -> Any:
    """The nearest holes of the elements of lines, of those that are nearest to some element of the line without looking
    along it. `found`: (axis of the hole, line, element)."""
    rank, lines, n = found.shape
    out = np.empty((rank, lines, n), dtype=np.int32)
    kept = np.zeros(n + 1, dtype=np.int64)
    for m in range(lines):
        count = 0
        for i in range(n):
            if found[axis, m, i] >= 0:
                here = found[axis, m, i] * scale[axis]
                w = _beside(found, m, i, places, scale, axis)
                looking = True
                while looking and count >= 2:
                    one, two = kept[count - 1], kept[count - 2]
                    a = found[axis, m, one] * scale[axis] - found[axis, m, two] * scale[axis]
                    b = here - found[axis, m, one] * scale[axis]
                    u = _beside(found, m, two, places, scale, axis)
                    v = _beside(found, m, one, places, scale, axis)
                    if (a + b) * v - b * u - a * w - a * b * (a + b) <= 0:
                        looking = False
                    else:
                        count -= 1
                kept[count] = i
                count += 1
        at = 0
        for i in range(n):
            if count == 0:
                for j in range(rank):
                    out[j, m, i] = -1
            else:
                d = i * scale[axis] - found[axis, m, kept[at]] * scale[axis]
                least = d * d + _beside(found, m, kept[at], places, scale, axis)
                looking = True
                while looking and at < count - 1:
                    d = i * scale[axis] - found[axis, m, kept[at + 1]] * scale[axis]
                    other = d * d + _beside(found, m, kept[at + 1], places, scale, axis)
                    if least <= other:
                        looking = False
                    else:
                        least = other
                        at += 1
                for j in range(rank):
                    out[j, m, i] = found[j, m, kept[at]]
    return out


def euclidean_feature_transform(input: Any, sampling: Any, ft: Any) -> None:
    """The places of the nearest holes; without any, what SciPy gives: -1 along the first axis."""
    shape = input.shape
    rank = len(shape)
    scale = [1.0] * rank if sampling is None else [sampling[n] for n in range(rank)]
    places = np.indices(shape)
    found = np.where(input != 0, -1, places).astype(np.int32)
    for axis in range(rank):
        order = [0, *(n + 1 for n in range(rank) if n != axis), axis + 1]
        back = [order.index(n) for n in range(rank + 1)]
        moved = found.transpose(order)
        flat = moved.reshape(rank, -1, shape[axis])
        beside = [p[:, 0] if shape[axis] else p[:, :0] for p in places.transpose(order).reshape(flat.shape)]
        found = _along_lines(flat, beside, scale, axis).reshape(moved.shape).transpose(back)
    ft[0] = found[0]
    ft[1:] = np.maximum(found[1:], 0)
