"""jit: when it traces again and why, the bounded cache, and arguments of every kind."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import types
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.config import config
from tracejit.errors import (
    DonatedArgumentError,
    OuterWriteError,
    ReadOnlyArgumentError,
    StaticArgumentError,
    TracerArrayError,
    TracerIntegerError,
    UnhashableStaticError,
)
from tracejit.test_util import assert_max_compiles, assert_max_traces, count_compiles

X = np.arange(3.0)


def traces(f: Any, *calls: tuple[Any, ...]) -> int:
    for args in calls:
        f(*args)
    return f.trace_count


# ---- what is part of the signature


def test_values_are_not() -> None:
    assert traces(tj.jit(lambda x, s: x * s), (X, 2.0), (X + 1, 3.0), (X[::-1], 4.0)) == 1


@pytest.mark.parametrize(
    "other",
    [X.astype(np.float32), np.arange(4.0), X[:, None], 2.0, [X], {"x": X}, X.astype(int)],
    ids=["dtype", "shape", "rank", "scalar", "list", "dict", "kind"],
)
def test_types_and_structures_are(other: Any) -> None:
    f = tj.jit(lambda x: tj.tree.map(lambda v: v + 1, x))
    assert traces(f, (X,), (other,), (X,), (other,)) == 2


def test_python_scalars_are_weak_and_numpy_scalars_are_not() -> None:
    f = tj.jit(lambda s: s + 1)
    assert traces(f, (2.0,), (3.0,), (np.float64(2.0),), (np.float64(3),), (2,), (True,)) == 4


def test_static_values_are_with_their_types() -> None:
    f = tj.jit(lambda x, n: x * n, static_argnums=1)
    assert traces(f, (X, 1), (X, 2), (X, 1)) == 2
    assert traces(f, (X, 1.0), (X, True)) == 4


def test_static_names_and_keywords() -> None:
    @tj.jit(static_argnames=("mode", "k"))
    def f(x: Any, mode: str = "a", *, k: int = 1) -> Any:
        return (x if mode == "a" else -x) * k

    assert f(X).tolist() == [0, 1, 2] and f(X, "b").tolist() == [0, -1, -2]
    assert f(X, mode="b", k=2).tolist() == [0, -2, -4] and f.trace_count == 3
    with assert_max_traces(f, 0):
        f(X, "b")
        f(X, mode="b", k=2)


def test_the_order_of_keywords_is_the_callers() -> None:
    f = tj.jit(lambda **kw: [kw["a"] - kw["b"], *kw.values()])
    assert f(a=3.0, b=1.0) == [2.0, 3.0, 1.0] and f(b=1.0, a=3.0) == [2.0, 1.0, 3.0]


def test_strings_and_functions_are_fixed_arguments() -> None:
    f = tj.jit(lambda x, how, g: g(x) if how == "up" else -g(x))
    assert f(4.0, "up", np.sqrt) == 2.0 and f(4.0, "down", np.sqrt) == -2.0 and f(4.0, "up", np.abs) == 4.0
    assert f.trace_count == 3


def test_wrong_static_arguments() -> None:
    with pytest.raises(UnhashableStaticError, match="`n`"):
        tj.jit(lambda x, n: x, static_argnums=1)(X, [1])
    with pytest.raises(StaticArgumentError):
        tj.jit(lambda x: x, static_argnums=3)
    with pytest.raises(StaticArgumentError):
        tj.jit(lambda x: x, static_argnames="y")
    with pytest.raises(TypeError, match="takes a function"):
        tj.jit(3)


# ---- captured names

STATE = types.SimpleNamespace(scale=2.0, w=np.ones(3))


def captured(x: Any) -> Any:
    return x * STATE.scale + STATE.w


def test_a_changed_name_retraces_once_and_the_guard_says_why() -> None:
    f = tj.jit(captured)
    try:
        f(X)
        program = f.lower(X).program
        assert program.guards.why() is None
        STATE.scale = 3.0
        why = program.guards.why()
        assert why is not None and "scale" in why and "2.0" in why and "3.0" in why
        assert f(X).tolist() == [1, 4, 7] and f.trace_count == 2
        STATE.scale = 2.0
        with assert_max_traces(f, 0):  # both variants are kept
            assert f(X).tolist() == [1, 3, 5]
        STATE.w = np.ones(3, np.float32)
        why = program.guards.why()
        assert why is not None and "float32" in why
    finally:
        STATE.scale, STATE.w = 2.0, np.ones(3)


def test_retraces_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    f = tj.jit(captured)
    try:
        with config.override(debug=1):
            f(X)
            STATE.scale = 5.0
            f(X)
    finally:
        STATE.scale = 2.0
    err = capsys.readouterr().err
    assert "compiled captured in" in err and "captured is traced again" in err and "scale" in err


def test_assert_max_traces_counts() -> None:
    f = tj.jit(lambda x: x)
    with pytest.raises(AssertionError, match="traced 1 times, at most 0"):
        with assert_max_traces(f, 0):
            f(X)


# ---- the cache


def test_the_cache_is_bounded_and_evicted_programs_come_back() -> None:
    f = tj.jit(lambda x: x.sum() * 2)
    sizes = range(1, 9)
    with config.override(cache_size=3):
        for _ in range(2):
            for n in sizes:
                assert f(np.ones(n)) == 2 * n
                assert sum(len(v) for v in f._programs.values()) <= 3
    assert f.trace_count == 2 * len(sizes)
    with assert_max_traces(f, 0):
        f(np.ones(8))


def test_variants_are_bounded() -> None:
    f = tj.jit(captured)
    try:
        for n in range(20):
            STATE.scale = float(n)
            np.testing.assert_array_equal(f(X), X * n + 1)
        assert all(len(v) <= 8 for v in f._programs.values())
    finally:
        STATE.scale = 2.0


def test_clear_cache() -> None:
    f = tj.jit(lambda x: x + 1)
    assert traces(f, (X,), (X,)) == 1
    f.clear_cache()
    assert traces(f, (X,), (X,)) == 2


def test_functions_can_die() -> None:
    gc.collect()
    f = tj.jit(lambda x: x + 1)
    f(X)
    alive = __import__("weakref").ref(f)
    del f
    gc.collect()
    assert alive() is None


# ---- ways of calling


class Model:
    def __init__(self, w: float) -> None:
        self.w = w

    @tj.jit
    def __call__(self, x: Any) -> Any:
        return x * self.w

    @tj.jit
    def shifted(self, x: Any, by: Any = 0.0) -> Any:
        return x * self.w + by


def test_methods() -> None:
    a, b = Model(2.0), Model(3.0)
    assert (
        a(X).tolist() == [0, 2, 4]
        and b(X).tolist() == [0, 3, 6]
        and a.shifted(X, by=1.0).tolist() == [1, 3, 5]
    )
    a.w = 5.0
    assert a(X).tolist() == [0, 5, 10] and Model.shifted(a, X, 1.0).tolist() == [1, 6, 11]


def test_the_wrapper_looks_like_the_function() -> None:
    @tj.jit
    def named(x: Any) -> Any:
        """Doc."""
        return x

    assert named.__name__ == "named" and named.__doc__ == "Doc." and "named" in repr(named)
    assert named.__wrapped__ is named.fun


def test_variadic_arguments() -> None:
    f = tj.jit(lambda *xs, **kw: sum(xs) + kw.get("y", 0.0))
    assert f(1.0, 2.0) == 3.0 and f(1.0, 2.0, 3.0, y=4.0) == 10.0


def test_containers_and_dataclasses() -> None:
    @dataclasses.dataclass
    class P:
        a: Any
        b: Any

    tj.tree.register_dataclass(P) if hasattr(tj.tree, "register_dataclass") else None
    out = tj.jit(lambda t: {"s": t["x"] + 1, "n": None, "t": (t["x"],)})({"x": X})
    assert out["n"] is None and out["s"].tolist() == [1, 2, 3] and out["t"][0] is X


def test_disable_jit_runs_the_function_itself() -> None:
    seen: list[Any] = []
    f = tj.jit(lambda x: seen.append(type(x)) or x + 1)
    with tj.disable_jit():
        assert f(X).tolist() == [1, 2, 3]
    assert seen == [np.ndarray] and f.trace_count == 0


# ---- effects on the caller's arrays


def test_donated_memory_is_taken() -> None:
    x = np.arange(100.0)
    f = tj.jit(lambda x: np.sin(x) + 1, donate_argnums=0)
    want = np.sin(np.arange(100.0)) + 1
    out = f(x)
    np.testing.assert_allclose(out, want)
    assert np.shares_memory(out, x)
    g = tj.jit(lambda a, b: a + b, donate_argnames="a")
    with pytest.raises(DonatedArgumentError, match="also passed"):
        g(x, x)
    x.flags.writeable = False
    with pytest.raises(DonatedArgumentError, match="read-only"):
        g(x, np.ones(100))


def test_donation_by_name_in_any_order() -> None:
    x, y = np.ones(100), np.full(100, 5.0)
    out = tj.jit(lambda a, b: a * 2 + b, donate_argnames="a")(b=y, a=x)
    assert np.shares_memory(out, x) and not np.shares_memory(out, y) and y[0] == 5.0


def bump(x: Any) -> Any:
    x += 1
    return x


def test_updates_reach_the_caller_and_return_the_same_object() -> None:
    f, x = tj.jit(bump), np.zeros(3)
    assert f(x) is x and f(x) is x
    assert x.tolist() == [2, 2, 2] and f.trace_count == 1
    f(x[::2])
    assert x.tolist() == [3, 2, 3]
    x.flags.writeable = False
    with pytest.raises(ReadOnlyArgumentError, match="`x`"):
        f(x)


def test_overlapping_arguments_run_as_numpy_does() -> None:
    def shift(a: Any, b: Any) -> Any:
        for i in range(3):
            a[i] = b[i] + 1
        return b.sum()

    x, y = np.zeros(4), np.zeros(4)
    assert tj.jit(shift)(x[1:], x[:3]) == shift(y[1:], y[:3])
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a.T, lambda a: a[::-1]])
@pytest.mark.parametrize("how", ["jvp", "grad", "vmap", "jit"])
def test_overlapping_arguments_inside_other_transformations(view: Any, how: str) -> None:
    def write(a: Any, b: Any) -> Any:
        b[2] += 2
        return a * 1

    def f(jit: Any, x: Any) -> Any:
        constant, traced = np.eye(3), np.eye(3) * x
        return jit(write)(constant, view(constant)) + jit(write)(traced, view(traced))

    run = {
        "jvp": lambda f: tj.jvp(f, (2.0,), (1.0,))[0],
        "grad": lambda f: tj.jacrev(f)(2.0),
        "vmap": lambda f: tj.vmap(f)(np.array([2.0, 3.0])),
        "jit": lambda f: tj.jit(f)(2.0),
    }[how]
    np.testing.assert_array_equal(run(lambda x: f(tj.jit, x)), run(lambda x: f(lambda g: g, x)))
    if how == "jit":
        np.testing.assert_array_equal(run(lambda x: f(tj.jit, x)), f(lambda g: g, 2.0))


def test_traced_places_in_real_arrays_cannot_be_written() -> None:
    captured = np.zeros(3)

    def f(i: Any, jit: Any) -> Any:
        jit(lambda a, i: a.__setitem__(i, 1.0))(captured, i)
        return i

    for jit in (tj.jit, lambda g: g):
        with pytest.raises((TracerArrayError, TracerIntegerError)):
            tj.vmap(lambda i: f(i, jit))(np.arange(2))
        with pytest.raises(OuterWriteError):
            tj.jit(tj.vmap(lambda i: f(i, jit)))(np.arange(2))
    assert captured.tolist() == [0, 0, 0]


def test_read_only_arguments_that_are_only_read() -> None:
    x = np.arange(3.0)
    x.flags.writeable = False
    assert tj.jit(lambda x: x * 2)(x).tolist() == [0, 2, 4]


# ---- results


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sum(),
        lambda x: x[0],
        lambda x: np.float32(2) * x[0],
        lambda x: x.reshape(3, 1),
        lambda x: x.sum(keepdims=True),
        lambda x: x > 1,
        lambda x: (x > 1).any(),
        lambda x: x.argmax(),
        lambda x: x[:0],
        lambda x: (1, 2.5, None, True, 2j, x[1]),
        lambda x: x.astype(np.int8).sum(),
        lambda x: x.T,
        lambda x: len(x),
    ],
)
def test_kinds_of_results_are_numpys(f: Any) -> None:
    got, want = tj.jit(f)(X), f(X)
    assert tj.tree.structure(got) == tj.tree.structure(want)
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        assert type(g) is type(w) and getattr(g, "dtype", None) == getattr(w, "dtype", None), (g, w)
        np.testing.assert_array_equal(g, w)


WEAK = [3, 2.5, True, 1 + 2j, np.float32(1.5), np.int8(3), np.float64(2), np.bool_(True)]


@pytest.mark.sample(5)
@pytest.mark.parametrize("s", WEAK, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint16, np.float16, np.float32, np.float64, np.complex64, bool]
)
def test_promotion_of_scalar_arguments_is_numpys(s: Any, dtype: Any) -> None:
    x = np.array([0, 1, 2]).astype(dtype)
    for f in (lambda x, s: x + s, lambda x, s: s * x, lambda x, s: np.where(x > 0, x, s)):
        got, want = tj.jit(f)(x, s), f(x, s)
        assert got.dtype == want.dtype, (got, want)
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_promotion_between_python_scalars() -> None:
    for a, b in [(1, 2), (1, 2.5), (True, 2), (1.0, 2j)]:
        got, want = tj.jit(lambda a, b: a + b)(a, b), a + b
        assert got == want and np.asarray(got).dtype == np.asarray(want).dtype


@tj.jit
def decorated(x: Any) -> Any:
    return x * 2.0


def undecorated(x: Any, n: int) -> Any:
    return x * n


def test_jitted_functions_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    powered = tj.jit(undecorated, static_argnums=1)
    assert powered(2.0, 3) == 6.0
    copy = pickle.loads(pickle.dumps(powered))
    assert copy(2.0, 3) == 6.0 and copy.trace_count == 1


def test_inline_leaves_no_trace_of_the_call() -> None:
    inner = tj.jit(lambda x: np.sin(x) * 2.0, inline=True)
    x = np.arange(3.0)
    names = [e.op.name for e in tj.make_jaxpr(lambda x: inner(x) + 1.0)(x).jaxpr.eqns]
    assert names == ["sin", "mul", "add"]
    np.testing.assert_allclose(tj.grad(lambda x: inner(x).sum())(x), 2.0 * np.cos(x))


def test_clear_caches() -> None:
    f, g = tj.jit(lambda x: x * 1.125), tj.jit(lambda x: x * 1.125 + x)
    f(X), g(X), g(X[:2])
    with assert_max_compiles(0):
        f(X), g(X[:2])
    tj.clear_caches()
    with count_compiles() as n:
        np.testing.assert_array_equal(f(X), X * 1.125)
        np.testing.assert_array_equal(g(X[:2]), X[:2] * 2.125)
    assert n.value == 2 and f.trace_count == 2


def test_caches_whose_keys_have_changed() -> None:
    """The names of a structured dtype can be assigned to, which changes its hash."""
    f = tj.jit(lambda a: a["x"] * 2)
    for size in (1, 5):
        a = np.zeros(3, [("x", "f8"), ("y", "f8")])
        f(a)
        a.dtype.names = ("u", "v")
        with config.override(cache_size=size):
            assert f(np.ones(2, [("x", "f4")])).tolist() == [2, 2]
        tj.clear_caches()
    assert f(np.ones(2, [("x", "f8"), ("y", "f8")])).tolist() == [2, 2]
