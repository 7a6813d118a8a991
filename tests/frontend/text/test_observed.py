"""Whether code of the user's is called where a program prints or logs."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.frontend.text.observed import by_users_code


class Own(io.StringIO):
    """A stream of the user's."""


class OwnFormatter(logging.Formatter):
    """A formatter of the user's."""


def test_streams() -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        assert not by_users_code()
    with contextlib.redirect_stderr(Own()):
        assert by_users_code()


@contextlib.contextmanager
def handled(handler: logging.Handler) -> Any:
    log = logging.getLogger("tests.observed")
    log.addHandler(handler)
    try:
        yield log
    finally:
        log.removeHandler(handler)


def test_handlers_filters_and_formatters() -> None:
    plain, formatted, filtered, patched = (logging.StreamHandler(io.StringIO()) for _ in range(4))
    formatted.setFormatter(OwnFormatter())
    filtered.addFilter(lambda record: True)
    patched.emit = lambda record: None  # type: ignore[method-assign]
    with contextlib.redirect_stdout(io.StringIO()):
        for handler, users in ((plain, False), (formatted, True), (filtered, True), (patched, True)):
            with handled(handler):
                assert by_users_code() is users
        with handled(logging.StreamHandler(Own())):
            assert by_users_code()


def test_shown_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        monkeypatch.setattr(warnings, "showwarning", lambda *_, **__: None)
        assert by_users_code()


def test_a_program_that_prints_and_counts_is_one() -> None:
    class Counter:
        def __init__(self) -> None:
            self.n = 0

        def step(self, x: Any) -> Any:
            self.n += 1
            print(self.n, f"{x:.1f}")
            return self.n

    step, counter, out = tj.jit(Counter.step), Counter(), io.StringIO()
    with contextlib.redirect_stdout(out):
        assert [step(counter, float(n)) for n in range(100)] == list(range(1, 101))
    assert step.trace_count == 1 and out.getvalue().splitlines()[-1] == "100 99.0"


def _of_class(x):
    r, s = "sum" if x[2] > 1 else "ab", f"{x[0]}"
    return r.__class__.__name__, s.__class__ is str, "a".__class__, str(s.__doc__)[:3], r.upper.__name__


def _not_added(x):
    found = []
    for how in (lambda s: s + 1, lambda s: 1.5 + s, lambda s: s + [1], lambda s: None + s):
        try:
            how(f"{x[0]}")
        except TypeError as e:
            found.append(str(e))
    return found


@pytest.mark.parametrize("f", [_of_class, _not_added])
@pytest.mark.parametrize("fallback", [True, False])
def test_what_python_says_of_text_is_said_of_strings(f, fallback):
    for x in (np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 0.0])):
        assert tj.jit(f, fallback=fallback)(x) == f(x)
