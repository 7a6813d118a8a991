"""`eval` of a text that is known while tracing: a function of the names that the text takes.

The text is guarded like any other, so that another text is another program. What it says is rewritten as the code of
functions is; what Python would find by looking at the frame's names is given as arguments.
"""

from __future__ import annotations

import ast
import functools
import symtable
import sys
import types
from collections.abc import Iterator
from typing import Any

from tracejit.errors import UnfollowedError
from tracejit.frontend import active
from tracejit.frontend.rewrite import enter
from tracejit.frontend.shadows.scopes import GuardedGlobals

_NAME = "<string>"
#: What would see, or change, the names that a text runs with.
_SEES_NAMES = frozenset(("locals", "vars", "dir", "globals", "eval", "exec", "super", "__class__"))
_CHANGES_NAMES = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def evaluate(source: Any, globals: Any = None, locals: Any = None, /) -> Any:
    """`eval`, called from a frame of traced code."""
    frame = sys._getframe(1)
    scope = frame.f_globals
    session = active.session()
    if type(source) is not str or not isinstance(scope, GuardedGlobals) or session is None:
        raise _refusal("what it is given is no text that is known")
    text = source.lstrip(" \t")
    read = _read(text)
    if globals is None:
        around: dict[str, Any] = {}
        names = frame.f_locals if locals is None else locals
    else:
        around = _without_builtins(globals)
        names = around if locals is None else locals
    if type(names) is not dict:
        raise _refusal("its names are in no dict")
    known = {n: names[n] if n in names else around[n] for n in read.names if n in names or n in around}
    if globals is not None and (read.inner or any(n not in known for n in read.names)):
        raise _refusal("it has names of its own, of which some are not there")
    if any(n in names for n in read.inner):  # a function in the text does not see them
        raise _refusal("a function in it has a name of the function around it")
    run = _function(text, tuple(known))
    enter(run.__code__, _definition(text, tuple(known)))
    return types.FunctionType(_outermost(session.code_of(run)), scope)(**known)


def _without_builtins(names: Any) -> dict[str, Any]:
    """Globals that say which builtins there are, so that Python does not put any in: none, or all."""
    if type(names) is not dict or "__builtins__" not in names:
        raise _refusal("Python adds `__builtins__` to the names that it is given")
    if names["__builtins__"] not in ({}, None):
        raise _refusal("it has builtins of its own")
    return names


class _Read:
    """A text's names: those that it takes itself, and those that functions and comprehensions in it take."""

    def __init__(self, source: str) -> None:
        tree = ast.parse(source, _NAME, "eval")
        for node in ast.walk(tree):
            if isinstance(node, _CHANGES_NAMES) or (isinstance(node, ast.Name) and node.id in _SEES_NAMES):
                raise _refusal("it sees or changes the names that it runs with")
        table = symtable.symtable(source, _NAME, "eval")
        self.names = tuple(s.get_name() for s in table.get_symbols())
        self.inner = frozenset(_globals_in(table))
        self.body = tree.body


def _globals_in(table: symtable.SymbolTable) -> Iterator[str]:
    for child in table.get_children():
        yield from (s.get_name() for s in child.get_symbols() if s.is_global())
        yield from _globals_in(child)


@functools.lru_cache(maxsize=256)
def _read(source: str) -> _Read:
    return _Read(source)


@functools.lru_cache(maxsize=256)
def _definition(source: str, names: tuple[str, ...]) -> ast.FunctionDef:
    """The text as a function's definition."""
    header = f"def evaluated({', '.join(names)}):\n return None"
    made = ast.parse(header, _NAME).body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = [ast.copy_location(ast.Return(_read(source).body), _read(source).body)]
    return made


@functools.lru_cache(maxsize=256)
def _function(source: str, names: tuple[str, ...]) -> types.FunctionType:
    """The function of a text; one for all runs, as what is rewritten is remembered by its code."""
    module = ast.fix_missing_locations(ast.Module([_definition(source, names)], []))
    made: dict[str, Any] = {}
    exec(compile(module, _NAME, "exec"), made)
    return made["evaluated"]


@functools.lru_cache(maxsize=256)
def _outermost(code: types.CodeType) -> types.CodeType:
    """The code with functions in it that lie in none, as those of a text."""
    consts = (_outermost(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    name = code.co_qualname.removeprefix("evaluated.<locals>.")
    return code.replace(co_consts=tuple(consts), co_qualname=name)


def _refusal(reason: str) -> UnfollowedError:
    return UnfollowedError(what="builtin `eval`", reason=reason)
