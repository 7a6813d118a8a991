"""Targets of comprehensions as parameters of functions."""

from __future__ import annotations

import ast
from typing import Any


def is_plain(target: ast.expr) -> bool:
    """Whether a target consists of names and tuples of them."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(is_plain, target.elts))
    return isinstance(target, ast.Name)


def taking(target: Any, body: ast.expr) -> ast.Lambda:
    """`lambda target: body`, where the target may be a tuple."""
    return _taking(target, body, set())


def _taking(target: Any, body: ast.expr, later: set[str]) -> ast.Lambda:
    """Names that `later` parts of the target bind again, as `_` in `(x, _, _)`, are not bound here."""
    if isinstance(target, ast.Name):
        return _function([_parameter(target, later)], body)
    parts, inner = [], body
    for t in reversed(target.elts):
        parts.append(_parameter(t, later))
        if not isinstance(t, ast.Name):
            inner = ast.Call(_taking(t, inner, later), [ast.Name(parts[-1], ast.Load())], [])
    item = ast.Starred(ast.Name("_tj_item", ast.Load()), ast.Load())
    return _function(["_tj_item"], ast.Call(_function(parts[::-1], inner), [item], []))


def _parameter(target: Any, later: set[str]) -> str:
    """The name that takes a target: its own, or one that no other has."""
    if isinstance(target, ast.Name) and target.id not in later:
        later.add(target.id)
        return target.id
    return f"_tj_{target.lineno}_{target.col_offset}"


def _function(names: list[str], body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], list(map(ast.arg, names)), None, [], [], None, []), body)
