"""Different once: a handler of all exceptions took what asked for more of the list as Python's exception."""

import numpy as np

LOGS = []


def program():
    LOGS.clear()

    def f(x, n):
        try:
            LOGS.pop()
            LOGS.append(x)
        except Exception:
            LOGS.append(x)
            n = x.size
        return x, n

    calls = [(np.ones(4), 3), (np.ones(4) * 2, 2), (np.ones(3), 4), (np.ones(4), -1)]

    def state():
        return (LOGS,)

    def before(k):
        if k == 3:
            LOGS.clear()

    return f, calls, state, before
