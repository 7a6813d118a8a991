"""Names that branches and loops bind to one array or another: a write through one is seen through all, as in NumPy."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.sources import compiled
from tracejit import tree
from tracejit.errors import ChosenArrayError, TracejitError, VariableTypeError

X = np.array([1.0, 2.0, 3.0])
CASES: list[Any] = []


class Holder:
    def __init__(self, v) -> None:
        self.v = v


def case(f: Callable[..., Any]) -> Callable[..., Any]:
    CASES.append(f)
    return f


def agree(f: Callable[..., Any], *args: Any) -> None:
    """Results and arguments afterwards, by jit and by NumPy."""
    ours, plain = copy.deepcopy(args), copy.deepcopy(args)
    got, wanted = tj.jit(f)(*ours), f(*plain)
    for g, w in zip(tree.leaves((got, ours)), tree.leaves((wanted, plain)), strict=True):
        assert np.result_type(g) == np.result_type(w)
        np.testing.assert_allclose(g, w, rtol=1e-12)


# ---------------------------------------------------------------- branches


def doubled_or_not(a, c):
    if c:
        a = a * 2
    a[0] += 1
    return a


@case
def an_argument(a, c):
    return doubled_or_not(a, c)


@case
def an_array_of_the_caller(a, c):
    b = a * 1.0
    return doubled_or_not(b, c), b


@case
def an_element_of_a_dict(a, c):
    s = {"x": a * 1.0}
    y = s["x"]
    if c:
        y = y * 2
    y[0] += 1
    return y, s["x"]


@case
def an_attribute_bound_anew(a, c):
    o = Holder(a * 1.0)
    b = o.v
    if c:
        o.v = o.v * 2
    o.v[0] += 1
    b[1] += 1
    return o.v, b


@case
def a_write_into_the_other_name(a, c):
    b = a * 1.0
    d = b
    if c:
        d = d * 2
    b[0] = 50
    return d, b


@case
def two_names_that_a_branch_makes_one(a, c):
    f, g = a * 1.0, a * 3.0
    if c:
        f = np.ones(3)
        g = f[::-1]
    f[0] = 7
    return f, g


@case
def one_of_two(a, c):
    b, d = a * 1.0, a * 2.0
    x = b if c else d
    x[0] += 1
    return x, b, d


@case
def swapped(a, c):
    b, d = a * 1.0, a * 2.0
    e = b
    if c:
        b, d = d, b
    b[0] = -1
    d[1] = -2
    return b, d, e


@case
def a_view_from_before(a, c):
    b = a * 1.0
    v = b[1:]
    if c:
        b = b * 2
    v[0] = 5
    b[2] = 6
    return b, v


@case
def one_part_or_another(a, c):
    b = a * 1.0
    if c:
        v = b[1:]
    else:
        v = b[:2]
    v[0] = 77
    return v, b


@case
def a_part_at_a_number_of_the_branch(a, c):
    b = np.stack([a, a * 2, a * 3])
    v = b[0]
    if c:
        k = int(a[0])
        v = b[k, ::-1]
    v[0] = 77
    return v, b


def either(a, c):
    if c:
        return a
    return a * 2


@case
def an_early_return(a, c):
    r = either(a, c)
    r[0] += 1
    return r


@case
def a_function_that_looks(a, c):
    b = a * 1.0

    def look():
        return b.sum()

    d = b
    if c:
        d = d * 2
    d[0] += 100
    return look()


@case
def branches_in_branches_and_writes_in_a_loop(a, c):
    b = a * 1.0
    x = b
    if c:
        if a[1] > 0:
            x = x + 1
    for i in range(30):
        x[i % 3] += i
    return x, b


@case
def a_tuple(a, c):
    b = (a, 1) if c else (a * 2, 1)
    b[0][0] += 1
    return b


@case
def written_in_one_branch_and_its_owner_in_the_other(a, c):
    y, z, p = a * 1.0, a * 2.0, a[::-1]
    q = y
    if a[0] < p[0]:
        z, y = y, z
    if c:
        q[1] = 3
    else:
        z[1] = 4
        y[2] = 5
    return y, z, q


@case
def memory_in_another_order(a, c):
    b = np.outer(a, a)
    r = b.T if c else b
    return r.reshape(-1) + r.ravel()[::-1], b


# ---------------------------------------------------------------- loops


@case
def bound_anew_in_some_steps(a, c):
    b = a * 1.0
    x = b
    for i in range(40):
        if i * c > 20:
            x = x * 2
        b[0] += 1
    b[1] += 1
    x[2] = 5
    return x, b


@case
def bound_anew_while(a, c):
    b = a * 1.0
    x = b
    while x[0] < 10 * c:
        x = x * 2
    x[0] = -1
    return x, b


@case
def written_and_bound_to_what_another_name_is(a, c):
    x, y, s = a * 1.0, a * 2.0, 0.0
    for i in range(40):
        x[0] += i
        s += y[0] * c
        x = x * 0.5
        y = x
    return x, y, s


@case
def returned_from_a_loop(a, c):
    def reach(x):
        while True:
            if x[0] > 3 * c + 2:
                return x
            x = x + 1

    r = reach(a)
    r[0] = 99
    return r


@case
def an_argument_that_changes_places(u, c):
    v = np.zeros_like(u)
    for _ in range(int(c) + 6):
        v[1:] = u[:-1]
        u, v = v, u
    return u


@case
def kept_from_the_step_before(a, c):
    x = a
    before = a
    for i in range(9):
        before = x
        if i > 3 * c:
            x = x + 1
        before[0] += 1
    x[1] = 0
    return x, before


@case
def rows_of_an_array_and_one_that_stays(a, c):
    m = np.outer(np.arange(1.0, 9.0), a)
    kept = a * 1.0
    for row in m:
        other = kept
        if c:
            other = row
        row[0] += 1
    kept[1] = 9
    return m, kept, other * 1.0, row * 1.0


@case
def an_owner_that_nobody_has_any_more(a, c):
    """It was written while it had a name; the next write is in a branch."""
    s = {"p": a * 2.0}
    y = s["p"]
    s["p"] = doubled_or_not(s["p"], c)
    y[0] += 3
    y = a * 1.0
    if c and y[0] > 5:
        s["p"][:] = 7.0
    return s["p"].copy(), y


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_writes_are_seen_through_all_names(f):
    for c in (True, False):
        agree(f, X, np.bool_(c))


def test_a_traced_number_of_steps():
    def f(u, n):
        v = np.zeros_like(u)
        w = u
        for _ in range(n):
            v[1:] = u[:-1]
            u, v = v, u
        u[2] = 9
        return u, v, w

    for n in (0, 1, 4):
        agree(f, X, np.int64(n))


def test_what_nobody_else_sees_is_not_followed():
    """A copy that no other name has costs what it cost before: one choice of the branch, one write."""

    def f(a, c):
        b = a + 1
        if c:
            b = b * 2
        b[0] += 1
        return b

    text = str(tj.jit(f).lower(X, np.bool_(True)).as_text("jaxpr"))
    assert text.count("select") == 0


def test_other_dtypes():
    def f(n, c):
        old = n
        if c:
            n = n * 0.5
        old[0] = 7
        return n.sum()

    for c in (True, False):  # the dtype of the result depends on `c`
        with pytest.raises(VariableTypeError):
            tj.jit(f).lower(np.arange(3), np.bool_(c))

    def g(n, c):
        if c:
            n = n * 0.5
        n[0] = 7
        return n

    with pytest.raises(VariableTypeError):
        tj.jit(g).lower(np.arange(3), np.bool_(True))


def test_a_write_into_what_may_be_a_copy():
    """NumPy reshapes `b` in place and copies `b.T`."""

    def f(a, c):
        b = np.outer(a, a)
        r = (b.T if c else b).reshape(-1)
        r[1] = -5
        return b

    with pytest.raises(ChosenArrayError):
        tj.jit(f)(X, np.bool_(True))


def test_a_write_into_what_may_be_a_part_of_another_length():
    def f(x, t):
        v = np.array([x, 2.0, 3.0])
        y = v * 2
        while t > 0:
            y = v[:2]
            t -= 1.0
        v[0] = x + 1.0
        return y, v

    with pytest.raises(ChosenArrayError):
        tj.jit(f, fallback=False)(1.5, 2.0)


@pytest.mark.parametrize("c", [True, False])
def test_gradients_and_lanes(c):
    def energy(a, c):
        b = a * a
        x = b
        if c:
            x = x * 3
        x[0] *= 2
        b[1] *= 5
        return (x * b).sum()

    step = 1e-6 * np.eye(3)
    slope = [(energy(X + s, c) - energy(X - s, c)) / 2e-6 for s in step]
    np.testing.assert_allclose(tj.jit(tj.grad(energy))(X, np.bool_(c)), slope, rtol=1e-7)
    several = np.array([c, not c])
    got = tj.jit(tj.vmap(energy))(np.stack([X, 2 * X]), several)
    np.testing.assert_allclose(got, [energy(X, c), energy(2 * X, not c)])


# ---------------------------------------------------------------- random programs

NAMES = ("x", "y", "z")
HELPERS = """
import numpy as np

class Holder:
    def __init__(self, v):
        self.v = v

def half(p, q, c):
    if c > 0:
        p = p * 0.5
    p[0] += 1.0
    return p

def pick(p, q, c):
    if c > 0:
        return p
    return q

def touch(p, q, c):
    if c > 0:
        p = q
    p[1] = 3.0
    q[2] = 4.0
    return q

def keep(p, q, c):
    r = p
    for j in range(7):
        if j < c:
            r = q + j
    r[3] -= 1.0
    return r

def f(a, m, c, d, k):
    s = {'p': a * 2.0, 'q': 1}
    o = Holder(a + 1.0)
    x, y, z = a * 1.0, s['p'], o.v
    t = 0.0
"""


class Programs:
    """Random programs of names, containers, helpers, branches, loops and writes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.of = self.random.choice
        self.counters = 0

    def source(self) -> str:
        body = self.block(0, self.random.randint(3, 6))
        end = "return x.copy(), y.copy(), z.copy(), s['p'].copy(), o.v.copy(), t"
        return HELPERS + "".join(f"    {line}\n" for line in (*body, end))

    def array(self) -> str:
        row = f"m[{self.of('012')}]"
        return self.of([*NAMES, *NAMES, *NAMES, "s['p']", "o.v", "a", row, "m[k]", f"{self.of(NAMES)}[::-1]"])

    def target(self) -> str:
        return self.of([*NAMES, *NAMES, "s['p']", "o.v"])

    def value(self) -> str:
        x, y = self.array(), self.array()
        return self.of([f"{x} * 0.5", f"{x} + 1.0", f"({x} + {y}) * 0.5", "np.zeros(4)", f"{x}.copy()"])

    def condition(self) -> str:
        x, y = self.of(NAMES), self.of(NAMES)
        return self.of(["c", "not c", "d > 0", "c and d > 1", "k == 1", f"{x}[1] > 2", f"{x}[0] < {y}[1]"])

    def statement(self) -> str:
        x, y = self.array(), self.array()
        p, q = self.random.sample(NAMES, 2)
        call = f"{self.of(['half', 'pick', 'touch', 'keep'])}({x}, {y}, {self.of('cdk')})"
        return self.of(
            [
                f"{self.target()} = {x}",
                f"{self.target()} = {self.value()}",
                f"{x}[{self.of(['0', '1', 'k', '-1'])}] += {self.of(['1.0', 'd'])}",
                f"{x}[{self.of(['1:3', '::2', ':'])}] {self.of(['=', '+='])} {self.of(['2.0', 'd'])}",
                f"{p} {self.of(['+=', '*='])} {self.of(['0.5', 'd', f'{y} * 0.25'])}",
                f"{x}[:] = {self.value()}",
                f"{self.target()} = {x} if {self.condition()} else {self.of([y, self.value()])}",
                f"{p}, {q} = {q}, {p}",
                f"{self.target()} = {call}",
                call,
                f"t += {x}.sum() * 0.125",
            ]
        )

    def block(self, depth: int, count: int) -> list[str]:
        out: list[str] = []
        for _ in range(count):
            kind = self.random.random()
            if depth < 3 and kind < 0.3:
                out += [f"if {self.condition()}:", *self.inner(depth)]
                out += ["else:", *self.inner(depth)] if self.random.random() < 0.5 else []
            elif depth < 2 and kind < 0.42:
                out += self.loop(depth)
            else:
                out.append(self.statement())
        return out

    def inner(self, depth: int) -> list[str]:
        return [f"    {line}" for line in self.block(depth + 1, self.random.randint(1, 3))]

    def loop(self, depth: int) -> list[str]:
        leave = [f"    if {self.condition()}:", f"        {self.of(['break', 'continue'])}"]
        extra = leave if self.random.random() < 0.2 else []
        if self.random.random() < 0.3:
            self.counters += 1
            w = f"w{self.counters}"
            return [f"{w} = 0", f"while {w} < k + 2:", f"    {w} += 1", *extra, *self.inner(depth)]
        steps = self.of(["range(3)", "range(9)", "range(k + 1)"])
        return [f"for i in {steps}:", *extra, *self.inner(depth)]


ARGUMENTS = [
    (1.0 + np.arange(4.0), 0.25 * np.arange(12.0).reshape(3, 4), np.bool_(c), np.float64(d), np.int64(k))
    for c, d, k in [(True, 2.0, 1), (False, -1.0, 2), (True, 0.0, 0)]
]


def test_too_many_arrays_are_refused_soon():
    def f(q, n):
        out = []
        for i in range(n):
            new = q * 1.01 + i
            if new.sum() % 2 < 1:
                q = new
            out.append(q)
        return np.array(out)

    x = np.ones(3)
    np.testing.assert_allclose(tj.jit(f, static_argnums=1)(x, 30), f(x, 30))
    with pytest.raises(ChosenArrayError):
        tj.jit(lambda q: f(q, 5_000))(x)  # minutes, if each step looked at all arrays before it


def outcome(seed: int) -> str:
    """'equal' or 'refused'; fails if the program means something else."""
    source = Programs(seed).source()
    space: dict[str, Any] = {"__name__": f"aliasing_{seed}"}
    exec(compiled(source, f"aliasing_{seed}.py"), space)
    f = space["f"]
    jitted = tj.jit(f)
    for args in ARGUMENTS:
        ours, plain = copy.deepcopy(args), copy.deepcopy(args)
        with np.errstate(all="ignore"):  # nine squares of nine squares overflow, in both alike
            wanted = f(*plain)
            try:
                got = jitted(*ours)
            except TracejitError:
                return "refused"
        for g, w in zip((*got, *ours), (*wanted, *plain), strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-9, err_msg=source)
    return "equal"


def test_random_programs_are_right_or_refused():
    outcomes = [outcome(seed) for seed in range(6)]
    assert outcomes.count("equal") >= 4, outcomes


@pytest.mark.exhaustive
@pytest.mark.parametrize("chunk", range(20))
def test_many_random_programs_are_right_or_refused(chunk):
    outcomes = [outcome(seed) for seed in range(1000 + 50 * chunk, 1050 + 50 * chunk)]
    assert outcomes.count("equal") >= 12, outcomes
