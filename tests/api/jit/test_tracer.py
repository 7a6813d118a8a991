"""What a traced function does to what it was given, and results with traced sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.api.jit import tracer
from tracejit.errors import ArgumentContainerError


def increment(x: Any) -> Any:
    x += 1
    return x


@pytest.mark.parametrize("x", [1, 1.0, 1j, np.float32(1), np.array(1.0), np.ones(2)])
def test_numbers_are_rebound_and_arrays_updated(x: Any) -> None:
    y = x.copy() if isinstance(x, np.ndarray) else x
    want = increment(y)
    for run in (tj.jit(increment), tj.jit(tj.jit(increment))):
        z = x.copy() if isinstance(x, np.ndarray) else x
        np.testing.assert_array_equal(run(z), want)
        np.testing.assert_array_equal(z, y)


def test_a_number_and_an_array_without_dimensions_are_two_programs() -> None:
    f = tj.jit(increment)
    number, array = np.float64(1.0), np.array(1.0)
    assert f(number) == f(array) == 2.0 and number == 1.0 and array == 2.0


def test_a_changed_number_is_returned() -> None:
    def f(x: Any, rate: Any) -> Any:
        rate *= 0.5
        x -= rate
        return rate

    x = np.ones(2)
    assert tj.jit(f)(x, 0.5) == 0.25
    np.testing.assert_array_equal(x, [0.75, 0.75])


def reassigned(state: Any) -> Any:
    state["x"] = 2 * state["x"]
    return state


def grown(xs: Any) -> Any:
    xs.append(xs[0] * 2)
    return xs[1]


@pytest.mark.parametrize(("f", "given"), [(reassigned, {"x": np.ones(2)}), (grown, [np.ones(2)])])
def test_containers_of_the_caller_do_not_change_silently(f: Any, given: Any) -> None:
    with pytest.raises(ArgumentContainerError, match=f.__code__.co_varnames[0]):
        tj.vmap(tj.jit(f))(given)
    with pytest.raises(ArgumentContainerError, match=f.__code__.co_varnames[0]):
        tj.jit(f, donate_argnums=0)(given)
    assert len(given) == 1
    tj.jit(lambda v: f(dict(v) if isinstance(v, dict) else list(v)))(given)  # its own copy
    tj.vmap(f)(given)  # transformations give copies


def test_results_of_traced_size() -> None:
    f = tj.jit(lambda x, n: (x[:n] * 2, x[n:].sum()))
    x = np.arange(4.0)
    for n in (0, 1, 3, 4, -1, 9):
        got = f(x, n)
        np.testing.assert_array_equal(got[0], x[:n] * 2)
        assert got[1] == x[n:].sum()
    assert f.trace_count == 1
    np.testing.assert_array_equal(tj.jit(lambda x, n: f(x, n)[0] + 1)(x, 2), [1, 3])


def test_results_of_a_size_without_bound() -> None:
    f = tj.jit(lambda n: np.arange(n + 1))
    for n in (3, 0, 100_000):
        np.testing.assert_array_equal(f(np.int64(n)), np.arange(n + 1))
    assert f.trace_count == 1


weights = np.ones(3)


def test_a_captured_array_replaced_while_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another thread may do between the trace and the look at the guards."""
    original = tracer._sort_results

    def meanwhile(*args: Any) -> Any:
        globals()["weights"] = np.full(3, 5.0)
        return original(*args)

    monkeypatch.setattr(tracer, "_sort_results", meanwhile)
    f = tj.jit(lambda x: x * weights)
    f(np.ones(3))
    for value in (2.0, 3.0):
        globals()["weights"] = np.full(3, value)
        np.testing.assert_array_equal(f(np.ones(3)), np.full(3, value))
    assert f.trace_count == 1
