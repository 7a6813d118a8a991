"""Programs that return early from loops, with what is neither an array nor a number, or end them otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program

#: The first call goes through all steps.
CALLS = [(np.full(3, k),) for k in (1e20, 1.0, 0.01, 1e20)]


@program
def early_return_of_a_text_or_none() -> Any:
    def f(x):
        for _ in range(50):
            if x[1] < 0.1:
                return "done"
            x = x * 0.6
        return None

    return f, CALLS, None


@program
def early_return_of_a_list_of_the_loop() -> Any:
    def f(x):
        h = []
        for _ in range(50):
            if x[1] < 0.1:
                return h
            h.append(x.sum())
            x = x * 0.6
        return None

    return f, CALLS, None


@program
def early_return_of_an_object() -> Any:
    class Mark:
        pass

    mark, log = Mark(), {"h": []}

    def f(x):
        for _ in range(50):
            if x[1] < 0.1:
                return mark
            log["h"].append(x.sum())
            x = x * 0.6
        return None

    return f, CALLS, lambda: (mark, log)


@program
def early_return_of_a_history() -> Any:
    log: dict[str, list[Any]] = {"h": []}

    def f(x):
        for _ in range(40):
            if x[1] < 0.1:
                return log["h"]
            x = x * 0.6
            log["h"].append(x.sum())
        return None

    return f, CALLS, lambda: log


@program
def a_break_after_a_text_and_an_else() -> Any:
    def f(x):
        h = []
        for _ in range(50):
            if x[1] < 0.1:
                why = "small"
                break
            h.append(x.sum())
            x = x * 0.6
        else:
            why = None
        return why, len(h)

    return f, CALLS, None


@program
def early_return_of_true_none_or_a_pair() -> Any:
    def f(x):
        for k in range(60):
            if x[1] < 0.1:
                return True
            if x[1] > 1e25:
                return None, "much"
            x = x * (0.6 if k < 55 else 1e9)
        return None

    return f, [*CALLS, (np.full(3, 1e24),)], None
