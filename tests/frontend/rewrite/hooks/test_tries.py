"""`try` around what compiled code checks: refused where a handler would miss its exception."""

from __future__ import annotations

import calendar
import contextlib
import datetime
import decimal
import fractions
import json
import struct
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import CaughtCheckError, FallbackWarning, IndexOutOfRangeError

X = np.arange(1.0, 5.0)


def index(x: Any, i: Any) -> Any:
    try:
        return x[i]
    except IndexError:
        return 0.0


def factor(x: Any, i: Any) -> Any:
    try:
        a = np.linalg.cholesky(np.outer(x, x))
    except (KeyError, np.linalg.LinAlgError):
        a = np.eye(4)
    return a.sum()


def in_a_loop(x: Any, i: Any) -> Any:
    total = 0.0
    for k in range(i):
        try:
            total += x[k]
        except:  # noqa: E722
            total -= 1
    return total


def around_a_loop(x: Any, i: Any) -> Any:
    total = 0.0
    try:
        for k in range(i):
            total += x[k]
    except Exception:
        total = -1.0
    return total


@pytest.mark.parametrize("f", [index, factor, in_a_loop, around_a_loop])
def test_a_handler_of_compiled_checks_is_refused(f: Callable[..., Any]) -> None:
    with pytest.raises(CaughtCheckError, match=r"test_tries\.py:\d+ raises when"):
        tj.jit(f)(X, 2)
    assert np.isfinite(f(X, 2))


@pytest.mark.parametrize("f", [index, factor, in_a_loop, around_a_loop])
def test_python_does_the_calls_over_that_a_handler_answers(f: Callable[..., Any]) -> None:
    g = tj.jit(f, fallback=True)
    for x, i in ((X, 2), (X, 7), (X * 2, 3), (X, 9)):
        np.testing.assert_allclose(g(x, i), f(x, i), rtol=1e-12)
    assert g.trace_count == 1 and tj.explain(g)(X, 2).fallback is None
    assert "Python does a call over in which" in str(tj.explain(g)(X, 2))


def test_what_a_call_has_printed_drawn_and_stored_is_done_once(capsys: Any) -> None:
    seen: list[Any] = []

    def f(x: Any, i: Any, rng: Any) -> Any:
        print("asks", i)
        seen.append(i)
        try:
            return x[i] + rng.normal()
        except IndexError as e:
            print(e)
            return rng.normal()

    g, plain, jitted = tj.jit(f, fallback=True), np.random.default_rng(1), np.random.default_rng(1)
    want = [f(X, i, plain) for i in (1, 5, 2)]
    told, kept = capsys.readouterr().out, seen[:]
    seen.clear()
    assert [g(X, i, jitted) for i in (1, 5, 2)] == want
    assert capsys.readouterr().out == told and seen == kept
    assert jitted.bit_generator.state == plain.bit_generator.state


def test_a_program_that_calls_back_is_refused() -> None:
    def f(x: Any, i: Any) -> Any:
        tj.debug.print("{}", x.sum())
        return index(x, i)

    with pytest.raises(CaughtCheckError):
        tj.jit(f)(X, 2)
    with pytest.warns(tj.errors.FallbackWarning, match="TJ212"):
        assert tj.jit(f, fallback=True)(X, 9) == 0


def test_checks_before_an_exception_that_tracing_meets() -> None:
    def f(x: Any, i: Any) -> Any:
        try:
            y = x[i]
            raise KeyError(y)
        except LookupError as e:
            return type(e) is KeyError

    with pytest.raises(CaughtCheckError):
        tj.jit(f)(X, 2)
    g = tj.jit(f, fallback=True)
    assert g(X, 2) is f(X, 2) is True and g(X, 9) is f(X, 9) is False


def other_kinds(x: Any, i: Any) -> Any:
    try:
        y = x[i]
    except (KeyError, ZeroDivisionError):
        y = 0.0
    else:
        y = y + 1
    finally:
        y = y * 2
    return y


def known_here(x: Any, i: Any) -> Any:
    try:
        return x[17]
    except IndexError:
        return x[0] * i


def no_checks(x: Any, i: Any) -> Any:
    try:
        y = x.sum() / i
    except Exception:
        y = -1.0
    return y


@pytest.mark.parametrize("f", [other_kinds, known_here, no_checks])
def test_other_handlers_are_pythons(f: Callable[..., Any]) -> None:
    assert tj.jit(f)(X, 2) == f(X, 2)


def test_outside_of_the_jitted_function_it_is_caught() -> None:
    take = tj.jit(lambda x, i: x[i])

    def f(i: Any) -> Any:
        try:
            return take(X, i)
        except IndexOutOfRangeError:
            return 0.0

    assert f(1) == 2 and f(9) == 0


def test_what_values_have_not_is_caught() -> None:
    def f(x: Any) -> Any:
        try:
            return x.foo, x.sum()
        except AttributeError as e:
            return str(e), x * 2

    compiled = tj.jit(f, fallback=False)
    for x in (2.0, 3, np.float64(1.5), np.arange(3.0), True):
        got, want = compiled(x), f(x)
        assert got[0] == want[0] and np.array_equal(got[1], want[1])
    with pytest.warns(FallbackWarning):  # what arrays have, and stands for them has not
        assert tj.jit(lambda x: _interface(x), fallback=True)(np.arange(3.0)) == "there"


def _interface(x: Any) -> str:
    try:
        return "there" if x.__array_interface__ else "empty"
    except AttributeError:
        return "missing"


class Swallows:
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, *_: object) -> bool:
        return kind is ValueError


class Closes(Swallows):
    def __exit__(self, kind: Any, *_: object) -> None:  # type: ignore[override]
        pass


@pytest.mark.parametrize("make", [Swallows, lambda: contextlib.suppress(ValueError), contextlib.ExitStack])
def test_what_a_context_manager_may_swallow_is_refused(make: Callable[[], Any]) -> None:
    def f(x: Any) -> Any:
        with make():
            if x < 0:
                raise ValueError("negative")
            x = x + 1
        return 2 * x

    with pytest.raises(CaughtCheckError):
        tj.jit(f)(1.0)
    g = tj.jit(f, fallback=True)
    for x in (1.0, 2.0):
        assert g(x) == f(x) and tj.explain(g)(x).fallback is None


def test_a_context_manager_that_swallows_nothing_is_compiled() -> None:
    def f(x: Any) -> Any:
        with Closes(), np.errstate(all="ignore"):
            if x < 0:
                raise ValueError("negative")
            return x + 1

    g = tj.jit(f)
    assert g(1.0) == 2.0
    with pytest.raises(ValueError, match="negative"):
        g(-1.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: len(json.dumps(x)),
        lambda x: len(struct.pack("d", x)),
        lambda x: datetime.timedelta(seconds=x).total_seconds(),
        lambda x: float(decimal.Decimal(x)),
        lambda x: float(fractions.Fraction(x)),
        lambda x: calendar.isleap(x) + x,
        lambda x: len(bytes(int(x))),
        lambda x: textwrap.shorten("a", x) + 1,
        lambda x: x.no_such_attribute,
        lambda x: x.hex(),
        lambda x: x.is_integer() + x,
        lambda x: x[0],
        lambda x: len(x),
        lambda x: x(),
        lambda x: "a" + x,
        lambda x: [1, 2] * x,
    ],
)
def test_what_is_raised_for_what_stands_for_a_traced_value_is_no_answer(call: Any) -> None:
    """A handler sees the exceptions that it sees in plain Python, from libraries and built-in functions too."""

    def f(x: Any) -> Any:
        try:
            return call(x)
        except (TypeError, AttributeError, ValueError) as e:
            return -1.0 - len(type(e).__name__)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        g = tj.jit(f, fallback=True)
        assert [g(x) for x in (2.0, 3.0)] == [f(x) for x in (2.0, 3.0)]


def test_how_deep_calls_may_be_is_pythons():
    """Traced code is deeper in calls than Python's: what is caught then is no answer."""

    def down(x, n):
        return x if n == 0 else down(x + 1, n - 1)

    def f(x):
        try:
            return down(x, 400)
        except RecursionError:
            return "too deep"

    with tj.config.override(fallback=True), pytest.warns(tj.errors.FallbackWarning, match="RecursionError"):
        assert tj.jit(f)(1.0) == 401.0


class Odd:
    def __init__(self) -> None:
        self.calls = 0

    def call(self, x: Any) -> Any:
        self.calls += 1
        if self.calls % 2:
            raise ValueError(f"odd {self.calls}")
        return x + "a"


def test_a_check_before_what_fails_always_reaches_the_handler() -> None:
    def f(x: Any) -> Any:
        try:
            try:
                odd.call(x)
            except LookupError:
                return "never"
        except Exception as e:
            return type(e).__name__

    odd = Odd()
    plain = [f(np.ones(2)) for _ in range(3)]
    odd = Odd()
    g = tj.jit(f, fallback=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        assert [g(np.ones(2)) for _ in range(3)] == plain
    odd, strict = Odd(), tj.jit(f, fallback=False)
    found = set()
    for _ in range(3):
        with contextlib.suppress(tj.errors.TracejitError):
            found.add(strict(np.ones(2)))
    assert found <= {*plain}
