"""What a function's source makes text of, as calls of hooks: f-strings, `%`, `.format` and `.join`. And special
methods that it calls by name, such as `x.__len__()`."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from tracejit.frontend.rewrite.source.escapes import at

#: A constant of the rewritten code, in the place of which the hooks are put.
HOOKS = "tracejit: hooks"
#: Methods of strings that make text of what they are given.
_METHODS = frozenset({"format", "join", "ljust", "rjust", "center", "zfill"})
_MEMBERS = {
    n for t in (np.ndarray, np.generic, np.float64, np.int64, int, float, complex, bool) for n in dir(t)
}
#: Special members of arrays and numbers: those of what stands for them are others.
_SPECIAL = frozenset(n for n in _MEMBERS if n[:2] == "__") | {"__module__"}
#: Names that only objects and classes are asked for, mostly by `super()`.
_OF_OBJECTS = frozenset(
    {
        "__init__",
        "__new__",
        "__setattr__",
        "__delattr__",
        "__getattribute__",
        "__getattr__",
        "__init_subclass__",
    }
)
#: What a class says of its place among classes, where stand-ins have others around them.
OF_CLASSES = frozenset({"__mro__", "mro", "__bases__", "__base__", "__subclasses__"})
#: What functions and classes are called, which anyone may assign.
_NAMED = frozenset({"__name__", "__qualname__"})
#: Methods of dicts and sets whose first argument is a key.
BY_KEY = frozenset({"get", "setdefault", "pop", "add", "discard", "remove", "move_to_end"})
_HOOKED = _METHODS | (_SPECIAL - _OF_OBJECTS) | OF_CLASSES | _NAMED


def hook(name: str, *args: ast.expr) -> ast.Call:
    """The call of a hook."""
    return ast.Call(ast.Attribute(ast.Constant(HOOKS), name, ast.Load()), list(args), [])


class Texts(ast.NodeTransformer):
    """Rewrites what makes text; `changes` counts what was rewritten."""

    changes: int
    local: set[str]  # names of the function, of those around it and in it, and of comprehensions
    owner: str  # the class in which the function is defined
    unread: ast.Attribute | None = None  # what is called next, of whose result nobody reads anything

    def visit_JoinedStr(self, e: ast.JoinedStr) -> Any:
        self.changes += 1
        return at(hook("text", *(self._field(v, "field") for v in e.values)), e)

    def _field(self, e: Any, kind: str) -> Any:
        """One piece of an f-string, formatted before the next one is computed."""
        if not isinstance(e, ast.FormattedValue):
            return e
        parts = e.format_spec.values if isinstance(e.format_spec, ast.JoinedStr) else []
        inner = [self._field(v, "spec") for v in parts]
        spec = inner[0] if len(inner) == 1 and inner[0] in parts else hook("text", *inner)
        return at(
            hook(kind, self.visit(e.value), ast.Constant(e.conversion), spec if inner else ast.Constant("")),
            e,
        )

    def visit_BinOp(self, binop: ast.BinOp) -> Any:
        """`a % b`, where `a` may be a string; a string as often as a number says."""
        e: Any = self.generic_visit(binop)
        if isinstance(e.op, ast.Mult) and (_is_string(e.left) or _is_string(e.right)):
            self.changes += 1
            return at(hook("mul", e.left, e.right), e)
        if not isinstance(e.op, ast.Mod) or _is_number(e.left) or _is_number(e.right):
            return e
        self.changes += 1
        return at(hook("mod", e.left, e.right), e)

    def visit_Attribute(self, attribute: ast.Attribute) -> Any:
        e: Any = self.generic_visit(attribute)
        if not isinstance(e.ctx, ast.Load):
            return e
        if e.attr in _HOOKED:
            self.changes += 1
            return at(hook("method", e.value, ast.Constant(e.attr)), e)
        if e.attr not in BY_KEY and self._of_module(attribute):
            return e
        self.changes += 1
        private = self.owner.strip("_") and e.attr[:2] == "__" != e.attr[-2:]
        name = f"_{self.owner.lstrip('_')}{e.attr}" if private else e.attr
        return at(hook("unread" if attribute is self.unread else "member", e.value, ast.Constant(name)), e)

    def visit_Expr(self, s: ast.Expr) -> Any:
        """`d.pop(k, None)`, of which nobody reads the result."""
        call = s.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "pop":
            self.unread = call.func
        return self.generic_visit(s)

    def _of_module(self, e: ast.expr) -> bool:
        """Whether it may be taken for a function of a module, such as `np.linalg.norm`: small letters only, from a
        global name on. An object that is a global hands out copies of its methods itself."""
        while isinstance(e, ast.Attribute) and e.attr.islower():
            e = e.value
        return isinstance(e, ast.Name) and e.id.islower() and e.id not in self.local

    def visit_MatchValue(self, p: ast.MatchValue) -> Any:
        """Names in patterns stay names."""
        return p


def _is_number(e: ast.expr) -> bool:
    """A number in the source."""
    return isinstance(e, ast.Constant) and not isinstance(e.value, str)


def _is_string(e: ast.expr) -> bool:
    """A string in the source."""
    return isinstance(e, ast.Constant) and isinstance(e.value, str)
