"""Python's loops and branches as native ones: the source of users' functions is rewritten into calls of
hooks, which decide at run time, by the values, what is a loop of the program and what Python does.

    code, reason = rewrite.rewritten_code(f.__code__)

In comes a code object, and out goes one that calls hooks. Read `source/` (source to source), then `hooks/` (what
the rewritten code calls), then `blocks/` (blocks to jaxprs). `regions/` is of functions that Python runs.
"""

from __future__ import annotations

import ast
import contextlib
import threading
import types
import weakref
from typing import Any

from tracejit.frontend.rewrite.hooks import table
from tracejit.frontend.rewrite.source.code import Function, NoSource, compile_function, function_tree
from tracejit.frontend.rewrite.source.names import copied
from tracejit.frontend.rewrite.source.sized import Sized
from tracejit.frontend.rewrite.source.texts import HOOKS
from tracejit.frontend.rewrite.source.transform import Unchanged, rewritten, undecorated

__all__ = ["enter", "rewritten_code"]

_lock = threading.Lock()
#: By identity, since code objects of different files may be equal; and by what is rewritten: loops and branches, and
#: arithmetic.
_known: dict[
    tuple[int, bool, bool], tuple[weakref.ref[types.CodeType], types.CodeType | None, str | None]
] = {}


def rewritten_code(
    code: types.CodeType, captured: bool = True, sized: bool = False
) -> tuple[types.CodeType, str | None]:
    """`code` with its loops and branches (`captured`), and its arithmetic of integers (`sized`), as calls of hooks, and
    None; `code` itself, and why it can't be rewritten, where there is no source. Remembered as long as `code` lives."""
    entry = _known.get((id(code), captured, sized))
    if entry is not None and entry[0]() is code:
        return entry[1] or code, entry[2]
    new, reason = _rewrite(code, captured=captured, sized=sized)
    _remember(code, (id(code), captured, sized), new, reason)
    return new or code, reason


def _remember(
    code: types.CodeType, key: tuple[int, bool, bool], new: types.CodeType | None, reason: str | None
) -> None:
    with _lock:
        _known[key] = weakref.ref(code, lambda _: _known.pop(key, None)), new, reason


def enter(code: types.CodeType, definition: Function) -> None:
    """Let `code`, which is in no file, be rewritten by its definition."""
    key = id(code), True, False
    entry = _known.get(key)
    if entry is None or entry[0]() is not code:
        _remember(code, key, *_rewrite(code, (definition, [])))


def _rewrite(
    code: types.CodeType,
    found: tuple[Function, list[ast.AST]] | None = None,
    captured: bool = True,
    sized: bool = False,
) -> tuple[types.CodeType | None, str | None]:
    """(the new code or None, why there is none)."""
    try:
        node, parents = found or function_tree(code)
        owner = next((p.name for p in reversed(parents) if isinstance(p, ast.ClassDef)), "")
        new = compile_function(_hooked(node, owner, captured, sized), parents, code)
        return _with_hooks(new), None
    except Unchanged:
        return None, None
    except NoSource as e:
        return None, str(e)


def _hooked(node: Function, owner: str, captured: bool, sized: bool) -> Function:
    """The rewritten definition. Raises Unchanged."""
    if not sized:
        return rewritten(node, owner)
    new: Function | None = None
    if captured:
        with contextlib.suppress(Unchanged):
            new = rewritten(node, owner)
    plain = new or undecorated(copied(node))
    sizes = Sized()
    sizes.visit(plain)
    if new is None and not sizes.changes:
        raise Unchanged
    return plain


def _with_hooks(code: types.CodeType) -> types.CodeType:
    """`code` that holds the hooks themselves, as functions defined in it may be called anywhere."""

    def constant(x: Any) -> Any:
        if isinstance(x, types.CodeType):
            return _with_hooks(x)
        return table if type(x) is str and x == HOOKS else x

    return code.replace(co_consts=tuple([constant(x) for x in code.co_consts]))
