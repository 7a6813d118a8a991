"""Different once: a tuple of outside that steps of a loop give to a name, met in the step first, was another object."""

import numpy as np

PAIR, PAIRS = (1.0, 2.0), [(0.5, 2.5), (3.0, 4.0)]


def program():
    def f(x, v):
        a, b = (v, 1.5), (v, v)
        for _ in range(20):
            a = PAIRS[1]
            x = x * 1.01
        for _ in range(4):
            b = PAIR
        return a, [b], x

    calls = [(np.ones(2), 0.5), (np.ones(2) * 2, 1.5), (-np.ones(3), 0.5)]

    def state():
        return PAIR, PAIRS

    def before(k):
        pass

    return f, calls, state, before
