"""Lists that a loop does nothing with but append to them, and read their last items."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

Path = tuple[str, str | None]


def appended(body: Iterable[ast.AST]) -> tuple[tuple[str, str | None, int], ...]:
    """(name, key, depth) of lists `name` or `name[key]` of which `body` uses nothing but `.append(x)`, `+= [x]` and
    the last `depth` items, `name[-1]`."""
    uses = _Uses()
    for s in body:
        uses.visit(s)
    kept = {path: depth for path, depth in uses.depths.items() if path[0] not in uses.others}
    return tuple(
        (name, key, depth)
        for (name, key), depth in sorted(kept.items(), key=str)
        if (name, key) in uses.appended
    )


class _Uses(ast.NodeVisitor):
    """`others`: names that are used otherwise too."""

    def __init__(self) -> None:
        self.appended: set[Path] = set()
        self.depths: dict[Path, int] = {}
        self.others: set[str] = set()

    def visit_Expr(self, s: ast.Expr) -> None:
        call = s.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append":
            path = _path(call.func.value)
            if path is not None and len(call.args) == 1 and not call.keywords:
                self.appended.add(path)
                self.depths.setdefault(path, 0)
                self.visit(call.args[0])
                return
        self.generic_visit(s)

    def visit_AugAssign(self, s: ast.AugAssign) -> None:
        """`xs += [x, y]`."""
        path = _path(s.target)
        new = s.value.elts if isinstance(s.value, ast.List) else []
        if (
            path is None
            or not new
            or not isinstance(s.op, ast.Add)
            or any(isinstance(e, ast.Starred) for e in new)
        ):
            self.generic_visit(s)
            return
        self.appended.add(path)
        self.depths.setdefault(path, 0)
        for e in new:
            self.visit(e)

    def visit_Subscript(self, e: ast.Subscript) -> None:
        path, depth = _path(e.value), _from_end(e.slice)
        if path is None or not depth or not isinstance(e.ctx, ast.Load):
            self.generic_visit(e)
            return
        self.depths[path] = max(depth, self.depths.get(path, 0))

    def visit_Name(self, e: ast.Name) -> None:
        self.others.add(e.id)


def _path(e: Any) -> Path | None:
    """`name` or `name['key']`."""
    if isinstance(e, ast.Name):
        return e.id, None
    if isinstance(e, ast.Subscript) and isinstance(e.value, ast.Name) and isinstance(e.slice, ast.Constant):
        return (e.value.id, e.slice.value) if type(e.slice.value) is str else None
    return None


def _from_end(e: ast.expr) -> int:
    """n of the index -n, else 0."""
    if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub) and isinstance(e.operand, ast.Constant):
        return e.operand.value if type(e.operand.value) is int else 0
    return 0
