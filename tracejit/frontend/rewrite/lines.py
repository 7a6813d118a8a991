"""What Python says of an expression of the user's that has failed with what stands for traced values.

    try:
        n = len(x)              # a number: what stands for it has a length, or says something else
    except TypeError as e:
        return str(e)

The expression is computed again, by Python itself, with arrays and numbers like those that are traced: zeros, ones, and
others. That is done where it is made of names, constants and functions that only compute, and taken where Python says
the same each time, so that values have no part in it.
"""

from __future__ import annotations

import ast
import dis
import linecache
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import is_internal, refusals
from tracejit.frontend.impure import impure_origin
from tracejit.frontend.origins import is_library_file, is_library_function, is_of_library
from tracejit.frontend.rewrite.hooks.said import UnlikeError, like
from tracejit.frontend.rewrite.source.code import quiet
from tracejit.frontend.shadows.scopes import GuardedGlobals
from tracejit.tracing import Box

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_VALUES = (*_PLAIN, np.ndarray, list, tuple)
_NODES = (
    *(
        ast.Expression,
        ast.Name,
        ast.Load,
        ast.Constant,
        ast.Attribute,
        ast.Subscript,
        ast.Slice,
        ast.Tuple,
        ast.List,
    ),
    *(
        ast.UnaryOp,
        ast.unaryop,
        ast.BinOp,
        ast.operator,
        ast.Compare,
        ast.cmpop,
        ast.Call,
        ast.keyword,
        ast.Starred,
    ),
)
_STORES = {"STORE_ATTR": setattr, "DELETE_ATTR": delattr, "STORE_SUBSCR": None, "DELETE_SUBSCR": None}
#: Longer expressions are not computed again.
_LONGEST = 500


def by_line(error: BaseException) -> BaseException | None:
    """Python's exception in the place of `error`; None where that is not known."""
    found = _place(error)
    if found is None:
        return None
    frame, opname, text = found
    try:
        with refusals.into(None), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            said = [_computed(frame, opname, text, made) for made in (np.zeros, np.ones, _sevens)]
    except (UnlikeError, SyntaxError, RecursionError):
        return None
    first = said[0]
    if first is None or any((type(e), str(e)) != (type(first), str(first)) for e in said):
        return None
    return None if " at 0x" in str(first) or isinstance(first, Warning) else first


def _sevens(shape: Any, dtype: Any = float) -> np.ndarray:
    return np.full(shape, 7).astype(dtype)


def _place(error: BaseException) -> tuple[types.FrameType, str, str] | None:
    """The user's frame that has called what raised `error`, the instruction, and the text of its expression."""
    last, at = None, error.__traceback__
    while at is not None:
        name = at.tb_frame.f_code.co_filename
        if not is_internal(name) and not is_library_file(name):
            last = at
        at = at.tb_next
    if last is None:
        return None
    code, n = last.tb_frame.f_code, last.tb_lasti // 2
    line, end, left, right = list(code.co_positions())[n] if n >= 0 else (None,) * 4
    if line is None or end != line or left is None or right is None:
        return None
    text = linecache.getline(code.co_filename, line).encode()[left:right].decode()
    steps = {i.offset: i.opname for i in dis.get_instructions(code)}
    return (last.tb_frame, steps.get(last.tb_lasti, ""), text) if 0 < len(text) < _LONGEST else None


def _computed(frame: types.FrameType, opname: str, text: str, made: Callable[..., Any]) -> Exception | None:
    """What Python raises for the expression with arrays and numbers that are `made`."""
    expression: Any = ast.parse(text.strip(), mode="eval")
    if not all(isinstance(n, _NODES) for n in ast.walk(expression)):
        raise UnlikeError
    names = _Names(frame, made)
    try:
        if opname in _STORES:
            _store(expression.body, opname, names)
        else:
            names.value(expression.body)
    except UnlikeError:
        raise
    except Exception as e:
        e.__context__ = e.__traceback__ = None
        return e
    return None


def _store(target: Any, opname: str, names: _Names) -> None:
    """An assignment to `target`, or its deletion."""
    value = names.value(target.value)
    new = names.made(())[()] if opname.startswith("STORE") else None
    if isinstance(target, ast.Attribute):
        delattr(value, target.attr) if opname == "DELETE_ATTR" else setattr(value, target.attr, new)
    elif isinstance(target, ast.Subscript):
        key = names.value(target.slice)
        if opname == "DELETE_SUBSCR":
            del value[key]
        else:
            value[key] = new
    else:
        raise UnlikeError


#: Functions in C import what their messages need by the builtins of the code that calls them.
_IMPORTS = {"__import__": __import__}


class _Names:
    """Computes expressions with what names are in a frame."""

    def __init__(self, frame: types.FrameType, made: Callable[..., Any]) -> None:
        self.frame, self.made = frame, made
        held: Any = frame.f_globals
        self.globals: dict[str, Any] = held.real if isinstance(held, GuardedGlobals) else held

    def value(self, e: Any) -> Any:
        """The value of an expression. Raises UnlikeError where a part of it may do more than compute."""
        for n in ast.walk(e):
            if isinstance(n, ast.Call):
                f = self.value(n.func)
                is_value = isinstance(f, _VALUES)  # which can't be called, as Python says
                if not is_value and not self._is_harmless(f):
                    raise UnlikeError
        names = {n.id for n in ast.walk(e) if isinstance(n, ast.Name)}
        with quiet("<what failed>"):
            code = compile(ast.Expression(e), "<what failed>", "eval")
        return eval(code, {"__builtins__": _IMPORTS}, {n: self._name(n) for n in names})

    def _name(self, name: str) -> Any:
        held = self.frame.f_locals
        if name in held:
            return self._like(held[name])
        builtins: Any = self.globals.get("__builtins__", {})
        builtins = builtins if isinstance(builtins, dict) else vars(builtins)
        found = self.globals.get(name, builtins.get(name, self))
        if isinstance(found, types.ModuleType) or self._is_harmless(found):
            return found
        if not isinstance(found, _PLAIN):
            raise UnlikeError  # the run may have changed it, of which the real one knows nothing
        return self._like(found)

    def _like(self, x: Any) -> Any:
        if type(x) in (tuple, list):
            return type(x)(map(self._like, x))
        if type(x) is Box or isinstance(x, _PLAIN):
            return like(x, self.made)
        raise UnlikeError

    def _is_harmless(self, f: Any) -> bool:
        """Whether a function only computes, and is not the user's."""
        of_value = isinstance(getattr(f, "__self__", self), _VALUES)
        is_class = isinstance(f, type) and f.__module__ in ("builtins", "numpy")
        known = of_value or is_class or isinstance(f, (types.BuiltinFunctionType, np.ufunc, type(np.sum)))
        in_python = isinstance(f, types.FunctionType)
        known = known or (in_python and (is_library_function(f) or is_of_library(f)))
        return known and impure_origin(f) is None
