"""Functions of Numba's that are left to it: they have no Python function that says what they do, or one that says
something else. They are refused where they are called, so that Python calls Numba's compiled code."""

from __future__ import annotations

import random
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows.functions import codes_in
from tracejit.numpy.operands import has_box

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_DRAWS = "Numba draws from a random state of its own, not from that of NumPy or Python"
_NO_PYTHON = "it has no Python function"


def why(value: Any) -> str | None:
    """Why a function of Numba's is left to it; None if it can be followed."""
    if type(value).__name__ == "_Intrinsic":
        return _NO_PYTHON
    fn = _python(value)
    return _DRAWS if isinstance(fn, types.FunctionType) and _draws(fn) else None


def _python(value: Any) -> Any:
    """The Python function behind a dispatcher, a ufunc, a generalized ufunc or a stencil."""
    for path in ("py_func", "_dispatcher.py_func", "gufunc_builder.py_func", "kernel_ir.func_id.func"):
        x = value
        for name in path.split("."):
            x = getattr(x, name, None)
        if x is not None:
            return x
    return None


def _draws(fn: types.FunctionType) -> bool:
    """Whether a function names one of the random states that a module has."""
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    held = {name: x for name, cell in cells if (x := _contents(cell)) is not None}
    for code in codes_in(fn.__code__):
        for name in (*code.co_names, *code.co_freevars):
            x = held.get(name, fn.__globals__.get(name))
            if x is random or (x is not None and x is sys.modules.get("numpy.random")):
                return True
            if x is np and "random" in code.co_names:
                return True
            if isinstance(x, (types.BuiltinMethodType, types.MethodType)):
                if isinstance(x.__self__, (random.Random, np.random.RandomState)):
                    return True
    return False


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def wrap_left(session: Run, node: Node, value: Any, reason: str) -> Any:
    """What stands for such a function: it is called where nothing is traced, and refused elsewhere."""
    name = f"`{getattr(value, '__name__', None) or node.text}`, which Numba compiled,"

    def left(*args: Any, **kwargs: Any) -> Any:
        if session.guarded or has_box(args) or has_box(kwargs.values()) or reason == _NO_PYTHON:
            raise UnfollowedError(what=name, reason=reason)
        return value(*args, **kwargs)

    return session.remember(value, left)
