"""`type`, `isinstance`, `issubclass` and `hasattr` of traced values, against the plain function."""

from __future__ import annotations

import abc
import collections.abc
import dataclasses
import numbers
import typing
from typing import Any

import numpy as np
import pytest

import tracejit as tj


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> Any: ...


class Square(Shape):
    def area(self) -> Any:
        return 4.0


class Registered(abc.ABC):  # noqa: B024
    pass


Registered.register(float)
Registered.register(np.ndarray)


class HasLength(abc.ABC):  # noqa: B024
    @classmethod
    def __subclasshook__(cls, c: type) -> bool:
        return hasattr(c, "__len__")


class DuckMeta(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return hasattr(x, "quack") or isinstance(x, float)

    def __subclasscheck__(cls, c: type) -> bool:
        return c is int


class Duck(metaclass=DuckMeta):
    pass


class Quacks:
    quack = 1


@typing.runtime_checkable
class HasArea(typing.Protocol):
    def area(self) -> Any: ...


@dataclasses.dataclass
class Pair:
    a: Any = 1.0


class Words(dict):
    pass


Number = int | float
KINDS: dict[str, Any] = {
    **{c.__name__: c for c in (int, float, bool, complex, object, list, tuple, dict, str, type)},
    **{c.__name__: c for c in (np.ndarray, np.generic, np.floating, np.float64, np.number, np.int64)},
    **{c.__name__: c for c in (Shape, Square, Registered, HasLength, Duck, Quacks, HasArea, Pair, Words)},
    "numbers.Real": numbers.Real,
    "numbers.Integral": numbers.Integral,
    "Hashable": collections.abc.Hashable,
    "Sized": collections.abc.Sized,
    "Sequence": collections.abc.Sequence,
    "Callable": collections.abc.Callable,
    "SupportsIndex": typing.SupportsIndex,
    "int | float": Number,
    "Union": typing.Union[int, np.ndarray],
    "Shape | None": Shape | None,
    "nested": (int, (str, np.ndarray)),
}
NAMES = (
    "shape",
    "dtype",
    "is_integer",
    "bit_length",
    "real",
    "__len__",
    "__iter__",
    "T",
    "__call__",
    "nothing",
)
HELD = (
    *(
        Square(),
        Quacks(),
        Pair(),
        [1.0],  # dicts of a class of their own are not followed
        (1, 2),
        {"a": 1},
        None,
        "abc",
        1.5,
        3,
        True,
        np.ones(3),
    ),
    *(np.float64(2.0), Square, len),
)
CLASSES = (Square, Shape, Quacks, Duck, float, int, np.float64, np.ndarray, Pair, Words, list)


def kinds(x: Any) -> list[bool]:
    """What is asked of a value, of unions made in place too."""
    made = [isinstance(x, int | float), isinstance(x, np.ndarray | None), isinstance(x, Shape | Quacks)]
    return [*(isinstance(x, k) for k in KINDS.values()), *(hasattr(x, n) for n in NAMES), *made]


def held(x: Any) -> list[list[bool]]:
    """The same of what a function reads and makes, and of classes."""
    made = (Square(), Quacks(), Pair(x), Words(), [x], (x,), {"a": x})
    subclasses = [issubclass(c, k) for c in CLASSES for n, k in KINDS.items() if n != "HasArea"]
    return [*(kinds(v) for v in HELD), *(kinds(v) for v in made), subclasses]


def by_grad(f: Any, x: Any) -> Any:
    seen: list[Any] = []
    tj.grad(lambda v: (seen.append(f(v)), np.sum(v * 1.0))[1])(x)
    return seen[0]


def by_vmap(f: Any, x: Any) -> Any:
    seen: list[Any] = []
    tj.vmap(lambda v: (seen.append(f(v)), v)[1])(np.stack([x, x]))
    return seen[0]


@pytest.mark.parametrize(
    "x",
    [
        2.0,
        3,
        True,
        1j,
        np.float64(2.0),
        np.float32(1.0),
        np.int64(3),
        np.ones(3),
        np.arange(3),
        np.array(2.0),
    ],
)
def test_kinds_of_arguments(x: Any) -> None:
    assert tj.jit(kinds)(x) == kinds(x)
    assert by_vmap(kinds, x) == kinds(np.stack([x, x])[0])
    if isinstance(x, float) or (np.ndim(x) and np.asarray(x).dtype.kind == "f"):
        assert by_grad(kinds, x) == kinds(x)


def test_kinds_of_what_is_read_and_made() -> None:
    want = held(2.0)
    assert tj.jit(held)(2.0) == want and by_grad(held, 2.0) == want and by_vmap(held, 2.0) == want
    assert (
        held(2.0) == want and isinstance(Square(), Shape) and not isinstance(Quacks(), Shape)
    )  # nor in Python


def test_kinds_of_results() -> None:
    def f(x: Any) -> list[bool]:
        values = (x + 1, x > 1, abs(x), round(x, 1), round(x), np.sin(x), max(x, 1.5), x.imag, -x, x**2)
        return [type(v) is k for v in values for k in (float, int, bool, np.float64)]

    assert tj.jit(f)(2.0) == f(2.0)


def test_a_metaclass_of_the_users_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tj.jit(lambda x: isinstance(x, Limited))
    assert f(2.0) is True
    monkeypatch.setitem(LIMIT, "kind", int)
    assert f(2.0) is False


LIMIT: dict[str, type] = {"kind": float}


class LimitedMeta(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, LIMIT["kind"])


class Limited(metaclass=LimitedMeta):
    pass


# -- methods of objects that keep their class are captured

x = np.ones(2)  # a global that has the name of a field


@dataclasses.dataclass
class Kept:
    x: np.ndarray
    v: float

    def step(self, dt):
        if self.v > 0:
            return self.x * dt
        return self.x - dt

    def total(self, n):
        s = 0.0
        for i in range(n):
            s += self.v * i
        return s


class Couple(typing.NamedTuple):
    x: np.ndarray
    v: float
    step = Kept.step
    total = Kept.total  # type: ignore[assignment]


@pytest.mark.parametrize("cls", [Kept, Couple])
def test_loops_and_branches_of_methods_are_native(cls):
    made = cls(np.arange(3.0), 2.0)
    step = tj.explain(lambda s, dt: s.step(dt))(made, 0.5)
    assert step.fallback is None and "native branch" in step.loops_and_branches[0]
    total = tj.explain(lambda s, n: s.total(n))(made, 500)
    assert total.fallback is None and "native loop of a traced number" in total.loops_and_branches[0]


@pytest.mark.parametrize("cls", [Kept, Couple])
def test_methods_are_captured_in_transformations(cls):
    made = cls(np.arange(3.0), 2.0)
    slope = tj.jit(tj.grad(lambda s: s.step(3.0).sum()))(made)
    assert type(slope) is cls and slope.x.tolist() == [3, 3, 3] and slope.v == 0


def test_one_program_serves_objects_and_a_method_of_its_class():
    f = tj.jit(lambda s: Kept.step(s, 2.0))
    assert f(Kept(x, 1.0)).tolist() == [2, 2] and f(Kept(x, -1.0)).tolist() == [-1, -1]
    assert f.trace_count == 1


def test_by_getattr():
    f = tj.jit(lambda s, n: getattr(s, n)(2.0))
    assert f(Kept(x, -1.0), "step").tolist() == [-1, -1] and f(Kept(x, 1.0), "step").tolist() == [2, 2]
