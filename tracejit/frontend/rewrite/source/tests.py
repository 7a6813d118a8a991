"""Conditions, of which nothing is asked but whether they are true: `and` and `or` in them need no value of one type.

while queue and time < end:        `queue` is a list, and the other operand a truth value
"""

from __future__ import annotations

import ast
from typing import Any

#: Kinds of nodes that have a condition.
_HOLDERS = (ast.If, ast.While, ast.IfExp, ast.Assert)


def marked(code: Any) -> Any:
    """Statements or an expression whose conditions are known as such (`name_of`)."""
    for part in code if isinstance(code, list) else [code]:
        for n in ast.walk(part):
            if isinstance(n, _HOLDERS):
                _mark(n.test)
            elif isinstance(n, ast.comprehension):
                for test in n.ifs:
                    _mark(test)
            elif isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not):
                _mark(n.operand)
    return code


def _mark(test: ast.expr) -> None:
    if isinstance(test, ast.BoolOp):
        test.tj_is_test = True  # type: ignore[attr-defined]
        for operand in test.values:
            _mark(operand)


def name_of(e: ast.BoolOp) -> str:
    """The hook that does what an `and` or `or` does."""
    both = isinstance(e.op, ast.And)
    if getattr(e, "tj_is_test", False):
        return "all_" if both else "any_"
    return "and_" if both else "or_"
