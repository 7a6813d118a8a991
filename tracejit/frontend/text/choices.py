"""Texts of which conditions choose one: a number says which of some known strings it is, or a flag which of two texts.

status = "running"
for k in range(n):
    if error < tolerance:
        status = "done"        # carried as 0 or 1, of ("done", "running")
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.frontend.text.deferred import (
    Text,
    at_index,
    concatenated,
    is_text,
    options_of,
    recipe_of,
    refusal,
)
from tracejit.frontend.text.recipes import PYTHON, Known, Made, Recipe, Slot, joined, picked
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.tracing import Box, box

_I64 = np.dtype(np.int64)
#: Texts of more known strings are not followed.
_MOST = 64
#: Nor texts of more values: each choice among what was chosen before may double them.
_MOST_VALUES = 256
#: `add(a, b, dtype)`: what gives the raw value that is `a` or `b`, once the program has chosen.
Add = Callable[[Any, Any, np.dtype], Callable[[], Any]]


def either(flag: bool, a: str, b: str) -> str:
    """`a` or `b`."""
    return a if flag else b


def common(a: Any, b: Any) -> tuple[str, ...] | None:
    """The known strings of which `a` or `b` is one, in their order."""
    p, q = options_of(a), options_of(b)
    if p is None or q is None or len(p) + len(q) > _MOST:
        return None
    return tuple(sorted({*p, *q}))


def index_of(x: Any, options: tuple[str, ...]) -> Any:
    """The raw position of `x` among `options`."""
    own = options_of(x)
    assert own is not None
    if type(x) is str:
        return np.int64(options.index(x))
    raw = x.values[0].read() if type(x.values[0]) is Box else x.values[0]
    if own == options:
        return raw
    return at_index(raw, [np.int64(options.index(o)) for o in own])


def of_index(index: Any, options: tuple[str, ...]) -> Text:
    """The text that is the one of `options` at the raw `index`."""
    recipe = Made(picked, (Slot(PYTHON, _I64, 0), Known(options)))
    return Text(recipe, (box(index, weak=True),))


def text_of(fn: Callable[[int], str], number: Any) -> Any:
    """The text that the pure function `fn` gives for a raw number."""
    if not isinstance(number, Value):
        return fn(int(number))
    return Text(Made(fn, (Slot(PYTHON, _I64, 0),)), (box(number, weak=True),))


def among(x: Any, options: tuple[str, ...] | None) -> Any:
    """A string as one of `options`; other things, and strings that are none of them, as they are."""
    own = None if options is None else options_of(x)
    if options is None or own is None or not {*own} <= {*options}:
        return x
    return of_index(index_of(x, options), options)


def _pieces(x: Any) -> list[tuple[Recipe, tuple[Any, ...]]]:
    """What a text is joined of, with the values of each piece."""
    recipe, values = recipe_of(x)
    parts = recipe.parts if isinstance(recipe, Made) and recipe.fn is joined else (recipe,)
    given = iter(values)
    return [(part, tuple([next(given) for _ in part.slots()])) for part in parts]


def _text(pieces: list[tuple[Recipe, tuple[Any, ...]]]) -> Any:
    return concatenated([x.value if isinstance(x, Known) else Text(x, values) for x, values in pieces])


def _apart(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The text that both begin with, and what follows in each. A text that grows in branches has the text of before
    once then; twice would be twice as much in each of them."""
    p, q = _pieces(a), _pieces(b)
    count = 0
    for (r, xs), (s, ys) in zip(p, q, strict=False):
        if r != s or not all(map(operator.is_, xs, ys)):
            break
        count += 1
    return _text(p[:count]), _text(p[count:]), _text(q[count:])


class Choice:
    """The text that is the one of `texts` that `pred` says; a row of what is chosen for each of their values."""

    def __init__(self, pred: Any, texts: tuple[Any, Any], add: Add, within: Callable[[int], Any]) -> None:
        self.before, a, b = _apart(*texts)
        self.pred = pred
        self.options = common(a, b)
        if self.options is not None:
            with within(0):
                i = index_of(a, self.options)
            with within(1):
                j = index_of(b, self.options)
            self.rows = [add(i, j, _I64)]
            return
        (p, xs), (q, ys) = recipe_of(a), recipe_of(b)
        if len(xs) + len(ys) > _MOST_VALUES:
            raise refusal(a if type(a) is Text else b, "a choice among texts of many values")
        self.like = (*xs, *ys)
        self.recipe = Made(either, (Slot(PYTHON, np.dtype(bool), 0), p, q))
        self.rows = [add(x.read(), _zeros(x), x.aval.dtype) for x in xs]
        self.rows += [add(_zeros(y), y.read(), y.aval.dtype) for y in ys]

    def rebuilt(self) -> Any:
        """The text, once the program has chosen."""
        return concatenated((self.before, self._chosen()))

    def _chosen(self) -> Text:
        if self.options is not None:
            return of_index(self.rows[0](), self.options)
        values = [box(self.pred, weak=True)]
        for row, x in zip(self.rows, self.like, strict=True):
            values.append(box(row(), x.weak))
            values[-1].scalar = x.scalar
        return Text(self.recipe, values)


def can_choose(a: Any, b: Any) -> bool:
    """Whether both are text, of which a program can choose one that is none of them as they are."""
    if not (is_text(a) and is_text(b)) or (type(a) is Text and type(b) is Text and a.recipe == b.recipe):
        return False
    if type(a) is str and type(b) is str and a == b:
        return False
    return all(aval_of(x.read()).is_static for t in (a, b) if type(t) is Text for x in t.values)


def _zeros(x: Box) -> Any:
    """What stands for a value of the text that is not chosen."""
    return np.zeros(x.aval.shape, x.aval.dtype)[()]
