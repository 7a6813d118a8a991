"""Tuples of numbers that know which object they are: each has a number of its own.

    p = (x, y)              with `numbered`, p is a tuple with a hidden number beside x and y, which lists, loops
    path.append(p)          and branches carry as they carry the other two; what has the same number when the program
    if y > best[1]:         has run is one tuple
        best = p

Functions are traced so when it was found that they hand out tuples that may be in two places, or ask whether two are
one (`tuples`). The tuples that a function writes get the next number; those that are constants of its code, which are
one object each, have negative ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import optree
import optree._C as _C

from tracejit import ops, tree
from tracejit.errors import BufferedListError
from tracejit.frontend import active
from tracejit.numpy.boxes.numbers import is_python
from tracejit.tracing import Box, box, new_array

_NUMBERS = (bool, int, float, complex, np.generic)


class Numbered(tuple):
    """A tuple with its number, `tj_number`. To who asks it is one of Python's."""

    tj_number: Any
    __class__ = property(lambda self: tuple)  # type: ignore[assignment]

    @staticmethod
    def tj_example(x: Numbered) -> Any:
        """A tuple of the same class to the user."""
        return plain(x)

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise AttributeError("'tuple' object has no attribute '__dict__'")

    @staticmethod
    def of(items: Iterable[Any], number: Any) -> Numbered:
        """A tuple of a known number."""
        made = tuple.__new__(Numbered, items)
        made.tj_number = number
        return made


def _open(x: Numbered) -> Any:
    return (*x, x.tj_number), None, None


def _close(_: Any, children: Any) -> Numbered:
    *items, number = children
    return Numbered.of(items, number)


tree.register(Numbered, lambda x: (tuple(x), None), lambda _, items: tuple(items))
optree.unregister_pytree_node(Numbered, namespace=tree.OPENED)
_node: Any = optree.register_pytree_node
_node(Numbered, _open, _close, namespace=tree.OPENED)


class Numbers:
    """The numbers of a run: `next_` is a number of the program, `constants` the tuples that its code holds."""

    def __init__(self) -> None:
        self.next = new_array(np.int64(0))
        self.constants: list[Any] = []

    def of(self, x: Any, code: Any) -> Any:
        """The tuple `x`, which `code` has just made or holds."""
        if not x or not all(map(_is_number, x)):
            return x
        if any(c is x for c in code.co_consts):
            known = (n for n, c in enumerate(self.constants) if c is x)
            n = next(known, len(self.constants))
            if n == len(self.constants):
                self.constants.append(x)
            return Numbered.of(x, np.int64(-1 - n))
        number = self.next.read()
        self.next[...] = box(ops.arithmetic.add(number, np.int64(1)))
        return Numbered.of(x, box(number) if not isinstance(number, np.generic) else number)


def _is_number(x: Any) -> bool:
    if type(x) is Box:
        return not x.aval.shape and (x.scalar or is_python(x)) and x.aval.dtype.kind in "biufc"
    return type(x) is Numbered or isinstance(x, _NUMBERS)


def numbered(x: Any) -> Any:
    """The tuple that rewritten code has just made, with a number in runs that have such."""
    session = active.session()
    if session is None or session.numbers is None:
        return x
    return session.numbers.of(x, sys._getframe(1).f_code)


def plain(x: Any) -> Any:
    """A tuple without its number, and those in it."""
    return tuple(map(plain, x)) if type(x) is Numbered else x


def leaves(x: Any) -> list[Any]:
    """The numbers and arrays of an item of a list, numbers of tuples among them."""
    return _C.flatten(x, None, False, tree.OPENED)[0]  # type: ignore[attr-defined]


def flatten(x: Any) -> tuple[list[Any], tree.TreeDef]:
    """The same, and its structure."""
    return _C.flatten(x, None, False, tree.OPENED)  # type: ignore[attr-defined]


class Made(dict[int, Any]):
    """The tuples of one call by their numbers, each made once."""

    def one(self, items: Any, number: Any) -> Any:
        """The tuple of a number."""
        if type(number) is Box:
            raise BufferedListError(what="tuples that may be one, as results of a call that is traced,")
        return self.setdefault(int(number), tuple(items))

    def all(self, x: Any) -> Any:
        """What a container of the program's own holds, with the tuples themselves."""
        if type(x) is Numbered:
            return self.one(map(self.all, x), x.tj_number)
        if type(x) is tuple:
            return tuple(map(self.all, x))
        if isinstance(x, dict):
            for k, y in x.items():
                x[k] = self.all(y)
        elif isinstance(x, list):
            x[:] = map(self.all, x)
        elif hasattr(x, "rotate"):
            for n, y in enumerate(x):
                x[n] = self.all(y)
        return x
