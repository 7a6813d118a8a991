"""The classes that derive from one of the user's: no stand-in is among them."""

from __future__ import annotations

import abc
from typing import Any, Generic, TypeVar

import pytest

import tracejit as tj
from tracejit.frontend.outside.derived import ordering, unlist


class Base:
    """A class that programs look for others from."""

    def value(self, x: Any) -> Any:
        return 2 * x


class Derived(Base):
    """The only one."""


def test_a_class_that_is_taken_out_is_not_listed() -> None:
    made: Any = ordering(type)("Made", (Base,), {})
    assert Base.__subclasses__() == [Derived, made]
    unlist(made, Base)
    assert Base.__subclasses__() == [Derived] and made.__mro__[1] is Base
    assert isinstance(made(), Base) and made().value(2.0) == 4.0


S = TypeVar("S")


class Told:
    """A class that is told of those that derive from it."""

    told: list[type] = []

    def __init_subclass__(cls) -> None:
        Told.told.append(cls)


class Meta(type):
    """A metaclass of the user's."""


class OfMeta(metaclass=Meta):
    """A class of it."""


class OfABC(abc.ABC):
    """An abstract class."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """None."""


class OfIt(OfABC):
    """One that can be made."""

    size = 3


class OfGeneric(Generic[S]):
    """A generic class."""


@pytest.mark.parametrize("cls", [Told, OfMeta, OfIt, OfGeneric, Derived])
def test_stand_ins_of_classes_of_every_kind_are_not_listed(cls: type) -> None:
    held = cls()

    def f(x: Any) -> Any:
        made = cls()
        return x * (isinstance(held, cls) + isinstance(made, cls))

    fast = tj.jit(f, fallback=False)
    assert fast(3.0) == 6.0 and fast(4.0) == 8.0
    assert tj.value_and_grad(f)(3.0) == (6.0, 2.0)
    assert cls.__subclasses__() == [] and Told.told == []


def test_classes_with_slots_stay_as_they_are() -> None:
    class Slotted:
        """A class whose objects have a memory that those of no other have."""

        __slots__ = ("v",)

    made: Any = ordering(type)("Made", (Slotted,), {"__slots__": ()})
    unlist(made, Slotted)
    assert made.__mro__ == (made, Slotted, object) and made().__class__ is made


def test_classes_say_of_themselves_what_they_say_to_python() -> None:
    def f(x: Any) -> Any:
        seen.append((Base.__subclasses__() == [Derived], Derived.__base__ is Base, Derived.mro()[:2]))
        seen.append(([c.__name__ for c in Derived.__mro__], "_tj_class" in dir(Derived)))
        return sum(c().value(x) for c in Base.__subclasses__())

    seen: list[Any] = []
    assert tj.value_and_grad(f)(3.0) == (6.0, 2.0)
    assert seen[0][:2] == (True, True) and seen[0][2] == [Derived, Base]
    assert seen[1] == (["Derived", "Base", "object"], False)


class Alone:
    """A class of which nothing derives."""

    def __init__(self) -> None:
        self.rate = 2.0


def test_what_stands_for_an_object_is_no_class_that_derives_from_its_own() -> None:
    alone = Alone()

    def f(x: Any) -> Any:
        return x * alone.rate, len(Alone.__subclasses__())

    assert tj.jit(lambda x: x * alone.rate)(3.0) == 6.0 and Alone.__subclasses__() == []
    assert tj.value_and_grad(f, has_aux=True)(3.0) == ((6.0, 0), 2.0) and Alone.__subclasses__() == []


def test_special_methods_that_a_class_gets_later_are_asked() -> None:
    class Later:
        """A class that gets a length."""

    later = Later()

    def f(x: Any) -> Any:
        return x * (len(later) if hasattr(later, "__len__") else 1)

    fast = tj.jit(f)
    assert fast(3.0) == 3.0 and tj.value_and_grad(f)(3.0) == (3.0, 1.0)
    Later.__len__ = lambda self: 5  # type: ignore[attr-defined]
    assert fast(3.0) == 15.0 and tj.value_and_grad(f)(3.0) == (15.0, 5.0)
