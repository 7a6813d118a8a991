"""Callbacks: called as often, in the order and with the values that plain Python would have."""

from __future__ import annotations

import functools
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import (
    CallbackArgumentError,
    CallbackBatchError,
    CallbackResultError,
    NotDifferentiableError,
    RepeatedEffectError,
)
from tracejit.test_util import assert_max_compiles, assert_max_traces

S = tj.ShapeDtypeStruct
F = S((), np.float64)
V3 = S((3,), np.float64)
X = np.array([0.3, -0.7, 1.2])


class Log:
    """What a callback was called with."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __call__(self, *args: Any) -> Any:
        self.calls.append(args[0] if len(args) == 1 else args)
        return args[0] if args else None

    def take(self) -> list[Any]:
        calls, self.calls = self.calls, []
        return [np.asarray(c).tolist() for c in calls]


def ways(f: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Eagerly, compiled, compiled in a compiled function."""
    return [f, tj.jit(f), tj.jit(lambda *args: tj.jit(f)(*args))]


# ---------------------------------------------------------------- values


def test_arguments_are_numpys_own() -> None:
    seen: list[Any] = []

    def look(x: Any, t: Any, *, n: Any, how: str) -> Any:
        seen.append((type(x), type(t["s"]), type(n), how, x.flags.writeable))
        return {"y": x * t["s"], "n": n}

    def f(x: Any, s: Any) -> Any:
        out = {"y": S((3,), np.float64), "n": S((), np.int32)}
        return tj.pure_callback(look, out, x, {"s": s}, n=np.int32(4), how="plainly")

    for way in ways(f):
        out = way(X, 2.0)
        np.testing.assert_array_equal(out["y"], 2 * X)
        assert out["n"] == 4 and out["n"].dtype == np.int32
    assert seen == [(np.ndarray, np.float64, np.int32, "plainly", True)] * 3


def test_a_callback_may_keep_and_change_what_it_gets() -> None:
    kept: list[np.ndarray] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        x += 100
        return x

    def f(x: Any) -> Any:
        y = x * 2
        z = tj.pure_callback(keep, V3, y)
        return y, z

    for way in ways(f):
        y, z = way(X)
        np.testing.assert_array_equal(y, X * 2)
        np.testing.assert_array_equal(z, X * 2 + 100)
    for _ in range(50):
        tj.jit(f)(X + 1)
    np.testing.assert_array_equal(kept[1], X * 2 + 100)


def test_a_result_is_a_copy() -> None:
    memory = np.ones(3)
    f = lambda: tj.pure_callback(lambda: memory, V3)
    for way in ways(f):
        out = way()
        memory[0] += 1
        assert out[0] == memory[0] - 1


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_dtypes_and_shapes(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.ones(shape, dtype)
    got: list[Any] = []

    def f(x: Any) -> Any:
        return tj.pure_callback(lambda a: (got.append((a.dtype, a.shape)), a)[1], S(shape, dtype), x)

    for way in ways(f):
        out = way(x)
        np.testing.assert_array_equal(out, x)
        assert out.dtype == dtype and out.shape == shape
    assert got == [(np.dtype(dtype), shape)] * 3


def test_strided_operands() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)[:, ::-1, ::2].T
    f = tj.jit(lambda a: tj.pure_callback(np.copy, S(x.shape, x.dtype), a))
    np.testing.assert_array_equal(f(x), x)


def test_pythons_numbers_take_the_announced_dtype() -> None:
    for way in ways(lambda: tj.pure_callback(lambda: 1, S((), np.float32))):
        assert way().dtype == np.float32
    with pytest.raises(CallbackResultError, match="f64"):
        tj.pure_callback(lambda: 1.5, S((), np.int64))


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        (lambda x: x[:2], r"f64\[2\]"),
        (lambda x: x.astype(np.float32), "32"),
        (lambda x: (x, x), r"as \(\*, \*\)"),
        (lambda x: None, "None"),
        (lambda x: "text", "str"),
    ],
)
def test_wrong_results(returns: Callable[..., Any], message: str) -> None:
    for way in ways(lambda x: tj.pure_callback(returns, V3, x)):
        with pytest.raises(CallbackResultError, match=message) as caught:
            way(X)
        assert "pure_callback" in str(caught.value) and "announced" in str(caught.value)


def test_wrong_arguments() -> None:
    with pytest.raises(CallbackArgumentError, match="no shape and dtype"):
        tj.pure_callback(np.sin, float, 1.0)
    with pytest.raises(CallbackArgumentError, match="'loop'"):
        tj.pure_callback(np.sin, F, 1.0, vmap_method="loop")
    with pytest.raises(CallbackArgumentError, match="int, not a function"):
        tj.io_callback(3, F, 1.0)  # type: ignore[arg-type]


def test_arrays_announce_too() -> None:
    assert tj.jit(lambda x: tj.pure_callback(np.sum, x[0], x))(X) == X.sum()


# ---------------------------------------------------------------- names


def test_a_callback_sees_numpy_itself_and_the_present() -> None:
    state = {"scale": 1.0}

    def scaled(x: Any) -> Any:
        assert np.sin.__class__ is np.ufunc
        state["calls"] = state.get("calls", 0) + 1
        return x * state["scale"]

    @tj.jit
    def f(x: Any) -> Any:
        return tj.pure_callback(scaled, V3, x)

    np.testing.assert_array_equal(f(X), X)
    state["scale"] = 3.0
    with assert_max_traces(f, 0):
        np.testing.assert_array_equal(f(X), 3 * X)
    assert state["calls"] == 2


def test_what_a_callback_changes_does_not_trace_again() -> None:
    log: list[Any] = []
    counter = [0]

    def count(x: Any) -> Any:
        counter[0] += 1
        count.calls = counter[0]  # type: ignore[attr-defined]
        return x

    @tj.jit
    def f(x: Any) -> Any:
        tj.debug.callback(lambda v: log.append(v), x)

        def local(v: Any) -> Any:
            log.append(v)
            return v

        return tj.pure_callback(count, V3, x) + tj.io_callback(local, V3, x)

    for _ in range(4):
        np.testing.assert_array_equal(f(X), 2 * X)
    assert f.trace_count == 1 and len(log) == 8 and count.calls == 4  # type: ignore[attr-defined]


def test_a_function_that_is_called_and_handed_on_is_guarded() -> None:
    factor = [2.0]

    def scaled(x: Any) -> Any:
        return x * factor[0]

    @tj.jit
    def f(x: Any) -> Any:
        return scaled(x), tj.pure_callback(scaled, V3, x)

    assert [r[0] for r in f(np.ones(3))] == [2, 2]
    factor[0] = 5.0
    assert [r[0] for r in f(np.ones(3))] == [5, 5]


def test_a_list_that_traced_code_reads_is_guarded() -> None:
    log: list[float] = []

    @tj.jit
    def f(x: Any) -> Any:
        tj.debug.callback(lambda v: log.append(0.0), x)
        return x + len(log)

    assert [f(1.0) for _ in range(3)] == [1, 2, 3]


def test_methods_and_partials() -> None:
    log: list[Any] = []

    class Model:
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def look(self, x: Any) -> Any:
            self.seen.append(x)
            return x

        def step(self, x: Any) -> Any:
            return tj.pure_callback(self.look, F, x)

    def tagged(tag: str, x: Any) -> None:
        log.append((tag, x))

    model = Model()

    @tj.jit
    def f(x: Any) -> Any:
        tj.debug.callback(functools.partial(tagged, "a"), x)
        tj.debug.callback(log.append, x)
        return model.step(x)

    assert f(1.5) == 1.5
    assert log == [("a", 1.5), 1.5] and model.seen == [1.5]


def test_a_redefined_callback_traces_again() -> None:
    space: dict[str, Any] = {"tj": tj, "F": F}
    exec("def cb(x): return x + 1\ndef f(x): return tj.pure_callback(cb, F, x)", space)
    f = tj.jit(space["f"])
    assert f(1.0) == 2
    exec("def cb(x): return x + 10", space)
    assert f(1.0) == 11


# ---------------------------------------------------------------- derivatives


def sine(x: Any) -> Any:
    """NumPy's sine by callback, with a rule."""

    @tj.custom_jvp
    def f(x: Any) -> Any:
        return tj.pure_callback(np.sin, S(x.shape, x.dtype), x, vmap_method="expand_dims")

    f.defjvp(
        lambda primals, tangents: (
            f(primals[0]),
            tangents[0]
            * tj.pure_callback(
                np.cos, S(primals[0].shape, primals[0].dtype), primals[0], vmap_method="expand_dims"
            ),
        )
    )
    return f(x)


def test_a_rule_makes_it_differentiable() -> None:
    want = np.cos(X)
    loss = lambda x: np.sum(sine(x))
    for g in (tj.grad(loss), tj.jit(tj.grad(loss)), tj.grad(tj.jit(loss)), tj.jacfwd(loss)):
        np.testing.assert_allclose(g(X), want, rtol=1e-14)
    np.testing.assert_allclose(tj.vmap(tj.grad(sine))(X), want, rtol=1e-14)
    np.testing.assert_allclose(tj.jit(tj.vmap(tj.grad(sine)))(X), want, rtol=1e-14)
    np.testing.assert_allclose(tj.grad(tj.checkpoint(loss))(X), want, rtol=1e-14)
    scanned = lambda x: lax.scan(lambda c, _: (sine(c), None), x, None, length=2)[0]
    np.testing.assert_allclose(tj.grad(scanned)(0.5), np.cos(np.sin(0.5)) * np.cos(0.5), rtol=1e-14)


def test_a_custom_vjp_too() -> None:
    @tj.custom_vjp
    def f(x: Any) -> Any:
        return tj.pure_callback(np.sin, F, x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * tj.pure_callback(np.cos, F, x),))
    for g in (tj.grad(f), tj.jit(tj.grad(f))):
        assert g(0.5) == pytest.approx(np.cos(0.5))


@pytest.mark.parametrize("call", [tj.pure_callback, tj.io_callback])
def test_without_a_rule_there_is_an_error(call: Any) -> None:
    f = lambda x: call(np.sin, F, x)
    for g in (tj.grad(f), tj.jit(tj.grad(f)), tj.jacfwd(f), tj.grad(tj.jit(f))):
        with pytest.raises(NotDifferentiableError, match="custom_jvp"):
            g(0.5)


def test_constants_of_the_derivative() -> None:
    """Zero tangents are no derivative: stop_gradient, integers, arguments that are not differentiated."""
    f = lambda x, y: x * tj.pure_callback(np.sin, F, lax.stop_gradient(x) + y)
    for g in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        assert g(0.5, 0.1) == pytest.approx(np.sin(0.6))


# ---------------------------------------------------------------- vmap


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled"])
def test_sequential_lanes(method: str) -> None:
    log = Log()
    f = lambda x, y: tj.pure_callback(lambda a, b: log(a) + b, F, x, y, vmap_method=method)
    for way in (tj.vmap(f, (0, None)), tj.jit(tj.vmap(f, (0, None))), tj.vmap(tj.jit(f), (0, None))):
        np.testing.assert_array_equal(way(X, 1.0), X + 1)
        assert log.take() == X.tolist()
    g = tj.vmap(tj.vmap(f, (0, None)), (1, 0))
    m = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(g(m, np.array([10.0, 20.0])), m.T + [[10], [20]])
    assert log.take() == m.T.ravel().tolist()


@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("expand_dims", [(3, 2), (1, 2)]),
        ("broadcast_all", [(3, 2), (3, 2)]),
        ("legacy_vectorized", [(3, 2), (2,)]),
    ],
)
def test_one_call_for_all_lanes(method: str, shapes: Any) -> None:
    got: list[Any] = []

    def add(a: Any, b: Any) -> Any:
        got.append([a.shape, b.shape])
        return a + b

    f = lambda x, y: tj.pure_callback(add, S((2,), np.float64), x, y, vmap_method=method)
    x, y = np.arange(6.0).reshape(2, 3), np.array([10.0, 20.0])
    for way in (tj.vmap(f, (1, None)), tj.jit(tj.vmap(f, (1, None)))):
        np.testing.assert_array_equal(way(x, y), x.T + y)
    assert got == [shapes] * 2


def test_a_vectorized_result_must_have_the_lanes() -> None:
    f = lambda x: tj.pure_callback(np.sum, F, x, vmap_method="expand_dims")
    with pytest.raises(CallbackResultError):
        tj.vmap(f)(X)


def test_vmap_has_to_be_told_how() -> None:
    with pytest.raises(CallbackBatchError, match="vmap_method"):
        tj.vmap(lambda x: tj.pure_callback(np.sin, F, x))(X)
    with pytest.raises(CallbackBatchError, match="ordered"):
        tj.vmap(lambda x: tj.io_callback(np.sin, F, x, ordered=True))(X)
    # Of a value that all lanes share there is one call.
    log = Log()
    tj.vmap(lambda x: x + tj.io_callback(log, F, 2.0, ordered=True))(X)
    assert log.take() == [2.0]


def test_no_lanes() -> None:
    f = lambda x: tj.pure_callback(np.sin, F, x, vmap_method="sequential")
    for way in (tj.vmap(f), tj.jit(tj.vmap(f))):
        assert way(np.zeros(0)).shape == (0,)


def test_lanes_that_take_different_branches() -> None:
    yes, no = Log(), Log()

    def f(x: Any) -> Any:
        return lax.cond(x > 0, lambda: tj.io_callback(yes, F, x), lambda: -tj.io_callback(no, F, x))

    for way in (tj.vmap(f), tj.jit(tj.vmap(f)), tj.vmap(tj.jit(f))):
        np.testing.assert_array_equal(way(X), np.abs(X))
        assert (yes.take(), no.take()) == ([0.3, 1.2], [-0.7])


# ---------------------------------------------------------------- effects


def loops(log: Any, ordered: bool) -> list[Callable[[Any], Any]]:
    """Functions of a float that call `log` in loops and branches."""

    def called(x: Any) -> Any:
        return tj.io_callback(log, F, lax.stop_gradient(x), ordered=ordered)

    def in_fori(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            called(c * i)
            return c * 1.5

        return lax.fori_loop(0, 3, body, x)

    def in_scan(x: Any) -> Any:
        def body(c: Any, y: Any) -> Any:
            k = called(c + y)
            return c * 1.5, k * c

        c, ys = lax.scan(body, x, np.arange(3.0))
        return c + ys.sum()

    def in_while(x: Any) -> Any:
        def cond(c: Any) -> Any:
            called(-c)
            return c < 4

        def body(c: Any) -> Any:
            called(c)
            return c * 2

        return lax.while_loop(cond, body, x)

    def in_cond(x: Any) -> Any:
        y = lax.cond(x > 1.05, lambda: x * called(x), lambda: called(-x) * x)
        called(y)
        return y

    def unused(x: Any) -> Any:
        called(x)
        called(x)  # not merged
        return x * 1

    def invariant(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            return c + called(7.0)

        return lax.fori_loop(0, 3, body, x)

    def nested(x: Any) -> Any:
        def row(c: Any, y: Any) -> Any:
            inner = lax.fori_loop(0, 2, lambda i, d: (called(d + i), d * 1.1)[1], c)
            return inner * called(y), None

        return lax.scan(row, x, np.arange(1.0, 3.0))[0]

    return [in_fori, in_scan, in_while, in_cond, unused, invariant, nested]


def python_calls(f: Callable[..., Any], log: Log, x: Any) -> list[Any]:
    """The calls of the loops run in Python: the oracle."""
    with tj.disable_jit():
        f(x)
    return log.take()


@pytest.mark.sample(7)
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("n", range(7))
def test_effects_happen_as_in_python(n: int, ordered: bool) -> None:
    log = Log()
    f = loops(log, ordered)[n]
    want = python_calls(f, log, 1.1)
    assert want
    for name, way in {
        "eager": f,
        "jit": tj.jit(f),
        "jit in jit": tj.jit(lambda x: tj.jit(f)(x)),
        "jvp": lambda x: tj.jvp(f, (x,), (1.0,)),
        "jit of jvp": tj.jit(lambda x: tj.jvp(f, (x,), (1.0,))),
        "grad": tj.grad(f),
        "jit of grad": tj.jit(tj.grad(f)),
        "grad of jit": tj.grad(tj.jit(f)),
        "value_and_grad": tj.jit(tj.value_and_grad(f)),
        "checkpoint": tj.grad(tj.checkpoint(f)),
        "jit of checkpoint": tj.jit(tj.grad(tj.checkpoint(f))),
        "second order": tj.jit(tj.grad(tj.grad(f))),
        "forward over reverse": tj.jit(lambda x: tj.jvp(tj.grad(f), (x,), (1.0,))),
        "linearize": lambda x: tj.linearize(f, x)[1](1.0),
        "pullback twice": lambda x: [g := tj.vjp(f, x)[1], g(1.0), g(2.0)],
    }.items():
        way(1.1)
        assert log.take() == pytest.approx(want), name


@pytest.mark.parametrize("n", range(7))
def test_lanes_have_the_calls_of_their_own_runs(n: int) -> None:
    log = Log()
    f = loops(log, False)[n]
    xs = np.array([1.1, 0.9, 2.5])
    each = [python_calls(f, log, x) for x in xs]
    for way in (tj.vmap(f), tj.jit(tj.vmap(f)), tj.vmap(tj.grad(f)), tj.jit(tj.vmap(tj.grad(f)))):
        way(xs)
        got = log.take()
        every = sorted(c for calls in each for c in calls)
        if n == 5:  # the same in every lane: once
            assert got == each[0]
        elif n == 6:  # some are
            assert sorted({round(c, 9) for c in got}) == sorted({round(c, 9) for c in every})
            assert len(got) == len(every) - 2 * 2
        else:
            assert sorted(got) == pytest.approx(every)


def test_a_loop_whose_result_nobody_needs() -> None:
    log = Log()

    @tj.jit
    def f(x: Any) -> Any:
        lax.fori_loop(0, 3, lambda i, c: tj.debug.callback(log, i), None)
        lax.while_loop(lambda c: c < 2, lambda c: (tj.debug.callback(log, c), c + 1)[1], 0)
        return x

    f(1.0)
    assert log.take() == [0, 1, 2, 0, 1]


def test_ordered_calls_keep_their_order_among_each_other() -> None:
    log = Log()

    @tj.jit
    def f(x: Any) -> Any:
        y = np.sum(np.exp(x))
        tj.debug.callback(log, 1, ordered=True)
        a = tj.io_callback(log, F, y, ordered=True)
        tj.debug.callback(log, 2.0, ordered=True)
        lax.fori_loop(0, 2, lambda i, c: tj.debug.callback(log, 10 + i, ordered=True), None)
        tj.debug.callback(log, 3, ordered=True)
        return a + 1

    f(X)
    assert log.take() == pytest.approx([1, np.exp(X).sum(), 2, 10, 11, 3])


def test_pure_callbacks_may_be_dropped_and_merged() -> None:
    log = Log()

    def f(x: Any) -> Any:
        tj.pure_callback(log, V3, x)  # unused
        return x

    tj.jit(f)(X)
    assert log.take() == []

    def twice(x: Any) -> Any:
        one = lambda: tj.pure_callback(log, V3, x)
        return one() + one()

    np.testing.assert_array_equal(tj.jit(twice)(X), 2 * X)
    assert log.take() == [X.tolist()]


def test_a_pure_callback_is_not_called_for_a_loop_of_no_steps() -> None:
    def refuse(x: Any) -> Any:
        raise ValueError("not to be called")

    @tj.jit
    def f(x: Any, n: Any) -> Any:
        return lax.fori_loop(0, n, lambda i, c: c + tj.pure_callback(refuse, V3, x), x)

    def scaled(y: Any, x: Any, n: Any) -> Any:
        step = lambda i, c: c * np.sum(tj.pure_callback(refuse, V3, x))
        return lax.fori_loop(0, n, step, y)

    for g in (tj.grad(scaled), tj.jit(tj.grad(scaled)), tj.grad(tj.jit(scaled))):
        assert g(1.5, X, 0) == 1
    np.testing.assert_array_equal(f(X, 0), X)
    with pytest.raises(ValueError, match="not to be called"):
        f(X, 1)


def test_results_that_a_while_loop_needs_twice() -> None:
    """Rows of a loop in a loop can't be kept, so it runs again; one by itself runs once."""
    f = lambda x: lax.while_loop(lambda c: c < 4, lambda c: c * tj.io_callback(lambda: 2.0, F), x)
    assert tj.jit(f)(1.0) == tj.grad(f)(1.0) == 4
    g = lambda x: lax.scan(lambda c, _: (f(c), None), x, length=2)[0]
    with pytest.raises(RepeatedEffectError, match="while"):
        tj.grad(g)(1.0)


def test_random_numbers_by_callback() -> None:
    rng = np.random.default_rng(0)
    draw = lambda: tj.io_callback(lambda: rng.standard_normal(), F)

    def f(x: Any) -> Any:
        noise = draw()
        return np.sin(x * noise) + noise

    want = np.random.default_rng(0)
    for way in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.checkpoint(f)), tj.jit(tj.grad(tj.checkpoint(f)))):
        e = want.standard_normal()
        assert way(0.7) == pytest.approx(e * np.cos(0.7 * e))


# ---------------------------------------------------------------- exceptions and reentrancy


class Refusal(Exception):
    """Of the user's own."""


def test_exceptions_come_out_as_they_are() -> None:
    def refuse(x: Any) -> Any:
        if x > 1:
            raise Refusal("too much", float(x))
        return x

    def f(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: tj.pure_callback(refuse, F, c) + 0.75, x)

    for way in ways(f):
        for _ in range(2):
            with pytest.raises(Refusal) as caught:
                way(0.5)  # in the second step
            assert caught.value.args == ("too much", 1.25)
            names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
            assert "refuse" in names
        assert way(-5.0) == -2.75  # nothing is left behind


def test_interrupts_pass_too() -> None:
    def stop(x: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tj.jit(lambda x: tj.pure_callback(stop, F, x))(1.0)


def test_an_exception_keeps_what_happened_before() -> None:
    log = Log()

    def refuse(x: Any) -> None:
        raise Refusal

    @tj.jit
    def f(x: Any) -> Any:
        tj.debug.callback(log, x)
        tj.debug.callback(refuse, x)
        tj.debug.callback(log, x + 1)
        return x

    with pytest.raises(Refusal):
        f(1.0)
    assert log.take() == [1.0]


def test_a_callback_may_use_everything() -> None:
    inner = tj.jit(lambda x: np.sum(np.sin(x) ** 2))

    def slope(x: Any) -> Any:
        return tj.grad(inner)(x) + tj.jit(tj.grad(lambda y: np.sum(y**3)))(x)

    def f(x: Any) -> Any:
        return tj.pure_callback(slope, V3, x)

    for way in ways(f):
        np.testing.assert_allclose(way(X), np.sin(2 * X) + 3 * X**2)


def test_a_callback_may_call_the_function_that_called_it() -> None:
    @tj.jit
    def factorial(n: Any) -> Any:
        less = lambda m: factorial(m - 1.0) if m > 1 else 1.0
        return n * tj.pure_callback(less, F, n)

    assert factorial(6.0) == 720


def test_inside_eager_transformations() -> None:
    """The callback is not traced, whatever is being transformed around it."""

    def look(x: Any) -> Any:
        assert type(x) is np.float64
        return tj.jit(np.cos)(x) + tj.grad(np.sin)(x)

    f = lambda x: x * tj.pure_callback(look, F, lax.stop_gradient(x))
    assert tj.grad(f)(0.3) == pytest.approx(2 * np.cos(0.3))
    assert tj.jvp(f, (0.3,), (1.0,))[1] == pytest.approx(2 * np.cos(0.3))


def test_from_several_threads() -> None:
    mine = threading.local()

    def look(x: Any) -> Any:
        mine.seen = float(x)
        return x * 2

    f = tj.jit(lambda x: lax.fori_loop(0, 20, lambda i, c: tj.pure_callback(look, F, x) + i, x))
    wrong: list[Any] = []

    def work(n: float) -> None:
        for _ in range(5):
            if f(n) != 2 * n + 19 or mine.seen != n:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(float(n),)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == [] and f.trace_count == 1


def test_an_eager_loop_with_callbacks_is_compiled_once() -> None:
    log = Log()

    def look(v: Any) -> Any:
        return log(v)

    def f(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            tj.debug.print("", skip_format_check=True)
            tj.debug.callback(lambda v: log(v), c)
            return c + tj.pure_callback(look, F, c)

        return lax.fori_loop(0, 2, body, x)

    f(1.0)
    with assert_max_compiles(0):
        f(2.0)
    assert log.take() == [1, 1, 2, 2, 2, 2, 4, 4]


def test_equal_code_over_other_variables_is_another_callback() -> None:
    def made(n: int) -> Any:
        def count(x: Any) -> Any:
            nonlocal n
            n += 1
            return x + n

        return lambda x: lax.fori_loop(0, 2, lambda i, c: tj.pure_callback(count, F, c), x)

    f, g = made(0), made(0)
    assert [f(0.0), g(0.0), f(0.0)] == [3, 3, 7]


def test_lanes_that_talk_and_call_back() -> None:
    def f(x: Any) -> Any:
        step = lambda c: (tj.debug.callback(print, c), c + 1)[1]
        return lax.while_loop(lambda c: c < lax.psum(c, "i"), step, x)

    with pytest.raises(RepeatedEffectError, match="collectives"):
        tj.vmap(f, axis_name="i")(X)


def test_dynamic_extents() -> None:
    def f(x: Any) -> Any:
        step = lambda i, c: c + tj.pure_callback(lambda a: np.float64(a.sum()), F, x[:i])
        return lax.fori_loop(0, 4, step, 0.0)

    for way in ways(f):
        assert way(np.arange(5.0)) == 0 + 0 + 1 + 3


def test_python_is_reported() -> None:
    report = tj.explain(lambda x: tj.pure_callback(np.sin, V3, x))(X)
    assert report.callbacks == ["pure_callback"]
    text = str(tj.make_jaxpr(lambda x: tj.io_callback(np.sin, V3, x, ordered=True))(X).jaxpr)
    assert "io_callback" in text and "ordered" in text
