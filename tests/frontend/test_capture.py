"""Captured arrays in eager transformations: the user's memory, which traced values may index."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import TracerArrayError
from tracejit.frontend.capture import EagerCapture
from tracejit.numpy.captured.array import CapturedArray

TABLE = np.arange(12.0).reshape(4, 3)


def rows(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, c: c + TABLE[i] * x + TABLE.T[0, i], np.zeros(3)).sum()


def test_traced_values_index_captured_arrays() -> None:
    want = np.sum(TABLE[:3] * 2.0 + TABLE[:3, :1])
    assert rows(2.0) == tj.jit(rows)(2.0) == want
    assert tj.grad(rows)(2.0) == tj.jit(tj.grad(rows))(2.0) == TABLE[:3].sum()
    np.testing.assert_array_equal(tj.vmap(lambda i: TABLE[i, 1:])(np.array([2, 0])), TABLE[[2, 0], 1:])
    np.testing.assert_array_equal(tj.vmap(lambda i: TABLE[[i, 0]])(np.array([2])), TABLE[[[2, 0]]])


def test_slices_of_traced_extent() -> None:
    table = TABLE[:3] / 10

    def body(i: Any, x: Any) -> Any:
        x[i] += np.sum(table[i, :i] * x[:i])
        return x

    want = np.ones(3)
    for i in range(3):
        want[i] += np.sum(table[i, :i] * want[:i])
    np.testing.assert_allclose(lax.fori_loop(0, 3, body, np.ones(3)), want)
    with tj.disable_jit():  # a function that is called as it is, loops inside
        np.testing.assert_allclose(tj.jit(lambda x: lax.fori_loop(0, 3, body, x))(np.ones(3)), want)


def test_local_arrays_of_functions_that_run_as_they_are() -> None:
    def f(x: Any) -> Any:
        local = np.array([1.0, 2.0, 4.0])
        return lax.fori_loop(0, 3, lambda i, c: c + local[i] * x, 0.0)

    with tj.disable_jit():
        assert tj.jit(f)(2.0) == 14.0
    assert lax.cond(True, f, f, 2.0) == 14.0


def test_results_are_plain_arrays_and_captured_memory_is_the_users() -> None:
    def f(x: Any) -> Any:
        assert isinstance(TABLE, np.ndarray) and TABLE is TABLE
        return {
            "same": TABLE,
            "view": TABLE[1:],
            "sum": TABLE.sum(),
            "new": TABLE * 2,
            "sorted": np.sort(TABLE),
            "x": x,
        }

    out = tj.jvp(f, (1.0,), (1.0,))[0]
    assert {type(v) for v in out.values()} == {np.ndarray, np.float64}
    array = np.zeros(2)

    def writes(x: Any) -> Any:
        array[0] = 7.0
        return x

    tj.grad(writes)(1.0)
    assert array[0] == 7.0


def test_copies_may_be_assigned_traced_values() -> None:
    def f(x: Any) -> Any:
        y = np.copy(TABLE)
        y[0] = x
        return y.sum()

    assert tj.grad(f)(1.0) == 3.0


COPIES = {
    "copy": lambda: TABLE.copy(),
    "copy.copy": lambda: copy.copy(TABLE),
    "copy.deepcopy": lambda: copy.deepcopy(TABLE)[0],
    "flatten": lambda: TABLE.flatten(),
    "astype": lambda: TABLE[1].astype(complex),
    "reshape": lambda: TABLE.reshape(-1, order="F"),
    "ravel": lambda: TABLE.T.ravel(),
    "rows": lambda: TABLE[[0, 1]],
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_by_methods_may_too_as_under_jit(name: str) -> None:
    make = COPIES[name]

    def f(x: Any, i: Any) -> Any:
        y = make()
        y[i] = x
        y[i - 1] *= x
        return np.sum(np.real(y))

    before = TABLE.copy()
    want = make()
    want[1] = 2.0
    want[0] *= 2.0
    for g in (f, lambda x, i: tj.vmap(f, in_axes=(0, None))(np.ones(2) * x, i)[0]):
        assert tj.jit(g)(2.0, 1) == g(2.0, 1) == np.real(want).sum()
        assert tj.jvp(lambda x, g=g: g(x, 1), (2.0,), (1.0,)) == tj.jit(
            lambda x, g=g: tj.jvp(lambda x: g(x, 1), (x,), (1.0,))
        )(2.0)
    assert lax.fori_loop(1, 2, lambda i, c: c * 0.0 + f(2.0, i), 0.0) == np.real(want).sum()
    np.testing.assert_array_equal(TABLE, before)


def test_numpys_own_python_code_gets_plain_arrays() -> None:
    def f(x: Any, i: Any) -> Any:
        rows = np.split(TABLE, 2)  # views, which traced values index as they do the array itself
        assert all(type(r) is np.ndarray and np.shares_memory(r, TABLE) for r in rows)
        return np.median(TABLE) * x + np.percentile(TABLE, 25) + np.transpose(TABLE)[i, 2] + rows[1][i, 0]

    want = np.median(TABLE) * 2.0 + np.percentile(TABLE, 25) + TABLE[2, 1] + TABLE[3, 0]
    assert tj.vmap(f, in_axes=(0, 0))(np.array([2.0]), np.array([1]))[0] == want
    assert tj.jvp(lambda x: f(x, 1), (2.0,), (1.0,)) == (want, np.median(TABLE))


def test_parts_of_nothing_are_written_into() -> None:
    def f(x: Any) -> Any:
        view = np.expand_dims(TABLE, 0)
        view[1:] -= TABLE
        TABLE[4:, 1] *= 2.0
        return x * view.sum()

    want = TABLE.sum()
    assert tj.grad(f)(1.0) == TABLE.sum() == want


def test_refusals_that_numpy_wraps_are_shown_themselves() -> None:
    def body(i: Any, c: Any) -> Any:
        (TABLE * 2)[0, 0] = c  # computed by NumPy: a real array
        return c

    with pytest.raises(TracerArrayError, match="put into a real ndarray"):
        lax.fori_loop(0, 3, body, 1.0)


def test_nothing_is_written_through_a_traced_index() -> None:
    def body(i: Any, c: Any) -> Any:
        TABLE[i][0] = 5.0
        return c

    with pytest.raises(TracerArrayError):
        lax.fori_loop(0, 3, body, 1.0)


def test_jit_inside_follows_the_array() -> None:
    array = np.array([1.0, 2.0])
    f = tj.grad(lambda x: tj.jit(lambda v: v * array.sum() + array[0])(x))
    assert f(2.0) == 3.0
    array[1] = 5.0
    assert f(2.0) == 6.0


def test_the_capture_itself() -> None:
    capture = EagerCapture()
    seen = capture.array(None, TABLE)  # type: ignore[arg-type]
    assert type(seen) is CapturedArray and seen.plain is TABLE and not capture.guarded
    words = np.array(["a"])
    assert capture.array(None, words) is words  # type: ignore[arg-type]
    assert capture.scalar(None, 1.0) is NotImplemented  # type: ignore[arg-type]
