"""What of a function's statements may be run natively while Python runs the rest, and which functions stay whole."""

from __future__ import annotations

import ast
import collections
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit.frontend.rewrite.source.escapes import blocks, is_compound
from tracejit.frontend.rewrite.source.names import assigned, everything, walk

#: Names whose use in a function means that it looks at its own frame or at the life of its objects, or changes what
#: NumPy's operations tell: it stays as it is.
_LOOKS = frozenset(
    {
        *("locals", "vars", "eval", "exec", "dir", "super", "__class__", "breakpoint", "set_trace", "embed"),
        *("_getframe", "currentframe", "inspect", "numexpr", "query", "bmat", "settrace", "setprofile"),
        *("getrefcount", "weakref", "gc", "finalize", "errstate", "seterr", "seterrcall", "catch_warnings"),
        *("simplefilter", "filterwarnings", "tracemalloc"),
    }
)
_NEVER = (
    *(
        ast.Import,
        ast.ImportFrom,
        ast.Global,
        ast.Nonlocal,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
    ),
    *(ast.Delete, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.AsyncFor, ast.Await, ast.Yield),
    *(ast.YieldFrom, ast.Return, ast.Lambda),
)
_WORDS: dict[type, str] = {
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef), "def"),
    ast.ClassDef: "class",
    ast.ImportFrom: "import",
    ast.Delete: "del",
    ast.TryStar: "try",
    ast.AsyncWith: "async with",
    ast.AsyncFor: "async for",
    ast.YieldFrom: "yield",
}
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_OPERATIONS = (ast.Call, ast.BinOp, ast.Compare, ast.UnaryOp, ast.AugAssign, ast.Subscript)
#: Functions that act at every call, whatever they are given.
_ACTS = frozenset({"print", "open", "input"})
#: Methods that change containers.
_CHANGES = frozenset(
    {
        "append",
        "appendleft",
        "extend",
        "insert",
        "add",
        "update",
        "setdefault",
        "clear",
        "remove",
        "discard",
        "pop",
    }
)
_CONTAINERS = (
    list,
    dict,
    set,
    str,
    bytes,
    tuple,
    int,
    float,
    complex,
    collections.deque,
    collections.Counter,
)
#: Methods of what Python and NumPy offer: calls of them are most probably none of the user's functions.
_COMMON = frozenset(
    name
    for cls in (*_CONTAINERS, np.ndarray, np.random.Generator, np.random.RandomState)
    for name in dir(cls)
) | {"write", "read", "readline", "close", "flush", "info", "debug", "warning", "error", "seek"}


def looks(code: types.CodeType) -> bool:
    """Whether a function uses one of the names for which functions stay whole."""
    return any(name in _LOOKS for name in code.co_names)


class Limits:
    """Operations that statements without a loop need to be a region. Tests set them."""

    outside, inside = 3, 1_000


limits = Limits()


def stays_whole(body: list[Any], code: types.CodeType, globals_: dict[str, Any]) -> bool:
    """Whether a function is left to Python as it is."""
    suspended = 0x20 | 0x80 | 0x200  # generators and coroutines
    if code.co_flags & suspended:
        return True
    names = list(_names(body))
    modules = [x.__name__ for n in names if isinstance(x := globals_.get(n), types.ModuleType)]
    return any(name in _LOOKS or _is_private(name) for name in (*names, *modules))


def _is_private(name: str) -> bool:
    """Classes mangle it."""
    return name.startswith("__") and not name.endswith("__")


def _names(body: list[Any]) -> Iterator[str]:
    for n in everything(body):
        if isinstance(n, ast.Name):
            yield n.id
        elif isinstance(n, ast.Attribute):
            yield n.attr
        elif isinstance(n, ast.alias):
            yield n.name.rpartition(".")[2]


def against(s: ast.stmt, fixed: set[str], own: set[str]) -> str | None:
    """Why a statement cannot be part of a region; None if it may: one way leads in and one out, and it binds none of
    the names `fixed`, which other functions share. What acts, or changes a container that is not one of the function's
    `own` names, does not fit: it would most probably be refused."""
    if isinstance(s, (ast.Pass, ast.Break, ast.Continue, ast.Raise)) or _leaves(s):
        return (
            f"`{type(s).__name__.lower()}` has another way out"
            if not isinstance(s, ast.Pass)
            else "it does nothing"
        )
    for n in walk([s]):
        if isinstance(n, _NEVER):
            return f"`{_WORDS.get(type(n), type(n).__name__.lower())}` is Python's"
        if _acts(n, own):
            return f"`{ast.unparse(n)}` acts outside of the part"
    shared = sorted(assigned([s]) & fixed)
    return f"it binds `{shared[0]}`, which other functions share" if shared else None


def _acts(n: ast.AST, own: set[str]) -> bool:
    if not isinstance(n, ast.Call):
        return False
    if isinstance(n.func, ast.Name):
        return n.func.id in _ACTS
    if not isinstance(n.func, ast.Attribute) or n.func.attr not in _CHANGES:
        return False
    owner = n.func.value
    return isinstance(owner, ast.Attribute) or (isinstance(owner, ast.Name) and owner.id not in own)


def _leaves(s: ast.stmt) -> bool:
    """Whether `break` or `continue` leads out of `s`."""
    if isinstance(s, (ast.Break, ast.Continue)):
        return True
    if isinstance(s, (ast.For, ast.While)):
        return any(map(_leaves, s.orelse))
    return is_compound(s) and any(_leaves(inner) for block in blocks(s) for inner in block)


def works(stmts: list[ast.stmt], inside: bool) -> bool:
    """Whether `stmts` may take long: there is a loop in them or, unless they are `inside` of another region, there are
    a few operations."""
    found = list(walk(stmts))
    if any(isinstance(n, _LOOPS) for n in found):
        return True
    few = limits.inside if inside else limits.outside
    return sum(isinstance(n, _OPERATIONS) for n in found) >= few


def may_be_users(func: ast.expr, hidden: set[str], globals_: dict[str, Any]) -> bool:
    """Whether the called expression may be a function of the user's, and is a name that can be read twice.

    `hidden`: the function's own names, of which nothing is known; others are looked up."""
    if isinstance(func, ast.Name):
        known = globals_.get(func.id)
        return func.id in hidden or isinstance(known, types.FunctionType)
    if not isinstance(func, ast.Attribute) or func.attr in _COMMON:
        return False
    root = func.value
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    return root.id in hidden or not isinstance(globals_.get(root.id), types.ModuleType)
