"""What code that runs as it is asks of values, to which what stands for a traced one gives another answer.

    type(self.x) is float           the class of what stands for it
    self.on is True                 which object it is
    hasattr(v, "__len__")           what that class has
    isinstance(v, Sized)            the same

`isinstance` with a class that is no question about methods is answered by the stand-in (`Box.__class__`), and so is
what is asked of the object whose method the code is.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from tracejit.frontend.rewrite.source.code import Function, NoSource, argument_names, function_tree
from tracejit.frontend.rewrite.source.names import children

_MISSING = object()
_NUMBERS = (bool, int, float, complex)
_NAMED = ("getattr", "hasattr")
#: Modules of abstract classes that ask which methods a class has.
_OF_METHODS = ("collections.abc", "typing", "typing_extensions", "_collections_abc")


def asked(fn: types.FunctionType, is_method: bool, is_kept: Callable[[type], bool]) -> str | None:
    """The first such question in the code of a function; None if there is none. `is_method`: its first argument is an
    object of the user's. `is_kept`: whether traced code has objects of a class themselves."""
    names = set(_names(fn.__code__))
    may_type = any(value is type for name, value in _globals(fn, names)) or "builtins" in names
    if not (may_type or names & {*_NAMED, "isinstance"} or _has_truths(fn.__code__)):
        return None
    try:
        node, _ = function_tree(fn.__code__)
    except NoSource:
        return "`type`" if may_type else None
    given = argument_names(node)
    own = given[0] if is_method and given and not _assigns(node, given[0]) else None
    return next(_Asking(fn, own, is_kept).questions(node), None)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


def _globals(fn: types.FunctionType, names: set[str]) -> Iterator[tuple[str, Any]]:
    for name in names:
        yield name, fn.__globals__.get(name, getattr(builtins, name, None))


def _has_truths(code: types.CodeType) -> bool:
    return any(
        x is True or x is False or (isinstance(x, types.CodeType) and _has_truths(x)) for x in code.co_consts
    )


def _assigns(node: Function, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in ast.walk(node)
    )


class _Asking:
    """Looks for the questions in the code of `fn`, in which `own` is the object itself."""

    def __init__(self, fn: types.FunctionType, own: str | None, is_kept: Callable[[type], bool]) -> None:
        self.fn, self.own, self.is_kept = fn, own, is_kept

    def questions(self, node: ast.AST) -> Iterator[str]:
        """The questions in `node`, as source."""
        inner = children(node)
        if isinstance(node, ast.Compare):
            if any(map(_is_truth, [node.left, *node.comparators])) and any(map(_is_identity, node.ops)):
                yield f"`{ast.unparse(node)}`"
                return
            if self._is_about_numbers(node):
                yield f"whether `{ast.unparse(node)}`"
                return
            inner = [] if self._tells_classes_apart(node) else inner
        elif isinstance(node, ast.Call):
            if self._asks(node):
                yield f"`{ast.unparse(node)}`"
                return
            by_class = isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass")
            inner = node.args[:1] if by_class or self._is(node.func, type) else inner
        elif isinstance(node, Function):
            body = [node.body] if isinstance(node, ast.Lambda) else node.body
            inner = [*body, *node.args.defaults]
        elif isinstance(node, ast.AnnAssign):
            inner = [node.target] if node.value is None else [node.target, node.value]
        elif self._is(node, type):
            yield "`type`"
            return
        for child in inner:
            yield from self.questions(child)

    def _asks(self, call: ast.Call) -> bool:
        """Whether a call asks for a value's class, or what that has."""
        if not call.args or self._is_own(call.args[0]):
            return False
        if self._is(call.func, type):
            return len(call.args) == 1
        return len(call.args) > 1 and self._looks(call)

    def _tells_classes_apart(self, node: ast.Compare) -> bool:
        """`type(v) is type(self)` and the like: a traced value is of neither class, nor is what stands for it."""
        sides = [node.left, *node.comparators]
        known = [self._is_known(x) for x in sides]
        asked = [isinstance(x, ast.Call) and len(x.args) == 1 and self._is(x.func, type) for x in sides]
        return len(sides) == 2 and any(known) and all(map(operator.or_, known, asked))

    def _is_about_numbers(self, node: ast.Compare) -> bool:
        """`type(v) is float` and the like, which no array is, whatever it is seen as."""
        sides = [part for x in (node.left, *node.comparators) for part in _parts(x)]
        others = [
            x for x in sides if not (isinstance(x, ast.Call) and self._is(x.func, type) and self._asks(x))
        ]
        return 0 < len(others) < len(sides) and all(any(self._is(x, c) for c in _NUMBERS) for x in others)

    def _is_known(self, node: ast.expr) -> bool:
        """Whether it is the class of the object, or one of which traced code has the objects themselves."""
        if isinstance(node, ast.Call):
            return len(node.args) == 1 and self._is(node.func, type) and self._is_own(node.args[0])
        if isinstance(node, ast.Attribute) and node.attr == "__class__":
            return self._is_own(node.value)
        value = self._value(node)
        return isinstance(value, type) and self.is_kept(value)

    def _looks(self, call: ast.Call) -> bool:
        """Whether a call asks what a value's class has."""
        name = getattr(call.func, "id", None)
        second = call.args[1]
        if name in _NAMED:
            known = second.value if isinstance(second, ast.Constant) else None
            if isinstance(self._value(call.args[0]), (types.ModuleType, type)):
                return False
            return type(known) is not str or known[:2] == "__"
        return name == "isinstance" and any(map(self._is_question, _parts(second)))

    def _is_question(self, node: ast.expr) -> bool:
        """Whether a class goes by the methods that another has; also if it is not known."""
        value = self._value(node)
        if value is _MISSING:
            return not self._is_known(node)
        if isinstance(value, tuple):
            return any(_goes_by_methods(x) for x in value)
        return _goes_by_methods(value)

    def _is_own(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.own

    def _is(self, node: ast.AST, value: Any) -> bool:
        return isinstance(node, (ast.Name, ast.Attribute)) and self._value(node) is value

    def _value(self, node: ast.AST) -> Any:
        """What a name or an attribute of a module is; `_MISSING` of others."""
        if isinstance(node, ast.Attribute):
            inner = self._value(node.value)
            return (
                getattr(inner, node.attr, _MISSING)
                if isinstance(inner, (types.ModuleType, type))
                else _MISSING
            )
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            return _MISSING
        code = self.fn.__code__
        if node.id in code.co_varnames or node.id in code.co_cellvars:
            return _MISSING
        if node.id in code.co_freevars:
            with contextlib.suppress(ValueError):
                return (self.fn.__closure__ or ())[code.co_freevars.index(node.id)].cell_contents
            return _MISSING
        return self.fn.__globals__.get(node.id, getattr(builtins, node.id, _MISSING))


def _is_identity(op: ast.cmpop) -> bool:
    return isinstance(op, (ast.Is, ast.IsNot))


def _is_truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is bool


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Tuple):
        return [p for x in node.elts for p in _parts(x)]
    if isinstance(node, ast.BinOp):
        return [*_parts(node.left), *_parts(node.right)]
    return [node]


def _goes_by_methods(cls: Any) -> bool:
    if isinstance(cls, types.UnionType):
        return any(map(_goes_by_methods, cls.__args__))
    if not isinstance(cls, type):
        return cls is not None
    return cls.__module__ in _OF_METHODS or bool(getattr(cls, "_is_protocol", False))
