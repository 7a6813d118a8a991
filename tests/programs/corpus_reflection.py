"""Programs that ask classes about the classes around them, and context managers that swallow exceptions."""

from __future__ import annotations

import contextlib
import inspect
import math
import operator
from typing import Any

import numpy as np

from tests.programs.observe import program


class A:
    def name(self):
        return [c.__name__ for c in type(self).__mro__[:-1]]


class B(A):
    def name(self):
        return [*super().name(), super(B, self).name.__name__, B.__bases__[0].__name__]  # noqa: UP008


class C(A):
    pass


class D(B, C):
    pass


@program
def asks_for_the_classes_that_a_class_is_made_of() -> Any:
    def f(x):
        names = (
            [c.__name__ for c in D.__mro__],
            [c.__name__ for c in D.mro()],
            [c.__name__ for c in D.__bases__],
        )
        same = D.__bases__ == (B, C), B.__base__ is A, D.__mro__.index(C), A in D.__mro__, D.mro()[1] is B
        return x + 1, names, same, B().name(), D().name(), getattr(B, "__mro__")[1] is A  # noqa: B009

    return f, [(1,), (np.ones(2),), (3.0,)], None


@program
def asks_a_class_for_those_derived_from_it() -> Any:
    def f(x):
        return (
            x + 1,
            [c.__name__ for c in A.__subclasses__()],
            {c.__name__: c().name() for c in B.__subclasses__()},
        )

    return f, [(1,), (2.0,)], lambda: [c.__name__ for c in A.__subclasses__()]


@program
def looks_into_classes_by_inspect() -> Any:
    def f(x):
        return (
            x,
            [c.__name__ for c in inspect.getmro(D)],
            [n for n, _ in inspect.getmembers(D) if n[0] != "_"],
        )

    return f, [(1,), (2.0,)], None


@program
def uses_classes_that_are_looked_for_outside() -> Any:
    """What a trace makes of classes is not among those that a program finds."""

    def f(x):
        return B().name(), C().name(), isinstance(D(), A), x * 2

    def state():
        return [c.__name__ for k in (A, B, C, D) for c in k.__subclasses__()]

    return f, [(1,), (2.0,)], state


class Swallows:
    def __init__(self, which):
        self.which, self.seen = which, []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.seen.append(kind is None)
        return kind is self.which


@program
def raises_where_a_context_manager_may_swallow_it() -> Any:
    def f(x):
        with Swallows(ValueError) as s:
            if x < 0:
                raise ValueError("negative")
            x = 6 / x
        with contextlib.suppress(KeyError), contextlib.ExitStack():
            if x > 3:
                raise KeyError(3)
            x = x + 1
        return x, s.seen

    return f, [(3,), (-1.0,), (0.5,), (0,)], None


@program
def looks_at_bytes_ranges_and_polynomials() -> Any:
    def f(x, n):
        same = (
            range(n) == range(3),
            isinstance(range(n), range),
            hasattr(range(n), "__next__"),
            type(range(n)) is range,
        )
        return (
            bytes(x),
            same,
            type(zip(x, x, strict=True)).__name__,
            np.poly1d([n, 1]),
            np.pad(n, 2),
            np.min_scalar_type(n),
        )

    return f, [(np.array([1, 2]), 3), (np.array([3]), 4), (np.array([7, 8]), 2)], None


def _what_is_raised(calls):
    found = []
    for call in calls:
        try:
            found.append(call())
        except (TypeError, ValueError) as e:
            found.append(type(e).__name__)
    return found


@program
def calls_what_python_and_numpy_refuse() -> Any:
    def f(x, n):
        return _what_is_raised(
            [
                lambda: [1, n] ** n,
                lambda: n ** [1, 2],
                lambda: operator.contains(n, 2),
                lambda: math.gcd([n], n),
                lambda: math.frexp([n]),
                lambda: np.clip(x, 2),
                lambda: np.zeros_like(x, x),
                lambda: np.indices(n),
                lambda: np.copyto(n, 2),
                lambda: math.gcd(n > 2),
            ]
        )

    return f, [(np.ones(2), 3), (np.ones(3), 4)], None


@program
def matches_a_list_of_traced_length() -> Any:
    def f(r, held):
        match [q for q in (0.5, 1.5) if q > r]:
            case []:
                held.append(0.0)
            case [q]:
                held.append(q)
            case [q, *_]:
                held.append(2.0)
        return held

    return f, [(-1.0, [9.0]), (np.float32(1), [9.0]), (2.0, [])], None
