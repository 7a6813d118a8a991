"""Copies of the user's functions: the same code object over guarded globals and cells."""

from __future__ import annotations

import dis
import functools
import operator
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tracejit import tree
from tracejit.errors import UnfollowedError, is_internal
from tracejit.frontend.checks import FunctionState, unchanged
from tracejit.frontend.drawing import sources
from tracejit.frontend.journal import GONE, Change
from tracejit.frontend.origins import is_library_function
from tracejit.frontend.paths import CONST, ITEM, Node, root
from tracejit.frontend.shadows import acting, containers
from tracejit.frontend.shadows.scopes import GuardedGlobals
from tracejit.tracing import Box

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

EMPTY: Any = object()
_KEYWORDS = "__kwdefaults__"


def wrap_function(session: Run, node: Node, fn: types.FunctionType) -> Any:
    """The copy of a user's function; a library's function as it is."""
    scope = fn.__globals__
    if isinstance(scope, GuardedGlobals):
        if scope.session is session:
            return fn  # made inside this traced run: it has guarded globals already
        scope = scope.real
    if session.guarded and not node.given and (strict := acting.decorated(fn)) is not None:
        session.check(node, "is", fn)
        inner = session.wrap(node.attr("__wrapped__"), vars(fn)["__wrapped__"])
        return session.known(fn) or session.remember(fn, strict(inner), node)
    if is_library_function(fn) and not _wraps_users_function(fn):
        session.check(node, "is", fn)
        if session.guarded and (registry := _registry(fn)) is not None:
            return session.known(fn) or session.remember(fn, _Dispatch(session, node, fn, registry), node)
        if session.guarded and _keeps_state(fn):
            session.note(str(node), fn, "it keeps state of its own")
        session.from_library(node, fn)
        return fn
    if session.guarded:
        _guard(session, node, fn)
    return copy_function(session, node, fn, scope)


def _guard(session: Run, node: Node, fn: types.FunctionType) -> None:
    """Guard the function: itself, or of one that an argument leads to the code and the parts that it runs with."""
    if not node.given:
        state = FunctionState(fn, fn.__code__, fn.__defaults__, fn.__kwdefaults__)
        session.check(node, "function", state)
        return
    session.check(node, "type", types.FunctionType)
    session.check(node, "code", (fn.__code__, fn.__globals__))
    for name, kind, part in (("__defaults__", "len", len), ("__kwdefaults__", "keys", tuple)):
        held = getattr(fn, name)
        session.check(node.attr(name), "type", type(held))
        if held is not None:
            session.check(node.attr(name), kind, part(held))
    if not fn.__dict__:
        session.check(node.attr("__dict__"), "bare", None)


def _registry(fn: types.FunctionType) -> dict[type, Any] | None:
    """The functions by their classes of which the `dispatch` of `functools.singledispatch` chooses; None of other
    functions. An abstract class may get more classes."""
    if fn.__module__ != "functools" or fn.__name__ != "dispatch" or "registry" not in fn.__code__.co_freevars:
        return None
    found = contents((fn.__closure__ or ())[fn.__code__.co_freevars.index("registry")])
    return found if type(found) is dict and all(type(c) is type for c in found) else None


class _Dispatch:
    """Stands for the `dispatch` of `functools.singledispatch`: gives the copy of the function for a class."""

    def __init__(self, session: Run, node: Node, fn: types.FunctionType, registry: dict[type, Any]) -> None:
        self.session, self.fn, self.registry = session, fn, registry
        self.here = root(registry, "functions by class", getattr(registry[object], "__name__", ""))
        session.check(self.here, "keys", tuple(registry))

    def __call__(self, cls: Any) -> Any:
        real = vars(cls).get("_tj_class", cls)
        chosen = self.fn(real)
        by = next(c for c, f in self.registry.items() if f is chosen)
        return self.session.wrap(self.here.item(by), chosen)


def _keeps_state(fn: types.FunctionType) -> bool:
    """Whether it is a function of functools over a dict: the registry of `singledispatch`."""
    held = map(contents, fn.__closure__ or ()) if fn.__module__ == "functools" else ()
    return any(isinstance(x, dict) for x in held)


def _wraps_users_function(fn: types.FunctionType) -> bool:
    """For decorators of the standard library (contextmanager, wraps) around a user's function.

    Ours (grad, vmap …) hand the user's function to the session themselves; `np` in them is NumPy."""
    if fn.__globals__.get("__name__", "").partition(".")[0] == "tracejit":
        return False
    inner = vars(fn).get("__wrapped__")
    return isinstance(inner, types.FunctionType) and not is_library_function(inner)


def copy_function(
    session: Run, node: Node, fn: types.FunctionType, real: dict[str, Any]
) -> types.FunctionType:
    """The copy of `fn` in this run. Known before its cells are filled: functions may be recursive."""
    known = session.known(fn)
    if known is not None:
        if node.given or session.path(fn).given:
            session.alias(node, fn)
        elif not fn.__dict__ and not is_internal(fn.__code__.co_filename):
            session.check(node.named(fn).attr("__dict__"), "bare", None)
        return known
    here = node if node.given else node.named(fn)
    nodes = [_cell_node(here, n, fn) for n in range(len(fn.__closure__ or ()))]
    cells = tuple(map(functools.partial(_copy_cell, session), nodes, fn.__closure__ or ()))
    scope = session.scope(real, fn.__module__)
    by_name = dict(zip(fn.__code__.co_freevars, cells, strict=True))
    code = session.code_of(fn)
    if (name := _past_classes(fn.__code__, code is not fn.__code__)) is not None:
        reason = f"`{name}` would look at what stands for the object"
        if not session.guarded and fn.__name__ != "__getattribute__":
            raise UnfollowedError(what=str(node), reason=reason)
        session.note(str(node), fn, reason)
    if not session.guarded and (deleted := _deleted(fn.__code__)):
        reason = "it deletes a global, of which nobody is told"
        raise UnfollowedError(what=f"global `{deleted}`", reason=reason)
    copy = types.FunctionType(
        code, scope, fn.__name__, None, tuple(by_name[n] for n in code.co_freevars) or None
    )
    session.remember(fn, copy, node)
    session.differs(node, fn)
    session.codes.append((fn.__code__, scope))
    copy.__module__, copy.__qualname__ = fn.__module__, fn.__qualname__
    copy.__doc__, copy.__annotations__ = fn.__doc__, fn.__annotations__
    if hasattr(fn, "__type_params__"):
        copy.__type_params__ = fn.__type_params__  # type: ignore[attr-defined]
    for at, cell, original in zip(nodes, cells, fn.__closure__ or (), strict=True):
        _fill_cell(session, at, cell, original, fn.__code__)
    _copy_defaults(session, here, copy, fn)
    _copy_attributes(session, here, copy, fn, reached=node.kind != CONST)
    return copy


@functools.lru_cache(1024)
def _deleted(code: types.CodeType) -> str | None:
    """A global that code deletes, or None."""
    return next(iter(sorted(stored(code, ("DELETE_GLOBAL",)))), None)


@functools.lru_cache(1024)
def _past_classes(code: types.CodeType, hooked: bool) -> str | None:
    """What code names that looks at an object past its class, and is not called at once, which hooks see."""
    for part in codes_in(code):
        before = None
        for step in dis.get_instructions(part):
            name = step.argval
            if name == "__getattribute__" or (name == "__delattr__" and before == "object"):
                called = step.opname == "LOAD_METHOD" or "NULL" in step.argrepr
                if not (hooked and called and before == "object"):
                    return f"object.{name}" if before == "object" else name
            before = name if step.opname == "LOAD_GLOBAL" else None
    return None


def _copy_attributes(
    session: Run, node: Node, copy: types.FunctionType, fn: types.FunctionType, reached: bool
) -> None:
    """Attributes of the function. It may be given some between calls, also if it has none: that can only be seen
    where it is `reached` by a name, which the function that is called itself may not be. Nobody gives ours any."""
    if is_internal(fn.__code__.co_filename) and not fn.__dict__:
        return
    if fn.__dict__:
        copy.__dict__.update(session.wrap_dict(node.attr("__dict__"), fn.__dict__))
    elif reached and not node.given:
        session.check(node.attr("__dict__"), "bare", None)
    session.attributes.append((node, copy, _looks(copy)))


def wrap_functions(session: Run, node: Node, held: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a function in an eager run, with copies of functions among them, such as `__wrapped__`."""
    copies = {k: session.wrap(node.item(k), x) for k, x in held.items() if type(x) is types.FunctionType}
    return {**held, **copies}


def _looks(fn: types.FunctionType) -> dict[Any, Any]:
    """What traced code may have assigned of a function's copy."""
    parts = {name: getattr(fn, name) for name in ("__code__", "__defaults__", _KEYWORDS)}
    keywords = {(_KEYWORDS, name): x for name, x in (fn.__kwdefaults__ or {}).items()}
    return {**vars(fn), **parts, **keywords}


def attribute_changes(session: Run) -> Iterator[tuple[Change, bool]]:
    """The attributes of functions that the run has assigned, and whether each may be in a program: not code, and
    defaults only where the run went straight on, of functions that are guarded with them."""
    for node, copy, before in session.attributes:
        now = _looks(copy)
        if all(map(operator.is_, now.values(), before.values())) and list(now) == list(before):
            continue
        straight = session.untouched.straight and not session.has_variants and not node.given
        replaced = now[_KEYWORDS] is not before[_KEYWORDS]
        for name in {**before, **now}:
            same = name in before and name in now and unchanged(before[name], now[name])
            if same or (type(name) is tuple and replaced):
                continue
            special = not isinstance(name, str) or name[:2] == "__"
            here = node.attr(name) if isinstance(name, str) else node.attr(_KEYWORDS).item(name[1])
            free = not (session.guarded and special) or (straight and name != "__code__")
            yield Change(here, now.get(name, GONE)), free


def _cell_node(node: Node, n: int, fn: types.FunctionType) -> Node:
    """The path to a cell of `fn`, the function at `node`: captured functions keep their cells."""
    word, name = "closure variable", fn.__code__.co_freevars[n]
    if not node.given:
        return root(fn.__closure__[n], word, name)  # type: ignore[index]
    return Node(node.attr("__closure__"), ITEM, n, word, name)


def _copy_cell(session: Run, node: Node, cell: types.CellType) -> types.CellType:
    known = session.known(cell)
    if known is None:
        return session.remember(cell, types.CellType(), node)
    session.alias(node, cell)
    return known


def _fill_cell(
    session: Run, node: Node, copy: types.CellType, cell: types.CellType, code: types.CodeType
) -> None:
    """Puts the stand-in of the cell's contents into its copy, once a run."""
    if any(original is cell for original, *_ in session.cells):
        return
    try:
        contents = cell.cell_contents
    except ValueError:
        session.check(node, "empty", None)
        session.cells.append((cell, copy, EMPTY, node, code))
        return
    entry = [cell, copy, EMPTY, node, code]
    session.cells.append(entry)
    copy.cell_contents = entry[2] = session.wrap(node.cell(), contents)


def _copy_defaults(session: Run, node: Node, copy: types.FunctionType, fn: types.FunctionType) -> None:
    """Default arguments: the tuple is guarded with the function, its entries as captured values."""
    names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
    if fn.__defaults__:
        surplus = max(0, len(fn.__defaults__) - len(names))  # set by a decorator; Python uses the last ones
        of = dict(zip(range(len(fn.__defaults__))[surplus:], names[-len(fn.__defaults__) :], strict=True))
        copy.__defaults__ = tuple(
            session.wrap(_default(node, fn, "__defaults__", i, of[i]), value) if i in of else value
            for i, value in enumerate(fn.__defaults__)
        )
    if fn.__kwdefaults__:
        copy.__kwdefaults__ = {
            name: session.wrap(_default(node, fn, "__kwdefaults__", name, name), value)
            for name, value in fn.__kwdefaults__.items()
        }


def _default(node: Node, fn: types.FunctionType, which: str, key: Any, name: str) -> Node:
    """The path to a default argument of `fn`, the function at `node`."""
    owner = node.attr(which) if node.given else root(getattr(fn, which), "", "")
    return Node(owner, ITEM, key, "default argument", f"{name} of {fn.__name__}()")


def cell_changes(session: Run) -> Iterator[tuple[Change, bool]]:
    """The captured cells that the run has assigned (`nonlocal`)."""
    for _, copy, before, node, code in session.cells:
        now = contents(copy)
        if not unchanged(before, now):
            where = functools.partial(find_store, code, ("STORE_DEREF", "DELETE_DEREF"), node.text)
            yield Change(node.cell(), GONE if now is EMPTY else now, where=where), True


def contents(cell: types.CellType) -> Any:
    """What the cell holds, or EMPTY."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def find_store(code: types.CodeType, ops: tuple[str, ...], name: str) -> str | None:
    """`file:line` of an instruction in `code`, or in code nested in it, that assigns `name`."""
    for part in codes_in(code):
        line = None
        for instruction in dis.get_instructions(part):
            line = _line(instruction) or line
            if instruction.opname in ops and instruction.argval == name:
                return f"{part.co_filename}:{line}"
    return None


def stored(code: types.CodeType, ops: tuple[str, ...]) -> set[str]:
    """The names that instructions in `code`, or in code nested in it, are about."""
    numbers = {dis.opmap[op] for op in ops}
    parts = [part for part in codes_in(code) if not numbers.isdisjoint(part.co_code[::2])]
    return {i.argval for part in parts for i in dis.get_instructions(part) if i.opname in ops}


def globals_of(code: types.CodeType) -> tuple[str, ...]:
    """The names that `code`, and code nested in it, looks up or assigns outside of functions."""
    return tuple(sorted(stored(code, ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"))))


def _line(instruction: dis.Instruction) -> int | None:
    start = instruction.starts_line
    if isinstance(start, bool):  # from 3.13 on it says whether a line starts here
        return getattr(instruction, "line_number", None)
    return start


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """`code` and the code objects of functions and classes defined in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes_in(const)


def wrap_method(session: Run, node: Node, method: types.MethodType) -> Any:
    """A bound method: its function and its `self`, each by its own rule."""
    fn, owner = method.__func__, method.__self__
    here = node if node.given else node.named(method)
    session.check(node, "type", types.MethodType)
    if session.draws and sources.is_followed(owner):
        session.check(here.attr("__name__"), "value", method.__name__)
        return getattr(session.wrap(here.attr("__self__"), owner), method.__name__)
    if session.guarded and session.generators.enter(str(node), method):
        session.check(node, "is", method)
        return method
    new_fn = session.wrap(here.attr("__func__"), fn)
    new_self = session.wrap(here.attr("__self__"), owner)
    if not node.given and node.parent is not None:  # what a method is bound to can't change
        session.check(node.attr("__func__"), "is", fn)
        session.check(node.attr("__self__"), "is", owner)
    if new_fn is fn and new_self is owner:
        return method
    return types.MethodType(new_fn, new_self)


def wrap_builtin(session: Run, node: Node, value: Any) -> Any:
    """A function written in C; a method such as `W.dot` or `log.append` of its owner's stand-in."""
    owner = getattr(value, "__self__", None)
    if owner is None or isinstance(owner, (types.ModuleType, type)):
        session.check(node, "is", value)
        session.from_library(node, value)
        return value
    here = session.hold(node, value)
    if node.given:
        session.check(here.attr("__name__"), "value", value.__name__)
    inner = session.wrap(here.attr("__self__"), owner)
    return value if inner is owner else getattr(inner, value.__name__)


def wrap_partial(session: Run, node: Node, value: functools.partial[Any]) -> Any:
    """`functools.partial`: the function and the arguments it holds. One that holds values of this very run was
    made inside it."""
    if any(type(x) is Box and session.capture.owns(x) for x in tree.leaves((value.args, value.keywords))):
        return value
    here = session.hold(node, value)
    fn = session.wrap(here.attr("func"), value.func)
    args = session.wrap(here.attr("args"), value.args)
    keywords = session.wrap(here.attr("keywords"), value.keywords)
    made = type(value)(fn, *args, **keywords)
    if type(value) is functools.partial and session.guarded:
        # With the very dict that is followed, and no attributes: a partial of one that has some is not flattened.
        made.__setstate__((fn, args, keywords, None))  # type: ignore[attr-defined]
    else:
        kept = containers.Copy(node, made.keywords, containers.contents(made.keywords), free=False)
        session.containers.append(kept)
    return made
