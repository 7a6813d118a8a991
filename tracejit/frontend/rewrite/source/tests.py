"""Conditions, of which nothing is asked but whether they are true: `and` and `or` in them need no value of one type.

while queue and time < end:        `queue` is a list, and the other operand a truth value
"""

from __future__ import annotations

import ast
from typing import Any

#: What assigns a name.
_ASSIGNING = (ast.Assign, ast.AnnAssign, ast.NamedExpr)
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


def note_none(node: Any) -> None:
    """Marks the comparisons with `None` of names to which the function assigns `None`, and so probably something else,
    too, and of items of lists: which it is may depend on conditions (`may_be_none`)."""
    found: set[str] = set()
    for n in ast.walk(node):
        if isinstance(n, (ast.For, ast.comprehension)):
            found |= {t.id for t in ast.walk(n.target) if isinstance(t, ast.Name)}
        if isinstance(n, _ASSIGNING) and n.value is not None:
            targets = n.targets if isinstance(n, ast.Assign) else [n.target]
            for target in targets:
                both = isinstance(target, ast.Tuple) and isinstance(n.value, ast.Tuple)
                pairs = zip(target.elts, n.value.elts, strict=False) if both else [(target, n.value)]  # type: ignore[attr-defined]
                found |= {t.id for t, v in pairs if isinstance(t, ast.Name) and is_none(v)}
    for n in ast.walk(node):
        if isinstance(n, ast.Compare):
            of_name = isinstance(n.left, ast.Name) and n.left.id in found
            n.tj_may_be_none = of_name or isinstance(n.left, ast.Subscript)  # type: ignore[attr-defined]


def may_be_none(e: ast.Compare) -> bool:
    """Whether a comparison with `None` may depend on conditions."""
    return getattr(e, "tj_may_be_none", False)


def is_none(e: ast.expr) -> bool:
    """Whether it is the constant `None`."""
    return isinstance(e, ast.Constant) and e.value is None
