"""Arrays of lists of traced length where it matters which of them are one."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import tracejit as tj

_NAMES = ["a", "b", "y", "z"]


def _array(r: random.Random) -> str:
    items = [f"{xs}[{k}]" for xs in ("xs", "ys") for k in ("-1", "0", f"len({xs}) // 2")]
    forms = ["{} * 0.5", "{} + t", "{}.copy()"]
    return r.choice([r.choice(_NAMES), r.choice(items), r.choice(forms).format(r.choice(_NAMES))])


def _statements(r: random.Random, depth: int, out: list[str]) -> None:
    p = "    " * (depth + 1)
    for _ in range(r.randint(1, 3)):
        xs = r.choice(["xs", "ys"])
        k = r.random()
        if k < 0.15 and depth < 3:
            out.append(f"{p}if {r.choice(['t % 2 > 1', 'a[0] > 1', 'len(xs) > 2', 'xs[-1] is a'])}:")
            _statements(r, depth + 1, out)
        elif k < 0.25 and depth < 3:
            heads = [
                f"for i{depth} in range(20):",
                f"u{depth} = t\n{p}while u{depth} > 0:\n{p}    u{depth} -= 1",
            ]
            out.append(p + r.choice(heads))
            _statements(r, depth + 1, out)
        else:
            one = [f"{xs}.append({_array(r)})"] * 4 + [f"{r.choice('ab')} = {_array(r)}"] * 2
            one += [f"{r.choice(_NAMES)}[{r.randint(0, 2)}] += 1.0", f"{xs}[-1][1] = t", f"{xs}[-1] *= 0.5"]
            one += [
                f"{xs}[0] = {_array(r)}",
                "a, b = b, a",
                f"n += xs[-1] is {r.choice([*_NAMES, 'ys[-1]'])}",
            ]
            one += [f"if len({xs}) > 2: a = {xs}.pop()", f"for v in {xs}: v[1] += 1.0"]
            out.append(p + r.choice(one))


def _program(seed: int) -> Any:
    r = random.Random(seed)
    lines = ["def f(y, z, t):", f"    xs, ys = {r.choice(['[y]', '[y * 1]', '[y, z]'])}, [z + 1]"]
    lines += [f"    a, b, n = {r.choice(['y', 'y * 2'])}, z + 1, 0", "    while t > 0:", "        t -= 1"]
    _statements(r, 1, lines)
    _statements(r, 0, lines)
    results = r.sample(["xs", "ys", "a", "b", "y", "np.array(xs)", "xs[-1]", "n", "xs[1:]", "len(xs)"], 3)
    lines.append(f"    return {', '.join(results)}")
    source, name, space = "\n".join(lines), f"<lists {seed}>", {"np": np}
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    exec(compile(source, name, "exec"), space)
    return space["f"]


def _seen(f: Any, t: float) -> list[Any]:
    """All that can be seen of a call: values, and which objects are one."""
    given = [np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0])]
    left, found, first = [*given, *f(*given, t)], [], {}
    while left:
        x = left.pop(0)
        if isinstance(x, (list, np.ndarray)):
            found.append(first.setdefault(id(x), len(first)))
        if isinstance(x, list):
            left += x
        found.append(len(x) if isinstance(x, list) else (type(x), np.asarray(x).tobytes()))
    return found


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(s, marks=pytest.mark.exhaustive) for s in range(12, 200))]
)
def test_random_programs(seed: int) -> None:
    plain = _program(seed)
    traced = tj.jit(_program(seed), fallback=False)
    for t in (2.0, 7.0, 0.0):
        assert _seen(plain, t) == _seen(traced, t)


def _history(x: Any, n: Any) -> Any:
    path = [x]
    while n > 0:
        x = x * 0.999
        path.append(x)
        n -= 1
    return x, path


def test_more_arrays_than_there_is_room_for() -> None:
    f = tj.jit(_history, fallback=False)
    x = np.ones(2)
    for n in (3.0, 5000.0, 4.0):
        last, path = f(x, n)
        assert path[0] is x and path[-1] is last and len({id(p) for p in path}) == len(path) == n + 1
        assert np.array_equal(path, _history(x, n)[1])
    assert f.trace_count == 2


def test_arguments_are_written_only_if_they_can_be() -> None:
    @tj.jit
    def f(x, n):
        path = []
        while n > 0:
            path.append(x)
            n -= 1
        path[-1][0] += 1
        return path

    x = np.zeros(2)
    assert f(x, 2.0)[1] is x and x[0] == 1
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(x, 2.0)


def test_arguments_that_are_one_at_another_call() -> None:
    @tj.jit
    def f(x, y, n):
        path = [x]
        while n > 0:
            path.append(path[-1])
            n -= 1
        return path[-1] is y

    x, y = np.zeros(2), np.zeros(2)
    assert [f(x, y, 2.0), f(x, x, 2.0), f(y, x, 0.0)] == [False, True, False]


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_strides_of_another_call() -> None:
    f = tj.jit(_history, fallback=True)
    x = np.arange(12.0).reshape(3, 4)
    for given in (x, x.T.copy(), x.T, x[:, ::2]):
        last, path = f(given, 3.0)
        want, other = _history(given, 3.0)
        assert path[0] is given and path[-1] is last and last.strides == want.strides
        assert np.array_equal(path, other)


def test_derivatives_through_references() -> None:
    def f(x):
        path, n = [x], 4.0
        while n > 0:
            path.append(path[-1] * x)
            path[-1][0] *= 2.0
            n -= np.minimum(1.0, x[0])
        return np.array(path).sum()

    x = np.array([1.5, 0.5])
    step = 1e-6 * np.eye(2)
    slopes = [(f(x + d) - f(x - d)) / 2e-6 for d in step]
    assert np.allclose(tj.jit(tj.grad(f), fallback=False)(x), slopes, rtol=1e-6)
