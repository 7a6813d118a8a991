"""The source of a code object: its syntax tree, and the way back to a code object.

A function is found in its file by position, and held against its code (arguments, free
variables, names), since a file may have changed since it was imported.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import re
import types
import warnings
from collections.abc import Iterator
from typing import Any

from tracejit.frontend.rewrite.source.names import children

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
#: Files whose trees are kept.
MAX_FILES = 16

_Found = list[tuple[Function, list[ast.AST]]]
_trees: dict[str, tuple[list[str], _Found]] = {}


#: What names of functions and classes have of blocks around them.
_BLOCK = re.compile(r"_tj_\w+\.<locals>\.")


class NoSource(Exception):
    """There is no source, or it is not this function's."""


def function_tree(code: types.CodeType) -> tuple[Function, list[ast.AST]]:
    """The definition that `code` was compiled from, and what surrounds it, outermost first.

    The nodes are shared between calls: copy what is changed. Raises NoSource.
    """
    found = [(node, parents) for node, parents in _in_file(code.co_filename) if _may_be(node, code)]
    if len(found) > 1:
        found = [f for f in found if _position(f[0]) == _code_position(code)]
    if len(found) != 1:
        raise NoSource("its source is not found")
    return found[0]


def _in_file(filename: str) -> _Found:
    """The functions of a file, and what surrounds each."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename)
    if not lines:
        raise NoSource("it has no source")
    known = _trees.get(filename)
    if known is not None and known[0] is lines:
        return known[1]
    try:
        with quiet("<unknown>"):
            tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        raise NoSource("its source cannot be read") from None
    if len(_trees) >= MAX_FILES:
        _trees.clear()
    _trees[filename] = lines, list(_functions(tree))
    return _trees[filename][1]


@contextlib.contextmanager
def quiet(filename: str) -> Iterator[None]:
    """What Python's compiler warns of, such as `"\\d"` and `x is 1`, it has said when the user's file was compiled.

    The filter is for this file only, and `warnings.catch_warnings` is not used: it would make Python forget which
    warnings it has shown."""
    rule = "ignore", None, Warning, re.compile(re.escape(filename.removesuffix(".py"))), 0
    warnings.filters.insert(0, rule)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            warnings.filters.remove(rule)  # type: ignore[attr-defined]


def _functions(tree: ast.AST) -> Iterator[tuple[Function, list[ast.AST]]]:
    stack: list[tuple[ast.AST, list[ast.AST]]] = [(tree, [])]
    while stack:
        node, parents = stack.pop()
        if isinstance(node, Function):
            yield node, parents
        inner = [*parents, node] if isinstance(node, (Function, ast.ClassDef)) else parents
        stack.extend((child, inner) for child in children(node))


def _may_be(node: Function, code: types.CodeType) -> bool:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    return (
        name == code.co_name and _first_line(node) == code.co_firstlineno and _arguments(node) == _given(code)
    )


def _first_line(node: Function) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(d.lineno for d in decorators)])


def argument_names(node: Function) -> list[str]:
    """In the order of `co_varnames`."""
    a = node.args
    rest = [x for x in (a.vararg, a.kwarg) if x is not None]
    return [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, *rest)]


def _arguments(node: Function) -> list[str]:
    return [name.rpartition("__")[2] for name in argument_names(node)]  # private names are mangled


def _given(code: types.CodeType) -> list[str]:
    n = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return [name.rpartition("__")[2] for name in code.co_varnames[:n]]


def _position(node: Function) -> tuple[int, int]:
    body = node.body if isinstance(node, ast.Lambda) else node.body[0]
    return body.lineno, body.col_offset


def _code_position(code: types.CodeType) -> tuple[int, int]:
    """Where the first expression of a body begins: tells lambdas on one line apart."""
    spots = [(line, col) for line, _, col, _ in code.co_positions() if line and col is not None]
    inside = [s for s in spots[1:] if s != (code.co_firstlineno, 0)]
    return min(inside, default=(0, 0))


def compile_function(node: Function, parents: list[ast.AST], original: types.CodeType) -> types.CodeType:
    """The code object of `node` with the name and the free variables of `original`.

    Raises NoSource if the variables differ.
    """
    inner: ast.stmt = ast.Expr(node) if isinstance(node, ast.Lambda) else node
    if not isinstance(node, ast.Lambda) and _first_line(node) != original.co_firstlineno:
        # Lines are counted from that of the first decorator, which is gone. What stands for it is never run.
        nothing: ast.expr = ast.Constant(None)
        nothing.lineno = nothing.end_lineno = original.co_firstlineno
        nothing.col_offset = nothing.end_col_offset = 0
        node.decorator_list = [nothing]
    names = [p.name for p in parents if isinstance(p, ast.ClassDef)]
    if names:  # private names are mangled
        inner = ast.ClassDef(names[-1], [], [], [inner], [])
        inner.type_params = []  # type: ignore[attr-defined]
    # A method that names its class means the global, not the class that stands around it here.
    own: list[ast.stmt] = [ast.Global(names[-1:])] if {*names[-1:]} - {*original.co_freevars} else []
    free = [ast.arg(name) for name in original.co_freevars]
    arguments = ast.arguments([], free, None, [], [], None, [])
    factory = ast.FunctionDef("factory", arguments, [*own, inner], [], None)
    factory.type_params = []  # type: ignore[attr-defined]
    module = ast.fix_missing_locations(ast.Module([factory], []))
    flags = original.co_flags & 0x1FF0000 & ~0x200  # those of __future__ statements
    with quiet(original.co_filename):
        code = compile(module, original.co_filename, "exec", flags=flags, dont_inherit=True)
    new = _find(code, original.co_name, original.co_firstlineno, names)
    if new is None or set(new.co_freevars) != set(original.co_freevars):
        raise NoSource("its source does not fit its variables")
    new = _renamed(new, new.co_qualname, original.co_qualname)
    return with_tuples(new.replace(co_firstlineno=original.co_firstlineno), original)


def with_tuples(code: types.CodeType, original: types.CodeType) -> types.CodeType:
    """`code` that holds the very tuples of `original`, which it was made from: Python has one object for all equal
    constants that are compiled together."""
    tuples = _tuples(original)

    def holding(code: types.CodeType) -> types.CodeType:
        return code.replace(co_consts=tuple([constant(x) for x in code.co_consts]))

    def constant(x: Any) -> Any:
        if isinstance(x, types.CodeType):
            return holding(x)
        return tuples.get(repr(x), x) if type(x) is tuple else x

    return holding(code) if tuples else code


def _tuples(code: types.CodeType) -> dict[str, tuple[Any, ...]]:
    """The tuples that are constants of `code` and of the functions in it, by their text."""
    found = {repr(x): x for x in code.co_consts if type(x) is tuple}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= _tuples(inner)
    return found


def _renamed(code: types.CodeType, old: str, new: str) -> types.CodeType:
    """`code` and the functions and classes in it with their names beginning with `new`, not `old`, and without the
    functions that are blocks of the rewritten code."""
    consts: list[Any] = list(code.co_consts)
    for n, c in enumerate(consts):
        if isinstance(c, types.CodeType):
            name = new + _BLOCK.sub("", c.co_qualname.removeprefix(old))
            consts[n] = _renamed(c, c.co_qualname, name)
    # A class has its name as a constant, which its body stores.
    consts = [new if type(c) is str and c == code.co_qualname else c for c in consts]
    return code.replace(co_qualname=new, co_consts=tuple(consts))


def _find(code: types.CodeType, name: str, line: int, classes: list[str]) -> types.CodeType | None:
    """The function inside of module, factory and class."""
    path = ["factory", *classes[-1:], name]
    for step in path:
        inner = [c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == step]
        if len(inner) != 1:
            return None
        code = inner[0]
    return code
