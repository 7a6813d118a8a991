"""The classes that derive from one of the user's: no stand-in is among them."""

from __future__ import annotations

from typing import Any

import tracejit as tj
from tracejit.frontend.outside.derived import unlist


class Base:
    """A class that programs look for others from."""

    def value(self, x: Any) -> Any:
        return 2 * x


class Derived(Base):
    """The only one."""


def test_a_class_that_is_taken_out_is_not_listed() -> None:
    made = type("Made", (Base,), {})
    assert Base.__subclasses__() == [Derived, made]
    unlist(made, Base)
    assert Base.__subclasses__() == [Derived] and made.__mro__[1] is Base


def test_classes_say_of_themselves_what_they_say_to_python() -> None:
    def f(x: Any) -> Any:
        seen.append((Base.__subclasses__() == [Derived], Derived.__base__ is Base, Derived.mro()[:2]))
        seen.append(([c.__name__ for c in Derived.__mro__], "_tj_class" in dir(Derived)))
        return sum(c().value(x) for c in Base.__subclasses__())

    seen: list[Any] = []
    assert tj.value_and_grad(f)(3.0) == (6.0, 2.0)
    assert seen[0][:2] == (True, True) and seen[0][2] == [Derived, Base]
    assert seen[1] == (["Derived", "Base", "object"], False)
