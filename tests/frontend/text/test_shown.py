"""`str`, `repr`, `format`, templates: compiled programs make the text that Python makes."""

# ruff: noqa: UP031, UP032
from __future__ import annotations

import collections
import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import FallbackWarning, TracedTextError

# ruff: noqa: F524, F525

unwarned = functools.partial(pytest.warns, FallbackWarning)
X = np.array([1.5, -2.0, 1e10])
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Held:
    x: Any
    n: int = 3
    hidden: Any = dataclasses.field(default=0, repr=False)


class Own:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __str__(self) -> str:
        return f"<{self.x:.1f}>"

    def __format__(self, spec: str) -> str:
        return f"{spec}:{self.x}"


class Derived(Own):
    def __repr__(self) -> str:
        return "Derived(" + repr(self.x) + ")"


NUMBERS = [
    True,
    -3,
    2.5,
    1 - 2j,
    np.float32(0.1),
    np.float64(1e300),
    np.int8(-5),
    np.uint64(7),
    np.bool_(True),
]


@pytest.mark.parametrize("x", NUMBERS, ids=repr)
def test_numbers(x: Any) -> None:
    def f(x: Any) -> Any:
        return [
            str(x),
            repr(x),
            format(x),
            f"{x}",
            f"{x!r:>30}",
            f"{x!s:_<20}",
            "%s %r" % (x, x),
            "{} {!r}".format(x, x),
        ]

    assert tj.jit(f)(x) == f(x)


@pytest.mark.parametrize("spec", [".3f", "10.2e", "+g", "%", "08.1f", "<9", ",.2f", "_>+12.1f"])
def test_specifications_of_floats(spec: str) -> None:
    compiled = tj.jit(lambda x: f"{x:{spec}}")
    for x in (1.5, -0.0, 1e20, float("inf"), float("nan"), np.float32(0.3)):
        assert compiled(x) == f"{x:{spec}}"


@pytest.mark.parametrize("spec", ["d", "x", "#o", "b", ",", "+06d", "^9", "e"])
def test_specifications_of_integers(spec: str) -> None:
    compiled = tj.jit(lambda n: [f"{n:{spec}}", hex(n), oct(n), bin(n)])
    for n in (0, 7, -1234567, np.int32(5)):
        assert compiled(n) == [f"{n:{spec}}", hex(n), oct(n), bin(n)]


@pytest.mark.parametrize(
    "x", [X, X.astype(int), X > 0, X * 1j, np.ones((2, 2), np.float32), np.arange(2000.0), np.array(2.5)]
)
def test_arrays(x: Any) -> None:
    def f(x: Any) -> Any:
        y = x[...]
        return str(y), repr(y), f"{y}", "%s|%r" % (y, y), str([y, (y,)])

    assert tj.jit(f)(x) == f(x)


def test_print_options_are_those_of_the_call() -> None:
    compiled = tj.jit(lambda x: str(x / 3))
    for precision in (2, 5, 8):
        with np.printoptions(precision=precision):
            assert compiled(X) == str(X / 3)
    assert compiled.trace_count == 1


def test_containers_and_objects() -> None:
    def f(x: Any) -> Any:
        own, derived, held = Own(x[0]), Derived(x[1]), Held(x[0], hidden=x)
        listed = [
            x[0],
            None,
            "a",
            (x[1],),
            {"k": x, 2: {x.size}},
            collections.deque([x[0]]),
            collections.OrderedDict(a=x[0]),
        ]
        return (
            str(listed),
            f"{held} {held!r} {[held]}",
            f"{own} {own!s} {own:abc}",
            f"{derived!r} {derived} {[derived]} {Pair(x[0], derived)}",
            str({1: Pair(x[0], [x])}),
        )

    assert tj.jit(f)(X) == f(X)


HELD, OWN = Held(np.arange(2.0)), Derived(np.float64(0.25))


def test_objects_of_outside_and_arguments() -> None:
    def f(x: Any, held: Any, own: Any) -> Any:
        return f"{HELD} {OWN} {OWN!r} {[OWN]} {held} {own!r} {x}"

    compiled = tj.jit(f)
    for n in range(3):
        HELD.x = HELD.x + 1
        args = X + n, Held(n + 0.5, n), Derived(n - 0.5)
        assert compiled(*args) == f(*args)


def test_templates() -> None:
    def f(x: Any, n: Any, p: Any) -> Any:
        return (
            "{0:.2f} {1[0]:>{w}} {a.x!r} {0} {{}}".format(x, [n], a=Held(x), w=p),
            "{:{}.{}f}".format(x, 10, p),
            "%(a)s %(b)05.1f %%" % {"a": n, "b": x},
            "%*d %-6s| %+.2e" % (5, n, x, x),
            ", ".join([f"{x:.1f}", "b", str(n)]) + "|".join(map(str, (n, x))),
            ("-" * n + f"{n}").rjust(10, ".") + "ab".center(n, "*"),
            f"{x:{p + 5}.{p}f}",
        )

    compiled = tj.jit(f)
    for args in ((1.25, 3, 2), (-2.5, 5, 2), (1e6, 0, 3)):
        assert compiled(*args) == f(*args)


def test_what_python_raises_is_raised() -> None:
    def check(f: Any, *args: Any) -> None:
        with pytest.raises(Exception) as want:
            f(*args)
        with pytest.raises(type(want.value)) as got:
            tj.jit(f, fallback=True)(*args)
        assert str(got.value) == str(want.value)

    check(lambda x: f"{x:d}", 1.5)
    check(lambda x: f"{x:.2f}", X)
    check(lambda x: "%d" % x, float("nan"))
    check(lambda x: "{} {0}".format(x), 1.5)
    check(lambda x: "{1}".format(), 1.5)
    check(lambda x: "%d %d" % x, 1.5)
    check(lambda x: ", ".join([str(x), x]), 1.5)


def test_percent_d_of_floats_leaves_what_is_not_finite_to_python() -> None:
    compiled = tj.jit(lambda x: "%d" % x, fallback=True)
    assert compiled(2.7) == "2" and compiled(-2.7) == "-2"
    with pytest.raises(OverflowError):
        compiled(float("inf"))
    assert compiled.trace_count == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x: {f"{x}": 1},
        lambda x: f"{x}".split(),
        lambda x: f"{x}"[0],
        lambda x: list(f"{x}"),
        lambda x: {"1.5": 1}.get(f"{x}"),
        lambda x: f"{x}" in {"a", "1.5"},
        lambda x: {f"{x}", "a", f"{x:.0f}"} | set(map(str, (x, "b"))),
        lambda x: dict([(f"{x}", 2)], a=1),
        lambda x: f"{x}".encode(),
        lambda x: float(f"{x}".partition(".")[2]),
        lambda x: getattr(np, "cos" if x > 2 else "sin")(x),
    ],
)
def test_characters_are_taken_for_known(f: Any) -> None:
    """A program is for one text; a call with another text makes another program, or takes the one that there is."""
    compiled = tj.jit(f, fallback=True)
    for x in (1.5, 2.5, 1.5, 2.5):
        want, got = f(x), compiled(x)
        assert type(got) is type(want) and got == want
    assert compiled.trace_count == 2
    with pytest.raises(TracedTextError):
        tj.jit(lambda x: f"{x}"[0], fallback=False)(1.5)


def test_texts_are_sorted_by_their_lengths() -> None:
    def f(x: Any) -> Any:
        return sorted([f"{x}", "a"], key=len)

    compiled = tj.jit(f, fallback=True)
    for x in (1.5, 2.25, 1.5, 100.125):
        assert compiled(x) == f(x)


def test_texts_that_are_always_others_are_left_to_python() -> None:
    """There are so many programs, and no more."""
    f = lambda x: {f"{x:.3f}": x}
    compiled = tj.jit(f, fallback=True)
    with unwarned():
        for n in range(40):
            assert compiled(n / 7) == f(n / 7)
    assert compiled.trace_count <= 14


@pytest.mark.parametrize(
    "f",
    [
        lambda x: int(f"{x}"),
        lambda x: "a".startswith(f"{x}"),
        lambda x: np.array(f"{x}"),
        lambda x: str.upper(f"{x}"),
    ],
)
def test_looking_at_characters_is_refused(f: Any) -> None:
    """By an error of ours, or by one that lets Python run the function: never by another answer."""
    want = f(1.5) if f is not None and not _raises(f, 1.5) else None
    with pytest.raises(Exception):  # noqa: B017
        tj.jit(f, fallback=False)(1.5)
    if want is not None:
        with unwarned():
            got = tj.jit(f, fallback=True)(1.5)
        assert type(got) is type(want) and np.array_equal(got, want)


def _raises(f: Any, *args: Any) -> bool:
    try:
        f(*args)
    except Exception:
        return True
    return False


def test_a_refusal_is_not_caught() -> None:
    def f(x: Any) -> Any:
        try:
            return {f"{x}": 1}
        except TypeError:
            return "caught"

    with pytest.raises(TracedTextError):
        tj.jit(f, fallback=False)(1.5)
    assert tj.jit(f, fallback=True)(1.5) == {"1.5": 1}


def test_c_code_that_does_not_take_it_is_not_caught() -> None:
    def f(x: Any) -> Any:
        try:
            return "a-b".replace("-", f"{x}")
        except TypeError:
            return "caught"

    with unwarned():
        assert tj.jit(f, fallback=True)(1.5) == "a1.5b"


class Bare:
    """Its text has its address."""


shown = {"it": Bare()}


def test_what_stands_for_things_of_outside_has_their_text():
    def f(x):
        bare = shown["it"]
        return (
            f"{bare} {np.sin} {np} {_helper} {len} {Own.__name__} {x}",
            str(np.linalg),
        )

    fast = tj.jit(f)
    assert fast(1.5) == f(1.5)
    before, shown["it"] = shown["it"], Bare()
    assert fast(1.5) == f(1.5) and f"{before}" not in f(1.5)[0]


def _helper() -> None:
    """Is only shown."""


def test_what_is_made_has_no_address_yet():
    with unwarned():
        tj.jit(lambda x: (f"{Bare()}", x)[1], fallback=True)(1.0)
