"""Classes and simulations as people write them."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def aliased_attributes() -> Any:
    class Two:
        def __init__(self):
            self.a = np.zeros(3)
            self.b = self.a
            self.part = self.a[1:]

        def step(self, x):
            self.a += x
            self.part *= 2
            return self.b.sum()

    t = Two()

    def before(n):
        if n == 1:
            t.b = t.a.copy()
        if n == 2:
            t.a = t.part

    return t.step, [(1.0,), (2.0,), (3.0,)], lambda: t, before


@program
def replaced_objects() -> Any:
    class Model:
        def __init__(self, k):
            self.k = k

        def __call__(self, x):
            return x * self.k

    class Other(Model):
        def __call__(self, x):
            return x - self.k

    holder = types.SimpleNamespace(model=Model(2.0))

    def f(x):
        y = holder.model(x)
        holder.previous = holder.model
        holder.model = type(holder.model)(holder.model.k + 1)
        return y

    def before(n):
        if n == 2:
            holder.model = Other(1.0)

    return f, _vectors(0, 1, 2), lambda: holder, before


@program
def vars_item_set() -> Any:
    class P:
        pass

    p = P()

    def f(x, k):
        vars(p)[k] = x * 2
        p.__dict__.update(n=len(vars(p)), last=k)
        return getattr(p, k) + 1

    return f, [(np.ones(2), "a"), (np.ones(2), "b"), (np.ones(2) * 3, "a")], lambda: vars(p)


@program
def setattr_by_name() -> Any:
    class P:
        def __init__(self):
            self.total = 0.0

    p = P()

    def f(x, name):
        setattr(p, name, x)
        p.total = p.total + getattr(p, name).sum()
        if hasattr(p, "b") and name == "a":
            delattr(p, "b")
        return sorted(vars(p))

    return f, [(np.ones(2), "a"), (np.ones(2), "b"), (np.ones(3), "a")], lambda: p


@program
def function_attributes() -> Any:
    def f(x):
        f.count += 1
        f.last = x
        return x * f.count

    f.count = 0
    f.last = None

    def before(n):
        if n == 2:
            f.count = 10

    return f, _vectors(0, 1, 2), lambda: (f.count, f.last), before


@program
def helper_attributes() -> Any:
    def helper(x):
        helper.calls = getattr(helper, "calls", 0) + 1
        return x + helper.calls

    def f(x):
        return helper(x) * helper(x)

    return f, _vectors(0, 1, 2), lambda: helper.calls


@program
def patched_helpers() -> Any:
    tools = types.SimpleNamespace(act=np.tanh)

    class Layer:
        def act(self, x):
            return x * 2

    layer = Layer()

    def f(x):
        return tools.act(x) + layer.act(x)

    def before(n):
        if n == 1:
            tools.act = lambda x: x - 1
        if n == 2:
            Layer.act = lambda self, x: x * 5
        if n == 3:
            layer.act = lambda x: x * 0

    return f, _vectors(0, 1, 2, 3), None, before


@program
def patched_code() -> Any:
    def helper(x, k=2.0):
        return x * k

    def f(x):
        return helper(x)

    def before(n):
        if n == 1:
            helper.__defaults__ = (5.0,)
        if n == 2:
            helper.__code__ = (lambda x, k=1: x + k).__code__

    return f, _vectors(0, 1, 2), None, before


@program
def patches_within_the_function() -> Any:
    class A:
        def go(self, x):
            return x + 1

    a = A()

    def f(x, flag):
        if flag:
            A.go = lambda self, x: x * 10
        return a.go(x)

    return f, [(np.ones(2), False), (np.ones(2), True), (np.ones(2), False)], lambda: A.go(a, 1)


@program
def class_of_an_object_changed() -> Any:
    class A:
        def go(self, x):
            return x + 1

    class B:
        def go(self, x):
            return x * 10

    o = A()

    def f(x):
        y = o.go(x)
        o.__class__ = B if type(o) is A else A
        return y

    return f, _vectors(1, 1, 1), lambda: type(o)


@program
def operators_of_a_class() -> Any:
    class Vec:
        adds = 0

        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            Vec.adds += 1
            return Vec(self.v + o.v)

        def __iadd__(self, o):
            self.v += o.v
            return self

        def __mul__(self, k):
            return Vec(self.v * k)

        __rmul__ = __mul__

        def __eq__(self, o):
            return bool(np.all(self.v == o.v))

        def __hash__(self):
            return 1

        def __len__(self):
            return len(self.v)

        def __getitem__(self, i):
            return self.v[i]

        def __bool__(self):
            return bool(self.v.any())

    base = Vec(np.ones(2))

    def f(a, k):
        nonlocal base
        old = base
        base += a
        c = 2 * a + base * k
        return c, c == a, len(c), c[0], bool(a), old is base

    return f, [(Vec(np.ones(2) * k), k) for k in (0.0, 1.0, 2.0)], lambda: (base, Vec.adds)


@program
def context_manager_object() -> Any:
    class Scale:
        def __init__(self):
            self.depth, self.factor = 0, 1.0

        def __enter__(self):
            self.depth += 1
            self.factor *= 2
            return self

        def __exit__(self, kind, e, tb):
            self.depth -= 1
            self.last = None if kind is None else kind.__name__
            return kind is ZeroDivisionError

    s = Scale()

    def f(x):
        with s as a, a:
            y = x * s.factor
            if x.sum() > 5:
                raise ZeroDivisionError("big")
            return y, s.depth
        return "swallowed"

    return f, _vectors(0, 1, 2), lambda: vars(s)
