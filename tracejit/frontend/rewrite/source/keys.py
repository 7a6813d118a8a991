"""What a function's source uses as keys of dicts and items of sets, as calls of hooks."""

from __future__ import annotations

import ast
from typing import Any

from tracejit.frontend.rewrite.source.escapes import at
from tracejit.frontend.rewrite.source.sized import Modular
from tracejit.frontend.rewrite.source.texts import hook


class Keys(Modular):
    """Rewrites keys: what holds them is asked by a hook, and so are keys that are written out."""

    def visit_Subscript(self, subscript: ast.Subscript) -> Any:
        """`a[k]`, read, written and deleted, where `a` may be a dict."""
        e: Any = self.generic_visit(subscript)
        if _is_no_key(e.slice):
            return e
        self.changes += 1
        e.value = at(hook("place", e.value), e.value)
        return e

    def visit_Dict(self, display: ast.Dict) -> Any:
        e: Any = self.generic_visit(display)
        e.keys = [k if k is None else self._key(k) for k in e.keys]
        return e

    def visit_Set(self, display: ast.Set) -> Any:
        e: Any = self.generic_visit(display)
        e.elts = [x if isinstance(x, ast.Starred) else self._key(x) for x in e.elts]
        return e

    def visit_DictComp(self, comp: ast.DictComp) -> Any:
        e: Any = self.generic_visit(comp)
        e.key = self._key(e.key)
        return e

    def visit_SetComp(self, comp: ast.SetComp) -> Any:
        e: Any = self.generic_visit(comp)
        e.elt = self._key(e.elt)
        return e

    def _key(self, e: ast.expr) -> ast.expr:
        if isinstance(e, ast.Constant):
            return e
        self.changes += 1
        return at(hook("key", e), e)


def _is_no_key(index: ast.expr) -> bool:
    """Whether it is a constant, which is known, or parts of an array or list."""
    if isinstance(index, ast.Tuple):
        return any(isinstance(x, ast.Slice) for x in index.elts) or all(map(_is_no_key, index.elts))
    if isinstance(index, ast.UnaryOp):
        return _is_no_key(index.operand)
    return isinstance(index, (ast.Constant, ast.Slice))
