"""Attributes of the user's objects, by themselves and as entries of `__dict__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


class Slotted:
    __slots__ = ("a",)
    a: Any


class Both(Slotted):
    b: Any


def test_slots_are_no_entries_of_the_dict() -> None:
    def f(o: Both, x: Any) -> Any:
        o.a = x
        o.b = 2 * x
        names = vars(o)
        names["b"] += o.a
        return o.a, o.b, list(names)

    ours, theirs = Both(), Both()
    for o in (ours, theirs):
        o.a, o.b = 0.5, 1.5
    assert tj.jit(f)(ours, 3.0) == f(theirs, 3.0) == (3.0, 9.0, ["b"])
    assert (ours.a, ours.b) == (theirs.a, theirs.b)


class Place:
    def __init__(self) -> None:
        self.v = 2.0
        self.w = np.ones(2)

    @property
    def both(self) -> Any:
        return self.v

    @both.setter
    def both(self, value: Any) -> None:
        self.__dict__["v"], self.__dict__["u"] = value, 0.5


def entry_written(o: Any, x: Any) -> Any:
    names = o.__dict__
    names["v"] += 1
    vars(o)["n"] = 3.0
    return x * o.v * o.n


def updated(o: Any, x: Any) -> Any:
    o.__dict__.update(v=5.0, n=1.0)
    return x * o.v + len(vars(o))


def attribute_written(o: Any, x: Any) -> Any:
    names = vars(o)
    o.v, names["n"] = 9.0, 4.0
    return x * o.v + names["v"] + o.n


def by_a_property(o: Any, x: Any) -> Any:
    names = vars(o)
    o.both = 5.0
    return x * o.v + names["v"] + names["u"]


def deleted(o: Any, x: Any) -> Any:
    names = vars(o)
    names["n"] = 3.0
    del o.n, names["w"], o.v
    return x * (1 + len(names) + hasattr(o, "v") + hasattr(o, "n"))


def put_again(o: Any, x: Any) -> Any:
    del o.v
    vars(o)["v"] = 6.0
    return x * o.v


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: tj.value_and_grad(f)(1.5)[0],
    "jvp": lambda f: tj.jvp(f, (1.5,), (1.0,))[0],
    "vmap": lambda f: tj.vmap(f)(np.array([1.5]))[0],
    "jit": lambda f: tj.jit(f, fallback=True)(1.5),
}


@pytest.mark.parametrize("f", [entry_written, updated, attribute_written, by_a_property, deleted, put_again])
@pytest.mark.parametrize("by", TRANSFORMED)
@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_entries_and_attributes_are_one(f: Any, by: str) -> None:
    """Also in eager transformations, where effects happen at once."""
    ours, theirs = Place(), Place()
    assert TRANSFORMED[by](lambda x: f(ours, x)) == f(theirs, 1.5)
    assert vars(ours).keys() == vars(theirs).keys()
    assert all(np.array_equal(vars(ours)[k], x) for k, x in vars(theirs).items())


def _made() -> Any:
    def helper(x: Any, k: float = 1.0, *, r: float = 2.0) -> Any:
        return x * k + r

    return helper


def defaults(h: Any, x: Any) -> Any:
    h.__defaults__ = (5.0,)
    return h(x)


def keyword_default(h: Any, x: Any) -> Any:
    h.__kwdefaults__["r"] += 7.0
    return h(x)


def keyword_defaults(h: Any, x: Any) -> Any:
    h.__kwdefaults__ = {"r": 9.0}
    return h(x)


def code(h: Any, x: Any) -> Any:
    h.__code__ = (lambda x, k=1.0, *, r=2.0: x * 100).__code__
    return h(x)


def attribute(h: Any, x: Any) -> Any:
    h.count = getattr(h, "count", 0) + 1
    return h(x) * h.count


@pytest.mark.parametrize("f", [defaults, keyword_default, keyword_defaults, code, attribute])
@pytest.mark.parametrize("by", TRANSFORMED)
@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_what_a_function_has_is_changed(f: Any, by: str) -> None:
    ours, theirs = _made(), _made()
    for _ in range(2):
        assert TRANSFORMED[by](lambda x: f(ours, x)) == f(theirs, 1.5)
    assert ours(2.0) == theirs(2.0) and vars(ours) == vars(theirs)
    assert (ours.__defaults__, ours.__kwdefaults__) == (theirs.__defaults__, theirs.__kwdefaults__)


CAPTURED = np.array([1.0, 2.0])


@pytest.mark.parametrize("by", ["grad", "jvp", "vmap"])
def test_captured_arrays_are_arrays_to_the_user(by: str, capsys: pytest.CaptureFixture[str]) -> None:
    kept: list[Any] = []
    named: dict[str, Any] = {}
    place = Place()

    def f(x: Any) -> Any:
        assert type(CAPTURED) is np.ndarray and type(CAPTURED) == np.ndarray  # noqa: E721
        print(repr(CAPTURED), f"{CAPTURED!r}")
        kept.append(CAPTURED)
        named["k"] = CAPTURED
        place.w = CAPTURED
        return x * 2.0

    assert TRANSFORMED[by](f) == 3.0
    assert capsys.readouterr().out == "array([1., 2.]) array([1., 2.])\n"
    assert kept[0] is CAPTURED and named["k"] is CAPTURED and place.w is CAPTURED


def test_a_class_gets_an_attribute_of_its_own_that_its_base_has() -> None:
    def made():
        class Base:
            n = 0

            def get(self):
                return self.n

        class Derived(Base):
            def get(self):
                return super().get() + super().n

        class Last(Derived):
            pass

        def f(x):
            Derived.n += 1
            before = Derived.n, Base.n, Last.n, Last().get()
            Last.n, Base.n = x, 7
            return before, Derived.n, Base.n, Last.n, Last().get(), Derived().get()

        return f

    f, want = made(), made()(2.0)
    assert want == ((1, 0, 1, 1), 1, 7, 2.0, 9.0, 8)
    assert tj.value_and_grad(lambda x: (x, f(x)), has_aux=True)(2.0)[0][1] == want
    assert tj.jit(made())(2.0) == want
