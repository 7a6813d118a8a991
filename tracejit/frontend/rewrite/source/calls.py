"""What is known of calls by their source: which may be of builtins or conversions, and what they may update."""

from __future__ import annotations

import ast
import builtins
from typing import Any

import numpy as np

from tracejit.frontend.rewrite.source.names import walk

#: Builtins that calls of traced values need a form of.
BUILTINS = frozenset(
    {"int", "float", "bool", "complex", "abs", "len", "round", "sum", "any", "all", "divmod", "pow", "sorted"}
    | {"range", "enumerate", "zip", "reversed", "map", "str", "repr", "format"}
    | {"hex", "oct", "bin", "chr", "ascii", "list", "set", "frozenset", "dict", "bytes", "bytearray"}
)


def written(body: list[Any]) -> set[str]:
    """Names of what may be updated in place: by assignment to a part, `+=`, a method, as an argument."""
    found: set[str] = set()
    for n in walk(body):
        if isinstance(n, (ast.Subscript, ast.Attribute)) and not isinstance(n.ctx, ast.Load):
            found |= _roots(n)
        elif isinstance(n, ast.AugAssign):
            found |= _roots(n.target)
        elif isinstance(n, ast.Call):
            found |= _given(n)
    return found


def may_convert(call: ast.Call) -> bool:
    """Whether what is called may be one of NumPy's scalar types: `np.float32(x)`, `DTYPE(x)`; or a class of the user's
    by its name; or is `object.__setattr__`."""
    f = call.func
    if isinstance(f, ast.Attribute) and f.attr in _OF_OBJECT and isinstance(f.value, ast.Name):
        return f.value.id in ("object", "type")
    if (f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")) in _CLASSES:
        return True
    if isinstance(f, ast.Name):
        return not hasattr(builtins, f.id)
    if len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        return False
    if isinstance(f, ast.Attribute):
        return f.attr in _TYPES
    return isinstance(f, ast.Subscript)


_OF_OBJECT = frozenset({"__setattr__", "__delattr__", "__getattribute__"})
#: Classes of libraries that traced values are not simply given to.
_CLASSES = frozenset(
    {"Fraction", "OSError", "IOError", "EnvironmentError", "timedelta64", "datetime64", "dtype"}
)
#: Names of NumPy's scalar types, and of attributes that have one.
_TYPES = frozenset(n for n, x in vars(np).items() if isinstance(x, type) and issubclass(x, np.generic))
_TYPES |= {"type", "dtype", "scalar_type"}


def _given(call: ast.Call) -> set[str]:
    """What a call may update: `out=`, arguments of users' functions, the owner of a method."""
    f = call.func
    if isinstance(f, ast.Call) and isinstance(f.func, ast.Attribute) and f.func.attr == "callee":
        f = f.args[0]  # of a hook
    outs = [k.value for k in call.keywords if k.arg in ("out", None)]
    if isinstance(f, ast.Name):
        outs += [] if f.id in BUILTINS else [*call.args, *(k.value for k in call.keywords)]
    elif isinstance(f, ast.Attribute) and f.attr in _UPDATING:
        outs += [f.value, *call.args[:1]]
    return {name for e in outs for name in _roots(e)}


_UPDATING = frozenset(
    {"fill", "sort", "put", "partition", "resize", "itemset"}
    | {"at", "copyto", "put_along_axis", "fill_diagonal", "place", "putmask"}
)


def _roots(e: ast.expr) -> set[str]:
    """The name that `a[i].b[j]` begins with, and so on for what a tuple holds."""
    while isinstance(e, (ast.Subscript, ast.Attribute, ast.Starred)):
        e = e.value
    if isinstance(e, (ast.Tuple, ast.List)):
        return {name for x in e.elts for name in _roots(x)}
    return {e.id} if isinstance(e, ast.Name) else set()
