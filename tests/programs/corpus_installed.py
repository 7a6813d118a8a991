"""What functions of packages on PyPI do: decorators, checks of arguments, tables of constants, settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal

from tests.programs.observe import program


@program
def a_wrapper_with_the_defaults_of_another() -> Any:
    """A decorator gives its wrapper, which takes `*args`, the defaults of the function that it wraps."""

    def wrapped(g, weight="weight", scale=2.0):
        return g * scale + len(weight)

    def wrapper(*args, **kwargs):
        return wrapped(*args, **kwargs)

    wrapper.__defaults__ = wrapped.__defaults__

    def one(x, *args):
        return wrapped(x, *args)

    one.__defaults__ = ("a", 3.0)

    def f(x):
        return wrapper(x), wrapper(x, scale=3.0), one(x), one()

    return f, [(np.ones(2),), (np.zeros(2),), (np.ones(3),)], None


@program
def flat_elements_are_compared() -> Any:
    def f(x):
        if any(x.flat != 0):
            return 1.0, x.flat.copy()
        return x.flat == 0, x.flat <= x.T.flat

    return f, [(np.zeros((2, 2)),), (np.eye(2),), (np.zeros((2, 2)),)], None


@program
def filters_of_a_length_that_a_number_gives() -> Any:
    def f(x, rate):
        length = int(np.ceil(rate * 3 / 4))
        taps = scipy.signal.firwin(length + 1 - length % 2, 0.3)
        return scipy.signal.convolve(x, taps, mode="same"), np.fft.fft(np.ones(length) * x[0])

    x = np.sin(np.arange(40.0))
    return f, [(x, 10), (x + 1, 10), (x, 14)], None
