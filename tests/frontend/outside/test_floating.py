"""Floating-point errors that a function wants to see: by `np.errstate`, `np.seterr` and filters of warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import verdict
from tracejit.errors import UnfollowedError


def _loop(x: Any) -> Any:
    s = x * 0
    for i in range(50):
        s = s + 1 / (x[0] - i * 0.0) + i
    return s


def _while(x: Any) -> Any:
    n = 0
    while x[0] < 1e250:
        x = x * x[0] + 1
        n += 1
        if n > 400:
            break
    return x, n


def _paused(x: Any) -> Any:
    with np.errstate(all="ignore"):
        y = 1 / x
    return y, x * 2


def _placed(x: Any) -> Any:
    y = np.ones(2)
    y /= x
    y[0] += 1
    return y


#: What is computed, and three arguments: of the second, mostly, NumPy has something to tell.
_BODIES: dict[str, tuple[Any, list[Any]]] = {
    "a quotient": (lambda x: 1 / x, [[1.0, 2.0], [0.0, 1.0], [3.0, 1e-310]]),
    "a small product": (lambda x: x * 1e-200, [[1.0, 2.0], [1e-150, 1.0], [0.0, 1.0]]),
    "a small power": (lambda x: x**3, [[1.0, 2.0], [1e-150, 1.0], [0.0, 1e200]]),
    "an exponential": (lambda x: np.exp(-x), [[1.0, 2.0], [1000.0, 1.0], [-1000.0, 1.0]]),
    "a loop": (_loop, [[1.0, 2.0], [0.0, 1.0], [5.0, 1.0]]),
    "a loop of any length": (_while, [[1.0, 2.0], [1e200, 1.0], [5.0, 1.0]]),
    "a branch": (
        lambda x: np.log(x[0]) if x[0] >= 0 else np.sqrt(x[0] + 2),
        [[1.0], [0.0], [-3.0]],
    ),
    "integers of floats": (lambda x: x.astype(int), [[1.0, 2.0], [1e300, 1.0], [np.nan, 1.0]]),
    "floats of 32 bits": (lambda x: x.astype(np.float32), [[1.0, 2.0], [1e300, 1.0], [1e-300, 1.0]]),
    "quotients of integers": (lambda x: 10 // x, [[1, 2], [0, 1], [5, 3]]),
    "remainders of integers": (lambda x: 10 % x, [[1, 2], [0, 1], [5, 3]]),
    "a product of integers": (lambda x: x[0] * x[1], [[1, 2], [2**62, 4], [2**33, 2**33]]),
    "a sum of integers": (lambda x: x.sum(), [[1, 2], [2**62, 2**62], [5, 3]]),
    "a standard deviation": (lambda x: x.std(), [[1.0, 2.0], [1e200, -1e200], [5.0, 3.0]]),
    "what is known": (lambda x: np.log(np.zeros(2)) + x, [[1.0, 2.0], [1.0, 1.0], [3.0, 1.0]]),
    "what is chosen": (lambda x: np.where(x > 0, np.log(x), 0), [[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]]),
    "what is selected": (lambda x: np.log(x[x > 0]), [[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]]),
    "comparisons of NaN": (lambda x: (x < 1).sum(), [[1.0, 2.0], [np.nan, 1.0], [3.0, -1.0]]),
    "numbers of Python": (lambda x: float(x[0]) * 1e300 * 1e300, [[1.0], [0.0], [3.0]]),
    "in place": (_placed, [[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]]),
    "a block that ignores": (_paused, [[1.0, 2.0], [0.0, 1.0], [7.0, 8.0]]),
}


def _state(kinds: dict[str, Any]) -> Any:
    def around(body: Any) -> Any:
        def f(x: Any) -> Any:
            try:
                with np.errstate(**kinds):
                    return body(x)
            except FloatingPointError as e:
                return "raised", str(e)

        return f

    return around


def _set(body: Any) -> Any:
    def f(x: Any) -> Any:
        before = np.seterr(all="raise")
        try:
            return body(x)
        except FloatingPointError as e:
            return str(e), np.geterr()
        finally:
            np.seterr(**before)

    return f


def _errors(body: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return body(x)
        except Warning as e:
            return type(e).__name__, str(e)

    return f


def _records(body: Any) -> Any:
    def f(x: Any) -> Any:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            y = body(x)
            warnings.warn("done", stacklevel=1)
        return y, len(told), [(str(w.message), w.category.__name__, w.lineno) for w in told]

    return f


_AROUND = [_state({"all": "raise"}), _state({"divide": "raise", "over": "raise"}), _set, _errors, _records]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", _BODIES)
def test_errors_are_seen_as_plain_python_sees_them(name: str) -> None:
    body, given = _BODIES[name]
    calls = [(np.array(x),) for x in given]
    usual = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
    for around in _AROUND:
        with np.errstate(**usual):  # type: ignore[arg-type]
            assert verdict(lambda a=around: (a(body), calls, np.geterr)) == ("native", "")


@pytest.mark.parametrize("body", [lambda x: np.abs(x * 1j), lambda x: np.interp(x, [0, 1], [0.0, 1.0])])
def test_what_numpy_looks_for_must_be_known(body: Any) -> None:
    assert verdict(lambda: (_AROUND[0](body), [(np.ones(2),), (np.zeros(2),)], None))[0] == "fallback"


_KNOWN = [
    lambda x: np.nan_to_num(np.log(0.0)) + x,
    lambda x: np.arange(3) // 0 + x,
    lambda x: np.isfinite(np.ones(3) / np.arange(3)) + x,
]


@pytest.mark.parametrize("n", range(len(_KNOWN)))
def test_errors_of_what_is_known_while_tracing(n: int) -> None:
    for around in _AROUND:
        found = verdict(lambda a=around: (a(_KNOWN[n]), [(1.0,), (2.0,)], None))
        assert found[0] in ("native", "fallback"), found


def test_the_state_of_errors_is_not_asked_for_where_warnings_are_seen() -> None:
    def f(x: Any) -> Any:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            state = np.geterr()
        return x + len(told), state

    assert verdict(lambda: (f, [(1.0,), (2.0,)], None))[0] == "fallback"


def test_python_may_not_take_over() -> None:
    with pytest.raises(UnfollowedError):
        tj.jit(_AROUND[0](lambda x: 1 / x), fallback=False)(np.ones(2))


def test_one_program_serves_calls_that_raise_and_those_that_do_not() -> None:
    fast = tj.jit(_AROUND[0](lambda x: 1 / x), fallback=True)
    for x in (1.0, 0.0, 2.0, 0.0, 4.0):
        plain = _AROUND[0](lambda x: 1 / x)(np.full(2, x))
        assert np.array_equal(fast(np.full(2, x)), plain)
    assert fast.trace_count == 1


def _in_a_branch(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            if x > 2:
                warnings.warn("large", stacklevel=1)
            return x
        except UserWarning as e:
            return str(e)


def _recorded_in_a_loop(x: Any) -> Any:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for i in range(30):
            if x[i % 3] > 2:
                warnings.warn("large", stacklevel=1)
    return len(told)


def test_warnings_of_the_function_s_own() -> None:
    assert verdict(lambda: (_in_a_branch, [(1.0,), (3.0,), (0.5,)], None)) == ("native", "")
    calls = [(np.zeros(3),), (np.arange(4.0),), (np.ones(3),)]
    assert verdict(lambda: (_recorded_in_a_loop, calls, None)) == ("native", "")


def test_a_list_of_warnings_that_leaves_the_function() -> None:
    def f(x: Any) -> Any:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            warnings.warn("here", stacklevel=1)
        return x + 1, told

    fast = tj.jit(f, fallback=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (_, a), (_, b) = fast(1.0), fast(2.0)
    assert a is not b and a[0] is not b[0] and [str(w.message) for w in (*a, *b)] == ["here", "here"]


def _raised(x: Any) -> Any:
    with np.errstate(divide="raise"):
        try:
            return x / np.sum(np.array([0.0, 1.0])) * np.log(x)
        except FloatingPointError:
            return x * 100


def _set(x: Any) -> Any:
    before = np.seterr(all="raise")
    try:
        return 1 / x
    except FloatingPointError:
        return x * 3
    finally:
        np.seterr(**before)


def _recorded(x: Any) -> Any:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        np.sqrt(x - 5.0)
    return x * len(told)


@pytest.mark.parametrize("f", [_raised, _set, _recorded])
@pytest.mark.parametrize("at", [0.0, 2.0])
def test_eager_transformations_see_what_numpy_computes(f: Any, at: float) -> None:
    x = np.float64(at)
    with np.errstate(all="warn"):
        want = f(x)
        assert (
            tj.value_and_grad(f)(x)[0] == tj.jvp(f, (x,), (1.0,))[0] == tj.vmap(f)(np.array([x]))[0] == want
        )
