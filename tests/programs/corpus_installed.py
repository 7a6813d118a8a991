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
        return wrapper(x), wrapper(x, scale=3.0), one(x), one()  # type: ignore[call-arg]

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


class Ellipsoid:
    """A class attribute that may change, which no method reads that runs as it is."""

    models = {"earth": {"a": 6378137.0, "b": 6356752.0}, "moon": {"a": 1738.0, "b": 1736.0}}

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __eq__(self, other):
        return self.a == other.a and self.b == other.b

    __hash__ = object.__hash__

    @classmethod
    def from_name(cls, name):
        return cls(cls.models[name]["a"], cls.models[name]["b"])


@program
def a_table_of_the_class_of_an_object() -> Any:
    earth = Ellipsoid.from_name("earth")

    def f(x, which="earth", ellipsoid=earth):
        if which != "earth":
            ellipsoid = Ellipsoid.from_name(which)
        same = ellipsoid == earth
        return x * ellipsoid.a / ellipsoid.b, same, Ellipsoid.models[which]["a"]

    def before(n):
        Ellipsoid.models["moon"]["a"] = 1738.0 + n // 2

    return f, [(1.0,), (np.ones(2), "moon"), (np.ones(2), "moon"), (2.0, "moon")], None, before


class Dotted(dict):
    """A dict with dots."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError as e:
            raise AttributeError(name) from e

    def __setattr__(self, name, value):
        self[name] = value


@program
def constants_with_dots() -> Any:
    constants = Dotted(c1=2.0, c2=np.arange(3.0), inner=Dotted(n=3))

    def f(x, c=None):
        c = constants if c is None else c
        y = x * c.c1 + c["c2"] * c.inner.n
        return y, len(c), "c1" in c, sorted(c), isinstance(c, Dotted), hasattr(c, "c9"), dict(c)["c1"]

    def before(n):
        constants.c2 += 1
        constants.inner.n = 3 + n // 2
        constants["c1"] = 2.0 if n < 3 else 5.0

    return f, [(np.ones(3),)] * 5, lambda: constants, before


@program
def constants_with_dots_that_change() -> Any:
    constants = Dotted(c1=2.0)

    def f(x):
        constants.c1 = x.sum()
        constants["new"] = 1
        return constants, constants.c1

    return f, [(np.ones(3),), (np.zeros(3),)], lambda: constants


@program
def a_name_is_given_to_what_may_have_one() -> Any:
    """Of a series of pandas' the name is set, of an array it can't be."""

    def f(x):
        y = np.clip(x, -1, 1)
        try:
            y.name = "y"
        except AttributeError:
            return y * 2
        return y

    return f, [(np.ones(2),), (1.5,), (np.float64(2),), (3,)], None


@program
def the_text_of_an_attribute_that_arrays_cannot_be_given() -> Any:
    def f(x):
        try:
            x.name = "x"
        except AttributeError as e:
            return x, str(e)
        return x

    return f, [(np.ones(2),), (1.5,)], None


@program
def numbers_by_map() -> Any:
    def f(xs, n):
        sizes = list(map(float, xs))
        total = sum(map(int, xs)) + sum(map(bool, xs))
        rows = [v * n for v in map(round, sizes)]
        return sizes, total, rows, sorted(map(abs, sizes)), list(map(len, [xs, sizes]))

    return f, [([1.5, -2.5], 2), ([0.0, 3.25], 3), ([1, 2], 2), (np.array([1.5, 0.5]), 2)], None


@program
def methods_of_the_class_of_arrays() -> Any:
    def f(x):
        rows = list(map(np.ndarray.flatten, [x, x.T]))
        return rows, np.ndarray.sum(x, axis=0), np.ndarray.mean(x), np.ndarray.copy(x) is x

    return f, [(np.eye(2),), (np.ones((2, 3)),)], None


@program
def the_generator_of_all_functions_by_its_own_name() -> Any:
    """What `check_random_state` of many packages gives for no seed."""

    def check(seed):
        if seed is None or seed is np.random:
            return np.random.mtrand._rand
        return np.random.RandomState(seed) if isinstance(seed, int) else seed

    def f(x, seed=None):
        generator = check(seed)
        return x + generator.uniform(size=2), generator is np.random.mtrand._rand

    return f, [(1.0,), (2.0,), (np.ones(2), 3), (2.0, np.random.RandomState(5))], None


@program
def unknowns_whose_number_is_an_argument() -> Any:
    def f(x, n):
        rows = np.stack([x**2, x, np.ones_like(x)])[:n].T
        return np.linalg.lstsq(rows, 2 * x + 1, rcond=None)[0]

    x = np.arange(5.0)
    return f, [(x, 3), (x + 1, 3), (x, 2)], None
