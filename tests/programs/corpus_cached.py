"""Programs whose objects forget attributes and get them again: caches, invalidated, and classes with `__getattr__`."""

from __future__ import annotations

import functools

import numpy as np

from tests.programs.observe import program

A, B, C = np.array([3.0, 4.0]), np.array([0.0, 1.0]), np.array([6.0, -8.0])


class Shape:
    def __init__(self, x):
        self.x, self.hits, self.kept = x, 0, True

    @functools.cached_property
    def norm(self):
        self.hits += 1
        return np.sqrt((self.x**2).sum())

    @property
    def unit(self):
        return self.x / self.norm


@program
def cache_that_is_emptied():
    shape = Shape(A)

    def f(x, anew):
        if anew:
            shape.x = x
            shape.__dict__.pop("norm", None)
        return shape.unit, shape.norm, shape.hits, "norm" in vars(shape)

    return f, [(B, False), (C, True), (B, False), (B, True)], lambda: vars(shape)


@program
def cache_that_is_deleted_and_keeps_what_it_has():
    shape = Shape(A)

    def f(x):
        first = shape.norm
        del shape.norm
        second = shape.norm
        shape.x = x
        return first, second, shape.norm, list(vars(shape))

    return f, [(B,), (C,), (A,)], lambda: vars(shape)


@program
def cache_of_what_a_loop_changes():
    shape = Shape(A)

    def f(x):
        total = 0.0
        for v in x:
            if v > 1:
                shape.x = shape.x + v
                shape.__dict__.pop("norm", None)
            total += shape.norm
        return total, shape.hits

    return (
        f,
        [(np.array([0.5, 2.0, 0.1]),), (np.array([0.5, 0.1, 0.2]),), (np.array([5.0, 6.0, 7.0]),)],
        lambda: shape,
    )


@program
def attribute_that_comes_last_again():
    shape = Shape(A)

    def f(x):
        del shape.x
        shape.more = 1
        shape.x = x * 2
        return list(vars(shape)), shape.norm

    return f, [(B,), (C,), (A,)], lambda: vars(shape)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1.0, 2.0


@program
def slot_that_is_emptied_and_filled():
    slotted = Slotted()

    def f(x):
        old = slotted.a
        del slotted.a
        empty = not hasattr(slotted, "a")
        slotted.a = x.sum()
        return old, empty, slotted.a

    return f, [(B,), (C,), (A,)], lambda: slotted


class Proxy:
    """Asks another object for what it has not, and counts that."""

    def __init__(self, of):
        self.__dict__.update(of=of, asked=[])

    def __getattr__(self, name):
        self.asked.append(name)
        if name == "late":
            raise AttributeError("not yet", name=name)
        return getattr(self.of, name)

    @property
    def fails(self):
        return self.of.nothing


@program
def proxy_that_counts_what_it_is_asked():
    proxy = Proxy(Shape(A))

    def f(x):
        there = (
            hasattr(proxy, "x"),
            hasattr(proxy, "late"),
            hasattr(proxy, "nothing"),
            getattr(proxy, "late", 3),
        )
        return there, proxy.norm * x, list(proxy.asked)

    return f, [(B,), (C,), (A,)], lambda: (proxy.asked, proxy.of)


@program
def proxy_whose_property_fails():
    proxy = Proxy(Shape(A))

    def f(x):
        try:
            proxy.fails
        except AttributeError as e:
            text = str(e)
        return text, hasattr(proxy, "fails"), x * proxy.hits, list(proxy.asked)

    return f, [(B,), (C,), (A,)], lambda: (proxy.asked, proxy.of)
