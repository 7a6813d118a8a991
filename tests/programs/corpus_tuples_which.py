"""Programs in which it is seen which tuple is meant: the best one beside all, records in two lists, tuples as they are
asked for by `is`."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from tests.programs.observe import program

U = np.array([0.5, 1.25, 3.0, -2.0, 1.25, 0.75, 4.0, -1.0])
CALLS = [(U, 4.0), (U[::-1].copy(), 2.5), (U[:1], 1.0)]


@program
def the_best_of_a_search_and_its_path() -> Any:
    def f(u, t):
        best, path = (-1.0, -1), []
        for i in range(len(u)):
            score = (u[i] * t, i)
            path.append(score)
            if score[0] > best[0]:
                best = score
        return best, path, best is path[-1]

    return f, CALLS, None


@program
def accepted_steps_beside_all_steps() -> Any:
    def f(u, t):
        x, tried, accepted = 0.0, [], []
        while len(tried) < 12 and t > -20:
            step = (x + u[0] * t, t)
            tried.append(step)
            if step[0] > x:
                accepted.append(step)
                x = step[0]
            t -= 1.5
        return tried, accepted

    return f, CALLS, None


@program
def the_best_so_far_of_each_step() -> Any:
    def f(u, t):
        best = (u[0], 0)
        found: list[Any] = [best]
        for i in range(1, len(u)):
            if u[i] > best[0]:
                best = (u[i], i)
            found.append(best)
        return found, sum(p[0] for p in found)

    return f, CALLS, None


@program
def events_of_a_queue_and_a_record() -> Any:
    def f(u, t):
        heap = [(0.0, 1)]
        done, last = [], (0.0, 0)
        while heap and len(done) < 10:
            event = heapq.heappop(heap)
            done.append(event)
            if event[0] < t:
                heapq.heappush(heap, (event[0] + abs(u[0]) + 0.25, event[1] + 1))
                heapq.heappush(heap, (event[0] + 0.75, event[1] + 2))
            last = event
        return done, heap, last, last is done[-1]

    return f, CALLS, None


@program
def equal_tuples_that_are_two() -> Any:
    def f(u, t):
        pairs, first = [], (1.0, 2)
        for i in range(len(u)):
            if u[i] > 0:
                pairs.append((1.0, 2))
            else:
                pairs.append((u[i] * 0 + 1, 2))
        return pairs, first, [p is pairs[0] for p in pairs[:1]]

    return f, CALLS, None


@program
def equal_tuples_of_each_step() -> Any:
    def f(u, t):
        a, b = [], []
        while t > 0:
            a.append((u[0] * 0, 1))
            b.append((u[0] * 0, 1))
            if t > 2:
                b.append(a[-1])
            t -= 1.0
        return a, b

    return f, CALLS, None


def _pair(x: Any, y: Any) -> Any:
    return (x, y)


@program
def tuples_that_a_helper_makes() -> Any:
    def f(u, t):
        found, kept = [], _pair(u[0], t)
        while t > 0:
            p = _pair(u[0] + t, t)
            found.append(p)
            if t < 2:
                kept = p
            t -= 1.0
        return kept, found

    return f, CALLS, None


@program
def a_bracket_that_is_replaced() -> Any:
    def f(u, t):
        low, high, seen = (0.0, -1.0), (t, t * t), []
        while high[0] - low[0] > 1e-3:
            middle = (0.5 * (low[0] + high[0]), 0.0)
            value = middle[0] ** 2 - 2
            if value > 0:
                high = (middle[0], value)
                seen.append(high)
            else:
                low = (middle[0], value)
                seen.append(low)
        return low, high, seen, low is seen[-1]

    return f, CALLS, None


@program
def the_best_tuple_is_kept_outside() -> Any:
    state: dict[str, Any] = {"best": (0.0, 0), "all": []}

    def f(u, t):
        best = state["best"]
        for i in range(len(u)):
            p = (u[i] * t, i)
            if u[i] > 0:
                state["all"].append(p)
            if p[0] > best[0]:
                best = p
        state["best"] = best
        return best

    return f, CALLS, lambda: state


@program
def sorted_beside_the_list() -> Any:
    def f(u, t):
        found = []
        for i in range(len(u)):
            if u[i] > -1.5:
                found.append((u[i], i))
        return found, sorted(found), max(found), np.array(found).sum()

    return f, CALLS, None


@program
def tuples_of_one_list_in_another_order() -> Any:
    def f(u, t):
        found, back = [], []
        for i in range(len(u)):
            if u[i] > 0:
                found.append((u[i], i))
        for k in range(len(found)):
            back.append(found[len(found) - 1 - k])
        return found, back, back[0] is found[-1]

    return f, CALLS, None


@program
def what_kind_of_tuple_it_is() -> Any:
    def f(u, t):
        path, best = [], (u[0], t)
        while t > 0:
            p = (u[0] * t, t)
            path.append(p)
            if p > best:
                best = p
            t -= 1.0
        x, y = best
        more = best + (1,), best[::-1], 2 * best, len(best), list(best)
        seen = type(best) is tuple, isinstance(best, tuple), best == (x, y), best.__class__ is tuple
        return best, path, more, seen, f"{best[0]:.3f}", "%.2f %.2f" % best, hasattr(best, "tj_number")  # noqa: UP031

    return f, CALLS, None


@program
def keys_that_are_items_too() -> Any:
    def f(u, t):
        seen, order = {}, []
        for i in range(len(u)):
            key = (i % 3, int(u[i] > 0))
            if key not in seen:
                seen[key] = u[i]
                order.append((*key, i))
        return seen, order

    return f, CALLS, None


@program
def visited_cells_and_a_path() -> Any:
    def f(u, t):
        at, path, seen = (0, 0), [], set()
        for i in range(len(u)):
            at = (at[0] + (1 if u[i] > 0 else -1), at[1] + 1)
            path.append(at)
            seen.add((at[0], at[1]))
        return at, path, len(seen)

    return f, CALLS, None


@program
def nested_tuples_in_two_lists() -> Any:
    def f(u, t):
        edges, points, p = [], [], (u[0], 0.0)
        while t > 0:
            q = (p[0] + t, t)
            edges.append((p, q))
            points.append(q)
            p = q
            t -= 1.0
        return edges, points, p

    return f, CALLS, None


@program
def cells_of_a_grid() -> Any:
    def f(x):
        p, path = (x, 1), []
        for i in range(5):
            p = (x * i, i)
            path.append(p)
        grid, cell, at = np.zeros((3, 4)), (1, 2), (0, 0)
        grid[cell] = 7
        for move in [(0, 1), (1, 0), (0, 2)]:
            at = (at[0] + move[0], at[1] + move[1])
            grid[at] += x
        np.add.at(grid, (0, 1), 2.0)
        best = path[0]
        return path, p, grid, grid[cell], tuple(best) is best, best[:] is best, [best, path[0]]

    return f, [(1.5,), (2.5,), (-1.0,)], None


@program
def keys_and_values_that_are_one() -> Any:
    def f(x):
        k = (1, 2)
        return {k: x}, k, [k], {k: 2}

    return f, [(1.5,), (2.5,)], None


POINTS = [(0.5, 1), (1.5, 2), (2.5, 3)]


@program
def points_of_outside_beyond_a_bound() -> Any:
    def f(x):
        return [p for p in POINTS if p[0] > x]

    return f, [(0.0,), (1.0,), (5.0,)], lambda: POINTS


@program
def points_of_an_argument_beyond_a_bound() -> Any:
    def f(points, x):
        found = []
        for p in points:
            if p[0] > x:
                found.append(p)
        return found

    return f, [(POINTS, 0.0), (POINTS[1:], 1.0), (POINTS, 1.0)], None


@program
def no_point_or_one_of_outside() -> Any:
    origin = (1.0, 2)

    def f(x):
        found = None
        for i in range(20):
            if x > i:
                found = origin
        return found

    return f, [(1.0,), (-1.0,), (2.0,)], lambda: origin


@program
def no_point_or_one_of_an_argument() -> Any:
    def f(points, x):
        found = None
        for p in points:
            if p[0] > x:
                found = p
        return found

    return f, [(POINTS, 0.0), (POINTS, 2.0), (POINTS, 9.0)], None


@program
def no_point_or_one_at_a_position() -> Any:
    def f(k):
        found = None
        for j in range(40):
            if (j * k[0]) % 7 == 3:
                found = POINTS[(k[0] + j) % 3]
        return found

    return f, [(np.array([0]),), (np.array([2]),), (np.array([1]),)], lambda: POINTS


@program
def cells_in_two_dicts() -> Any:
    def f(u, t):
        counts, last = {}, {}
        for i in range(len(u)):
            cell = (int(u[i]) % 3, i % 2)
            counts[cell] = counts.get(cell, 0) + 1
            last[cell] = u[i]
        return counts, last

    return f, CALLS, None


@program
def cells_of_a_dict_and_a_sorted_set() -> Any:
    def f(u, t):
        counts, seen = {}, set()
        for i in range(len(u)):
            cell = (int(u[i]) % 3, i % 2)
            counts[cell] = counts.get(cell, 0) + 1
            seen.add(cell)
        return counts, sorted(seen)

    return f, CALLS, None


@program
def a_cell_that_is_a_key_and_an_item() -> Any:
    def f(u, t):
        cell = (int(u[0]), 1)
        counts = {cell: t}
        return counts, [cell], [k is cell for k in counts]

    return f, CALLS, None


@program
def the_best_until_now_of_many_known_steps() -> Any:
    def f(u):
        last: Any = (0.0, 0)
        found = []
        for i in range(60):
            if u[i] > last[0]:
                last = (u[i], i)
            found.append(last)
        return found

    return f, [(np.arange(60.0) % 11,), (np.zeros(60),)], None
