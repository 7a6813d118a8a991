"""Tuples of constants and of what is known that a program keeps, and classes that NumPy hands its functions to."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program


@program
def guards_that_log_their_depth() -> Any:
    class Guard:
        def __init__(self, log):
            self.log, self.depth = log, 0

        def __enter__(self):
            self.depth += 1
            self.log.append(("in", self.depth))
            return self

        def __exit__(self, kind, error, where):
            self.log.append(("out", self.depth, kind and kind.__name__))
            self.depth -= 1
            return kind is ZeroDivisionError

    log: list[Any] = []
    guard = Guard(log)

    def f(x, y):
        out = None
        with guard:
            with guard as inner:
                out = x * inner.depth
            out /= y
        return out

    return f, [(1.0, 2.0), (3.0, 0.0), (5.0, 4.0), (6.0, 4.0)], lambda: (log, guard.depth)


@program
def constants_of_the_code_and_tuples_of_known_numbers() -> Any:
    log: list[Any] = []
    held = {"depth": 2, "last": None}

    def f(x):
        log.append(("a", 1))
        log.append(("a", held["depth"]))
        log.append((("a", 1), held["depth"]))
        kept = ("a", held["depth"])
        log.append(kept)
        log.append(kept)
        held["last"] = ("b", 2), ("b", held["depth"])
        return x * 2

    return f, [(1.0,), (2.0,), (3,)], lambda: (log, held)


@program
def constants_of_the_code_that_have_floats_in_them() -> Any:
    log: list[Any] = []

    def named():
        return (1.5, "a"), ((2.5, 1), None)

    def f(x):
        log.append((1.5, 2))
        log.append(((0.0, -0.0), (1j, True)))
        log.extend(named())
        log.append((1.5, len(log)))
        return x * 2

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (log, [[a is b for a in log] for b in log])


@program
def a_constant_that_is_compared_with_what_is_kept() -> Any:
    class Machine:
        mode: Any = None

    machine = Machine()

    def f(x):
        ready = ("ready", 1)
        if machine.mode is not ready:
            machine.mode = ready
            return x
        return x * 10

    return f, [(1.0,), (2.0,), (3.0,)], lambda: machine.mode


@program
def quantities_by_ufuncs() -> Any:
    class Quantity:
        def __init__(self, value, unit):
            self.value, self.unit = value, unit

        def __array_ufunc__(self, ufunc, method, *args, **kwargs):
            if method != "__call__":
                return NotImplemented
            values = [a.value if isinstance(a, Quantity) else a for a in args]
            units = [a.unit if isinstance(a, Quantity) else "" for a in args]
            if ufunc is np.multiply:
                unit = "".join(units)
            elif ufunc in (np.add, np.subtract):
                if units[0] != units[1]:
                    raise TypeError(f"{units[0]} and {units[1]}")
                unit = units[0]
            else:
                return NotImplemented
            return Quantity(ufunc(*values, **kwargs), unit)

        def __mul__(self, other):
            return np.multiply(self, other)

        def __add__(self, other):
            return np.add(self, other)

    def f(x, y):
        a, b = Quantity(x, "m"), Quantity(y, "s")
        c = a * b
        try:
            a + b
        except TypeError as e:
            said = str(e)
        d = a + a
        return c.value, c.unit, said, d.value, d.unit

    return f, [(np.ones(3), 2.0), (np.arange(3.0), np.ones(3)), (1.5, np.ones(2))], None


@program
def iterators_that_count_who_asks() -> Any:
    class Countdown:
        def __init__(self, n):
            self.n, self.asked = n, 0

        def __iter__(self):
            self.asked += 1
            self.left = self.n
            return self

        def __next__(self):
            if self.left <= 0:
                raise StopIteration
            self.left -= 1
            return self.left

    down = Countdown(3)

    def f(x):
        out = []
        for v in down:
            out.append(v * x)
        for v in down:
            if v * x < 1.5:
                break
            out.append(v)
        again = [v + x for v in down]
        pairs = [(a, b) for a, b in zip(down, out, strict=False)]
        return out, again, pairs, down.asked

    return f, [(1.0,), (2.0,), (0.5,), (3,)], lambda: (down.asked, down.left)
