"""Every construct of loops and branches, under jit, against the plain function."""

from __future__ import annotations

import array
import collections
import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import tree

CASES: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {}
X = np.array([3.0, -1.0, 2.5, 0.0, -4.0, 7.0, 1.0, 9.5, -2.0, 6.0])
N = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])


def case(*arguments: tuple[Any, ...]) -> Callable[[Any], Any]:
    def enter(f: Any) -> Any:
        CASES[f.__name__] = f, list(arguments)
        return f

    return enter


# ---------------------------------------------------------------- branches and arrays of outside


@case((X, 1.0), (X, -1.0))
def updated_or_bound_anew(x, c):
    x = x.copy()
    if c > 0:
        x[0] = 5
    else:
        x = x * 2
    return x


@case((X, 1.0), (X, -1.0))
def a_part_of_what_is_updated(x, c):
    if c > 0:
        x[0] = 5
        b = x[:2]
    else:
        b = x[1:3]
    return b


@case((X.reshape(5, 2), 1), (X.reshape(5, 2), 0))
def rows_at_places_of_the_branch(x, c):
    if c > 0:
        b = x[c]
    else:
        b = x[c + 2]
    return b, x


@case((X, 1.0), (X, -1.0))
def value_of_what_is_updated(x, c):
    def h():
        x[1] = 8
        return x[:2]

    b = h() if c > 0 else x[1:3]
    return b, x


@case((X, X * 0.5 + 1, X * 2))
def two_names_of_one_array_after_a_loop(x, y, w):
    z = x * 2
    for _ in range(7):
        y += 0.5
        x = x.copy()
        x = x + w
        z = x
        x, y = y, x
    z += 1
    return x, y, z


@case((X, X * 0.5 + 1, X * 2))
def two_names_of_one_array_in_a_loop(x, y, w):
    z = x * 2
    for _ in range(7):
        y += 0.5
        w = w + z
        x = x + w
        z = x
        x, y = y, x
    return x, y, z, w


@case((X, X * 0.5 + 1))
def a_name_of_an_array_of_outside(x, y):
    z = y
    for i in range(7):
        z = x
        y = y + i
    z += 1
    return x, y, z


@case((X, 2), (X, -3), (X, 1), (X, 20))
def range_with_a_traced_step(x, by):
    s = 0.0
    for i in range(1, 8, by):
        s = s * 0.5 + x[i]
    for i in range(9, 1, by):
        s = s * 0.25 + x[i]
    return s


@case((X.reshape(5, 2),))
def extents_of_loop_and_branch(x):
    for k in range(5):
        v = x[k:, 0].copy()
        if v[0] > 0:
            x[k:] -= np.outer(v, v @ x[k:]) / 100
    return x


# ---------------------------------------------------------------- for


@case((X,))
def promoted_start(x):
    s = 0
    for v in x:
        s += v
    return s


@case((7,), (1,), (0,))
def traced_range(n):
    s = 0
    for i in range(n):
        s += i * i
    return s


@case((X, 2, 9, 3), (X, 9, 2, 3), (X, 0, 10, 1))
def range_with_step(x, lo, hi, unused):
    s = 0.0
    for i in range(lo, hi, 3):
        s += x[i]
    for i in range(hi - 1, lo, -2):
        s = s * 0.5 + x[i]
    return s


@case((X,))
def loop_variable_afterwards(x):
    for i in range(len(x)):
        x[i] = x[i] * 2
    return i, x


@case((X, N))
def zipped(x, n):
    s = 0.0
    for a, b in zip(x, n):
        s += a * b
    return s


@case((X,))
def enumerated(x):
    out = np.zeros(len(x))
    for i, v in enumerate(x):
        out[-i - 1] = v * i
    for i, v in enumerate(x, 5):
        out[0] += i * v
    return out


@case((X,))
def backwards(x):
    out = np.zeros_like(x)
    k = 0
    for v in reversed(x):
        out[k] = v
        k += 1
    for i in reversed(range(len(x))):
        out[i] += i
    return out


@case((X.reshape(5, 2),))
def rows(x):
    s = np.zeros(2)
    for row in x:
        s = s + row
    for row in x:
        row += 1
    for i, (a, b) in enumerate(x):
        s[0] += i * a - b
    return s, x


@case((X, 3.0), (X, 100.0), (X, -9.0))
def breaks(x, limit):
    s = 0.0
    for i in range(len(x)):
        if s > limit:
            break
        s += abs(x[i])
    return s, i


@case((X, 3.0), (X, 100.0))
def continues(x, limit):
    s = 0.0
    for v in x:
        if v < 0:
            continue
        s += v
        if v > limit:
            s -= 1
            continue
        s *= 2
    return s


@case((X, 7.0), (X, 8.0))
def loop_else(x, wanted):
    found = -1
    for i in range(len(x)):
        if x[i] == wanted:
            found = i
            break
    else:
        found = 100
    return found


@case((X,), (X * 3,))
def left_by_return_only(x):
    k = 0
    while True:
        k += 1
        if x[k] > 2:
            return x[k], k
        x[k] = 0


@case((X, 8.0), (X, 1.0))
def left_by_return_or_break(x, limit):
    k = 0
    while True:
        while True:
            k += 1
            if x[k] > 2:
                break
        if x[k] > limit:
            return k
        if k > 5:
            break
    return -k


@case((X, 2.0), (X, 99.0))
def returns_from_a_loop(x, limit):
    for i in range(len(x)):
        for j in range(i):
            if x[i] * x[j] > limit * 10:
                return i, j
    return -1, -1


@case((X.reshape(5, 2),))
def nested_breaks(x):
    count = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] < 0:
                break
            count += 1
        else:
            count += 10
    return count


@case((X,))
def first_defined_in_the_loop(x):
    for i in range(len(x)):
        last = x[i] * 2
    return last


@case((X,))
def previous_value(x):
    total = 0.0
    for i in range(len(x)):
        if i > 0:
            total += abs(x[i] - previous)
        previous = x[i]
    return total


@case((X,))
def tuple_targets(x):
    a, b = 0.0, 1.0
    for v in x:
        a, b = b, a + v
    return a, b


@case((X,))
def structures(x):
    state = {"a": 0.0, "b": (x[0], 1)}
    for v in x:
        state = {"a": state["a"] + v, "b": (v, state["b"][1] + 1)}
    return state


@case((X.copy(), 9), (X.copy(), 10))
def swapped_arrays(u, steps):
    v = np.zeros_like(u)
    w = u.copy()
    for _ in range(11):
        v[1:-1] = w[:-2] + w[2:] * 0.5
        w, v = v, w
    return w, v


@case((X.copy(),))
def swapped_arguments(u):
    v = u * 2
    for _ in range(7):
        v[1:] = u[:-1] + 1
        u, v = v, u
    return u, v


@case((X.copy(),))
def in_place_then_bound_anew(x):
    for i in range(8):
        x[0] += i
        x = x * 0.5
    return x


@case((X,))
def list_of_results(x):
    out = []
    for v in x:
        out.append(v * 2)
    return np.array(out)


@case((X,))
def lists_are_indexed_by_position(x):
    weights = [1.0, 2.0, 3.0] * 5
    s = 0.0
    for i in range(len(x)):
        s += weights[i] * x[i]
    return s


@case((X,))
def shapes_that_grow(x):
    out = x[:1]
    for i in range(1, 7):
        out = np.concatenate([out, x[i : i + 1]])
    return out


@case((X,))
def global_names(x):
    s = 0.0
    for i in range(len(N)):
        s += x[i] * N[i]
    return s


@case((X,))
def comprehension(x):
    return np.array([v**2 if v > 0 else -v for v in x]), sum(v for v in x)


@case((X,))
def python_numbers_stay_exact(x):
    f = 1
    for i in range(1, 30):
        f *= i
    return x / float(f)


@case((X,))
def deleted(x):
    for i in range(6):
        t = x[i]
        x[i] = t + 1
        del t
    return x


# ---------------------------------------------------------------- names that not every step assigns


@case((X, 40), (X, 2), (X, 1))
def assigned_in_some_steps(x, n):
    for i in range(n):
        if i % 7 == 0:
            most, where = x.max(), i
        x = x * 0.9
    return x, most, where


@case((X, 23))
def assigned_after_continue(x, n):
    for i in range(n):
        if i % 2:
            continue
        last = x[i % 10] + i
    return last


@case((X,), (X[:3],))
def assigned_in_some_steps_of_while(x):
    i = 0
    while x.sum() * x.sum() > 0.5:
        if i % 3 == 0:
            seen = x.copy()
            seen[0] = i
        x, i = x * 0.8, i + 1
    return seen, i


@case((N,), (N[::-1],))
def assigned_in_an_inner_loop(n):
    for k in n:
        for j in range(k - 3):
            last = j * k
    return last


# ---------------------------------------------------------------- state that names do not show


class Slots:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    def __call__(self):
        self.n += 1
        return self.n


class Items(list):
    pass


@case((X,))
def objects_with_slots(x):
    count = Slots()
    for _ in range(30):
        x = x + count()
    return x


@case((X,))
def containers_of_own_classes(x):
    items, counts = Items(), collections.Counter()
    for i in range(30):
        items.append(i)
        counts[i % 3] += 1
        x = x + len(items) * counts[0]
    return x


@case((X,))
def iterators_in_containers(x):
    held = [iter(range(100))]
    for _ in range(30):
        x = x + next(held[0])
    return x


@case((X,))
def bytes_and_machine_arrays(x):
    a, b = bytearray(3), array.array("d", [0.0])
    for _ in range(30):
        a[0] += 1
        b[0] += 1
        x = x + a[0] * b[0]
    return x


@case((X,))
def random_generators(x):
    made = np.random.default_rng(0), np.random.RandomState(1), random.Random(2)
    for _ in range(30):
        x = x + made[0].normal(size=10) + made[1].rand() + made[2].random()
    return x


# ---------------------------------------------------------------- while


@case((10.0,), (0.5,))
def halve(x):
    n = 0
    while x > 1:
        x /= 2
        n += 1
    return x, n


@case((X, 2.0), (X, 999.0))
def while_true(x, limit):
    i = 0
    s = 0.0
    while True:
        s += x[i] ** 2
        i += 1
        if s > limit or i == len(x):
            break
    return s, i


@case((X, 6.0), (X, 77.0))
def while_and(x, wanted):
    i = 0
    while i < len(x) and x[i] != wanted:
        i += 1
    return i


@case((20.0,), (1.0,))
def while_else(x):
    n = 0
    while x > 1:
        x = x / 2
        n += 1
        if n > 3:
            break
    else:
        n = -n
    return n


@case((12, 18), (7, 13))
def greatest_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


@case((X,))
def walrus(x):
    i = 0
    while (v := x[i]) != 9.5:
        i += 1
    return v, i


# ---------------------------------------------------------------- if


@case((-3.0,), (0.0,), (5.0,), (50.0,))
def elif_chain(x):
    if x < 0:
        y = -x
    elif x == 0:
        y = 1.0
    elif x < 10:
        y = x * 2
    else:
        y = 10.0
    return y


@case((-3.0,), (5.0,))
def early_returns(x):
    if x < 0:
        return x * 2
    y = x + 1
    if y > 4:
        return y
    return 0.0


@case((-3.0,), (5.0,))
def without_else(x):
    y = 1.0
    if x > 0:
        y = x
    return y


@case((-3.0, X), (5.0, X))
def branches_write(c, x):
    if c > 0:
        x[2:4] = c
        x[0] += 1
    else:
        x *= 2
    return x.sum()


@case((-3.0,), (0.5,), (2.0,))
def expressions(x):
    a = x if x > 0 else -x
    b = x > 0 and x < 1
    c = x < 0 or x > 1
    d = not x > 0
    e = 0 < x < 1
    f = 0 <= x + 1 <= x * x
    return a, b, c, d, e, f


@case((X, 3), (X, 12))
def guarded_index(x, i):
    return 1 if i < len(x) and x[i] == 0 else 2


@case((3.0,), (-3.0,))
def one_branch_only(x):
    if x > 0:
        t = x * 2
        y = t + 1
    else:
        y = x
    return y


@case((3.0,), (-3.0,))
def used_under_the_same_condition(x):
    if x > 0:
        t = np.sqrt(x)
    y = 1.0
    if x > 0:
        y = t
    return y


@case((2.0, True), (2.0, False))
def traced_flag(x, flag):
    return x * 2 if flag else x


@case((2.0,), (-2.0,))
def nested_functions(x):
    total = 0.0

    def add(v):
        nonlocal total
        if v > 0:
            total += v
        else:
            total -= 2 * v

    for i in range(8):
        add(x * i)
    scale = lambda v: v if v > 1 else v * 3
    return total, scale(x)


def counter():
    count = 0.0

    def tick(v):
        nonlocal count
        count += v
        return count

    return tick


@case((2.0,))
def variables_of_functions(x):
    tick = counter()
    for i in range(7):
        x = x + tick(x * i)
    return x, tick(0.0)


def helper(x, n):
    s = x
    for _ in range(n):
        if s > 100:
            return s
        s = s * 2
    return -s


@case((2.0, 10), (2.0, 3))
def calls_a_helper(x, n):
    return helper(x, n) + helper(x, 8)


class Model:
    def __init__(self, w):
        self.w = w
        self.__private = 2.0

    def run(self, x):
        y = x
        for i in range(len(self.w)):
            y = y * self.w[i] + self.__private
            if y > 50:
                break
        return y


class Child(Model):
    def run(self, x):
        for _ in range(6):
            x = x + 0.1
        return super().run(x)


MODEL, CHILD = Model(X), Child(X)


@case((2.0,), (0.1,))
def methods(x):
    return MODEL.run(x), CHILD.run(x)


@case((X,))
def with_and_try(x):
    s = 0.0
    with np.errstate(all="ignore"):
        for v in x:
            try:
                if v > 5:
                    continue
                s += v
            finally:
                s += 1
    return s


@case((3.7,), (-2.2,))
def conversions(x):
    return int(x), float(x), bool(x), round(x), round(x, 1), abs(x), divmod(x, 2), pow(x, 2), complex(x)


@case((X,))
def builtins_of_arrays(x):
    return max(x), min(x), sum(x), any(x > 9), all(x > -5), len(x)


@case((3.0, 2), (2.5, 7), (np.nan, 14), (8.0, -3))
def members(v, n):
    count = 0
    if v in (3.0, 8.0, v):
        count += 1
    if n not in [2, 7]:
        count += 10
    if v in X and n in N:
        count += 100
    return count, n in range(2, 20, 5), n in range(7, -6, -5), n in range(0), v in X[:0], n in {2: 3}.values()


@case((X, 7.0), (X, -5.0))
def member_of_array(x, v):
    return v in x, 3 not in x, np.nan in x, x[0] in x.reshape(2, 5), "a" in "abc"


@case((X,), (X[:1],), (np.array([0.0, -0.0, 1.0, -0.0, np.inf]),))
def sorted_numbers(x):
    a, b, *_ = [*sorted(x), 1.0]
    return (
        sorted(x),
        sorted([x[0], x.max(), -x[0]]),
        [np.copysign(1.0, v) for v in sorted(x, reverse=True)],
        a - b,
    )


@case((X, 3), (X, 5))
def lengths_of_slices(x, n):
    return len(x[:n]), x[:n].sum()


@case((X, 2), (X, 0), (X, 1))
def two_names_of_one_array_and_a_loop(x, n):
    a = x * 1
    b = a
    for _ in range(n):
        a += 1
        a = a * 2
    for _ in range(7):
        a += 1
        a = a * 0.5
    return a, b


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", sorted(CASES))
def test_jit_does_what_python_does(name):
    f, calls = CASES[name]
    jitted = tj.jit(
        f, fallback=True
    )  # a refusal warns, which is an error here; a number's class may be Python's
    for args in calls:
        plain, ours = copy.deepcopy(args), copy.deepcopy(args)
        wanted = f(*plain)
        got = jitted(*ours)
        assert tree.structure(got) == tree.structure(wanted)
        for g, w in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
            assert np.result_type(g) == np.result_type(w), f"{g!r} for {w!r}"
            np.testing.assert_allclose(g, w, rtol=1e-13)
        for g, w in zip(ours, plain, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-13)


@pytest.mark.parametrize(
    "f", [lambda x: max(x), lambda x: min(x), lambda x: sum(x)], ids=["max", "min", "sum"]
)
def test_builtins_of_long_arrays(f):
    x = np.array([2.0, np.nan, 5.0, -1.0, 7.0, -8.0, 7.0, 0.5, 3.0, 1.0, 1e16, 1.0, -1e16])
    np.testing.assert_array_equal(tj.jit(f)(x), f(x))
    np.testing.assert_array_equal(tj.jit(f)(x[2:]), f(x[2:]))
    assert len(tj.jit(f).lower(np.ones(1000)).jaxpr.eqns) < 9


def test_jumps_that_are_never_reached() -> None:
    def f(x):
        for a in x:
            if a > 1:
                return 5.0
                break
            continue
            break
        return 3.0

    for x in (np.arange(3.0), -np.arange(3.0)):
        assert tj.jit(f, fallback=False)(x) == f(x)


def test_a_step_before_a_loop_may_end_it() -> None:
    """A second step that is to make it settle is not taken where the first one has ended it."""

    def f(x):
        n, r = 0, False
        for _ in range(40):
            n += 1
            r = (1, "z")
            if x[0] < 3:
                break
        last = r
        return n, last is False

    for x in (np.arange(3.0), np.arange(3.0) + 5):
        assert tj.jit(f, fallback=False)(x) == f(x)
