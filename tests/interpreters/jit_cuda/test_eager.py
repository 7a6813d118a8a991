"""Operations, transformations and control flow on a device's arrays outside of any `jit`, beside the host's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import SETTING
from tracejit import lax, tree
from tracejit.errors import DeviceMixError, HostReadError, UnfollowedError
from tracejit.flatten_util import ravel_pytree
from tracejit.interpreters.jit_cuda import eager
from tracejit.scipy import special


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    with tj.config.override(cuda=SETTING):
        yield


RNG = np.random.default_rng(0)
X, W, Y = RNG.normal(size=(6, 5)), RNG.normal(size=5), RNG.normal(size=6)


def loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


def branches(x):
    return (x * 2).sum() if x.sum() > 0 else (x * x).sum()


def loop(x):
    s = 0.0
    for i in range(len(x)):
        s = s + x[i] ** 2 if x[i] > 0 else s - x[i]
    return s


def writes(x):
    x[0] = x[1] * 2
    x += 1
    return (x * x).sum()


@tj.custom_vjp
def pulled(x):
    return np.sin(x)


pulled.defvjp(lambda x: (np.sin(x), x), lambda r, g: (g * np.cos(r) * 2 + g**2 @ np.sin(r),))


@tj.custom_jvp
def pushed(x):
    return np.sin(x)


@pushed.defjvp
def _(primals, tangents):
    slope = np.cos(primals[0])
    return np.sin(primals[0]), np.where(slope > tangents[0], tangents[0] * slope, slope @ tangents[0])


CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "operations": (lambda x, w: (lax.add(x, x), lax.sin(x), lax.sort(w), lax.dot(x, w)), (X, W)),
    "operands of the host": (lambda w: lax.mul(lax.add(w, W), np.float64(2)), (W,)),
    "float32": (tj.grad(lambda x: (np.sin(x) * 2.5).sum()), (W.astype(np.float32),)),
    "integers": (lambda i: lax.add(i, 1), (np.arange(4),)),
    "gradients": (tj.value_and_grad(loss, argnums=(0, 1)), (W, X, Y)),
    "second derivatives": (tj.hessian(loss), (W, X, Y)),
    "forward": (lambda x: tj.jvp(loop, (x,), (x,)), (W,)),
    "pullback": (lambda x: tj.vjp(np.sin, x)[1](x), (W,)),
    "linearized": (lambda x: tj.linearize(loop, x)[1](x), (W,)),
    "jacobians": (lambda x: (tj.jacfwd(np.tanh)(x), tj.jacrev(np.tanh)(x)), (W,)),
    "batches of gradients": (
        tj.vmap(tj.grad(loss), in_axes=(None, 0, 0)),
        (W, X[:, None, :], Y[:, None]),
    ),
    "trees": (tj.jacrev(lambda p: {"a": p["w"].sum() * p["b"]}), ({"w": W, "b": W[:1]},)),  # type: ignore[dict-item]
    "a branch of Python's": (lambda x: (tj.grad(branches)(x), tj.grad(branches)(lax.neg(x))), (W,)),
    "a loop of Python's": (tj.grad(loop), (W,)),
    "writes": (lambda x: (tj.grad(writes)(x), tj.vmap(writes)(lax.reshape(x, (5, 1)) + lax.reshape(x, (1, 5)))), (W,)),
    "indices": (tj.grad(lambda x: x[[0, 0, 2]].sum()), (W,)),
    "scan": (lambda x: lax.scan(lambda c, a: (c * 0.5 + a, np.sin(c)), x[0], x), (X,)),
    "while": (lambda x: lax.while_loop(lambda c: (c * c).sum() < 100, lambda c: c * 2 + 1, x), (W,)),
    "cond": (tj.grad(lambda x: lax.cond(x[0] > 0, lambda b: b.sum(), lambda b: (b * b).sum(), x)), (W,)),
    "a callback": (lambda x: lax.map(lambda r: tj.pure_callback(np.sort, r, r), x), (X,)),
    "jit inside": (tj.grad(lambda x: tj.jit(lambda y: np.sin(y).sum())(x)), (W,)),
    "matrices": (tj.grad(lambda a: np.linalg.cholesky(a @ a.T + np.eye(5)).sum()), (X[:5],)),
    "libraries": (lambda x: (tj.nn.softmax(x), special.logsumexp(x, axis=1), special.erf(x)), (X,)),
    "rules of users": (
        lambda x: (*(tj.grad(lambda x, f=f: f(x).sum())(x) for f in (pulled, pushed)), tj.jvp(pushed, (x,), (x,))),
        (W,),
    ),
    "one vector": (lambda x: ravel_pytree({"a": x, "b": x})[0], (X,)),
}  # fmt: skip


#: Those that take long, and are like others.
_LONG = {"matrices", "jacobians", "pullback", "jit inside", "trees", "a callback", "one vector"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.exhaustive) if n in _LONG else n for n in CASES]
)
def test_without_jit(name: str) -> None:
    f, args = CASES[name]
    want = f(*tree.map(np.copy, args))
    given = tj.device_put(args, "cuda")
    got = f(*given)
    assert all(type(x) is type(tree.leaves(given)[0]) for x in tree.leaves(got)), "results are there"
    for g, w in zip(tree.leaves(tj.device_get(got)), tree.leaves(want), strict=True):
        assert g.dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=1e-5 if g.dtype == np.float32 else 1e-12, atol=1e-12)
    for g, w in zip(tree.leaves(tj.device_get(given)), tree.leaves(args), strict=True):
        np.testing.assert_array_equal(g, w)


def test_arrays_that_a_function_reads_by_name() -> None:
    x, w, y = (tj.device_put(a, "cuda") for a in (X, W, Y))
    got = tj.grad(lambda a: ((x @ a - y) ** 2).sum())(w)
    np.testing.assert_allclose(tj.device_get(got), 2 * X.T @ (X @ W - Y), rtol=1e-12)


GIVEN: Any = None


class Model:
    """What holds arrays."""

    def __init__(self, w: Any) -> None:
        self.params = {"w": [w]}


def test_arrays_that_a_compiled_function_reads_by_name_are_current() -> None:
    global GIVEN
    x, y = tj.device_put(X, "cuda"), tj.device_put(Y, "cuda")
    model = Model(tj.device_put(W, "cuda"))

    def f(x):
        return ((x @ model.params["w"][0] - GIVEN) ** 2).sum()

    GIVEN, value, slopes = y, tj.jit(f, fallback=False), tj.jit(tj.grad(f), fallback=False)

    def check(w: np.ndarray, y: np.ndarray) -> None:
        r = X @ w - y
        for _ in range(3):
            np.testing.assert_allclose(float(value(x)), (r * r).sum(), rtol=1e-12)
            np.testing.assert_allclose(tj.device_get(slopes(x)), 2 * np.outer(r, w), rtol=1e-12)

    check(W, Y)
    model.params["w"][0].set(W + 1)
    check(W + 1, Y)
    GIVEN = tj.device_put(2 * Y, "cuda")
    model.params["w"][0] = tj.device_put(W * 3, "cuda")
    check(W * 3, 2 * Y)
    GIVEN = tj.device_put(Y[:1], "cuda")  # another shape
    check(W * 3, Y[:1])


def test_arrays_that_are_written_by_name() -> None:
    global GIVEN
    GIVEN = tj.device_put(W, "cuda")

    @tj.jit(device="cuda", fallback=False)
    def f(a):
        GIVEN[0] = a * 10
        return GIVEN.sum()

    for a in (1.0, 2.0, 3.0):
        assert float(f(a)) == pytest.approx(10 * a + W[1:].sum())
        np.testing.assert_allclose(tj.device_get(GIVEN), [10 * a, *W[1:]])


def test_arrays_of_a_device_in_functions_of_the_cpu_are_refused() -> None:
    w = tj.device_put(W, "cuda")
    with pytest.raises(UnfollowedError, match="it is on a device, and the function runs on the CPU"):
        tj.jit(lambda a: a * w, fallback=False)(W)


@pytest.mark.skipif(SETTING != "emulate", reason="there may be one card")
def test_arrays_by_name_of_another_device() -> None:
    w = tj.device_put(W, "cuda:1")
    with pytest.raises(DeviceMixError, match="runs on cuda:0, and closure variable `w` is on cuda:1"):
        tj.jit(lambda a: a * w, device="cuda")(W)


def test_a_gradient_is_not_the_callers_array() -> None:
    w, v = tj.device_put(W, "cuda"), tj.device_put(2 * W, "cuda")
    g = tj.grad(lambda a, b: (a * b).sum())(w, v)
    g[0] = 99.0
    np.testing.assert_array_equal(tj.device_get(v), 2 * W)


def test_programs_of_operations_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tj.device_put(X, "cuda")
    lax.sin(x)
    monkeypatch.setattr(eager, "CompiledOnDevice", None)
    np.testing.assert_allclose(tj.device_get(lax.sin(x)), np.sin(X), rtol=1e-15)


@pytest.mark.skipif(SETTING != "emulate", reason="there may be one card")
def test_devices_are_not_mixed() -> None:
    with pytest.raises(DeviceMixError, match="add runs on cuda:0, and operand 1 is on cuda:1"):
        lax.add(tj.device_put(W, "cuda"), tj.device_put(W, "cuda:1"))
    with pytest.raises((HostReadError, TypeError)):
        np.asarray(tj.device_put(W, "cuda"))


def test_arrays_like_those_of_a_device_are_there() -> None:
    x = tj.device_put(X, "cuda")
    for f in (
        tj.numpy.zeros_like,
        tj.numpy.ones_like,
        tj.numpy.array,
        lambda x: tj.numpy.full_like(x, 3, np.int8),
    ):
        made, want = f(x), f(X)
        assert type(made) is type(x) and made is not x
        np.testing.assert_array_equal(tj.device_get(made), want, strict=True)
    made = tj.numpy.array(x)
    made += 1
    np.testing.assert_array_equal(tj.device_get(x), X)


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw", "rmsprop", "adagrad", "lion", "lamb"])
def test_optimizers_without_jit(name: str) -> None:
    """Their state is on the device, where parameters and gradients are."""
    optimizer, found = getattr(tj.optim, name)(0.1), []
    slope = tj.grad(lambda p: (p["w"] ** 2).sum() + (p["f"] ** 3).sum())
    start = {"w": W, "f": np.ones(3, np.float32)}
    for p in (tj.device_put(start, "cuda"), start):
        state = optimizer.init(p)
        for _ in range(3):
            updates, state = optimizer.update(slope(p), state, p)
            p = tj.optim.apply_updates(p, updates)
        found.append(tj.device_get(p))
    for got, want in zip(tree.leaves(found[0]), tree.leaves(found[1]), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)
