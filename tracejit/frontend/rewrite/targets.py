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
    if isinstance(target, ast.Name):
        return ast.Lambda(ast.arguments([], [ast.arg(target.id)], None, [], [], None, []), body)
    item, parts = ast.Name("_tj_item", ast.Load()), [ast.arg(f"_tj_{n}") for n in range(len(target.elts))]
    inner: ast.expr = body
    for part, t in zip(parts, target.elts, strict=True):
        if isinstance(t, ast.Name):
            part.arg = t.id
        else:
            inner = ast.Call(taking(t, inner), [ast.Name(part.arg, ast.Load())], [])
    takes = ast.Lambda(ast.arguments([], parts, None, [], [], None, []), inner)
    call = ast.Call(takes, [ast.Starred(item, ast.Load())], [])
    return ast.Lambda(ast.arguments([], [ast.arg("_tj_item")], None, [], [], None, []), call)
