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

    plain: set[str]  # names of the function's own that no other function has

    def visit_BinOp(self, e: ast.BinOp) -> Any:
        name = _READING.get(type(e.op))
        if name is None or _has_text(e) or not (_grows(e.left) or (name == "and_" and _grows(e.right))):
            return super().visit_BinOp(e)
        self.changes += 1
        return at(hook("low_bits", self._part(e.left), self._part(e.right), ast.Constant(name)), e)

    def masked(self, rest: list[Any]) -> list[Any] | None:
        """`h *= p` and `h &= m`, the last two of `rest`, which are taken from there: the number in between is nobody
        else's. None for other statements."""
        s: Any = rest[-1]
        reading: Any = rest[-2] if len(rest) > 1 else None
        name = _changed(s)
        if name is None or name not in self.plain or _changed(reading) != name or not _grows_by(s):
            return None
        if type(reading.op) not in _READING or not _is_known(reading.value) or _has_text(s.value):
            return None
        self.changes += 1
        value = self.visit(s.value) if isinstance(s.op, ast.LShift) else self._part(s.value)
        read = ast.Name(name, ast.Load())
        hooks = (
            hook("modular_in", ast.Constant((_GROWING | _BITS)[type(s.op)]), read, value),
            hook("low_bits_in", read, reading.value, ast.Constant(_READING[type(reading.op)])),
        )
        del rest[-2:]
        store = ast.Name(name, ast.Store())
        return [at(ast.Assign([store], x), y) for x, y in zip(hooks, (s, reading), strict=True)]

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


def _changed(s: Any) -> str | None:
    return s.target.id if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name) else None


def _grows_by(s: Any) -> bool:
    """Whether a name may be longer after `h *= p` or `x ^= x << 13`."""
    return type(s.op) in _GROWING or (type(s.op) in _BITS and _grows(s.value))


def _is_known(e: ast.expr) -> bool:
    """A number in the source, or an expression of such."""
    return all(
        isinstance(n, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)) for n in ast.walk(e)
    )


def _has_text(e: ast.expr) -> bool:
    return any(
        isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str))
        for n in ast.walk(e)
    )
