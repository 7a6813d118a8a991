"""What code asks of values, which stand-ins would answer."""

from __future__ import annotations

import collections.abc
import numbers
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pytest

from tests.programs.observe import define
from tracejit.frontend.rewrite.source.asking import asked


@dataclass
class Point:
    x: Any


class Model:
    pass


@runtime_checkable
class HasX(Protocol):
    x: Any


kind_of = type
NAMES = {
    "np": np,
    "collections": collections,
    "numbers": numbers,
    "Iterable": Iterable,
    "Point": Point,
    "Model": Model,
    "HasX": HasX,
    "kind_of": kind_of,
    "__builtins__": __builtins__,
}


def question(body: str, is_method: bool = True) -> str | None:
    """What a method with these lines asks."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    names = dict(NAMES)
    define(f"def method(self, v):\n{lines}", names, f"<asking {body!r}>")
    fn = names["method"]
    assert isinstance(fn, types.FunctionType)
    return asked(fn, is_method, lambda cls: cls is Point)


@pytest.mark.parametrize(
    "body",
    [
        "return type(v) is float",
        "return type(self.x) in (int, float)",
        "return {float: 1}[type(v)]",
        "return list(map(type, [v]))",
        "return kind_of(v) is float",
        "return type(v) is Model",
        "return type(v) is type(self.x)",
        "return self.on is True",
        "return v is not False",
        "return hasattr(v, '__len__')",
        "return getattr(v, self.name, None)",
        "return isinstance(v, Iterable)",
        "return isinstance(v, (float, collections.abc.Sized))",
        "return isinstance(v, HasX)",
        "return isinstance(v, self.kinds)",
        "f = lambda u: type(u) is float\nreturn f(v)",
        "def f(u=type(v)):\n    return u\nreturn f()",
        "self = v\nreturn type(self)",
    ],
)
def test_what_is_a_question(body: str) -> None:
    assert question(body) is not None


@pytest.mark.parametrize(
    "body",
    [
        "return isinstance(v, (int, float, np.ndarray))",
        "return isinstance(v, numbers.Real) or isinstance(v, Point)",
        "return type(self)(v)",
        "return type(v) is not type(self)",
        "return type(self) == type(v)",
        "return type(v) is Point",
        "return type(v) is self.__class__",
        "return isinstance(v, type(self))",
        "return isinstance(v, type)",
        "return self.on is None or v is self",
        "return hasattr(v, 'shape') and hasattr(self, '__len__')",
        "return getattr(self, v)",
        "return getattr(np, v)",
        "def f(kind: type) -> type:\n    return kind\nreturn f",
        "n: type = 3\nreturn n",
        "return self.type(v)",
        "return type('C', (), {})",
    ],
)
def test_what_is_none(body: str) -> None:
    assert question(body) is None


@pytest.mark.parametrize("body", ["return type(v) is float", "return type(v) in (int, float)"])
def test_what_no_array_is(body: str) -> None:
    """An array that is seen as another class's answers such a question rightly."""
    found = question(body)
    assert found is not None and found.startswith("whether")
    assert not (question("return type(v) is np.ndarray") or "").startswith("whether")
    assert not (question("return type(v) is type(self.x)") or "").startswith("whether")


def test_a_function_has_no_object_of_its_own() -> None:
    assert question("return type(self)", is_method=False) == "`type(self)`"


def test_without_a_source_the_name_is_enough() -> None:
    names = dict(NAMES)
    exec(
        "def asks(v):\n    return type(v) is Point\ndef asks_not(v):\n    return isinstance(v, float)", names
    )
    assert asked(names["asks"], False, lambda cls: True) == "`type`"
    assert asked(names["asks_not"], False, lambda cls: True) is None
