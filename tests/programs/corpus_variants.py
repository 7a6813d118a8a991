"""Programs with values that are of one type or another, as conditions say."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import PROGRAMS

CALLS = [np.linspace(1, 2, 40), np.sin(np.arange(40.0)), -np.ones(40), np.zeros(40)]


def the_best_pair_so_far(x):
    best = None
    for k in range(len(x)):
        if x[k] > 0.5 and (best is None or x[k] > best[1]):
            best = (k, x[k])
    return best


def answers_with_text_or_a_number(x):
    best = None
    for k in range(len(x)):
        if x[k] > 0.5:
            best = x[k]
    if best is None:
        return "none"
    return best * 2


def bounds_that_are_not_there_at_first(x):
    low, high = None, None
    for v in x:
        if low is None or v < low:
            low = v
        if v > 0.5:
            high = v
    return low, high


def what_can_be_done_with_an_index_or_none(x):
    best = None
    for k in range(len(x)):
        if x[k] > 0.5:
            best = k
    print(best, f"[{best}]")
    return best, best is None, best is not None and best + 1, best or 7, f"{best}", best == 3, x[:best].sum()


def a_number_that_is_an_int_or_a_float(x):
    t = n = 0
    for k in range(len(x)):
        if x[k] > 0.5:
            t += 0.5
        else:
            t = t + 1
        n = n + (t if k % 2 else 1)
    return t, n, t * 2, -t, t > 3, t == 0, max(t, 3), min(t, 5.0), abs(t), x * t, t + x[0], np.sqrt(t)


def _first(pair):
    return 0 if pair is None else pair[0]


def a_helper_that_asks_for_none(x):
    best = None
    for k in range(len(x)):
        if x[k] > 0.5:
            best = (k, 2)
    return _first(best)


def a_pair_that_is_taken_apart(x):
    best = None
    for k in range(len(x)):
        if x[k] > 0.5:
            best = (k, 2)
    if best:
        i, j = best
        return i + j
    return -1


def a_pair_that_is_taken_back(x):
    best = (0, 0.0)
    for k in range(len(x)):
        if x[k] > 0.5:
            best = None
        elif x[k] < -0.5:
            best = (k, x[k])
    return best


def numbers_of_two_types_in_a_list(x):
    made = []
    for k in range(len(x)):
        made.append(1 if x[k] > 0.5 else 2.5)
    return made, sum(made)


class State:
    pass


def attributes_that_are_set_when_there_is_something(x):
    s = State()
    s.best, s.n = None, 0
    d = {"best": None}
    for k in range(len(x)):
        if x[k] > 0.5:
            s.best = d["best"] = k
            s.n += 1.5
    return s.best, s.n, d


def one_pair_in_two_places(x):
    y = (1, x[0]) if x[0] > 0.5 else None
    return y, y


def a_pair_of_before_that_may_stay(x):
    start = (0, x[0])
    best = start
    for k in range(len(x)):
        if x[k] > 0.5:
            best = None
    return best, start


def a_pair_that_is_also_in_a_list(x):
    pairs, best = [], None
    for k in range(3):
        pair = (k, x[k])
        pairs.append(pair)
        if x[k] > 0.5:
            best = pair
    return best, pairs


def keys_of_one_type_or_another(x):
    y = 1 if x[0] > 0.5 else None
    return {y: 2}, y in [None], y in (1, 2)


def what_python_says_of_none(x):
    y = 1 if x[0] > 0.5 else None
    try:
        return y + 1
    except TypeError as e:
        return str(e)


def patterns_of_one_type_or_another(x):
    y = 1 if x[0] > 0.5 else "a"
    match y:
        case 1:
            return "one"
        case None:
            return 0
        case "a":
            return y
    return y


def an_array_into_which_it_is_added(x):
    y = 1 if x[0] > 0.5 else 2.5
    z = x * 1
    w = z
    w += y
    return (
        z,
        w is z,
        isinstance(y, int),
        type(y),
        [3, 4, 5][: int(y)],
        np.sum(x, axis=None if x[0] > 0.5 else 0),
    )


def the_smallest_of_an_empty_or_a_full_list(x):
    best = 100.0
    for k in range(len(x)):
        if x[k] > 0.5 and x[k] < best:
            best = x[k]
    return best, best == 100


def a_limited_control_signal(x):
    position, speed, sum_, trace = 0, 0, 0, []
    for _ in range(25):
        error = x[0] * 1.0 - position
        sum_ += error
        force = min(max(3 * float(error) + 0.1 * float(sum_), -5), 5)
        speed += 0.1 * force
        position += 0.1 * speed
        trace.append(force)
    return position, trace


def _of(f: Any) -> Any:
    return lambda: (f, [(x.copy(),) for x in CALLS], None)


for _f in (
    *(the_best_pair_so_far, answers_with_text_or_a_number, bounds_that_are_not_there_at_first),
    *(
        what_can_be_done_with_an_index_or_none,
        a_number_that_is_an_int_or_a_float,
        a_helper_that_asks_for_none,
    ),
    *(a_pair_that_is_taken_apart, a_pair_that_is_taken_back, numbers_of_two_types_in_a_list),
    *(
        attributes_that_are_set_when_there_is_something,
        one_pair_in_two_places,
        a_pair_of_before_that_may_stay,
    ),
    *(a_pair_that_is_also_in_a_list, keys_of_one_type_or_another, what_python_says_of_none),
    *(patterns_of_one_type_or_another, an_array_into_which_it_is_added),
    *(the_smallest_of_an_empty_or_a_full_list, a_limited_control_signal),
):
    PROGRAMS[f"variants: {_f.__name__}"] = _of(_f)
