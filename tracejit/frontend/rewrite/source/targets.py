"""Targets of comprehensions as parameters of functions."""

from __future__ import annotations

import ast
from typing import Any


def is_plain(target: ast.expr) -> bool:
    """Whether a target consists of names and tuples of them."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(is_plain, target.elts))
    return isinstance(target, ast.Name)


#: Functions that have called what they are given, or taken all of it, when they return.
_TAKE_ALL = frozenset(
    {
        "all",
        "any",
        "dict",
        "frozenset",
        "list",
        "max",
        "min",
        "set",
        "sorted",
        "sum",
        "tuple",
        "join",
        "fsum",
        "prod",
    }
)


def sees_later(comp: ast.ListComp) -> bool:
    """Whether a function or iterator that is made in a comprehension, and may be used after the step, reads its
    targets: it would find what they are then, not the items of its step."""
    targets = {n.id for g in comp.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    nodes = [n for part in (comp.elt, *comp.generators[0].ifs) for n in ast.walk(part)]
    at_once = {id(a) for n in nodes if isinstance(n, ast.Call) and _name(n.func) in _TAKE_ALL for a in n.args}
    later = [n for n in nodes if isinstance(n, (ast.Lambda, ast.GeneratorExp)) and id(n) not in at_once]
    return any(isinstance(x, ast.Name) and x.id in targets for n in later for x in ast.walk(n))


def _name(function: ast.expr) -> str:
    """The last part of the name by which a function is called."""
    return getattr(function, "attr", getattr(function, "id", ""))


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
