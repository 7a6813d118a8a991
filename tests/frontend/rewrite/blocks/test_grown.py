"""Lists that native loops fill, and list comprehensions, against the plain functions."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.frontend.agreement import agree
from tests.sources import compiled

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {}
X = np.array([3.0, -1.0, 2.5])
Y = np.linspace(-1.0, 2.0, 12)


def case(*arguments: Any, unrolled: int = 0) -> Callable[[Any], Any]:
    """A function, its arguments, and how many of its loops are unrolled."""

    def enter(f: Any) -> Any:
        CASES[f.__name__] = f, arguments, unrolled
        return f

    return enter


# ---------------------------------------------------------------- what is appended


@case(X)
def states(x):
    out = []
    for i in range(50):
        x = np.sin(x) + 0.1 * i
        out.append(x)
    return np.array(out)


@case(X)
def from_the_last_items(x):
    out = [x, x + 1]
    for _ in range(30):
        out.append(np.cos(out[-1]) * 1.1 - 0.1 * out[-2])
    return np.stack(out), np.stack(out, axis=1), out[-1], out[3], len(out)


@case(2, unrolled=1)
def python_numbers(n):
    a = [0, 1]
    for _ in range(20):
        a.append(a[-1] + a[-2])
    return np.array(a) * n


@case(np.float32(0.5))
def numbers_stay_weak(x):
    t, ts = x * 0, []
    for _ in range(12):
        t = t + 0.25
        ts.append(t)
    return np.float32(3) * ts[4], max(ts), min(ts), sum(ts), np.mean(ts)


@case(X)
def several_lists_in_a_dict(x):
    log = {"x": [], "t": []}
    errors, t = [], 0.0
    for i in range(30):
        x = x * 0.9
        errors.append(np.abs(x).max())
        t += 0.5
        log["x"].append(x)
        log["t"].append((t, i))
    return np.array(errors), np.array(log["x"]), np.array(log["t"]), np.vstack(log["x"]), np.hstack(log["x"])


@case(X)
def trees(x):
    out = []
    for i in range(10):
        y = x * i
        out.append({"y": y, "sum": y.sum(), "nothing": None, "k": 3})
    return out[4], np.array([o["sum"] for o in out]), out[9]["y"]


@case(X)
def items_without_arrays(x):
    out = []
    for _ in range(8):
        x = x * 2
        out.append(())
        out.append(None)
    return x, len(out), out[1] is None, out[14] == ()


@case(X, unrolled=1)
def containers_that_have_names(x):
    out, pair = [], [x, x]
    for _ in range(8):
        pair = [pair[0] + 1, pair[1] * 2]
        out.append(pair)
    pair[0] = x * 5
    return out[-1], np.array(out[3])


@case(X)
def rows_that_have_names(x):
    table = []
    for i in range(8):
        row = []
        for j in range(6):
            row.append(x * i + j)
        table.append(row)
    return np.array(table), table[2][1]


@case(X)
def loops_in_loops(x):
    out = []
    for i in range(6):
        row = []
        for j in range(7):
            out.append(x[0] * i + j)
            row.append(x * j)
        out.append(row[-1].sum())
    return np.array(out), sum(out), max(out), min(out)


@case(X)
def loops_over_lists(x):
    out, total = [], 0.0
    for _ in range(20):
        x = x * 1.1
        out.append(x)
        x = x + 1
        out.append(x)
    for n, row in enumerate(out):
        total += n * row.sum()
    for a, b in zip(out, out[1:], strict=False):  # noqa: RUF007
        total += (a * b).sum()
    return np.array(out[::2]), np.array(out[::-1]), np.concatenate(out[3:9]), total


@case(np.arange(6.0).reshape(2, 3))
def joined_matrices(a):
    out = []
    for i in range(5):
        a = a + i
        out.append(a)
    return (
        np.vstack(out),
        np.concatenate(out, axis=1),
        np.stack(out, axis=-1),
        np.hstack(out),
        np.array([out, out]),
    )


# ---------------------------------------------------------------- names of what lists hold


@case(X)
def first_item_is_the_argument(x):
    path = []
    for _ in range(20):
        path.append(x)
        x = x * 1.5
    path[0][0] = 7.0
    x[0] = -1
    return np.array(path), x


@case(X)
def one_array_in_two_lists(x):
    out, log = [], []
    for i in range(20):
        x = x * 1.1
        out.append(x)
        log.append((i, x))
    out[3][0] = 50
    log[-1][1][0] = 60
    return np.array(out), x, log[3], np.array([y for _, y in log])


@case(X)
def last_item_has_a_name(x):
    out = []
    for _ in range(20):
        x = x * 1.1
        out.append(x)
    x += 1
    out[3][:] = 0
    return np.array(out), x


@case(X)
def one_array_many_times(u):
    out = []
    for _ in range(20):
        u += 0.5
        out.append(u)
    out[2][0] = 100
    return np.array(out)


@case(X)
def copies(u):
    out = []
    for _ in range(20):
        u += 0.5
        out.append(u.copy())
    u[:] = 0
    out[3][:] = -1
    return np.array(out), u


@case(X)
def updated_after_it_was_appended(x):
    out = []
    for _ in range(10):
        x = x + 1
        x[0] = 0
        out.append(x)
        x[1] *= 2
        y = x
        y[2] -= 1
        x = x * 1
    return np.array(out)


@case(X, unrolled=1)
def a_step_updates_what_the_last_one_appended(x):
    out = []
    x = x.copy()
    for _ in range(6):
        x[0] += 1
        x = x * 2
        out.append(x)
    return np.array(out)


@case(X)
def seen_by_another_name(x):
    out = []
    again = out
    for i in range(8):
        out.append(x * len(again) + i)
    return np.array(out)


@case(X)
def read_in_between(x):
    out = []
    for _ in range(8):
        out.append(x + len(out))
    return np.array(out)


@case(X)
def sometimes(x):
    out = []
    for i in range(12):
        x = x * 1.1
        if i % 5 == 0:
            out.append(x)
    return np.array(out)


@case(Y, unrolled=1)
def views_of_an_array_that_is_written(y):
    parts = [y[i : i + 3] for i in range(8)]
    y[0] = 100.0
    return np.array(parts)


@case(Y, unrolled=1)
def views_that_are_written(y):
    parts = [y[i : i + 3] for i in range(0, 12, 2)]
    parts[2][0] = 100.0
    return np.array(parts[1:4])


# ---------------------------------------------------------------- comprehensions


@case(Y)
def windows(y):
    return np.array([np.sum(y[i : i + 4]) for i in range(len(y) - 4)]), np.array(
        [y[i : i + 3] for i in range(8)]
    )


@case(Y)
def tables(y):
    table = [[a * b for b in y] for a in y]
    return np.array(table), np.array([[[a + b * c for c in y] for b in y] for a in y[:5]]), table[2][3]


@case(Y)
def targets(y):
    return (
        np.array([i * v for i, v in enumerate(y)]),
        np.array([a + i * b for i, (a, b) in enumerate(zip(y, y[::-1], strict=True))]),
        sum([v * v for v in y]),
    )


@case(Y)
def conditions_stay_pythons(y):
    return [v for k, v in enumerate(y) if k % 4 == 1], [a * b for a in y[:2] for b in y[:3]]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_lists(name):
    f, args, unrolled = CASES[name]
    agree(f, *args)
    report = str(tj.explain(f)(*copy.deepcopy(args)))
    assert report.count("unrolled") == unrolled, report


TRIPLES = [((1.0, 2.0), 3.0), ((4.0, 5.0), 6.0)]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: [x * c for (_, _), c in TRIPLES],
        lambda x: [x * _ for (_, _), _ in TRIPLES],
        lambda x: [x * _ for (_, _), c in TRIPLES],
        lambda x: [x * a + b for (a, b), a in TRIPLES],
        lambda x: [x * a - b for a, (a, b) in zip((7.0, 8.0), (t[0] for t in TRIPLES), strict=True)],
        lambda x: [x * a for a, a in TRIPLES],
        lambda x: [x * a for ((_, a), _), (_, (_, b)) in [(TRIPLES[0], (9.0, (3.0, 4.0)))]],
    ],
    ids=range(7),
)
def test_a_name_twice_in_a_target_is_the_last(f):
    agree(f, X)


def test_results_are_lists():
    def f(x):
        path, totals, tables = [x], [], []
        for _ in range(20):
            x = np.sin(x) + 0.1
            path.append(x)
            totals.append(x.sum())
            tables.append([x * j for j in range(5)])
        return path, totals, {"tables": tables, "x": x}, [1, 2.0] * 10, [x] * 3

    agree(f, X)
    jitted, x = tj.jit(f), X.copy()
    for _ in range(3):
        out = jitted(x)
        assert out[0][0] is x and type(out[1][0]) is np.float64 and type(out[2]["tables"][3]) is list
    assert len(jitted.lower(x).jaxpr.outs) < 40
    stacked = tj.vmap(jitted)(np.stack([x, 2 * x]))
    np.testing.assert_allclose(stacked[0][5][1], f(2 * x)[0][5])
    slope = tj.jit(tj.grad(lambda x: sum(jitted(x)[1])))(x)
    h = 1e-6 * np.eye(3)[1]
    assert np.isclose(slope[1], (sum(f(x + h)[1]) - sum(f(x - h)[1])) / 2e-6, rtol=1e-5)


def test_the_gradient_is_one_loop_back():
    def loss(p):
        xs, vs = [p[0]], [p[1]]
        for _ in range(300):
            vs.append(vs[-1] - 0.01 * np.sin(xs[-1]))
            xs.append(xs[-1] + 0.01 * vs[-1])
        return np.sum(np.array(xs) ** 2) + vs[-1]

    p = np.array([1.0, 0.3])
    slope = tj.jit(tj.grad(loss))(p)
    for k, h in enumerate(1e-6 * np.eye(2)):
        assert np.isclose(slope[k], (loss(p + h) - loss(p - h)) / 2e-6, rtol=1e-6)
    assert len(tj.make_jaxpr(tj.jit(tj.grad(loss)))(p).jaxpr.eqns) < 40
    many = np.stack([p, 2 * p])
    np.testing.assert_allclose(tj.vmap(tj.jit(loss))(many), [loss(p), loss(2 * p)], rtol=1e-12)


def test_a_list_of_thousands_is_one_array():
    def path(x):
        out = [x]
        for i in range(5000):
            out.append(0.999 * out[-1] + i)
        return np.array(out)

    want = path(1.0)
    np.testing.assert_allclose(tj.jit(path)(1.0), want, rtol=1e-12)
    assert len(tj.jit(path).lower(1.0).jaxpr.eqns) < 30


def test_the_length_may_be_a_number_of_the_program():
    def path(x, n):
        out = []
        for i in range(n):
            x = x * 0.5 + i
            out.append(x)
        return np.array(out), np.array([i * x for i in range(n)])

    jitted = tj.jit(path)
    for n in (3, 300, 700, np.int64(5)):
        np.testing.assert_allclose(jitted(1.0, n), path(1.0, n), rtol=1e-12)
    assert jitted.trace_count == 3  # one for the first number, one for Python's other ones, one for NumPy's


def test_a_length_that_never_varies_is_known():
    def path(x, n):
        out = [x]
        for _ in range(n):
            out.append(out[-1] * 0.5)
        return np.array(out)

    jitted = tj.jit(path)
    assert [len(jitted(x, 300)) for x in (1.0, 2.0)] == [301, 301] and jitted.trace_count == 1
    assert not [e for e in jitted.lower(1.0, 300).jaxpr.eqns if "while" in e.op.name]
    for n in (5, 0, 300, 40):
        np.testing.assert_allclose(jitted(1.0, n), path(1.0, n), rtol=1e-12)
    assert jitted.trace_count == 2


PIECES = [
    "x = np.sin(x) + 0.1 * i",
    "y = y * 0.9 + x",
    "x = x + out[-1]",
    "x = x.copy()",
    "x[0] = i",
    "y += 0.5",
    "y[1:] *= 0.5",
    "out.append(x)",
    "out.append(y)",
    "out.append(x + y)",
    "out.append(y.copy())",
    "out.append(x[::-1])",
    "out.append(y[:])",
    "more.append((y[1:], i))",
    "more.append((x, i))",
    "more.append((x * 2, x[0]))",
    "x, y = y, x",
    "z = x",
    "z[2] += 1",
]
ENDINGS = [
    "x += 1",
    "y[0] = 3",
    "out[1][0] = 50",
    "out[-1][2] = 60",
    "out[0] *= 2",
    "z += 1",
    "x = out[-2]; x += 2",
]


@pytest.mark.parametrize(
    "seed", [n if n < 20 else pytest.param(n, marks=pytest.mark.exhaustive) for n in range(300)]
)
def test_random_programs(seed):
    """Steps that append, update and exchange arrays; writes through all names and items afterwards."""
    draw = random.Random(seed)
    lines = ["def f(x, y):", "    z, out, more = x * 2, [x + y], []"]
    lines += [f"    for i in range({draw.randint(5, 7)}):"]
    lines += [f"        {p}" for p in [*draw.sample(PIECES, draw.randint(2, 5)), "out.append(y * x)"]]
    lines += [f"    {e}" for e in draw.sample(ENDINGS, 3)]
    lines += ["    return np.array(out), x, y, z, out[2], more"]
    names: dict[str, Any] = {"np": np}
    exec(compiled("\n".join(lines), f"lists_{seed}"), names)
    agree(names["f"], X, X * 0.5 + 1)
