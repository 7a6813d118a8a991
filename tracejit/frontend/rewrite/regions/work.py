"""A guess of how long Python takes for some statements, from the lengths that are known before they run.

It decides whether statements that run once are worth compiling before they do; what runs again is measured.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tracejit.frontend.rewrite.source.names import walk

#: Seconds for a node of an expression, and for an element of an array in an operation.
_NODE, _ELEMENT = 2e-8, 5e-10
#: Steps of loops of which nothing is known.
_STEPS = 5


def seconds(stmts: Iterable[ast.stmt], names: Mapping[str, Any]) -> float:
    """What Python may take for `stmts` where names have these values: a lower bound rather than a mean."""
    return sum(_statement(s, names) for s in stmts)


def _statement(s: ast.stmt, names: Mapping[str, Any]) -> float:
    if isinstance(s, ast.For):
        return _expression([s.iter], names) + _steps(s.iter, names) * (_NODE + seconds(s.body, names))
    if isinstance(s, ast.While):
        return _STEPS * (_expression([s.test], names) + seconds(s.body, names))
    if isinstance(s, ast.If):
        branches = (seconds(s.body, names), seconds(s.orelse, names))
        return _expression([s.test], names) + sum(branches) / 2
    return _expression([s], names)


def _expression(nodes: list[Any], names: Mapping[str, Any]) -> float:
    found = list(walk(nodes))
    count = sum(isinstance(n, (ast.Name, ast.BinOp, ast.Call, ast.Subscript, ast.Compare)) for n in found)
    arrays = [x for n in found if isinstance(n, ast.Name) and isinstance(x := names.get(n.id), np.ndarray)]
    operations = sum(isinstance(n, (ast.BinOp, ast.Call)) for n in found)
    if any(isinstance(n, ast.Subscript) for n in found):  # perhaps an element only
        arrays = []
    steps = [_steps(g.iter, names) for n in found if isinstance(n, ast.ListComp) for g in n.generators]
    return count * _NODE * max(steps, default=1) + operations * _ELEMENT * max(
        (a.size for a in arrays), default=0
    )


def _steps(iterable: ast.expr, names: Mapping[str, Any]) -> float:
    """How many steps a loop over `iterable` has."""
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
        values = [_number(a, names) for a in iterable.args]
        if iterable.func.id == "range" and values and None not in values:
            start = values[0] if len(values) > 1 else 0
            stop = values[1] if len(values) > 1 else values[0]
            step = values[2] if len(values) > 2 else 1
            return max((stop - start) / step, 0) if step else 0
        if iterable.func.id in ("enumerate", "zip", "reversed") and iterable.args:
            return _steps(iterable.args[0], names)
    if isinstance(iterable, ast.Name):
        return _length(names.get(iterable.id), _STEPS)
    return _STEPS


def _length(x: Any, otherwise: Any) -> Any:
    if type(x) is np.ndarray:
        return len(x) if x.ndim else otherwise
    return len(x) if type(x) in (list, tuple, dict, str, range) else otherwise


def _number(e: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of an expression of known integers; None if it is none."""
    if isinstance(e, ast.Constant):
        return e.value if type(e.value) is int else None
    if isinstance(e, ast.Name):
        x = names.get(e.id)
        return int(x) if type(x) is int or isinstance(x, np.integer) else None
    if isinstance(e, ast.BinOp):
        a, b = _number(e.left, names), _number(e.right, names)
        return None if a is None or b is None else _combined(e.op, a, b)
    if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
        a = _number(e.operand, names)
        return None if a is None else -a
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "len" and len(e.args) == 1:
        return _length(names.get(e.args[0].id), None) if isinstance(e.args[0], ast.Name) else None
    return _size(e, names)


def _size(e: ast.expr, names: Mapping[str, Any]) -> Any:
    """`x.size`, `x.shape[0]`."""
    attribute = e.value if isinstance(e, ast.Subscript) else e
    if not isinstance(attribute, ast.Attribute) or not isinstance(attribute.value, ast.Name):
        return None
    x = names.get(attribute.value.id)
    if type(x) is not np.ndarray:
        return None
    if attribute.attr == "size" and attribute is e:
        return x.size
    if attribute.attr == "shape" and isinstance(e, ast.Subscript):
        n = _number(e.slice, {})
        return x.shape[n] if n is not None and -x.ndim <= n < x.ndim else None
    return None


def _combined(op: ast.operator, a: int, b: int) -> Any:
    if isinstance(op, ast.Add):
        return a + b
    if isinstance(op, ast.Sub):
        return a - b
    if isinstance(op, ast.Mult):
        return a * b
    if isinstance(op, (ast.FloorDiv, ast.Mod)) and b:
        return a // b if isinstance(op, ast.FloorDiv) else a % b
    return None
