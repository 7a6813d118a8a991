"""Arithmetic in functions that Numba compiled, as calls of hooks that look at what Python's integers become."""

from __future__ import annotations

import ast
from typing import Any

from tracejit.frontend.rewrite.source.escapes import at
from tracejit.frontend.rewrite.source.texts import hook

_OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Pow: "pow",
    ast.LShift: "lshift",
}


class Sized(ast.NodeTransformer):
    """Rewrites arithmetic by which an integer may grow; `changes` counts what was rewritten."""

    changes = 0

    def visit_BinOp(self, binop: ast.BinOp) -> Any:
        e: Any = self.generic_visit(binop)
        name = _OPERATORS.get(type(e.op))
        if name is None:
            return e
        self.changes += 1
        return at(hook("sized", ast.Constant(name), e.left, e.right), e)

    def visit_AugAssign(self, s: ast.AugAssign) -> Any:
        """`s += x` of a name, which may be an array: `x` is what is added, after a look at the sum."""
        self.generic_visit(s)
        name = _OPERATORS.get(type(s.op))
        if name is not None and isinstance(s.target, ast.Name):
            self.changes += 1
            read = ast.Name(s.target.id, ast.Load())
            s.value = at(hook("added", ast.Constant(name), read, s.value), s.value)
        return s
