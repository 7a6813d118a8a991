"""What a method of a generator is given: static arguments, and operands of the program."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.control.generators.draws import (
    ARRAY,
    NOTHING,
    PYTHON,
    SCALAR,
    Argument,
    Draw,
    Result,
    Static,
    signature_of,
)
from tracejit.control.generators.ops import draw_op
from tracejit.errors import UnfollowedError
from tracejit.frontend.drawing.sources import Source, is_drawing
from tracejit.frontend.shadows.refusing import held
from tracejit.interpreters.stage import bounds_of
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.boxes.unsure import is_unsure
from tracejit.tracing import Box, bind, box, new_array, wrap

#: Parameters on which the result's type depends.
_STATIC = frozenset(("size", "dtype", "axis", "k", "replace", "endpoint", "shuffle", "method", "check_valid"))
_SIZES = frozenset(("size", "axis", "k"))
_NUMBERS = (bool, int, float, complex, np.generic, str, bytes, type(None))


class Arguments:
    """Arguments by the names of parameters, and their operands in order."""

    def __init__(self, source: Source, method: str, given: dict[str, Any]) -> None:
        self.source = source
        self.method = method
        self.operands: list[Any] = []
        self.arguments = tuple([self._argument(name, x) for name, x in given.items()])

    def _argument(self, name: str, value: Any) -> Argument:
        leaves, structure = tree.flatten(value)
        return Argument(name, structure, tuple([self._leaf(name, x) for x in leaves]))

    def _leaf(self, name: str, x: Any) -> Any:
        if type(x) is Box:
            return self._box(name, x)
        if isinstance(x, np.ndarray):
            self.operands.append(x)
            return ARRAY
        x = held(x)
        if isinstance(x, (*_NUMBERS, range, np.dtype)):
            return Static.of(x)
        if isinstance(x, type):
            return Static.of(getattr(x, "type", x) if not issubclass(x, (object, np.generic)) else x)
        raise self.source.refuse(self.method, f"`{name}` is a {type(x).__name__}")

    def _box(self, name: str, x: Box) -> Any:
        if is_unsure(x) or not x.aval.is_static:
            raise self.source.refuse(self.method, f"the type of `{name}` depends on values")
        if name in _STATIC:
            index: Callable[[Any], Any] = (
                operator.index if name in _SIZES and not x.aval.shape else np.asarray
            )
            return Static.of(index(x))  # refused where it is not known, or the argument is made static
        raw = x.read()
        if x.aval.dtype.kind == "c":
            raise UnfollowedError(what="a draw by a complex number", reason="generators raise for most")
        kind = PYTHON if x.weak is True and not x.aval.shape else SCALAR if x.scalar else ARRAY
        if not isinstance(raw, Value) and not x.aval.shape and kind != ARRAY:
            return Static.of(np.asarray(raw).item() if kind == PYTHON else np.asarray(raw)[()])
        self.operands.append(raw)
        return kind

    def draw(self, returns: str | None = None, checked: bool = False) -> Draw:
        return Draw(self.source.classes, self.method, self.arguments, returns, checked)

    def dry(self, draw: Draw) -> Result:
        """The type of what is drawn."""
        return draw.dry([aval_of(x) if isinstance(x, Value) else x for x in self.operands])


def bound(source: Source, method: str, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of its parameters; those with their usual values are left out."""
    try:
        found: inspect.BoundArguments = signature_of(source.classes.generator, method).bind(*args, **kwargs)
    except TypeError as e:
        raise source.refuse(method, str(e)) from None
    if any(is_drawing(x) for x in (*args, *kwargs.values())):
        raise source.refuse(method, "it is given a generator")
    return found.arguments


def drawn(
    source: Source,
    method: str,
    given: dict[str, Any],
    returns: str | None = None,
    checked: bool = False,
    range: Any = None,
) -> Any:
    """What a method draws, as traced code sees it."""
    handle = source.handle()
    arguments = Arguments(source, method, given)
    draw = arguments.draw(returns, checked)
    result = arguments.dry(draw)
    raw = bind(draw_op, handle, *arguments.operands, draw=draw, result=result, range=range)
    return as_seen(raw, result)


def type_of(source: Source, method: str, given: dict[str, Any]) -> Result:
    """The type of what a method draws."""
    arguments = Arguments(source, method, given)
    return arguments.dry(arguments.draw())


def as_seen(raw: Any, result: Result) -> Any:
    """What is drawn, as Python sees it."""
    if result.kind == NOTHING:
        return None
    if result.kind == PYTHON:
        return box(raw, weak=True)
    if result.kind is list:
        whole = wrap(raw)
        return [box(whole[n].read(), weak=True) for n in np.arange(result.aval.shape[0]).tolist()]
    return box(raw) if result.kind == SCALAR else new_array(raw)


def is_known(x: Any) -> bool:
    """Whether an argument is known while tracing."""
    return not any(type(leaf) is Box and isinstance(leaf.read(), Value) for leaf in tree.leaves(x))


def limits(x: Any) -> tuple[int, int] | None:
    """The range of an integer, if that is known."""
    if type(x) is Box:
        return bounds_of(x.read()) if not x.aval.shape else None
    return (int(x), int(x)) if isinstance(x, (int, np.integer)) else None
