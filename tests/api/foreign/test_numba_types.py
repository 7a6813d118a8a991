"""Jitted functions called from functions that Numba compiles."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import (
    ForeignArgumentError,
    ForeignFunctionError,
    NumbaArgumentError,
    NumbaResultError,
)

Pair = namedtuple("Pair", "a b")
A = np.arange(6.0).reshape(2, 3)


@pytest.fixture(autouse=True)
def numbas_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", numba.NumbaWarning)
        yield


def agrees(f: Callable[..., Any], *args: Any) -> Any:
    """The result of a function under Numba, which is that under Python."""
    want = f(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in args])
    got = numba.njit(f)(*args)
    _same(got, want)
    return got


def _same(a: Any, b: Any) -> None:
    if isinstance(b, tuple):
        assert type(a) is type(b) and len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            _same(x, y)
    elif b is None:
        assert a is None
    else:
        np.testing.assert_allclose(a, b, rtol=1e-14)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def test_arrays_numbers_and_trees() -> None:
    f = tj.jit(
        lambda x, node=2, *, k=1.0: (x.sum() * node, Pair(x * k, x.shape[0]), None, (x > 1).any(), 2.5)
    )

    def caller(x: Any, pair: Any) -> Any:
        return f(x), f(x[0], node=3, k=2.5), f(pair.a, pair.b), f(x[:, 0], k=3)

    agrees(caller, A, Pair(np.ones(2), 4))


def test_shapes_are_traced_once_each() -> None:
    f = tj.jit(lambda x, s: (np.sin(x) * s).sum())

    def caller(x: Any, n: Any) -> Any:
        total = 0.0
        for i in range(n):
            total += f(x[: i % 3], i * 1.0)
        return total

    want = caller(A[1], 30)
    f.clear_cache()
    traced = f.trace_count
    compiled = numba.njit(caller)
    assert compiled(A[1], 30) == pytest.approx(want) and f.trace_count == traced + 3
    assert compiled(A[1], 300) == pytest.approx(caller(A[1], 300)) and f.trace_count == traced + 3


def test_transformed_functions() -> None:
    slope = tj.jit(tj.grad(lambda x: (np.sin(x) ** 2).sum()))
    both = tj.jit(tj.value_and_grad(lambda x: (x**2).sum()))
    rows = tj.jit(tj.vmap(lambda x: x @ x))
    agrees(lambda x: (slope(x[0]), both(x), rows(x)), A)


def test_many_arguments() -> None:
    f = tj.jit(lambda a, *rest: a + sum(x.sum() for x in rest))
    agrees(lambda x: f(1.0, x, x[0], x), A)
    agrees(lambda x: f(2.0), A)
    g = tj.jit(lambda pair, both: pair[0] * both.a + both.b[0])
    agrees(lambda x: g((x, x), Pair(2.0, x[0])), A)


def test_layouts() -> None:
    f = tj.jit(lambda x: (x.sum(0) + 1, x.sum()))
    caller = numba.njit(lambda x: f(x))
    for x in (A, np.asfortranarray(A), A[:, ::-1], A.T, A[:, :0], A[::2, ::2]):
        _same(caller(x), f(x))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "dtype",
    [*"?Bf", *(pytest.param(c, marks=pytest.mark.exhaustive) for c in "bhilHILdFD")],
)
def test_dtypes(dtype: str) -> None:
    x = np.array([0, 1, 3]).astype(dtype)
    f = tj.jit(lambda x, y: (x * x, y + y))
    got, want = numba.njit(lambda x: f(x, x[2]))(x), f(x, x[2])
    assert got[0].dtype == x.dtype and got[0].tolist() == want[0].tolist()
    assert got[1] == want[1] or dtype == "?"


def test_numbers_are_pythons() -> None:
    f = tj.jit(lambda x, n: (x * n, n / 2, n * 2, n > 1))
    got = numba.njit(lambda x: (f(x, 3), f(x, 2**40)))(np.ones(2, np.float32))
    want = f(np.ones(2, np.float32), 3), f(np.ones(2, np.float32), 2**40)
    for a, b in zip(got, want, strict=True):
        _same(a, b)
    with pytest.raises(tj.TracejitError, match="beyond 64 bits"):
        numba.njit(lambda n: f(n, n))(2**62)
    with pytest.raises(ZeroDivisionError):
        numba.njit(lambda n: tj_inverse(n))(0.0)


tj_inverse = tj.jit(lambda n: 1 / n)


def test_integers_that_decide_shapes() -> None:
    f = tj.jit(lambda x, n: (np.zeros(n) + x, x))
    caller = numba.njit(lambda x, n: f(x, n)[0])
    assert [len(caller(1.0, n)) for n in (3, 0, 5, 3)] == [3, 0, 5, 3]


def test_writes_and_results_that_are_arguments() -> None:
    @tj.jit
    def f(x: Any, y: Any) -> Any:
        x += 1
        y[0] = x.sum()
        return x

    @numba.njit
    def caller(x: Any, y: Any) -> Any:
        z = f(x, y)
        z[0] = 7
        return z

    x, y = np.zeros(3), np.zeros(2)
    assert caller(x, y).tolist() == [7, 1, 1] and x.tolist() == [7, 1, 1] and y[0] == 3
    with pytest.raises(ForeignArgumentError, match="f can't be called so: memory that it writes"):
        caller(x, x)
    assert x.tolist() == [7, 1, 1]
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(ForeignFunctionError, match="read-only"):
        caller(fixed, y)


def test_captured_arrays_are_read_at_every_call() -> None:
    w = np.ones(3)
    f = tj.jit(lambda x: (w * x).sum())
    caller = numba.njit(lambda x: f(x))
    assert caller(2.0) == 6
    w[0] = 10
    assert caller(2.0) == 24


def test_exceptions_and_handlers() -> None:
    f = tj.jit(lambda x, i: x[i])

    @numba.njit
    def plain(x: Any, i: Any) -> Any:
        return f(x, i)

    @numba.njit
    def handled(x: Any, i: Any) -> Any:
        try:
            return f(x, i)
        except Exception:
            return -1.0

    assert plain(A[1], -1) == handled(A[1], 2) == 5
    for _ in range(3):
        with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3"):
            plain(A[1], 7)
        assert handled(A[1], 7) == -1
    g = tj.jit(lambda x, y: x + y)
    with pytest.raises(ValueError, match="TJ003"):
        numba.njit(lambda x: g(x[:2], x))(A[1])


def test_threads_without_the_gil() -> None:
    f = tj.jit(lambda x: np.cumsum(x)[-1])
    caller = numba.njit(nogil=True)(lambda x, n: sum([f(x[: i % 5 + 1]) for i in range(n)]))
    caller(np.ones(5), 0)
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.append(caller(np.ones(5), 50))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [150.0] * 4


def test_parallel_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    f, g = tj.jit(lambda x: x.sum()), tj.jit(lambda x, i: x[i])

    @numba.njit(parallel=True)
    def caller(x: Any, n: Any) -> Any:
        out = np.zeros(n)
        for i in numba.prange(n):
            out[i] = f(x[: i + 1]) + g(x, i)
        return out

    assert caller(np.ones(6), 6).tolist() == [2, 3, 4, 5, 6, 7]
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: unraisable.append(told.exc_value))
    try:  # Numba loses what is raised in a thread of its own
        caller(np.ones(6), 7)
    except IndexError as e:
        unraisable.append(e)
    assert "TJ009" in str(unraisable[0])


def test_as_an_argument() -> None:
    f = tj.jit(lambda x: x + 1)
    assert numba.njit(lambda g, x: g(x))(f, 1.0) == 2


STATE: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda x: STATE.update(x=x), "keeps state"),
        (lambda x: f"{x}", "Text"),
        (lambda x: print(x), "calls Python for print"),
        (lambda x: x[x > 0], "known only at its end"),
        (lambda x: [x], "has a list"),
        (lambda x: x[1:], "view of another array, or not in C order"),
        (lambda x: np.sin(x > 0), "float16, which Numba does not have"),
    ],
)
def test_what_needs_python_is_refused(f: Any, why: str) -> None:
    g = tj.jit(f)
    with pytest.raises(ForeignFunctionError, match=why) as caught:
        numba.njit(lambda x: g(x))(A[0])
    assert "test_numba_types.py" in str(caught.value), "the message names the user's line"


def test_arguments_that_are_refused() -> None:
    f = tj.jit(lambda x, mode=None: x)
    for g, why in [
        (lambda x: f(x, "a"), "given a unicode_type"),
        (lambda x: f(x, None, x), "too many positional arguments"),
        (lambda x: f(), "missing a required argument"),
        (lambda x: f(x, made=1), "unexpected keyword argument"),
    ]:
        with pytest.raises(NumbaArgumentError, match=why):
            numba.njit(g)(A)


def test_shapes_that_are_not_to_be_guessed() -> None:
    f = tj.jit(lambda x: x.reshape(7, 11) * 2)
    with pytest.raises(NumbaResultError, match="made-up shapes"):
        numba.njit(lambda x: f(x))(np.ones(77))
    f(np.ones(77))
    assert numba.njit(lambda x: f(x))(np.ones(77)).shape == (7, 11)
    g = tj.jit(lambda x: x.sum() if len(x) < 4 else x + 1)
    caller = numba.njit(lambda x: g(x))
    assert len(caller(np.ones(5))) == 5
    with pytest.raises(NumbaResultError, match="gives others than what its caller was compiled for"):
        caller(np.ones(3))


PROGRAM = """
import warnings
import numba, numpy as np, tracejit as tj

@tj.jit
def f(x, k=2):
    return x * k, x.sum()

def energy(x):
    return (x * x).sum()

slope = tj.jit(tj.grad(energy))  # found by the name that it has here, not by that of `energy`

@numba.njit(cache=True)
def by_name(x):
    return f(x)[0][0] + f(x, 3)[1] + slope(x)[0]

def made():
    g = tj.jit(lambda x: x + 1)
    return numba.njit(cache=True)(lambda x: g(x))

x = np.arange(3.0) + 1
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    print(by_name(x), made()(x)[0], len(told), sum(by_name.stats.cache_hits.values()))
"""


@pytest.mark.exhaustive
def test_numbas_cache(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    told = []
    for command in (["program.py"], ["program.py"], ["-c", "import program"]):
        run = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False,
            env={"PYTHONPATH": f"{Path(tj.__file__).parents[1]}:{tmp_path}", "PATH": "", "HOME": str(tmp_path)},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        told.append(run.stdout.split())
    assert told == [["10.0", "2.0", "1", "0"], ["10.0", "2.0", "1", "1"], ["10.0", "2.0", "1", "1"]]
