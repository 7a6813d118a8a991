"""States of loops in files: the same derivatives, little memory, and no file that stays open."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.control.callbacks import spilling
from tracejit.errors import ArgumentTypeError

X = np.linspace(0.1, 1, 30)
ROWS = np.linspace(-1, 1, 205 * 30).reshape(205, 30)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The files that were opened, which are all closed at the end."""
    found: list[Any] = []
    real = tempfile.TemporaryFile

    class Watched:
        @staticmethod
        def TemporaryFile(*args: Any, **kwargs: Any) -> Any:
            found.append(real(*args, **kwargs))
            return found[-1]

    monkeypatch.setattr(spilling, "tempfile", Watched)
    yield found
    assert all(f.closed for f in found)


def f(x: Any, rows: Any, a: Any = 1.0) -> Any:
    n = 0
    for row in rows:
        x = np.sin(a * x * row + n) + 0.1 * x
        n += 1
    return (x**2).sum() * n


def scanned(x: Any, rows: Any, reverse: bool) -> Any:
    def step(carry: Any, row: Any) -> Any:
        c, n = carry
        c = np.tanh(c * row + n)
        return (c, n + 1), c * row

    (c, _), ys = lax.scan(step, (x, 0), rows, reverse=reverse)
    return c.sum() + (ys**2).sum()


def test_the_same_gradients_in_little_memory(files: list[Any]) -> None:
    spilled = tj.value_and_grad(f, (0, 1, 2), offload="disk")
    value, got = spilled(X, ROWS, 1.2)
    want_value, want = tj.jit(tj.value_and_grad(f, (0, 1, 2)))(X, ROWS, 1.2)
    assert value == want_value and len(files) == 1
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12)
    compiled = tj.jit(tj.grad(f, offload="disk")).lower(X, ROWS).compile()
    assert compiled.memory_analysis()["temporary_bytes"] < 40 * X.nbytes < len(ROWS) * X.nbytes


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [4, 33, 100])
def test_scans_of_any_length(files: list[Any], length: int, reverse: bool) -> None:
    def loss(x: Any, rows: Any) -> Any:
        return scanned(x, rows, reverse)

    x, rows = X.astype(np.float32), ROWS[:length].astype(np.float32)
    got, want = tj.grad(loss, (0, 1), offload="disk")(x, rows), tj.jit(tj.grad(loss, (0, 1)))(x, rows)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def test_batches_are_rows_of_one_file(files: list[Any]) -> None:
    xs = np.stack([X, 2 * X])
    got = tj.jit(tj.vmap(tj.grad(f, offload="disk"), (0, None)))(xs, ROWS)
    np.testing.assert_allclose(got, [tj.jit(tj.grad(f))(x, ROWS) for x in xs], rtol=1e-12)
    assert len(files) == 1


def test_files_are_closed_where_a_program_fails(files: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    slope = tj.jit(tj.grad(f, offload="disk"))
    slope(X, ROWS)
    store, load = spilling._Store.__call__, spilling._Load.__call__

    def fails(real: Any, error: BaseException) -> Any:
        def call(self: Any, number: Any, row: Any, *states: Any) -> Any:
            if row == 3:
                raise error
            return real(self, number, row, *states)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(spilling._Store, "__call__", fails(store, OSError("no space is left")))
        with pytest.raises(OSError, match="no space"):
            slope(X, ROWS)
    assert len(files) == 2 and files[1].closed
    with monkeypatch.context() as patch:
        patch.setattr(spilling._Load, "__call__", fails(load, KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            slope(X, ROWS)
    assert len(files) == 3 and files[2].closed
    np.testing.assert_allclose(slope(X, ROWS), tj.jit(tj.grad(f))(X, ROWS), rtol=1e-12)


def test_threads_have_files_of_their_own(files: list[Any]) -> None:
    slope = tj.grad(f, offload="disk")
    got: dict[int, Any] = {}
    slope(X, ROWS)

    def call(n: int) -> None:
        got[n] = slope(n * X, ROWS)

    threads = [threading.Thread(target=call, args=(n,)) for n in (1, 2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for n, g in got.items():
        np.testing.assert_allclose(g, tj.jit(tj.grad(f))(n * X, ROWS), rtol=1e-12)
    assert len(files) == 4


def test_explain_says_what_is_on_disk() -> None:
    report = tj.explain(tj.grad(f, offload="disk"))(X, ROWS)
    found = [x.why for x in report.findings if x.rule == "calls: file"]
    assert len(found) == 2 and found[0].endswith("written to a file") and "offload='disk'" in found[1]
    assert report.callbacks == [
        "a state of a loop is written to a file",
        "a state of a loop is read from a file",
    ]


def test_what_it_does_not_do() -> None:
    with pytest.raises(ArgumentTypeError, match="offload is 'disk'"):
        tj.grad(f, offload="tape")
    with pytest.raises(ArgumentTypeError, match="without `memory`"):
        tj.grad(f, memory=1000, offload="disk")
    with pytest.raises(ArgumentTypeError, match="is for native loops"):
        tj.grad(lambda x: np.sin(x).sum(), offload="disk")(X)
    with pytest.raises(tj.errors.NotDifferentiableError, match="states for one derivative: take `memory=`"):
        tj.grad(lambda x: tj.grad(f, offload="disk")(x, ROWS).sum())(X)
