"""The fast path gives what the general way gives, and steps aside when anything else comes."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import types
import weakref
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.api.jit.jitted import Jitted
from tracejit.api.jit.signature import fast_key
from tracejit.config import config
from tracejit.errors import DonatedArgumentError, ReadOnlyArgumentError

X = np.arange(6.0).reshape(2, 3)


def test_keys_have_structures_types_shapes_and_layouts() -> None:
    keys = {fast_key((), (a,), {}) for a in (X, X.T, X[:, ::2], X.astype(np.float32), 1.0, 1, True, "s", [X])}
    assert len(keys) == 9
    assert fast_key((), (X, 2.0), {}) == fast_key((), (X + 1, 3.0), {})
    assert fast_key((1,), (X, 2.0), {}) != fast_key((1,), (X, 3.0), {})
    assert fast_key((0,), ([],), {}) is None  # an unhashable static argument


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each call that took the general way."""
    seen: list[int] = []
    original = Jitted.call_by

    def watched(self: Jitted, args: Any, kwargs: Any, turn: Any = None) -> Any:
        seen.append(1)
        return original(self, args, kwargs, turn)

    monkeypatch.setattr(Jitted, "call_by", watched)
    return seen


@pytest.mark.parametrize(
    "name", ["state", "config", "root", "missed", "tracing", "ABSENT", "native", "out", "a0"]
)
def test_parameters_may_have_any_name(name: str) -> None:
    """Also those of what the written function refers to."""
    space: dict[str, Any] = {}
    exec(f"def f(x, {name}): return x * {name}", space)
    f = tj.jit(space["f"])
    for n in range(5):
        assert np.array_equal(f(X, **{name: float(n)}), X * n)


Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Params:
    w: Any
    n: int = dataclasses.field(default=2, metadata={"static": True})


def tree_in_and_out(p: Any) -> Any:
    return {"b": [p["w"] * 2, (p["b"][0], p["b"][1].x - p["w"].sum())], "a": Point(p["b"][1].y, None)}


def sum_of(*xs: Any, **named: Any) -> Any:
    return sum(xs) + sum(named.values())


V = np.arange(3.0)
CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "one array": (lambda x: x + 1, (X,), {}),
    "many arrays": (sum_of, tuple(X + n for n in range(12)), {}),
    "strided": (lambda x: x * 2, (X.T,), {}),
    "keywords": (sum_of, (X,), {"b": X, "a": 2.0}),
    "Python numbers": (lambda a, b, c, d: (a * b - c, d), (1.5, 2, 1j, True), {}),
    "NumPy scalars": (sum_of, (np.float32(1), np.int16(2), np.bool_(True), np.complex64(3j)), {}),
    "a tree": (tree_in_and_out, ({"w": X, "b": (V, Point(V + 1, 2.0))},), {}),
    "a dataclass": (lambda p: Params(p.w * p.n, p.n), (Params(X),), {}),
    "None and a string": (lambda x, y, s: x if s == "s" else None, (X, None, "s"), {}),
    "a function": (lambda x, f: f(x), (X, np.cos), {}),
    "nothing": (lambda x: None, (X,), {}),
    "constants and arguments": (lambda x, y: (x, 3, y * 2, np.arange(2.0)), (X, V), {}),
    "scalar and array": (lambda x: (x.sum(), x > 1, x.max()), (X,), {}),
    "no arguments": (lambda: V * 2, (), {}),
    "empty arrays": (lambda x: x + 1, (np.ones((0, 3)),), {}),
    "no dimensions": (lambda x: x * 2, (np.array(2.0),), {}),
    "a large arena": (lambda x: np.sort(x)[::-1] + np.cumsum(np.sort(x)), (np.arange(9000.0),), {}),
    "a view that overlaps": (lambda x, y: x + y, (X[:1], X[:1]), {}),
}


def same(got: Any, want: Any) -> None:
    got, want = tj.tree.flatten(got), tj.tree.flatten(want)
    assert got[1] == want[1]
    for g, w in zip(got[0], want[0], strict=True):
        assert type(g) is type(w)
        np.testing.assert_array_equal(g, w)
        assert np.asarray(g).dtype == np.asarray(w).dtype


def times(x: Any, k: int) -> Any:
    """An argument like `x`, k times as large."""
    if type(x) is np.ndarray:
        return np.multiply(x, k, out=np.empty_like(x))
    return x * k if isinstance(x, (float, complex)) else x


@pytest.mark.parametrize("name", CALLS)
def test_every_kind_of_call_is_fast_and_right(general: list[int], name: str) -> None:
    f, args, kwargs = CALLS[name]
    jitted = tj.jit(f)
    first = jitted(*args, **kwargs)
    for factor in (1, 2):
        scaled = tj.tree.map(lambda x, k=factor: times(x, k), (args, kwargs))
        want, got = f(*scaled[0], **scaled[1]), jitted(*scaled[0], **scaled[1])
        same(got, want) if name != "Python numbers" else np.testing.assert_array_equal(got, want)
        assert [type(x) for x in tj.tree.leaves(got)] == [type(x) for x in tj.tree.leaves(first)]
    assert len(general) == 1 and jitted.trace_count == 1


class Sub(np.ndarray):
    """Operations are ndarray's."""


@pytest.mark.parametrize(
    "other",
    [
        *(X.T, X[:, ::2], X.astype(np.float32), X.astype(">f8"), X[0], X.view(Sub), X.tolist()[0][0]),
        *(np.float64(2), 2, True, 2 + 1j, np.lib.stride_tricks.as_strided(X, (2, 3), (24, 8)), 2**40),
        *(np.lib.stride_tricks.as_strided(X, (2, 3), (8, 8)), np.ones((0, 3)), np.array(3.0)),
    ],
    ids=str,
)
def test_anything_else_takes_the_general_way(other: Any) -> None:
    """Between two calls that are alike there is one that is not."""
    f, jitted = (lambda x, y: x * 2 + y), tj.jit(lambda x, y: x * 2 + y)
    for _ in range(2):
        for x in (X, other, X):
            got = jitted(x, 1.0)
            np.testing.assert_array_equal(got, f(x, 1.0))
            assert np.asarray(got).dtype.newbyteorder("=") == np.asarray(f(x, 1.0)).dtype.newbyteorder("=")


def test_integers_that_do_not_fit() -> None:
    f = tj.jit(lambda n: n - 1)
    for n in (1, 2, 1 - 2**63, 2**63 - 1):
        assert f(n) == n - 1
    for _ in range(2):
        with pytest.raises(OverflowError):
            f(2**63)
    assert f(3) == 2


def test_the_structure_is_compared() -> None:
    def f(p: Any) -> Any:
        return [k == "a" for k in p] if isinstance(p, dict) else {type(p).__name__: len(p)}

    jitted = tj.jit(f)
    trees = [
        [X, V],
        (X, V),
        (X, V, 1.0),
        {"a": 1, "b": 2},
        {"b": 1, "a": 2},
        {"b": 1},
        Point(X, V),
        [X, (V,)],
        [],
    ]
    for p in (*trees, *trees[:2], *trees):
        assert jitted(p) == f(p)


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    scale: float = dataclasses.field(default=2.0, metadata={"static": True})


@dataclasses.dataclass(slots=True)
class Slotted:
    x: Any
    y: Any


def test_dataclasses_are_taken_apart_and_made(general: list[int]) -> None:
    f = tj.jit(lambda p, q: (Slotted(p.x * p.scale, q.y), Frozen(q.x + 1, p.scale + 1)))
    for n in range(3):
        s, t = f(Frozen(X + n), Slotted(X, X - n))
        assert type(s) is Slotted and type(t) is Frozen and t.scale == 3.0
        np.testing.assert_array_equal([s.x, s.y, t.x], [(X + n) * 2, X - n, X + 1])
    assert len(general) == 1
    np.testing.assert_array_equal(f(Frozen(X, 5.0), Slotted(X, X))[0].x, X * 5)
    np.testing.assert_array_equal(f(Frozen(X, 5), Slotted(X, X))[0].x, X * 5)
    np.testing.assert_array_equal(f(Frozen(X), Slotted(X, X))[0].x, X * 2)


def test_parameters_of_any_name(general: list[int]) -> None:
    """Those of the generated method are not in the way."""

    def f(a0: Any, self: Any = 1.0, more: Any = 2.0, out: Any = 3.0, **c0: Any) -> Any:
        return (
            a0 + 10 * self + 100 * more + 1000 * out + sum(n * v for n, v in enumerate(c0.values(), 1)) * 1e4
        )

    g = tj.jit(f)
    calls: list[Any] = [
        ((1.0,), {}), ((1.0, 2.0), {}), ((), {"a0": 1.0}), ((1.0,), {"self": 3.0}), ((1.0,), {"more": 5.0, "out": 4.0}),
        ((1.0,), {"out": 4.0, "more": 5.0}), ((1.0,), {"x": 4.0, "y": 5.0}), ((1.0,), {"y": 4.0, "x": 5.0}),
        ((1.0, 2.0, 3.0, 4.0), {"others": 2.0}), ((1.0,), {"if": 2.0, "not a name": 3.0}),
    ]  # fmt: skip
    for _ in range(3):
        for args, kwargs in calls:
            assert g(*args, **kwargs) == f(*args, **kwargs)
    for args, kwargs in [((), {}), ((1.0,) * 5, {}), ((1.0,), {"a0": 2.0})]:
        with pytest.raises(TypeError) as want:
            f(*args, **kwargs)
        with pytest.raises(TypeError) as got:
            g(*args, **kwargs)
        assert str(got.value) == str(want.value)


def test_a_function_keeps_its_ways_after_fast_calls() -> None:
    g = tj.jit(sum_of)
    for _ in range(3):
        assert g(1.0, 2.0) == 3.0
    assert isinstance(g, Jitted) and pickle.loads(pickle.dumps(g))(1.0, 2.0) == 3.0
    assert g.trace_count == 1 and g.lower(1.0, 2.0).compile() is not None
    g.clear_cache()
    assert g(1.0, 2.0) == 3.0 and g.trace_count == 2
    with config.override(disable_jit=True):
        assert g(1.0, 2.0) == 3.0


class Model:
    def __init__(self) -> None:
        self.w = 2.0

    @tj.jit
    def scaled(self, x: Any, power: Any = 1.0) -> Any:
        return (x * self.w) ** power


def test_methods(general: list[int]) -> None:
    m = Model()
    for w in (2.0, 3.0, 3.0):
        m.w = w
        np.testing.assert_array_equal(m.scaled(X), X * w)
        np.testing.assert_array_equal(m.scaled(X, power=2.0), (X * w) ** 2.0)
    count = len(general)
    for _ in range(3):
        np.testing.assert_array_equal(m.scaled(X, power=2.0), (X * 3.0) ** 2.0)
    assert len(general) == count


def test_static_arguments_are_compared(general: list[int]) -> None:
    f = tj.jit(lambda x, n, s="a": (x * n, ord(s)), static_argnums=1, static_argnames="s")
    calls = [
        ((X, 2), {}),
        ((X, 3), {}),
        ((X, 2.0), {}),
        ((X, True), {}),
        ((X, 2), {"s": "b"}),
        ((X, 2), {"s": "c"}),
    ]
    for _ in range(3):
        for args, kwargs in calls:
            got = f(*args, **kwargs)
            np.testing.assert_array_equal(got[0], X * args[1])
            assert got[1] == ord(kwargs.get("s", "a"))
    assert f.trace_count == 6
    general.clear()
    f(X, 2, s="c")
    f(X, 2, s="b")
    assert not general


STATE = types.SimpleNamespace(w=np.ones(3), k=1.0, pair=[np.ones(3), np.zeros(3)])


def captured(x: Any) -> Any:
    return x * STATE.w + STATE.k + STATE.pair[1]


def test_guards_hold_on_the_fast_path(general: list[int]) -> None:
    f = tj.jit(captured)
    try:
        f(X)
        STATE.w[0] = 7.0
        STATE.pair[1] = np.full(3, 2.0)
        np.testing.assert_array_equal(f(X), captured(X))
        assert len(general) == 1
        STATE.w = np.arange(6.0)[::2]  # another layout
        for _ in range(2):
            np.testing.assert_array_equal(f(X), captured(X))
        assert f.trace_count == 1 and len(general) == 2
        STATE.k = 2.0
        np.testing.assert_array_equal(f(X), captured(X))
        assert f.trace_count == 2
        STATE.pair.append(1)
        np.testing.assert_array_equal(f(X), captured(X))
    finally:
        STATE.w, STATE.k, STATE.pair = np.ones(3), 1.0, [np.ones(3), np.zeros(3)]


def test_writers_are_fast(general: list[int]) -> None:
    def f(x: Any, y: Any) -> Any:
        x += y
        return x.sum()

    jitted, a, b = tj.jit(f), X.copy(), X.copy()
    for _ in range(3):
        assert jitted(a, X) == f(b, X)
        np.testing.assert_array_equal(a, b)
    assert len(general) == 1
    big = np.arange(6.0)
    small = big.copy()
    assert jitted(big[1:].reshape(5, 1), big[:5].reshape(5, 1)) == f(
        small[1:].reshape(5, 1), small[:5].reshape(5, 1)
    )
    np.testing.assert_array_equal(big, small)
    fixed = X.copy()
    fixed.flags.writeable = False
    with pytest.raises(ReadOnlyArgumentError):
        jitted(fixed, X)


def test_donated_arguments_are_fast(general: list[int]) -> None:
    f = tj.jit(lambda x, y: x + y, donate_argnums=0)
    for _ in range(3):
        a = X.copy()
        assert f(a, X) is a
        np.testing.assert_array_equal(a, 2 * X)
    assert len(general) == 1
    with pytest.raises(DonatedArgumentError):
        f(X, X)


def test_not_while_tracing_or_disabled() -> None:
    f = tj.jit(lambda x: np.sin(x))
    f(X)
    f(X)
    np.testing.assert_allclose(tj.grad(lambda x: f(x).sum())(X), np.cos(X))
    with tj.disable_jit():
        np.testing.assert_array_equal(f(X), np.sin(X))


def test_errors_come_from_the_fast_path_too(general: list[int]) -> None:
    f = tj.jit(lambda x, n: x[n])
    assert f(V, 1) == 1.0
    for _ in range(2):
        with pytest.raises(IndexError, match="index 5"):
            f(V, 5)
    assert f(V, 2) == 2.0 and len(general) == 1


def test_results_are_new_every_time() -> None:
    f = tj.jit(lambda x: x + 1)
    outs = [f(X) for _ in range(4)]
    assert not any(np.shares_memory(a, b) for n, a in enumerate(outs) for b in outs[:n])


def test_references_are_given_back() -> None:
    """Neither arguments nor results stay alive, however a call ends."""
    f = tj.jit(lambda x, n: (x * 2, x[n], x.sum()))
    seen = []
    for n in (0, 0, 1, 7):
        x = np.arange(3.0) + n
        seen.append(weakref.ref(x))
        try:
            out = f(x, n)
            seen.append(weakref.ref(out[0]))
            del out
        except IndexError:
            pass
        del x
    gc.collect()
    assert [r() for r in seen] == [None] * 7


def test_many_signatures(general: list[int]) -> None:
    f = tj.jit(lambda x: x.sum())
    big = np.ones((300, 4))
    for n in range(1, 300):  # more layouts than are remembered
        assert f(big[::n]) == 4 * len(big[::n])
    assert f(big[::299]) == 4 * 2 and len(f._fast) <= 256


def test_signatures_that_take_turns(general: list[int]) -> None:
    """Each is fast, and the method of a signature is written once."""
    f = tj.jit(lambda x: x + 1)
    xs = [np.arange(float(n)) for n in range(1, 8)]
    for x in [x for x in xs for _ in range(3)] * 3:
        np.testing.assert_array_equal(f(x), x + 1)
    methods = {fast: fast.direct() for fast in f._fast.values()}
    assert len(methods) == 7 and all(fast.direct() is m for fast, m in methods.items())


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (x, 1.0), lambda x: {"a": x}])
def test_deep_trees(wrap) -> None:
    deep = np.arange(2.0)
    for _ in range(300):
        deep = wrap(deep)
    f = tj.jit(lambda t: tj.tree.map(lambda x: 2 * x, t))
    for _ in range(3):
        out = f(deep)
    for _ in range(300):
        out = out["a"] if isinstance(out, dict) else out[0]
    assert np.array_equal(out, [0, 2])


def test_captured_arrays_are_looked_at_in_every_call(general: list[int]) -> None:
    """Their types, shapes and layouts too, also where only the native code looks at them."""
    held: dict[str, Any] = {"w": X}
    f = tj.jit(lambda x: x * held["w"])
    for _ in range(3):
        f(X)
    del general[:]
    held["w"] = X + 1
    assert np.array_equal(f(X), X * (X + 1)) and not general
    for w in (X[:1], X.astype(np.float32), np.asfortranarray(X), 2.5, X[0], X):
        held["w"] = w
        for _ in range(3):
            out, expected = f(X), X * w
            assert np.array_equal(out, expected) and out.dtype == expected.dtype


def test_an_exception_in_a_guard_is_no_context() -> None:
    """A guard that raises leaves nothing behind in the exceptions of the function itself."""
    settings = types.SimpleNamespace(factor=2.0)

    def scaled(x: Any) -> Any:
        if not hasattr(settings, "factor"):
            raise LookupError("no factor")
        return x * settings.factor

    f = tj.jit(scaled)
    for _ in range(4):
        assert np.array_equal(f(X), 2 * X)
    del settings.factor
    with pytest.raises(LookupError) as raised:
        f(X)
    assert raised.value.__context__ is None
    settings.factor = 3.0
    assert np.array_equal(f(X), 3 * X)


@pytest.mark.parametrize("count", [3, 100])
def test_few_guards_and_many(count: int) -> None:
    """Few are written into the code of the call, many are a function."""
    items = [float(n) for n in range(count)]
    f = tj.jit(lambda x: x + sum(items))
    for _ in range(4):
        assert np.array_equal(f(X), X + sum(items))
    items[-1] = 0.5
    assert np.array_equal(f(X), X + sum(items))


def test_sizes_of_other_types_are_no_sizes() -> None:
    """What decides a shape is looked at before memory of that size is made."""
    f = tj.jit(lambda n: np.zeros(n) + 1)
    for n in range(3, 7):
        assert f(n).shape == (n,)
    for other in ("7", "a", None, 2.5, [2, 3]):
        results = []
        for run in (lambda n: np.zeros(n) + 1, f):
            try:
                results.append(run(other).shape)
            except Exception as e:
                results.append(type(e))
        assert results[0] == results[1]
