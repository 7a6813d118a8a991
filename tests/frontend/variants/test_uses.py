"""Values of one type or another: what is done with them gives what Python gives, whichever they are."""

from __future__ import annotations

import enum
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import Described

VALUES = [None, 1, 2.5, "ab", (1, 2.5), True, (3,), np.float64(0.5)]
USES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda y: y,
    "is None": lambda y: (y is None, y is not None, None is y),
    "text": lambda y: (str(y), repr(y), f"<{y}>", print(y)),
    "truth": lambda y: ("yes" if y else "no", not y, y or 7, y and 7),
    "equal": lambda y: (y == 1, y != 2.5, y == "ab", y in [None, 3]),
    "add": lambda y: y + 1,
    "added": lambda y: 2.0 + y,
    "less": lambda y: (y < 2, 1 <= y),
    "index": lambda y: [5, 6, 7, 8][y],
    "slice": lambda y: [5, 6, 7, 8][:y],
    "item": lambda y: y[0],
    "length": lambda y: len(y),
    "parts": lambda y: [*y],
    "kind": lambda y: (isinstance(y, int), isinstance(y, (str, tuple)), type(y).__name__, type(y) is float),
    "members": lambda y: (hasattr(y, "real"), getattr(y, "imag", 4), hasattr(y, "upper")),
    "numbers": lambda y: (int(y), float(y), abs(y), -y, round(y)),
    "powers": lambda y: (y**2, y // 2, y % 2, y * 3),
    "NumPy": lambda y: (np.sqrt(y), np.add(y, 1), np.float64(2) * y),
    "sum": lambda y: np.sum(np.arange(6.0).reshape(2, 3), axis=y),
    "key": lambda y: {y: 1},
    "greatest": lambda y: (max(y, 2), min(3, y)),
    "pair": lambda y: (y, 1),
}
PAIRS = list(itertools.combinations(range(len(VALUES)), 2))


def _used(use: Any, a: Any, b: Any) -> Callable[[Any], Any]:
    def f(x):
        y = a if x > 0 else b
        try:
            return use(y)
        except (TypeError, ValueError, IndexError, AttributeError) as e:
            return type(e).__name__, str(e)

    return f


def _shown(x: Any) -> Any:
    return Described(x).found


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.sample(15)
@pytest.mark.parametrize(
    "name,pair", [(n, p) for k, p in enumerate(PAIRS) for n in itertools.islice(USES, k % 2, None, 2)]
)
def test_each_use(name: str, pair: tuple[int, int], capsys: Any) -> None:
    f = _used(USES[name], *(VALUES[n] for n in pair))
    g = tj.jit(f, fallback=True)
    for x in (1.0, -1.0):
        want = _shown(f(x)), capsys.readouterr().out
        assert (_shown(g(x)), capsys.readouterr().out) == want


def test_native_programs() -> None:
    def f(x):
        best = None
        for k in range(len(x)):
            if x[k] > 0.5 and (best is None or x[k] > best[1]):
                best = (k, x[k])
        return best

    g = tj.jit(f, fallback=False)
    for x in (np.zeros(30), np.linspace(0, 1, 30), np.sin(np.arange(30.0))):
        assert g(x) == f(x)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_which_tuple_it_is_is_not_lost() -> None:
    def f(x):
        y = (1, x) if x > 0 else None
        return y, y

    g = tj.jit(f, fallback=False)
    a, b = g(1.0)
    assert a == (1, 1.0) and a is b
    assert g(-1.0) == (None, None)


CHOSEN: dict[str, Callable[[Any, Any], Any]] = {
    "number": lambda c, x: x if c > 0 else 1,
    "tuple": lambda c, x: (x, 2.0) if c > 0 else (2.0 * x, x, x * x),
    "part": lambda c, x: [x if c > 0 else 0, x * x],
}


@pytest.mark.parametrize("fallback", [True, False])
@pytest.mark.parametrize("name", CHOSEN)
def test_derivatives_outside_of_jit_see_the_result_that_is_there(name: str, fallback: bool) -> None:
    """Not the numbers of all forms that the program has."""
    f = CHOSEN[name]
    g = tj.jit(f, fallback=fallback)
    for c in (1.0, -1.0):
        (want, pull), (got, push) = tj.vjp(f, c, 3.0), tj.vjp(g, c, 3.0)
        assert _shown(got) == _shown(want) and _shown(push(want)) == _shown(pull(want))
        assert _shown(tj.jvp(g, (c, 3.0), (0.0, 1.0))) == _shown(tj.jvp(f, (c, 3.0), (0.0, 1.0)))


def test_derivatives_go_through() -> None:
    def f(x):
        best = None
        for k in range(len(x)):
            if x[k] > 0.5:
                best = (k, x[k] ** 2)
        return x[0] if best is None else best[1]

    x = np.linspace(0, 1, 30)
    want = np.zeros(30)
    want[-1] = 2 * x[-1]
    np.testing.assert_allclose(tj.jit(tj.grad(f))(x), want)
    np.testing.assert_allclose(tj.grad(f)(x), want)


def test_lanes_have_one_type() -> None:
    def f(x):
        y = 1 if x > 0 else 2.5
        return y * 2.0

    assert tj.jit(f, fallback=False)(1.0) == 2.0
    np.testing.assert_allclose(tj.jit(tj.vmap(f))(np.array([1.0, -1.0])), [2.0, 5.0])


class Counted:
    """Its methods do something besides."""

    def __init__(self) -> None:
        self.calls = 0

    def __radd__(self, other: Any) -> Any:
        self.calls += 1
        return self.calls

    def __eq__(self, other: object) -> bool:
        self.calls += 1
        return True


def _counted(use: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def f(x):
        y, counted = 1 if x > 0 else None, Counted()
        return use(y, counted), counted.calls

    return f


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize(
    "use",
    [lambda y, c: y + c, lambda y, c: y == c, lambda y, c: y in [3, c], lambda y, c: (y, 1) == (c, 1)],
)
def test_methods_of_others_are_called_once(use: Any) -> None:
    f = _counted(use)
    g = tj.jit(f, fallback=True)
    for x in (1.0, -1.0):
        try:
            want = f(x)
        except TypeError:
            continue
        assert g(x) == want


def test_items_are_numbers_of_python_or_numpy() -> None:
    def f(x):
        t = (1, x[1]) if x[0] > 0 else (None, 0.5)
        _, v = t
        return v

    def pair(x):
        return (x[0], True) if x[1] > 0 else x[2] if x[0] > 0 else 0.0

    for fn in (f, pair):
        g = tj.jit(fn, fallback=False)
        for x in itertools.product([1.0, -1.0], repeat=3):
            want = fn(np.array(x))
            assert repr(g(np.array(x))) == repr(want)
            assert type(g(np.array(x))) is type(want)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_tuples_with_nan() -> None:
    def f(x):
        v = x[1]
        y = (v, 1) if x[0] > 0 else None
        return y == (v, 1), y != (v, 1), (v, 1) == y

    g = tj.jit(f, fallback=True)
    for x in ([1.0, 2.0], [-1.0, 2.0], [1.0, np.nan]):
        assert g(np.array(x)) == f(np.array(x))


def test_what_stands_for_it_is_not_seen() -> None:
    def asked(x):
        y = 1 if x > 0 else None
        return callable(y)

    def joined(x):
        parts: Any = ["x", "ab" if x > 0 else 1]
        return "a".join(parts)

    def order(x):
        return np.ravel(np.ones((2, 3)) * x, order="C" if x > 0 else "F")

    def scalar(x):
        return np.isscalar(1 if x > 0 else 2.5)

    def raised(x):
        raise ValueError(1 if x > 0 else None)

    assert tj.jit(asked, fallback=False)(1.0) is False
    for fn in (joined, order, scalar, raised):
        with pytest.raises(tj.errors.TracejitError):
            tj.jit(fn, fallback=False)(1.0)


class Mode(enum.Enum):
    LOW = 1
    HIGH = 2

    @property
    def rate(self) -> float:
        SEEN.append(self.name)
        if self is Mode.LOW:
            raise RuntimeError(self.name)
        return 2.5


SEEN: list[str] = []
ASKED: dict[str, Callable[[Any], Any]] = {
    "callable": callable,
    "scalar": np.isscalar,
    "is": lambda y: (operator.is_(y, None), operator.is_not(None, y)),
    "slice": slice,
}


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize("use", ASKED)
@pytest.mark.parametrize("pair", [(None, 1), ("ab", 2.5), ((1, 2), 2), ("ab", "cd")], ids=str)
def test_classes_and_identity(use: str, pair: tuple[Any, Any]) -> None:
    """What asks for the class or the identity of what stands for it."""
    ask, (a, b) = ASKED[use], pair

    def f(x):
        try:
            return ask(a if x > 0 else b)
        except TypeError as e:
            return str(e)

    jitted = tj.jit(f, fallback=True)
    for x in (1.0, -1.0, 2.0):
        assert jitted(x) == f(x)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize("other", [None, Mode.LOW])
def test_properties_of_members_run_once(other: Any) -> None:
    def f(x):
        mode = Mode.HIGH if x > 0 else other
        try:
            return mode.rate
        except (RuntimeError, AttributeError) as e:
            return str(e)

    jitted = tj.jit(f, fallback=True)
    for x in (1.0, -1.0, 2.0):
        SEEN.clear()
        want, seen = f(x), SEEN.copy()
        SEEN.clear()
        assert (jitted(x), SEEN) == (want, seen)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_errors_that_hold_one() -> None:
    def f(x):
        raise ValueError(None if x > 0 else (1, x))

    for x in (1.0, -1.0):
        with pytest.raises(ValueError, match="None" if x > 0 else "-1.0"):
            tj.jit(f, fallback=True)(x)


def test_an_attribute_that_is_none_or_a_number_is_stored() -> None:
    class Stats:
        low = None

        def push(self, x):
            if self.low is None or x < self.low:
                self.low = x
            return self.low * 2

    compiled, plain = Stats(), Stats()
    push = tj.jit(Stats.push, fallback=False)
    for x in (1, 2.5, 0.5):
        assert push(compiled, x) == plain.push(x) and compiled.low == plain.low
