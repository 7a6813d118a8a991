"""What a function's source uses as keys of dicts and items of sets, as calls of hooks."""

from __future__ import annotations

import ast
from typing import Any

from tracejit.frontend.rewrite.source.escapes import at
from tracejit.frontend.rewrite.source.texts import Texts, hook

#: Methods of containers of which the first argument is a key, or an item that is looked for.
_BY_KEY = frozenset(("add", "get", "setdefault", "pop", "discard", "remove", "index", "count"))


class Keys(Texts):
    """Rewrites keys: what holds them is asked by a hook, and so are keys that are written out. And other tuples that
    are written out. `left`: by identity, those that stay as they are."""

    left: dict[int, ast.Tuple]

    def leave_keys(self, call: ast.Call) -> None:
        """`seen.add((i, j))`"""
        if isinstance(call.func, ast.Attribute) and call.func.attr in _BY_KEY:
            self._leave(*call.args[:1])

    def visit_Subscript(self, subscript: ast.Subscript) -> Any:
        """`a[k]`, read, written and deleted, where `a` may be a dict."""
        self._leave(subscript.slice)
        e: Any = self.generic_visit(subscript)
        if _is_no_key(e.slice):
            return e
        self.changes += 1
        e.value = at(hook("place", e.value), e.value)
        return e

    def visit_Tuple(self, display: ast.Tuple) -> Any:
        """A tuple that is written out has a number where that matters, but for keys."""
        e: Any = self.generic_visit(display)
        if not isinstance(display.ctx, ast.Load) or not e.elts or id(display) in self.left:
            return e
        return at(hook("numbered", e), display)

    def _leave(self, *displays: Any) -> None:
        """Tuples that are written out here need no numbers: nobody sees which they are."""
        for x in displays:
            if isinstance(x, ast.Tuple):
                self.left[id(x)] = x

    def visit_Assign(self, s: ast.Assign) -> Any:
        """`a, b = b, a`"""
        if all(isinstance(t, (ast.Tuple, ast.List)) for t in s.targets):
            self._leave(s.value)
        return self.generic_visit(s)

    def visit_Dict(self, display: ast.Dict) -> Any:
        self._leave(*display.keys)
        e: Any = self.generic_visit(display)
        e.keys = [k if k is None else self._key(k) for k in e.keys]
        return e

    def visit_Set(self, display: ast.Set) -> Any:
        self._leave(*display.elts)
        e: Any = self.generic_visit(display)
        e.elts = [x if isinstance(x, ast.Starred) else self._key(x) for x in e.elts]
        return e

    def visit_DictComp(self, comp: ast.DictComp) -> Any:
        self._leave(comp.key)
        e: Any = self.generic_visit(comp)
        e.key = self._key(e.key)
        return e

    def visit_SetComp(self, comp: ast.SetComp) -> Any:
        self._leave(comp.elt)
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
