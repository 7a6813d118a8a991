"""Keys of dicts and items of sets that are traced integers: a program takes them for known."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import TracejitError
from tracejit.test_util import check_grads

X = np.arange(1.0, 5.0)


def _read(x: Any, table: Any) -> Any:
    k = int(x.sum())
    return table[k % 2] * x


def _written(x: Any) -> Any:
    k, out = int(x[0]), {}
    out[k] = x * 2
    out[k, "a"] = 1
    out[k] += 1
    del out[k, "a"]
    return out, type(next(iter(out))).__name__


def _methods(x: Any) -> Any:
    k: Any = np.int64(x[1])
    d: Any = OrderedDict(a=1)
    d.setdefault(k, []).append(x[0])
    seen: Any = {k}
    seen.add(int(x[2]))
    seen.discard(7)
    return d, d.get(k + 1, "none"), d.pop("a"), int(x[2]) in seen, k in d, 9 in seen, seen


def _counted(x: Any) -> Any:
    groups, counts = defaultdict(list), Counter()
    for n in range(4):
        groups[int(x[n]) % 2].append(x[n])
        counts[int(x[n]) % 2] += 1
    return groups, dict(counts)


def _made(x: Any) -> Any:
    pairs = [(int(x[3]), 1), (2, 2)]
    return {int(x[0]): 1, **{int(v): v for v in x[:2]}}, set(map(abs, (int(x[2]), 2))), dict(pairs)


@pytest.mark.parametrize("f", [_written, _methods, _counted, _made])
def test_as_python(f: Any) -> None:
    compiled = tj.jit(f, fallback=True)
    for x in (X, X + 1, X, X + 1):
        want, got = f(x.copy()), compiled(x.copy())
        assert repr(got) == repr(want)
    assert compiled.trace_count == 2


def test_derivatives_with_keys_that_are_known() -> None:
    table = {0: 2.0, 1: np.arange(4.0)}

    def f(x: Any, parity: Any) -> Any:
        return (table[parity] * np.sin(x) + table.get(parity + 5, 1.0) * x**2).sum()

    for parity in (0, 1):
        check_grads(lambda x, p=parity: tj.jit(f, static_argnums=1)(x, p), (X,), order=2)
        want = tj.grad(f)(X, parity)
        assert np.allclose(tj.jit(tj.grad(f), fallback=True)(X, parity), want, rtol=1e-12)


def test_steps_of_a_native_loop_have_keys_of_their_own() -> None:
    def f(x: Any) -> Any:
        seen = {}
        for i in range(len(x)):
            seen[int(x[i])] = i
        return seen

    def g(x: Any) -> Any:
        seen: Any = {}
        for i in range(len(x)):
            seen[x[i]] = i
        return seen

    assert tj.jit(f, fallback=False)(np.arange(20.0) // 2) == f(np.arange(20.0) // 2)
    with pytest.raises(TracejitError):
        tj.jit(g, fallback=False)(np.arange(20.0))


def test_what_has_no_hash_has_none() -> None:
    def f(x: Any) -> Any:
        try:
            return {x: 1}
        except TypeError as e:
            return type(e).__name__, str(e)

    assert tj.jit(f, fallback=False)(X) == f(X)


def test_what_follows_from_known_keys_is_known() -> None:
    def f(x: Any) -> Any:
        memo: Any = {}

        def fib(n: Any) -> Any:
            if n in memo:
                return memo[n]
            memo[n] = n if n < 2 else fib(n - 1) + fib(n - 2)
            return memo[n]

        return fib(int(x[3]) + 8) * x, memo

    compiled = tj.jit(f, fallback=True)
    for x in (X, X - 3, X):
        assert repr(compiled(x)) == repr(f(x))
    assert compiled.trace_count == 2


def test_missing_keys_raise() -> None:
    def f(x: Any) -> Any:
        return {1: 2.0}[int(x[0])] * x

    compiled = tj.jit(f, fallback=True)
    assert np.array_equal(compiled(X), X * 2)
    with pytest.raises(KeyError, match="3"):
        compiled(X + 2)


def test_an_exception_that_makes_its_text() -> None:
    class NoRoot(ArithmeticError):
        def __init__(self, x: Any, steps: int) -> None:
            super().__init__(f"no root near {x:.2f} in {steps} steps")
            self.x = x

    def f(x: Any) -> Any:
        if x[0] > 3:
            raise NoRoot(x[0], 20)
        return x + 1

    compiled = tj.jit(f, fallback=True)
    assert np.array_equal(compiled(X), X + 1)
    with pytest.raises(NoRoot, match=r"no root near 4.50 in 20 steps") as e:
        compiled(X + 3.5)
    assert e.value.x == 4.5
