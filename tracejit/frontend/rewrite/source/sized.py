"""Arithmetic of Python's integers as calls of hooks: sums, products and shifts of which only the low bits are read, as
in `(a * x + c) & 0xFFFFFFFF`; and in functions that Numba compiled, all of it."""

from __future__ import annotations

import ast
from typing import Any

from tracejit.frontend.rewrite.source.escapes import at
from tracejit.frontend.rewrite.source.texts import Texts, hook

_SIZED: dict[type, str] = {
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
        name = _SIZED.get(type(e.op))
        if name is None:
            return e
        self.changes += 1
        return at(hook("sized", ast.Constant(name), e.left, e.right), e)

    def visit_AugAssign(self, s: ast.AugAssign) -> Any:
        """`s += x` of a name, which may be an array: `x` is what is added, after a look at the sum."""
        self.generic_visit(s)
        name = _SIZED.get(type(s.op))
        if name is not None and isinstance(s.target, ast.Name):
            self.changes += 1
            read = ast.Name(s.target.id, ast.Load())
            s.value = at(hook("added", ast.Constant(name), read, s.value), s.value)
        return s


#: Operators whose low bits depend on those of their operands only; by the first ones, numbers grow.
_GROWING: dict[type, str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.LShift: "lshift"}
_BITS: dict[type, str] = {ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}
_SIGNS: dict[type, str] = {ast.USub: "neg", ast.Invert: "invert"}
_READING: dict[type, str] = {ast.BitAnd: "and_", ast.Mod: "mod"}


class Modular(Texts):
    """Rewrites `e & m` and `e % m` where `e` is such an expression, each operation in its place."""

    def visit_BinOp(self, e: ast.BinOp) -> Any:
        name = _READING.get(type(e.op))
        if name is None or _has_text(e) or not (_grows(e.left) or (name == "and_" and _grows(e.right))):
            return super().visit_BinOp(e)
        self.changes += 1
        return at(hook("low_bits", self._part(e.left), self._part(e.right), ast.Constant(name)), e)

    def _part(self, e: ast.expr) -> ast.expr:
        """An operand of which only the low bits are read."""
        if not _grows(e):
            return self.visit(e)
        if isinstance(e, ast.UnaryOp):
            return at(hook("modular", ast.Constant(_SIGNS[type(e.op)]), self._part(e.operand)), e)
        assert isinstance(e, ast.BinOp)
        name = ast.Constant((_GROWING | _BITS)[type(e.op)])
        right = self.visit(e.right) if isinstance(e.op, ast.LShift) else self._part(e.right)
        return at(hook("modular", name, self._part(e.left), right), e)


def _grows(e: ast.expr) -> bool:
    """Whether what `e` computes may be longer than its operands, and its low bits depend on theirs only."""
    if isinstance(e, ast.UnaryOp):
        return type(e.op) in _SIGNS and not isinstance(e.operand, ast.Constant)
    if not isinstance(e, ast.BinOp):
        return False
    return type(e.op) in _GROWING or (type(e.op) in _BITS and (_grows(e.left) or _grows(e.right)))


def _has_text(e: ast.expr) -> bool:
    return any(
        isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str))
        for n in ast.walk(e)
    )
