"""Recipes: how the real text, or another Python value, is made from the arrays that a program gives.

A recipe is a tree: values that are known, slots that take the next array, and calls of pure functions. Recipes compare
by value, so that a loop which is traced again, and two branches that show the same, have the same ones.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit import tree

#: What a slot's value is in plain Python.
PYTHON, SCALAR, ARRAY = "a Python number", "a NumPy scalar", "an array"

#: The dtypes of Python's numbers.
_PYTHONS = frozenset(map(np.dtype, (bool, np.int64, float)))


class Recipe:
    """Makes a value; `key` is what tells recipes apart."""

    __slots__ = ("key",)
    key: Any

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.key == self.key  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return "..."

    def __call__(self, given: Iterator[Any]) -> Any:
        """The value, of the next arrays of `given`."""
        raise NotImplementedError

    def slots(self) -> Iterator[Slot]:
        """Its slots, in the order in which they take arrays."""
        yield from ()

    def source(self, given: Iterator[str], names: dict[str, Any]) -> str:
        """The expression that gives the value, of the variables `given`; `names` holds what it refers to."""
        raise NotImplementedError

    def compiled(self, numbers: bool = False) -> Callable[..., Any]:
        """The function of the arrays that gives the value: several times as fast as the recipe itself. `numbers`: of
        Python's numbers for arrays of no dimensions, which all of them are."""
        arguments = [f"a{n}" for n, _ in enumerate(self.slots())]
        names: dict[str, Any] = {"array": np.array, "scalar": _scalar}
        given = [slot.of_number(a, names) for slot, a in zip(self.slots(), arguments, strict=True)]
        source = f"lambda {', '.join(arguments)}: {self.source(iter(given if numbers else arguments), names)}"
        return eval(compile(source, "<tracejit text>", "eval"), names)


def _scalar(x: Any) -> Any:
    return x[()] if type(x) is np.ndarray else x


def _name(x: Any, names: dict[str, Any]) -> str:
    """The variable that holds `x`."""
    name = f"c{len(names)}"
    names[name] = x
    return name


class Known(Recipe):
    """A value that is known while tracing, and can't change."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = type(value), _comparable(value)

    def __call__(self, given: Iterator[Any]) -> Any:
        return self.value

    def source(self, given: Iterator[str], names: dict[str, Any]) -> str:
        return _name(self.value, names)


def _comparable(value: Any) -> Any:
    if type(value) in (float, complex):
        return repr(value)
    if type(value) is tuple:
        return tuple((type(x), _comparable(x)) for x in value)
    return value if type(value) in _COMPARED else id(value)


_COMPARED = frozenset({str, int, bool, bytes, type(None), np.dtype, type(tree.structure(0))})


class Slot(Recipe):
    """The value of the next array: `kind` of `dtype` with `ndim` dimensions."""

    __slots__ = ("dtype", "kind", "ndim")

    def __init__(self, kind: str, dtype: np.dtype, ndim: int) -> None:
        self.kind = kind
        self.dtype = dtype
        self.ndim = ndim
        self.key = kind, dtype, ndim

    def __call__(self, given: Iterator[Any]) -> Any:
        x = next(given)
        if self.kind == PYTHON:
            return x.item() if isinstance(x, (np.ndarray, np.generic)) else x
        return np.array(x) if self.kind == ARRAY else np.asarray(x)[()]

    def slots(self) -> Iterator[Slot]:
        yield self

    def source(self, given: Iterator[str], names: dict[str, Any]) -> str:
        x = next(given)
        if x.startswith("("):  # one of Python's numbers
            return x
        return f"{x}.item()" if self.kind == PYTHON else f"{'array' if self.kind == ARRAY else 'scalar'}({x})"

    def of_number(self, argument: str, names: dict[str, Any]) -> str:
        """The expression of its value, of a variable that holds one of Python's numbers."""
        if self.kind == PYTHON and self.dtype in _PYTHONS:
            return f"({argument})"
        made = f"{_name(self.dtype.type, names)}({argument})"
        return (
            f"({made}.item())"
            if self.kind == PYTHON
            else f"({'array' if self.kind == ARRAY else ''}({made}))"
        )

    def fits(self, x: Any) -> bool:
        """Whether `x` may be what it takes."""
        if self.kind == PYTHON and type(x) in (bool, int, float, complex):
            return True
        return getattr(x, "dtype", None) == self.dtype and getattr(x, "ndim", None) == self.ndim

    def example(self, nasty: bool) -> Any:
        """A value that it may take; a `nasty` one is negative, or no number."""
        value = {"f": float("nan"), "c": complex("nan"), "i": -1}.get(self.dtype.kind, 1) if nasty else 0
        return np.full((1,) * self.ndim, value, self.dtype)


class Made(Recipe):
    """What the pure function `fn` makes of other values: `parts`, the last of them by keywords, `names`."""

    __slots__ = ("fn", "names", "parts")

    def __init__(
        self, fn: Callable[..., Any], parts: tuple[Recipe, ...], names: tuple[str, ...] = ()
    ) -> None:
        self.fn = fn
        self.parts = parts
        self.names = names
        self.key = fn, parts, names

    def __call__(self, given: Iterator[Any]) -> Any:
        values = [part(given) for part in self.parts]
        if not self.names:
            return self.fn(*values)
        count = len(values) - len(self.names)
        return self.fn(*values[:count], **dict(zip(self.names, values[count:], strict=True)))

    def slots(self) -> Iterator[Slot]:
        for part in self.parts:
            yield from part.slots()

    def source(self, given: Iterator[str], names: dict[str, Any]) -> str:
        parts = [part.source(given, names) for part in self.parts]
        first = len(parts) - len(self.names)
        parts[first:] = [f"{name}={part}" for name, part in zip(self.names, parts[first:], strict=True)]
        if self.fn is joined or self.fn is listed:
            items = f"({''.join(f'{part}, ' for part in parts)})"
            return f"{_name(''.join, names)}({items})" if self.fn is joined else items
        return f"{_name(self.fn, names)}({', '.join(parts)})"


def example(recipe: Recipe, nasty: bool = False) -> Any:
    """What the recipe makes of some values. Raises what its functions raise for them."""
    return recipe(iter([slot.example(nasty) for slot in recipe.slots()]))


# ---------------------------------------------------------------- functions of recipes


def joined(*parts: str) -> str:
    """The parts, one after the other."""
    return "".join(parts)


def listed(*parts: Any) -> tuple[Any, ...]:
    """The parts."""
    return parts


def picked(index: int, options: tuple[str, ...]) -> str:
    """One of some known strings."""
    return options[index]


def filled(cls: type, *items: Any) -> Any:
    """A list, tuple, set or deque of `items`."""
    return cls(items)


def named(cls: Any, *items: Any) -> Any:
    """A named tuple."""
    return tuple.__new__(cls, items)


def mapped(cls: type, keys: tuple[Any, ...], *values: Any) -> Any:
    """A dict of class `cls`."""
    pairs = zip(keys, values, strict=True)
    return collections.defaultdict(None, pairs) if cls is collections.defaultdict else cls(pairs)


class Shown:
    """In a container that is shown, an object of which only the text is known."""

    def __init__(self, text: str, plain: str) -> None:
        self.text = text
        self.plain = plain

    def __repr__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.plain
