"""Floating-point errors that NumPy was told to raise, print or hand on outside of a jitted function."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tracejit as tj

ZERO, ONE = np.zeros(2), np.ones(2)


def inverse(x: Any) -> Any:
    return 1 / x


@pytest.fixture(params=["traced before", "not traced"])
def jitted(request: Any) -> Any:
    f = tj.jit(inverse, fallback=True)
    if request.param == "traced before":
        for _ in range(3):  # the fast path, too
            assert np.isinf(f(ZERO)).all()
    return f


def test_raised(jitted: Any) -> None:
    for _ in range(2):
        with np.errstate(all="raise"):
            for _ in range(2):
                with pytest.raises(FloatingPointError, match="divide by zero"):
                    jitted(ZERO)
            assert (jitted(ONE) == 1).all()
        for _ in range(3):
            assert np.isinf(jitted(ZERO)).all()


def test_called_and_logged(jitted: Any) -> None:
    seen: list[str] = []

    class Log:
        def write(self, text: str) -> None:
            seen.append(text)

    with np.errstate(divide="call", call=lambda kind, _: seen.append(kind)):
        jitted(ZERO)
        jitted(ZERO)
    with np.errstate(divide="log", call=Log()):
        jitted(ZERO)
    jitted(ZERO)
    assert seen[:2] == ["divide by zero"] * 2 and len(seen) == 3


def test_set_for_good(jitted: Any) -> None:
    before = np.seterr(divide="raise")
    try:
        with pytest.raises(FloatingPointError):
            jitted(ZERO)
    finally:
        np.seterr(**before)
    assert np.isinf(jitted(ZERO)).all()


def test_errors_that_are_ignored_are_compiled(jitted: Any) -> None:
    """Each block has a setting of its own; the function is not traced again for it."""
    for _ in range(3):
        with np.errstate(all="ignore"):
            assert np.isinf(jitted(ZERO)).all() and np.isinf(jitted(ZERO)).all()
    assert jitted.trace_count == 1


def test_another_thread_has_settings_of_its_own(jitted: Any) -> None:
    found: list[Any] = []
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError):
            jitted(ZERO)
        thread = threading.Thread(target=lambda: found.append(jitted(ZERO)))
        with np.errstate(divide="ignore"):
            thread.start()
            thread.join()
        with pytest.raises(FloatingPointError):
            jitted(ZERO)
    assert np.isinf(found[0]).all()


def test_without_fallback_compiled_code_ignores_errors() -> None:
    f = tj.jit(inverse, fallback=False)
    for _ in range(3):
        with np.errstate(all="raise"):
            assert np.isinf(f(ZERO)).all()


def test_inside_another_transformation_too(jitted: Any) -> None:
    with np.errstate(all="raise"):
        assert np.isinf(tj.vmap(jitted)(ZERO)).all()
