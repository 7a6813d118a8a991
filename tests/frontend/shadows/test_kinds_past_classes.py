"""`object.__setattr__` and `object.__delattr__` of objects of outside: random functions do what Python does."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import define, verdict

_STATEMENTS = [
    *("object.__setattr__({o}, 'a', {o}.a + x[0])", "object.__setattr__({o}, 'a', x)", "out.append({o}.a)"),
    *("object.__setattr__({o}, 'a', {q}.a)", "object.__delattr__({o}, 'a')", "out.append({o} is {q})"),
    *(
        "if x.sum() > 1:\n        object.__setattr__({o}, 'a', x[1])",
        "out.append({o} == {q})",
        "out.append({o})",
    ),
    *(
        "for k in range(3):\n        object.__setattr__({o}, 'a', {o}.a * 0.5 + k)",
        "out.append(hasattr({o}, 'a'))",
    ),
    *(
        "try:\n        {o}.a = 2.0\n    except Exception as e:\n        out.append(type(e).__name__)",
        "x = x * {q}.a",
    ),
    *("object.__setattr__({o}, 'b', x[0])", "out.append(getattr({o}, 'b', 'none'))", "{o}.a = x.sum()"),
    "new = type({o})(x[0])\n    object.__setattr__(new, 'a', {o}.a)\n    out.append(new)",
]
#: Those for dataclasses among the arguments, which are taken apart: all their fields must be there.
_OF_GIVEN = [s for s in _STATEMENTS if "delattr" not in s and "==" not in s]


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any


@dataclasses.dataclass(frozen=True, eq=False)
class FrozenItself:
    a: Any


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a: Any) -> None:
        self.a = a


class Doubling:
    def __init__(self, a: Any) -> None:
        self.a = a

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value * 2)


class Property:
    def __init__(self, a: Any) -> None:
        self._a = a

    @property
    def a(self) -> Any:
        return self._a + 1

    @a.setter
    def a(self, value: Any) -> None:
        self._a = value - 1


def _maker(seed: int) -> Any:
    rng = random.Random(seed)
    cls, given = rng.choice((Frozen, Frozen, FrozenItself, Slots, Doubling, Property)), rng.random() < 0.4
    lines = []
    for _ in range(rng.randint(1, 4)):
        o, q = rng.choice((("p", "q"), ("q", "p"), ("held[0]", "p"), ("p", "held[0]")))
        lines_of = _STATEMENTS if cls not in (Frozen, FrozenItself) or not given else _OF_GIVEN
        lines.append(rng.choice(lines_of).format(o=o, q=q))
    more = ", p" if given else ""
    source = f"def f(x{more}):\n    out = []\n    " + "\n    ".join(lines) + "\n    return x, out\n"
    some = ("", "", "held[0] = p", "q = p", "q = new(3.0)", "held[0] = q", "p = new(x)")
    changes = [rng.choice(some) for _ in range(4)]

    def maker() -> Any:
        names: dict[str, Any] = {
            "np": np,
            "p": cls(1.5),
            "q": cls(2.5),
            "held": [cls(0.5)],
            "new": cls,
            "x": 4.0,
        }
        define(source, names, f"<program {seed}>")
        first, other = names["p"], names["q"]
        xs = [np.array(v) for v in ([0.5, 1.0], [-1.0, 0.25], [2.0, 3.0], [1.0, 1.0])]
        calls = [(x, (first, first, other, cls(0.25))[n]) if given else (x,) for n, x in enumerate(xs)]

        def before(n: int) -> None:
            exec(changes[n], names)

        return names["f"], calls, lambda: [names["p"], names["q"], names["held"], first, other], before

    return maker, source, changes


def _agrees(seed: int) -> str:
    maker, source, changes = _maker(seed)
    kind, why = verdict(maker)
    assert kind in ("native", "fallback"), f"{seed}\n{source}\n{changes}\n{why}"
    return kind


def test_random_functions_that_go_past_classes() -> None:
    kinds = [_agrees(seed) for seed in range(25)]
    assert kinds.count("native") > 8


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(1000, 3000, 100))
def test_many_random_functions_that_go_past_classes(start: int) -> None:
    for seed in range(start, start + 100):
        _agrees(seed)


@pytest.mark.parametrize("cls", [Frozen, FrozenItself, Slots])
def test_whether_an_argument_is_an_object_of_outside(cls: Any) -> None:
    held, other = cls(1.0), cls(1.0)
    f = tj.jit(lambda p, x: (p is held, x), fallback=False)
    assert [f(p, 2.0)[0] for p in (held, other, held)] == [True, False, True]
