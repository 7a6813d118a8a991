"""Lists of traced length with items of several types, beside plain Python: values and classes."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def trades(x, t):
    position, log = 0, []
    for k in range(2, len(x)):
        if x[k] > x[k - 1] and position == 0:
            position = 3
            log.append(("buy", k, x[k]))
        elif x[k] < x[k - 1] and position > 0:
            position = 0
            log.append(("sell", k))
        elif x[k] == t:
            log.append(f"{k}: {x[k]:.2f}")
    return log, len(log)


def first_an_integer(x, t):
    path, k = [t], 0
    while True:
        new = path[-1] * 0.5 + x[k % len(x)]
        path.append(new)
        if abs(new - t) < 0.5 or len(path) > 20:
            break
        k += 1
    return path, path[-1], path[0], len(path)


def none_or_a_number(x, t):
    out = []
    for k in range(len(x)):
        out.append(x[k] if x[k] > 0 else None)
    missing, total = 0, x[0] * 0
    for v in out:
        if v is None:
            missing += 1
        else:
            total += v
    return out, missing, total, out[t % 3] is None


def items_are_replaced_and_taken(x, t):
    out: list[Any] = [1, "a"]
    for k in range(len(x)):
        if x[k] > 1:
            out.append(float(x[k]))
        elif x[k] > 0 and len(out) > 2:
            out[-1] = "b"
        elif len(out) > 1:
            out.pop()
    out.insert(0, t)
    out.reverse()
    return out, [v for v in out if isinstance(v, str)]


def of_known_length(x, t):
    best = [0] * 5
    for k in range(len(x)):
        at = int(abs(x[k])) % 5
        best[at] = max(best[at], t if x[k] > 0 else 2.5)
    return best


def paths(x, t):
    dist: list[Any] = [float("inf")] * 4
    dist[0], heap, seen = 0, [(0, 0)], []
    while heap:
        d, u = heapq.heappop(heap)
        seen.append(d)
        if d > dist[u]:
            continue
        for v in range(4):
            cost = float(abs(x[(u + v) % len(x)])) if (u + v) % 2 else t
            if d + cost < dist[v]:
                dist[v] = d + cost
                heapq.heappush(heap, (dist[v], v))
    return dist, seen


def large_integers(x, t):
    heap: list[Any] = []
    for k in range(len(x)):
        if x[k] > 0:
            heapq.heappush(heap, t * 2**58 + k)
        else:
            heapq.heappush(heap, float(t) * 2.0**58 + 64 * (k % 2))
    return [heapq.heappop(heap) for _ in range(3)], len(heap)


def _told(x: Any) -> Any:
    return [_told(v) for v in x] if isinstance(x, (list, tuple)) else (type(x), repr(x))


CALLS = [(np.sin(np.arange(9.0) * s) * 2, t) for s, t in ((1, 1), (2.5, 4), (0.3, 2), (7, 3))]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "f",
    [trades, first_an_integer, none_or_a_number, items_are_replaced_and_taken, of_known_length, paths]
    + [large_integers],
)
def test_items_are_pythons(f: Callable[..., Any]) -> None:
    fast = tj.jit(f, fallback=False)
    for call in CALLS:
        assert _told(fast(*call)) == _told(f(*call))


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_what_needs_all_items_is_done_by_python() -> None:
    def f(x, t):
        out: list[Any] = []
        for k in range(len(x)):
            out.append(x[k] if x[k] > 0 else t)
        return sum(out), sorted(out), np.array(out), max(out), out.index(t)

    fast = tj.jit(f)
    with tj.config.override(fallback=True):
        for call in CALLS:
            assert repr(fast(*call)) == repr(f(*call))
