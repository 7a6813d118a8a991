"""What iterations compute without each other is computed ahead: the same bits as one by one, the same failures."""

from __future__ import annotations

import linecache
import math
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import NumberDivisionError, NumberDomainError, NumberRangeError
from tracejit.lowering import fuse
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops import distribute
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import For, Store

_RNG = np.random.default_rng(11)


def _sum(x: Any) -> Any:
    total = 0.0
    for n in range(len(x)):
        total += math.exp(x[n])
    return total


def _stored(x: Any) -> Any:
    out = np.empty_like(x)
    for n in range(len(x)):
        out[n] = math.log(x[n]) / math.sqrt(x[n])
    return out


def _chain(x: Any) -> Any:
    out, last = np.empty_like(x), 0.5
    for n in range(len(x)):
        w = math.sin(x[n])
        last = 0.9 * last + w * x[n]
        out[n] = last + np.cos(w)
    return out, last


def _in_place(x: Any) -> Any:
    x = x.copy()
    for n in range(1, len(x)):
        x[n] = 0.5 * x[n - 1] + math.exp(-x[n])
    return x


def _pairs(x: Any) -> Any:
    total, least = 0.0, np.inf
    for a in range(len(x)):
        for b in range(len(x)):
            d = math.exp(-((x[a] - x[b]) ** 2))
            total += d
            least = min(least, d)
    return total, least


def _two_checks(x: Any) -> Any:
    total = 0.0
    for n in range(len(x)):
        total += math.exp(float(x[n])) + 1.0 / (float(x[n]) - 3.0)
    return total


#: The function, and whether something in it is computed ahead.
LOOPS: dict[str, tuple[Callable[..., Any], bool]] = {
    "sum": (_sum, True),
    "stored": (_stored, True),
    "chain": (_chain, True),
    "in place": (_in_place, False),  # what is read may be what an iteration before has written
    "pairs": (_pairs, True),
    "two checks": (_two_checks, True),
}


def _leaves(x: Any) -> list[np.ndarray]:
    return [np.asarray(v) for v in (x if isinstance(x, tuple) else (x,))]


def _one_by_one(monkeypatch: pytest.MonkeyPatch, f: Any, *args: Any) -> Any:
    with monkeypatch.context() as m:
        m.setattr(fuse, "distribute", lambda program, homes: None)
        return tj.jit(lambda *xs: f(*xs), fallback=False)(*args)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("n", [31, 32, 256, 257, 700])
def test_same_bits_as_one_by_one(name: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    f, ahead = LOOPS[name]
    x = _RNG.uniform(0.1, 2.5, min(n, 260) if name == "pairs" else n)
    g = tj.jit(f, fallback=False)
    assert ("failed" in (text := g.lower(x).as_text("loops")) or "ahead" in text) == (ahead and n >= 32)
    got, want = _leaves(g(x)), _leaves(_one_by_one(monkeypatch, f, x))
    for a, b, c in zip(got, want, _leaves(f(x)), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-12)


@pytest.mark.parametrize("at", [0, 255, 256, 699])
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("sum", 1000.0, NumberRangeError),
        ("stored", 0.0, NumberDomainError),
        ("chain", np.inf, NumberDomainError),
        ("two checks", 3.0, NumberDivisionError),
    ],
)
def test_the_first_failure_ends_the_program(name: str, value: float, error: Any, at: int) -> None:
    x = _RNG.uniform(0.1, 2.5, 700)
    x[at] = value
    later = {"two checks": 1000.0}.get(name, value)  # another failure of the same block
    x[min(at + 1, 699)] = later if at < 699 else x[at]
    f = tj.jit(LOOPS[name][0], fallback=False)
    with pytest.raises(error):
        f(x)
    x[:] = 1.0
    f(x)


def test_lengths_that_nobody_knows() -> None:
    def f(x: Any, n: Any) -> Any:
        total = 0.0
        for k in range(n):
            total += math.exp(x[k % 700])
        return total

    g, x = tj.jit(f, fallback=False), _RNG.uniform(0, 1, 700)
    for n in (0, 1, 15, 16, 255, 256, 257, 5000):
        assert g(x, n) == pytest.approx(f(x, n), rel=1e-13)


def test_the_stack_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for n in range(len(x)):
            total += math.exp(x[n])
        for n in range(len(x)):
            total += math.sin(x[n])
        return total

    x = _RNG.uniform(0, 1, 300)
    assert tj.jit(f).lower(x).as_text("loops").count("= stack(") == 2
    monkeypatch.setattr(distribute, "_MOST_BUFFERS", 1)
    g = tj.jit(lambda x: f(x), fallback=False)
    assert g.lower(x).as_text("loops").count("= stack(") == 1 and g(x) == tj.jit(f)(x)


@pytest.mark.parametrize("shared", [False, True])
def test_what_may_be_the_same_memory_is_not_written_ahead(shared: bool) -> None:
    k = Builder("shared")
    x, y, z = (k.buffer(n, np.dtype(float), 400, "arg", i) for i, n in enumerate("xyz"))
    total = k.slot(k.const(0.0, np.float64))
    with k.loop(0, 400) as i:
        k.store(y, i, k.math("exp", k.load(x, i)))
        k.set(total, k.get(total) + k.math("sin", k.load(x, i)) * k.load(z, i))
    if shared:
        k.program.may_alias.append((y, z))
    distribute.distribute(k.program, {})
    ahead = next(s for s in walk(k.program.body.stmts) if isinstance(s, For) and s.vector)
    assert any(isinstance(s, Store) and s.buffer is y for s in ahead.body.stmts) == (not shared)


def test_threads_share_blocks() -> None:
    x = _RNG.uniform(0.1, 2.5, (64, 3000))

    def rows(x: Any) -> Any:
        out = np.empty(len(x))
        for a in range(len(x)):
            total = 0.0
            for b in range(x.shape[1]):
                total += math.log(x[a, b])
            out[a] = total
        return out

    with tj.config.override(num_threads=2):
        shared = tj.jit(rows, fallback=False)(x)
    np.testing.assert_array_equal(shared, tj.jit(rows, fallback=False)(x))
    np.testing.assert_allclose(shared, np.log(x).sum(1), rtol=1e-12, atol=1e-12)


def test_derivatives() -> None:
    x = _RNG.uniform(0.1, 2.5, 300)
    np.testing.assert_allclose(tj.jit(tj.grad(_sum))(x), np.exp(x), rtol=1e-13)
    np.testing.assert_allclose(
        tj.jit(tj.grad(lambda x: _stored(x).sum()))(x), (1 - np.log(x) / 2) / x**1.5, rtol=1e-12
    )
    tj.test_util.check_grads(tj.jit(lambda x: _chain(x)[1]), (x[:40],), order=2)


_STATEMENTS = [
    "w = math.{f}(x[i])",
    "w = math.{f}(x[i]) * v",
    "v = 0.5 * v + math.{f}(x[i])",
    "v = v * w if x[i] > 0.5 else v - w",
    "u = u + i * k",
    "out[i] = w + v",
    "out[i] = math.{f}(w) - x[i]",
    "out[{j}] = w",
    "w = out[{j}] + math.{f}(x[i])",
    "y[i] = np.float32(w)",
    "w = 1.0 / (abs(w) + 0.25)",
    "n = n + 1 if math.{f}(x[i]) > 0.7 else n",
    "v = max(v, math.{f}(x[i] * x[{j}]))",
    "w = math.{f}(z[i]) + k",
    "t = t and math.{f}(x[i]) < 3.0",
]
_FUNCTIONS = ("exp", "sin", "cos", "log1p", "sqrt", "tanh", "atan", "expm1", "erf", "cosh")


def _program(seed: int) -> Any:
    rng = random.Random(seed)
    lines = [
        rng.choice(_STATEMENTS).format(f=rng.choice(_FUNCTIONS), j=rng.choice(["i", "i - 1", "0", "k"]))
        for _ in range(rng.randint(2, 7))
    ]
    loop = rng.choice(
        [
            "range(len(x))",
            "range(3, len(x))",
            "range(1, len(x) - 2)",
            "range(len(x) - 1, 0, -1)",
            "range(k, m)",
        ]
    )
    source = (
        "def f(x, z, k, m):\n    out, y = np.zeros(len(x)), np.zeros(len(x), np.float32)\n"
        "    u, n, v, w, t = 0, 0, 0.25, 0.75, True\n"
        f"    for i in {loop}:\n        " + "\n        ".join(lines) + "\n    return out, y, u, n, v, w, t\n"
    )
    name = f"<loop {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"np": np, "math": math}
    exec(compile(source, name, "exec"), space)
    return space["f"], source


def _outcome(f: Callable[..., Any], *args: Any) -> Any:
    """What a function gives, or the class of what it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return f(*args)
    except (ArithmeticError, ValueError, tj.errors.TracejitError) as error:
        return type(error)


def _agrees(seed: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether something was computed ahead, and with the same outcome."""
    f, source = _program(seed)
    rng = np.random.default_rng(seed)
    size = int(rng.choice([40, 300, 531]))
    args = rng.uniform(0, 1, size), rng.uniform(0, 1, size).astype(np.float32), int(rng.integers(1, 9)), size
    if rng.integers(4) == 0:
        args[0][rng.integers(size)] = rng.choice([1e3, -2.0, np.nan, np.inf])
    got = _outcome(tj.jit(f, fallback=False), *args)
    if got is tj.errors.TracedLoopError:  # the first step decides of which type a number is
        return False
    want = _outcome(_one_by_one, monkeypatch, f, *args)
    plain = _outcome(f, *args)
    if isinstance(got, type):
        assert got is want, source
        assert got is tj.errors.NumberError or issubclass(got, plain), source
    else:
        for a, b, c in zip(got, want, plain, strict=True):
            assert type(a) is type(b) is type(c), source
            np.testing.assert_array_equal(a, b, err_msg=source)
            exact = getattr(a, "dtype", None) != np.float32
            np.testing.assert_allclose(a, c, rtol=1e-9 if exact else 2e-6, atol=1e-12, err_msg=source)
    try:
        text = tj.jit(f, fallback=False).lower(*args).as_text("loops")
    except tj.errors.TracejitError:
        return False
    return "ahead" in text or "failed" in text


def test_random_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(_agrees(seed, monkeypatch) for seed in range(9)) >= 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(100, 1100, 100))
def test_many_random_loops(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(_agrees(seed, monkeypatch) for seed in range(start, start + 100)) >= 15
