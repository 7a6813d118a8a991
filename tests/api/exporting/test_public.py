"""Exported programs do what the functions do: in this process, and in one that does not have the functions."""

from __future__ import annotations

import collections
import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from examples.programs import PROGRAMS
from tracejit import tree
from tracejit.errors import (
    ExportedArgumentError,
    ExportRefusedError,
    IndexOutOfRangeError,
    ReadOnlyArgumentError,
)

Point = collections.namedtuple("Point", "x y")
#: Programs that say that only Python can do them: kinds of numbers depend on values, or all of a list is used.
PYTHONS = {"pattern_positions", "pendulum_path", "ensemble_statistics"}
#: Of other processes.
ENVIRONMENT = {**os.environ, "TRACEJIT_CACHE": "off", "PYTHONPATH": str(Path(tj.__file__).parents[1])}
W, X = np.linspace(-1, 1, 3), np.random.default_rng(0).normal(size=(20, 3))


def loss(w: Any, x: Any, power: int = 2) -> Any:
    return np.sum(np.tanh(x @ w) ** power)


def again(e: Any) -> Any:
    """The program as another process has it."""
    return pickle.loads(pickle.dumps(e))


def same(got: Any, wanted: Any) -> None:
    """The same structure, types, dtypes and values."""
    assert tree.structure(got) == tree.structure(wanted)
    for g, w in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        assert type(g) is type(w) and getattr(g, "dtype", None) == getattr(w, "dtype", None)
        if not isinstance(w, str):
            np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)


def _sampled(every: int) -> list[Any]:
    names = sorted(PROGRAMS)
    return [
        n if k % every == 0 else pytest.param(n, marks=pytest.mark.exhaustive) for k, n in enumerate(names)
    ]


@pytest.mark.parametrize("name", _sampled(11))
def test_programs(name: str) -> None:
    p = PROGRAMS[name]
    args = p.make(np.random.default_rng(0), p.size)
    plain, ours = copy.deepcopy(args), copy.deepcopy(args)
    with np.errstate(all="ignore"):
        wanted = p.f(*plain)
    try:
        got = again(tj.export(tj.jit(p.f, static_argnums=p.static))(*args))(*ours)
    except tj.TracejitError:
        assert name in PYTHONS
        return
    for g, w in zip(tree.leaves((got, ours)), tree.leaves((wanted, plain)), strict=True):
        assert type(g) is type(w) and np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=p.tolerance, atol=p.tolerance)


def test_structures() -> None:
    def f(point: Any, more: Any, *, mode: str, scale: float) -> Any:
        moved = Point(point.x + 1, point.y * scale)
        return {"b": moved, "a": [more["k"], None, (mode, more["n"] + 1, True)]}

    given = Point(np.ones(2), np.float32(2)), {"n": 3, "k": W}
    e = again(tj.export(f)(*given, mode="up", scale=2.0))
    got, wanted = e(*given, scale=0.5, mode="up"), f(*given, scale=0.5, mode="up")
    assert list(got) == ["b", "a"] and got["b"]._fields == ("x", "y") and type(got["b"]).__name__ == "Point"
    same((*got["b"], got["a"]), (*wanted["b"], wanted["a"]))
    assert got["a"][0] is W
    assert repr(e) == (
        "<exported test_structures.<locals>.f(point.x: float64[2], point.y: float32, more['n']: int, "
        "more['k']: float64[3], scale: float) -> f64[3], i64[], bool[], f64[2], f32[]>"
    )
    for wrong in ({"k": W, "n": 3}, {"n": 3}, [3, W], {"n": 3.0, "k": W}):
        with pytest.raises(ExportedArgumentError):
            e(given[0], wrong, mode="up", scale=1.0)
    with pytest.raises(ExportedArgumentError, match=r"mode is 'down', where it was 'up'"):
        e(*given, mode="down", scale=1.0)
    with pytest.raises(ExportedArgumentError, match="it takes"):
        e(*given)


def test_views_and_writes() -> None:
    def f(x: Any, y: Any) -> Any:
        x[1:] += y
        return x[::2], x, y.T, (y + 1).T

    x, y = np.zeros((4, 3)), np.ones((3, 3))
    e = again(tj.export(f)(x, y))
    part, whole, turned, new = e(x, y)
    other = np.zeros((4, 3))
    same((part, whole, turned, new), f(other, y))
    assert whole is x and part.base is x and np.shares_memory(turned, y) and part.strides == x[::2].strides
    assert new.flags.f_contiguous
    with pytest.raises(ReadOnlyArgumentError):
        e(np.broadcast_to(0.0, (4, 3)), y)
    with pytest.raises(ExportedArgumentError, match="shares memory"):
        e(x, x[:3])
    with pytest.raises(ExportedArgumentError, match="C order"):
        e(np.zeros((3, 4)).T, y)


def test_what_only_looks_like_a_view_is_copied() -> None:
    e = tj.export(lambda x: x.sum())(np.zeros(3))
    assert e(np.arange(6.0)[::2]) == 6 and e(np.arange(3.0)[::-1]) == 3
    assert e(np.arange(3.0).astype(">f8")) == 3


def test_captured_arrays_are_in_the_file() -> None:
    weights = np.asfortranarray(X.copy())
    e = again(tj.export(lambda x: (weights @ x, weights))(W))
    got, held = e(W)
    np.testing.assert_allclose(got, X @ W)
    assert held.flags.f_contiguous and held is not weights and held is e(W)[1]
    weights[:] = 0
    np.testing.assert_allclose(e(W)[0], X @ W)


def test_results_of_unknown_length() -> None:
    e = again(tj.export(lambda x: x[x > 0])(W))
    assert e(np.array([1.0, -2, 3])).tolist() == [1, 3] and "<=3" in repr(e)


def test_checks_raise() -> None:
    def f(x: Any, n: int) -> Any:
        if n > 5:
            raise ValueError(f"{n} is {n:.1f} too many")
        return x[n] // (n - 1)

    e = again(tj.export(f)(W, 2))
    assert e(X[0], 2) == f(X[0], 2)
    with pytest.raises(ValueError, match=r"^7 is 7.0 too many$"):
        e(W, 7)
    with pytest.raises(IndexOutOfRangeError, match="index 4 is out of bounds for axis 0 with size 3"):
        e(W, 4)
    with pytest.raises(ExportedArgumentError, match="a smaller number"):
        e(W, 2**40)
    divide = again(tj.export(lambda a, b: a // b)(7, 2))
    assert divide(9, -2) == -5 and type(divide(9, -2)) is int
    with pytest.raises(ZeroDivisionError):
        divide(1, 0)


def test_primitives_without_native_code() -> None:
    def f(a: Any) -> Any:
        return np.fft.rfft(a[0]), np.linalg.cholesky(a), np.linalg.svd(a, compute_uv=False)

    a = X.T @ X
    a = np.kron(a, np.eye(4)) + np.eye(12)
    e = again(tj.export(f, vjp=True)(a))
    same(e(a), f(a))
    with pytest.raises(np.linalg.LinAlgError):
        e(-a)
    nothing = np.zeros(7, complex), np.zeros((12, 12)), np.ones(12)
    wanted = tj.grad(lambda a: np.linalg.svd(a, compute_uv=False).sum())(a)
    same(e.vjp()(a, nothing), (wanted,))


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "F", "D", tj.dtypes.bfloat16], ids=str)
def test_dtypes(dtype: Any) -> None:
    f = lambda x: x + x[:1]
    x = np.array([0, 1, 1]).astype(dtype)
    same(again(tj.export(f)(tj.ShapeDtypeStruct((3,), dtype)))(x), f(x))
    number = x[1]
    same(again(tj.export(lambda v: v * v)(number))(number), number * number)


def test_gradients() -> None:
    e = again(tj.export(loss, vjp=True)(W, X, power=3))
    got = e.vjp()(W, X, np.float64(2.0), power=3)
    wanted = tj.grad(loss, argnums=(0, 1))(W, X, 3)
    same(got, tuple(2 * g for g in wanted))
    assert e.has_vjp and not e.vjp().has_vjp and "cotangent" in repr(e.vjp())
    with pytest.raises(ExportRefusedError, match="without its gradient"):
        e.vjp().vjp()

    def mixed(x: Any, n: int, p: Any) -> Any:
        return n * x, n, p["a"] ** 2, p["b"]

    f = again(tj.export(mixed, vjp=True)(2.0, 3, {"a": W, "b": np.arange(2)}))
    assert f(2.0, 3, {"a": W, "b": np.arange(2)})[0] == 6.0
    back = f.vjp()(2.0, 3, {"a": W, "b": np.arange(2)}, (1.0, None, np.ones(3), None))
    same(back, (np.float64(3.0), None, {"a": 2 * W, "b": None}))


def _draws(x: Any) -> Any:
    return x + np.random.normal(size=3)


class _Counter:
    n = 0

    def step(self, x: Any) -> Any:
        self.n += 1
        return x * self.n


def _writes(x: Any) -> Any:
    W[:] = x
    return x


@pytest.mark.parametrize(
    ("f", "args", "why"),
    [
        (print, (W,), "calls Python"),
        (_draws, (W,), "random numbers"),
        (_Counter().step, (W,), "keeps state"),
        (lambda c, x: x * c.n, (_Counter(), W), "is an object"),
        (_writes, (W,), "captured array"),
        (lambda x: f"{x.sum()}", (W,), "has no place for a Text"),
    ],
)  # fmt: skip
def test_refusals(f: Any, args: Any, why: str) -> None:
    with pytest.raises(ExportRefusedError, match=why):
        tj.export(f)(*args)


_ALL = """
import pickle, sys
import numpy as np
import tracejit as tj

for name, args in pickle.load(open("arguments", "rb")).items():
    with open(name + ".result", "wb") as file:
        pickle.dump((tj.load_exported(name)(*args), args), file)
"""


@pytest.mark.exhaustive
def test_all_programs_in_a_process_without_them(tmp_path: Path) -> None:
    given, wanted = {}, {}
    for name, p in PROGRAMS.items():
        if name in PYTHONS:
            continue
        args = p.make(np.random.default_rng(0), p.size)
        tj.export(tj.jit(p.f, static_argnums=p.static))(*args).save(tmp_path / name)
        given[name] = copy.deepcopy(args)
        with np.errstate(all="ignore"):
            wanted[name] = p.f(*args), args
    (tmp_path / "arguments").write_bytes(pickle.dumps(given))
    subprocess.run([sys.executable, "-c", _ALL], cwd=tmp_path, check=True, env=ENVIRONMENT)
    for name, both in wanted.items():
        got = pickle.loads((tmp_path / f"{name}.result").read_bytes())
        for g, w in zip(tree.leaves(got), tree.leaves(both), strict=True):
            np.testing.assert_allclose(g, w, rtol=PROGRAMS[name].tolerance, atol=PROGRAMS[name].tolerance)


_LOAD = """
import sys
import numpy as np
import tracejit as tj
from tracejit.lowering.runtime import compile

def fails(text):
    raise AssertionError("something was compiled")

compile.object_of = fails
e = tj.load_exported(sys.argv[1])
w, x = np.linspace(-1, 1, 3), np.load(sys.argv[2])
print(repr([float(e(w, x)), e.vjp()(w, x, np.float64(1.0))[0].tolist(), e.is_native]))
try:
    tj.load_exported(sys.argv[3])(w, 3)
except IndexError as error:
    print("index 3 is out of bounds" in str(error))
print([m for m in sys.modules if "test_public" in m or m.startswith(("scipy.linalg", "numba"))])
"""


def test_another_process(tmp_path: Path) -> None:
    """It has neither the function nor a disk cache, and compiles nothing."""
    tj.export(loss, vjp=True)(W, X).save(tmp_path / "loss.tj")
    np.save(tmp_path / "x.npy", X)
    tj.export(lambda x, n: x[n])(W, 2).save(tmp_path / "item.tj")
    run = [sys.executable, "-c", _LOAD, *(str(tmp_path / name) for name in ("loss.tj", "x.npy", "item.tj"))]
    out = subprocess.run(run, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    values, raised, modules = out.stdout.splitlines()
    assert raised == "True"
    value, gradient, native = eval(values)
    assert native and value == pytest.approx(loss(W, X), rel=1e-13) and modules == "[]"
    np.testing.assert_allclose(gradient, tj.grad(loss)(W, X), rtol=1e-12)
