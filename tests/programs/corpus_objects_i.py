"""Classes and simulations as people write them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def repr_and_hash_that_count() -> Any:
    log: list[str] = []

    class K:
        def __repr__(self):
            log.append("repr")
            return "K"

        def __hash__(self):
            log.append("hash")
            return 1

        def __eq__(self, other):
            log.append("eq")
            return self is other

        def __bool__(self):
            log.append("bool")
            return True

        def __len__(self):
            log.append("len")
            return 3

    k = K()

    def f(x, other):
        return x * 2 if k else x, other is k

    return f, [(1.0, k), (2.0, K()), (3.0, k)], lambda: log


@program
def given_object_looked_at_by_nobody() -> Any:
    log: list[str] = []

    class K:
        def __getattr__(self, name):
            log.append(name)
            raise AttributeError(name)

        def __eq__(self, other):
            log.append("eq")
            return self is other

        def __hash__(self):
            log.append("hash")
            return 1

        def __iter__(self):
            log.append("iter")
            return iter([1.0])

    k = K()
    return (lambda x, other: x * 2), [(1.0, k), (2.0, K()), (3.0, k)], lambda: log


@program
def writes_by_type_of_self() -> Any:
    class A:
        n = 0

        def go(self, x):
            type(self).n += 1
            return x

    class B(A):
        def go(self, x):
            self.__class__.m = 5
            return super().go(x)

    b = B()
    return b.go, _vectors(1, 1, 1), lambda: (A.n, B.n, getattr(B, "m", None))


@program
def slots_kept_in_a_parent() -> Any:
    class A:
        __slots__ = ("x",)

    class B(A):
        def __init__(self):
            self.x, self.y = 1.0, 2.0

    b = B()

    def f(k):
        return b.x * k, b.y, sorted(vars(b))

    def before(n):
        b.x = float(n)
        if n == 2:
            b.z = 1

    return f, [(1.0,), (2.0,), (3.0,)], None, before


@program
def returned_object_is_the_argument() -> Any:
    class P:
        def __init__(self, x):
            self.x = x

    held = P(np.ones(2))

    def f(p, x):
        p.x += x
        return p, held, [p]

    return f, [(P(np.ones(2)), 1.0), (held, 2.0), (P(np.ones(2)), 3.0)], lambda: held


@program
def dataclass_replaced_after_a_change() -> Any:
    @dataclasses.dataclass
    class Fit:
        w: np.ndarray
        b: float = dataclasses.field(default=0.5, metadata={"unit": "m"})
        errors: list[float] = dataclasses.field(default_factory=list)

    def f(fit, x):
        e = float(fit.w @ x + fit.b)
        fit.w = fit.w - 0.1 * e * x
        fit.errors.append(e)
        units = [p.metadata.get("unit") for p in dataclasses.fields(fit)]
        return dataclasses.replace(fit, b=fit.b - 0.1 * e), units, dataclasses.astuple(fit)

    calls: list[tuple[Any, ...]] = [(Fit(np.ones(3) * k), np.arange(3.0)) for k in (1, 2, 3)]
    return f, calls, lambda: Fit
