"""The user's own functions behind traced code's stand-ins: callbacks run as Python, outside of any trace.

A callback is not followed, so what it reads is no business of the guards: a list that it
appends to must not make the function that names it trace again.
"""

from __future__ import annotations

import dis
import functools
import types
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tracejit.frontend import active
from tracejit.frontend.checks import Check
from tracejit.frontend.origins import is_library_function
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows import behind, objects
from tracejit.frontend.shadows.functions import codes_in, contents
from tracejit.frontend.shadows.scopes import GuardedGlobals
from tracejit.ir.jaxpr import Eqn, Jaxpr, sub_jaxprs

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
_RULES = "tracejit.control.custom."  # which is not loaded before it is used
#: The attributes of objects that hold functions: by name of the classes of rules.
_PARTS: dict[Any, tuple[str, ...]] = {
    "UserRule": ("jvp", "call"),
    "UserRules": ("user_fwd", "user_bwd", "call"),
    "Call": ("fun", "nondiff"),
    "custom_jvp": ("fun", "jvp"),
    "custom_vjp": ("fun", "fwd", "bwd"),
    functools.partial: ("func", "args", "keywords"),
    types.MethodType: ("__func__", "__self__"),
}


def users_own(value: Any) -> Any:
    """What the user wrote where traced code holds `value`: a function over its own names and cells.

    Anything else that has no stand-in is given back as it is."""
    session = active.session()
    return value if session is None else _Undo(session).undo(value)


class _Undo:
    """Replaces stand-ins by the user's objects; functions made while tracing are made anew."""

    def __init__(self, session: Run) -> None:
        self.session = session
        self.done: dict[int, Any] = {}

    def undo(self, value: Any) -> Any:
        if id(value) in self.done:
            return self.done[id(value)]
        if type(value) is types.FunctionType:
            return self._function(value)
        if type(value) is functools.partial:
            return self._partial(value)
        if isinstance(value, (types.MethodType, types.BuiltinMethodType)):
            return self._method(value)
        known = self.session.original_of(value)
        if behind.is_shadow(value):
            objects.pin(value)  # the callback is that of this very object
        return self.session.original(value) if known is value else known

    def _function(self, fn: types.FunctionType) -> Any:
        own = self.session.original_of(fn)
        if own is fn and isinstance(fn.__globals__, GuardedGlobals):
            own = self._remade(fn)
        if type(own) is types.FunctionType and are_users(own):
            self.session.callbacks.append(own)
        return own

    def _remade(self, fn: types.FunctionType) -> types.FunctionType:
        """A function that was made while tracing, over the real globals and cells."""
        scope: Any = fn.__globals__
        cells = tuple(self._cell(cell) for cell in fn.__closure__ or ())
        new = types.FunctionType(fn.__code__, scope.real, fn.__name__, None, cells or None)
        self.done[id(fn)] = new
        functools.update_wrapper(new, fn, ("__module__", "__qualname__", "__doc__"), ("__dict__",))
        vars(new).pop("__wrapped__", None)
        new.__defaults__ = None if fn.__defaults__ is None else tuple(map(self.undo, fn.__defaults__))
        if fn.__kwdefaults__:
            new.__kwdefaults__ = {k: self.undo(v) for k, v in fn.__kwdefaults__.items()}
        for cell, own in zip(fn.__closure__ or (), cells, strict=True):
            if own is not cell and id(own) in self.done:  # one of ours, to be filled
                own.cell_contents = self.undo(contents(cell))
        return new

    def _cell(self, cell: types.CellType) -> types.CellType:
        """The user's cell, or for a variable of the traced function one with what it holds now."""
        for original, copy, *_ in self.session.cells:
            if copy is cell:
                return original
        known = self.done.get(id(cell))
        if known is not None:
            return known
        held = contents(cell)
        if type(held) is not types.FunctionType and self.undo(held) is held:
            return cell
        new = self.done[id(cell)] = types.CellType()
        self.done[id(new)] = new
        return new

    def _method(self, method: Any) -> Any:
        owner = method.__self__
        own = self.undo(owner)
        if type(method) is types.MethodType:
            return types.MethodType(self.undo(method.__func__), own)
        return method if own is owner else getattr(own, method.__name__)

    def _partial(self, value: functools.partial[Any]) -> Any:
        keywords = {k: self.undo(v) for k, v in value.keywords.items()}
        return functools.partial(self.undo(value.func), *map(self.undo, value.args), **keywords)


# ---- guards


def without_callbacks(session: Run) -> list[Check]:
    """The session's checks but for those of cells and attributes that only callbacks read."""
    if not session.callbacks:
        return list(session.checks)
    dropped = _unread(session)
    if not dropped:
        return list(session.checks)
    return [c for c in session.checks if not any(id(root) in dropped for root in _roots(c))]


def _unread(session: Run) -> dict[int, Any]:
    """The cells (and function objects) of callbacks that nothing else reads, by id."""
    callbacks = _only_passed(session)
    codes = {id(f.__code__) for f in callbacks}
    read: set[int] = set()
    candidates: dict[int, Any] = {}
    for fn in _followed(session):
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            candidates[id(cell)] = cell
            if id(fn.__code__) not in codes and _reads(fn.__code__, name, codes):
                read.add(id(cell))
    candidates.update((id(f), f) for f in callbacks)
    free = {k: x for k, x in candidates.items() if k not in read}
    # A value met first at one of them and then elsewhere has its checks here: they stay.
    shared = {id(r) for c in session.checks if c.kind == "alias" for r in _roots(c)}
    shared |= {id(_root(n)) for n in session.array_nodes}
    return {k: x for k, x in free.items() if k not in shared}


def _only_passed(session: Run) -> list[types.FunctionType]:
    """The callbacks that traced code names once, where it hands them on: it does not call them too."""
    skip = {id(f.__code__) for f in session.callbacks}
    codes = [c for code, _ in session.codes for c in codes_in(code) if id(c) not in skip]
    codes = [*{id(c): c for c in codes}.values()]
    lines = [list(dis.get_instructions(c)) for c in codes]
    loads = Counter(name for c, line in zip(codes, lines, strict=True) for i in line for name in _read(c, i))
    out = []
    for f in session.callbacks:
        names = {f.__name__} - {"<lambda>"} or _stored_as(f.__code__, lines)
        if sum(loads[name] for name in names) == len(names):
            out.append(f)
    return out


def _stored_as(code: types.CodeType, lines: list[list[dis.Instruction]]) -> set[str]:
    """The variables that a lambda is put into where it is made."""
    out: set[str] = set()
    for line in lines:
        for n, i in enumerate(line):
            if i.argval is code:
                at = next((k for k in line[n:] if k.opname == "MAKE_FUNCTION"), None)
                after = line[line.index(at) + 1 :] if at is not None else []
                after = [k for k in after if k.opname != "SET_FUNCTION_ATTRIBUTE"]
                if after and after[0].opname.startswith("STORE_"):
                    out.update(map(str, _names(after[0])))
    return out


def _names(i: dis.Instruction) -> tuple[Any, ...]:
    """What an instruction loads or stores; from Python 3.13 on there are some for two variables."""
    return i.argval if isinstance(i.argval, tuple) else (i.argval,)


def _read(code: types.CodeType, i: dis.Instruction) -> Iterator[Any]:
    """The names whose values an instruction loads; handing a cell to an inner function is no reading."""
    if "LOAD_" in i.opname and i.opname != "LOAD_CLOSURE":
        cells = (*code.co_cellvars, *code.co_freevars) if "FAST" in i.opname else ()  # as from Python 3.13 on
        yield from (name for name in _names(i) if name not in cells)


def _followed(session: Run) -> Iterator[types.FunctionType]:
    """The user's functions that have copies in this run."""
    for fn, copy in session.seen():
        if type(fn) is types.FunctionType and copy is not fn:
            yield fn


def _reads(code: types.CodeType, name: str, skip: set[int]) -> bool:
    """Whether `code`, or code nested in it that is not a callback's, reads or writes the variable."""
    if id(code) in skip:
        return False
    if any("DEREF" in i.opname and i.argval == name for i in dis.get_instructions(code)):
        return True
    nested = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return any(name in c.co_freevars and _reads(c, name, skip) for c in nested)


def _root(node: Node) -> Any:
    """The object at which the path of `node` begins."""
    return node.root().key


def _roots(check: Check) -> list[Any]:
    nodes = [check.node, check.expected] if check.kind == "alias" else [check.node]
    return [_root(n) for n in nodes if n.parent is not None]


# ---- whose functions a program runs


def run_later(eqn: Eqn) -> bool:
    """Whether functions of the user's run when the equation does, or when it is transformed."""
    return _any_in(sub_jaxprs(eqn.params)) or any(
        are_users(p) for name, p in eqn.params.items() if "rule" in name or isinstance(p, _FUNCTIONS)
    )


def _any_in(jaxprs: Any) -> bool:
    return any(run_later(e) for jaxpr in jaxprs for e in jaxpr.eqns)


def are_users(x: Any) -> bool:
    """Whether a rule or callback is one of the user's, or may call one: it closes over it."""
    met: set[int] = set()
    left = [x]
    while left:
        y = left.pop()
        if id(y) in met:
            continue
        met.add(id(y))
        cls: Any = type(y)
        kind = cls.__name__ if cls.__module__.startswith(_RULES) else cls
        if kind in ("StagedRule", "StagedRules"):
            if _any_in(v for v in vars(y).values() if isinstance(v, Jaxpr)):
                return True
        elif isinstance(y, types.FunctionType):
            if not is_library_function(y):
                return True
            left += _held(y)
        elif hasattr(y, "rule"):  # mapped, or differentiated
            left.append(y.rule)
        elif kind in _PARTS:
            left += [getattr(y, name) for name in _PARTS[kind]]
        elif isinstance(y, (tuple, list)):
            left += y
        elif isinstance(y, dict):
            left += y.values()
        elif callable(y) and not _is_known(y):
            return True
    return False


def _held(f: types.FunctionType) -> Iterator[Any]:
    yield from f.__defaults__ or ()
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _is_known(x: Any) -> bool:
    """Whether what can be called is a class, a function of a library's in C, or an object of ours."""
    module = type(x).__module__.partition(".")[0]
    return isinstance(x, (type, types.BuiltinFunctionType)) or module in ("tracejit", "numpy", "scipy")
