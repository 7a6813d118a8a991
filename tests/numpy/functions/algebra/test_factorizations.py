"""Eigenvalues whose dtype depends on their values: there is a program for real ones, and one for complex ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

REAL = np.array([[2.0, 1.0], [1.0, 3.0]])
PAIR = np.array([[0.0, -1.0], [1.0, 0.5]])


def eigvals(x: Any) -> Any:
    return np.linalg.eigvals(x)


def eig(x: Any) -> Any:
    return np.linalg.eig(x)


def written(x: Any) -> Any:
    x += 1.0
    x -= 1.0
    return np.linalg.eigvals(x)


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(50):
        total = total + np.abs(np.linalg.eigvals(x * (i + 1.0))).sum()
    return total


def printed(x: Any) -> Any:
    print("trace", x[0, 0])
    return np.linalg.eigvals(x)


def of_constant(x: Any) -> Any:
    return np.linalg.eigvals(np.array([[2.0, 1.0], [1.0, 3.0]])) * x


def poly(x: Any) -> Any:
    return np.poly(x)


def poly_of_pair(x: Any) -> Any:
    return np.poly(np.array([x[0, 0] + 1j, x[0, 0] - 1j * (x[0, 0] == 0.0)]))


@pytest.mark.parametrize("f", [eigvals, eig, written, in_a_loop, printed, of_constant, poly, poly_of_pair])
def test_dtypes_are_numpys(f: Any) -> None:
    jitted = tj.jit(f, fallback=True)
    for x in (PAIR, REAL, PAIR, PAIR, REAL, REAL, np.stack([PAIR, REAL])[1]):
        given = x.copy()
        got, expected = jitted(given), f(x.copy())
        assert type(got) is type(expected)
        np.testing.assert_allclose(given, x)
        for a, b in zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]:
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_there_is_a_program_for_either_dtype() -> None:
    jitted = tj.jit(eigvals, fallback=True)
    for x in (PAIR, REAL, PAIR, REAL):
        jitted(x)
    assert jitted.trace_count == 2


@pytest.mark.parametrize("shape", [(0, 2, 2), (0, 0)])
def test_no_eigenvalues(shape: tuple[int, ...]) -> None:
    assert tj.jit(eigvals, fallback=True)(np.zeros(shape)).dtype == np.linalg.eigvals(np.zeros(shape)).dtype


def test_complex_where_python_can_not_do_the_call_over() -> None:
    assert tj.jit(eigvals, fallback=False)(REAL).dtype == complex
    assert tj.vmap(tj.jit(eigvals, fallback=True))(REAL[None]).dtype == complex
    assert tj.jit(tj.vmap(eigvals), fallback=True)(REAL[None]).dtype == complex
    for f in (
        tj.grad(tj.jit(lambda x: eigvals(x).real.sum())),
        tj.jit(tj.grad(lambda x: eigvals(x).real.sum())),
    ):
        np.testing.assert_allclose(f(REAL), np.eye(2), atol=1e-12)


def test_a_setting_that_changes() -> None:
    """Each setting has a program of its own, on the fast path too."""
    jitted, before = tj.jit(eigvals), tj.config.fallback
    numpys = np.linalg.eigvals(REAL).dtype
    try:
        for fallback in (True, False, True, False):
            tj.config.fallback = fallback
            for x in (PAIR, REAL, REAL):
                assert jitted(x).dtype == (complex if x is PAIR or not fallback else numpys)
    finally:
        tj.config.fallback = before
    assert jitted.trace_count == 3
    assert any("Python may do the call over" in reason for reason in jitted.retraces)


def test_with_a_callback_python_does_the_call() -> None:
    """When real eigenvalues are noticed, the callback has been called already."""
    seen: list[float] = []

    def f(x: Any) -> Any:
        tj.io_callback(lambda v: seen.append(float(v)), None, x[0, 0])
        return np.linalg.eigvals(x)

    jitted = tj.jit(f, fallback=True)
    with pytest.warns(tj.errors.FallbackWarning, match="callback"):
        assert jitted(REAL).dtype == np.linalg.eigvals(REAL).dtype
    assert jitted(PAIR).dtype == complex and seen == [2.0, 0.0]


@pytest.mark.parametrize("f", [np.linalg.eigvals, lambda a: tuple(np.linalg.eig(a))])
def test_real_eigenvalues_are_parts_of_complex_ones(f: Any) -> None:
    """As NumPy hands them out, and writeable; those that are complex are arrays of their own."""
    fast = tj.jit(f, fallback=True)
    symmetric, turning = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[0.0, 1.0], [-1.0, 0.0]])
    for a in (symmetric, turning, np.stack([symmetric, symmetric + 1]), symmetric):
        given, wanted = [x if isinstance(x, tuple) else (x,) for x in (fast(a), f(a))]
        for x, y in zip(given, wanted, strict=True):
            assert x.dtype == y.dtype and x.strides == y.strides and x.flags.owndata == y.flags.owndata
            np.testing.assert_allclose(x, y)
            x[...] = 0.0
