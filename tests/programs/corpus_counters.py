"""Counters, keys that depend on values, and text that decides."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import Any

import numpy as np

from tests.programs.observe import program

A = np.array([1.0, 2.0, 2.5])
WORDS = ["a", "b", "a"]


@program
def counters_made_and_returned() -> Any:
    def f(x, words):
        c: Any = Counter(words)
        c["new"] += x[0]
        c.update({"a": 2})
        c.subtract(["b", "b"])
        return c, c["missing"], c + Counter(a=1), -c, +c, list(c.elements()) if c["a"] == 0 else c.total()

    return f, [(A + 0, WORDS), (A * 3, WORDS), (A + 0, ["z"])], None


@program
def a_counter_of_outside_with_traced_counts() -> Any:
    seen: Any = Counter()

    def f(x, word):
        seen[word] += int(x.sum())
        seen["calls"] += 1
        return seen[word], sorted(seen), len(seen)

    return f, [(A + 0, "a"), (A + 1, "a"), (A + 2, "b"), (A + 3, "a")], lambda: seen


@program
def a_counter_is_cleared_and_filled() -> Any:
    c: Any = Counter(a=1, b=2)

    def f(x):
        c.clear()
        c["b"] = x[0]
        c["a"] = x[1]
        return c.most_common(1)

    return f, [(A + 0,), (A[::-1] + 0,), (A + 0,)], lambda: c


@program
def a_counter_given_and_changed() -> Any:
    counters = [Counter("aab"), Counter(a=5, b=1), Counter()]

    def f(c, x):
        c["a"] += 1
        return c["a"] * x, c.most_common(1)[0][1]

    return f, [(c, 2.0) for c in counters], lambda: counters


@program
def groups_by_rounded_values() -> Any:
    def f(x):
        groups: Any = {}
        for v in x:
            groups.setdefault(round(float(v)), []).append(v)
        return groups, {k: sum(v) / len(v) for k, v in groups.items()}

    return f, [(A + 0,), (A + 1,), (A + 0,)], None


@program
def classes_of_a_classifier() -> Any:
    def f(x, y):
        means = {int(c): x[y == c].mean() for c in np.unique(y)}
        best = min(means, key=lambda c: abs(means[c] - 2))
        return means, best

    return f, [(A + 0, np.array([0, 1, 1])), (A + 5, np.array([0, 1, 1])), (A + 0, np.array([3, 3, 3]))], None


@program
def a_report_as_json() -> Any:
    def f(x, history):
        history.append({"mean": x.mean(), "values": x.tolist()})
        return json.dumps(history[-1]), json.dumps({"n": len(history)})

    return f, [(A + 0, []), (A + 1, [1]), (A + 2, [])], None


@program
def a_window_of_the_last_values() -> Any:
    def f(x, n):
        window: Any = deque(maxlen=n)
        out = []
        for v in x.tolist():
            window.append(v)
            out.append(max(window) - min(window))
        return out, list(window)

    return f, [(A + 0, 2), (A[::-1] + 0, 2), (A + 0, 3)], None


@program
def commands_by_text() -> Any:
    def f(x):
        name = f"{'big' if x.sum() > 6 else 'small'}_{int(x[0])}"
        kind, _, number = name.partition("_")
        return {"big": x * 2, "small": -x}[kind], int(number) + 1, name.split("_")

    return f, [(A + 0,), (A + 3,), (A + 0,)], None


@program
def an_error_with_the_value_in_it() -> Any:
    class Unstable(RuntimeError):
        def __init__(self, step, value):
            super().__init__(f"step {step}: {value:.3f} is too large")
            self.step = step

    def f(x):
        for k in range(40):
            x = x * 1.5
            if x.max() > 100:
                raise Unstable(k, x.max())
        return x

    return f, [(A * 0,), (A + 0,), (A * 50,)], None


COUNTED: Any = Counter(a=5)
CLASSES: list[str] = []


class Noting(dict):
    """Whose own methods are no way to put back what it held."""

    def update(self, *args, **kwargs):
        CLASSES.append("update")
        super().update(*args, **kwargs)

    def clear(self):
        CLASSES.append("clear")
        super().clear()


class Reversing(list):
    def extend(self, items):
        super().extend(reversed(list(items)))


@program
def counters_of_outside_in_branches() -> Any:
    global COUNTED
    COUNTED = Counter(a=5)
    own: Any = Counter(b=1)

    def f(x, c):
        out = 0.0
        if x.sum() * c > 0:
            COUNTED.update(["a", "z"])
            own["b"] += 1
            out = COUNTED["a"] * c + own["b"]
        return out, COUNTED.total()

    return f, [(A, 1.0), (A, 2.0), (A, -1.0), (A, 2.0)], lambda: (COUNTED, own)


@program
def containers_of_outside_with_methods_of_their_own_in_branches() -> Any:
    CLASSES.clear()
    noting, backwards = Noting(a=1.0), Reversing([1.0, 2.0])

    def f(x, c):
        if x.sum() * c > 0:
            noting["a"] += c
            noting["n"] = noting.get("n", 0) + 1
            backwards.append(c)
            return noting["a"] * 2, str(len(backwards)), backwards[0]
        return x[0]

    return f, [(A, 1.0), (A, 2.0), (A, -1.0), (A, 2.0)], lambda: (noting, backwards, CLASSES)
