"""Guards for code that runs as it is: special methods of objects that traced code makes or is given.

Such objects must keep their class (pytrees know them by it), and Python calls the class's own special methods. What
these name is guarded, read or not; arrays and objects among it are guarded by identity, and told to the capture as
unfollowed. Other methods run as copies where rewritten code calls them (`shadows/kinds`). They are watched too
once the run meets code that is not rewritten and names them.
"""

from __future__ import annotations

import contextlib
import dis
import enum
import functools
import operator
import types
import typing
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.frontend import members
from tracejit.frontend.checks import is_plain
from tracejit.frontend.origins import is_generated, is_library_class, is_library_function, why_not
from tracejit.frontend.outside import questions
from tracejit.frontend.paths import Members, Node, root
from tracejit.frontend.shadows import behind, compiled, containers, copied, functions, objects
from tracejit.frontend.shadows.scopes import GuardedGlobals
from tracejit.frontend.variants.node import refusal
from tracejit.tracing import Box

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
#: Members of classes of which rewritten code gets copies.
_FOLLOWED = (types.FunctionType, staticmethod, classmethod, property)
#: Methods that are called when objects are taken apart and made again.
_OF_TREES = frozenset(("tree_flatten", "tree_unflatten"))
#: What calls methods by name.
CALLERS = (operator.attrgetter, operator.methodcaller, contextlib.closing)
_CALLERS = frozenset(cls.__name__ for cls in CALLERS)
#: What code names that may read attributes by names that nobody sees.
_BY_NAME = frozenset(("getattr", "vars", "dir", "__dict__", "__getattribute__"))
#: Methods of metaclasses that are followed where they are asked (`shadows/kinds`).
_ASKED = ("__instancecheck__", "__subclasscheck__")
#: What stays as it is: modules (their names are watched), and what annotations are made of.
_UNCHANGING = (
    *(types.ModuleType, types.UnionType, types.GenericAlias, np.dtype, typing.TypeVar),
    *(type(typing.Union[int, str]), type(typing.Callable[[], int])),
)
_REASON = "a method of a class that is not followed reads it; changes inside it are not seen"


def argument(session: Run, value: Any) -> Any:
    """An argument of the outermost function: an object of the user's that is no pytree (such as
    `self`) becomes a shadow; of pytrees the classes are watched."""
    if session.is_stand_in(value):  # given by the caller (see `Session.give`)
        return value
    if type(value) in _FUNCTIONS:
        return session.stand_in(value, value.__name__ if hasattr(value, "__name__") else "argument")
    if type(value) in (list, tuple) and any(
        type(x) in _FUNCTIONS and not session.is_stand_in(x) for x in value
    ):
        return type(value)(argument(session, x) for x in value)
    if (why_not(type(value)) and compiled.kind_of(value) is None) or objects.is_node(type(value)):
        watch_argument(session, value)
        return value
    return session.stand_in(value, "self")


def watch_argument(session: Run, value: Any) -> None:
    """Watch the classes of the user's objects in a pytree."""
    if type(value) is Box:
        return
    if isinstance(value, (list, tuple)):
        if not is_library_class(type(value)):
            watch_class(session, type(value))
        for x in value:
            watch_argument(session, x)
    elif isinstance(value, dict):
        for x in value.values():
            watch_argument(session, x)
    elif session.guarded and session.generators.enter("an argument", value):
        return  # draws are noticed in the end
    elif not is_library_class(type(value)) and not behind.is_shadow(value):
        watch_class(session, type(value))
        for x in getattr(value, "__dict__", {}).values():
            if type(x) is not Box and id(type(x)) not in session.watched:
                watch_argument(session, x)


def watch_class(session: Run, cls: type) -> None:
    """Guard what the methods of the user's class `cls` may read, and notice what those ask that run as they are."""
    if is_library_class(cls):
        return
    if not (session.guarded and session.rewrites):  # all methods run as they are
        questions.expect(session, cls)
    if session.guarded:
        _once(session, cls, lambda: _watch_class(session, cls))
    else:
        session.watched[id(cls)] = cls


def _watch_class(session: Run, cls: type) -> None:
    session.orders(cls)
    followed = copied.looks_plainly(cls)
    for base in cls.__mro__:
        if not is_library_class(base):
            for name, raw in list(vars(base).items()):
                fn = _function_of(raw)
                if isinstance(fn, types.FunctionType):
                    if name not in _ASKED:
                        _watch_method(session, base, name, raw, fn, followed)
                elif name[:2] != "__" and name not in getattr(base, "__dataclass_fields__", ()):
                    _watch_data(session, base, name, raw)
            session.check(Members(base), "len", len(vars(base)))  # a name that is not there stays away
            session.untouched.enter_class(base)
    if not is_library_class(type(cls)):
        watch_class(session, type(cls))
    if issubclass(cls, enum.Enum):
        as_is = any(_is_special(base) for base in cls.__mro__)
        for member in cls:
            node = root(member, "attribute", str(member))
            session.untouched.enter_object(str(member), member, node)
            if as_is or session.runs_as_is:
                members.keep(session, member)
            else:
                session.enumerated.append(member)


def _is_special(cls: type) -> bool:
    """Whether a class of the user's has special methods, which Python calls as they are."""
    functions = (n for n, f in vars(cls).items() if isinstance(f, types.FunctionType) and n[:2] == "__")
    return not is_library_class(cls) and any(n not in ("__new__", "__reduce_ex__") for n in functions)


def is_derived(session: Run, value: Any) -> bool:
    """Whether `value` is a list or dict of a class of the user's, which is watched then: what Python's own code calls
    of it runs as it is."""
    found = session.guarded and containers.is_derived(value)
    if found or containers.is_namedtuple(type(value)) or not session.guarded:
        watch_class(session, type(value))
    return found


def _function_of(raw: Any) -> Any:
    if isinstance(raw, (staticmethod, classmethod)):
        return raw.__func__
    if isinstance(raw, (functools.cached_property, functools.partialmethod)):
        return raw.func
    return raw.fget if isinstance(raw, property) else raw


def _watch_data(session: Run, cls: type, name: str, raw: Any) -> None:
    """Guard a class attribute that is no method."""
    if hasattr(type(raw), "__get__") and not is_library_class(type(raw)):
        questions.expect(session, type(raw))  # whose own methods run as they are
    if name[:1] == "_" and issubclass(cls, (tuple, enum.Enum)):
        return  # what these note about themselves
    node = behind.class_node(cls, name)
    if is_plain(raw):
        session.check(node, "value", raw)
    elif isinstance(raw, (*_UNCHANGING, enum.Enum)) or callable(raw) or hasattr(type(raw), "__get__"):
        session.check(node, "is", raw)
    else:
        if session.rewrites and name not in session.as_is and not session.as_is & _BY_NAME:
            session.followed_data.setdefault(name, []).append((node, raw))  # nobody has named it yet
        else:
            session.note(str(node), raw, _REASON)


def _watch_method(
    session: Run, cls: type, name: str, raw: Any, fn: types.FunctionType, followed: bool = True
) -> None:
    if is_generated(fn):
        return
    followed = followed and session.rewrites and isinstance(raw, _FOLLOWED)
    if followed and name[:2] != "__" and name not in session.as_is | _OF_TREES:
        session.followed_methods.setdefault(name, []).append((cls, raw, fn))
        return
    node = behind.class_node(cls, name)
    session.check(node, "is", raw)
    watch_function(session, node, fn, not isinstance(raw, staticmethod))


def runs(session: Run, code: types.CodeType, as_is: types.CodeType) -> None:
    """Watch the methods that the code `as_is`, a rewritten form of `code` or itself, calls past the hooks."""
    if code is as_is:  # which may ask members of enumerations for their attributes
        session.runs_as_is = True
        while session.enumerated:
            members.keep(session, session.enumerated.pop())
    named = {n for part in functions.codes_in(code) for n in part.co_names}
    if _CALLERS & named:
        release(session)
    elif session.guarded:
        left = {n for part in functions.codes_in(as_is) for n in part.co_names}
        _release(session, named & (left if as_is is code else left - {"getattr"}))  # which sees hooks as well


def stays(session: Run, fn: types.FunctionType, reason: str) -> None:
    """A function without a source runs as it is. Refuses it where that would have other results."""
    code = fn.__code__
    session.decisions[f"{code.co_filename}:{code.co_firstlineno}", fn.__name__] = (
        f"the function runs as it is: {reason}"
    )
    written = fn.__name__[:2] != "__" and not is_library_function(fn)  # and not by a dataclass
    if written and any(_asks_which(part) for part in functions.codes_in(code)):
        session.note(f"function `{fn.__name__}`", fn, f"it asks what objects are, and {reason}")
    if written:
        _asked_for_none(session, fn.__code__)


def _asks_which(code: types.CodeType) -> bool:
    """Whether code has `x is y`, with anything but None, or `case Class():`, of which Python asks the stand-ins."""
    steps = list(dis.get_instructions(code))
    return any(
        step.opname == "MATCH_CLASS"
        or (step.opname == "IS_OP" and not (before.opname == "LOAD_CONST" and before.argval is None))
        for before, step in pairwise(steps)
    )


def _asked_for_none(session: Run, code: types.CodeType) -> None:
    """Code runs as it is. Where it has `x is None`, no value may be None or something else, as conditions say."""
    asking = ("IS_OP", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE")
    names = (step.opname for part in functions.codes_in(code) for step in dis.get_instructions(part))
    if any(name.startswith(asking) or name.endswith(("_IF_NONE", "_IF_NOT_NONE")) for name in names):
        session.no_variants = True
        if session.has_variants:
            raise refusal("asked for by code that runs as it is")


def calls_by_name(cls: type) -> bool:
    """Whether objects of a class call methods whose names they were given."""
    return any(cls is known for known in CALLERS)


def release(session: Run) -> None:
    """Watch all methods from now on: they may be called by names that nobody sees."""
    session.as_is = _Everything()
    _release(session, set(session.followed_methods))
    _note_data(session, set(session.followed_data))


def _note_data(session: Run, names: set[str]) -> None:
    for name in names & session.followed_data.keys():
        for node, raw in session.followed_data[name]:
            session.note(str(node), raw, _REASON)
        session.followed_data.pop(name, None)


def _release(session: Run, names: set[str]) -> None:
    session.as_is |= names
    _note_data(session, set(session.followed_data) if names & _BY_NAME else names)
    for name in names & session.followed_methods.keys():
        for cls, raw, fn in session.followed_methods.get(name, ()):
            _watch_method(session, cls, name, raw, fn)
        session.followed_methods.pop(name, None)


class _Everything(frozenset):  # type: ignore[type-arg]
    """All names."""

    def __contains__(self, _: object) -> bool:
        return True

    def __or__(self, _: Any) -> _Everything:
        return self


def watch_function(session: Run, node: Node, fn: types.FunctionType, is_method: bool = False) -> None:
    """Guard every global and closure variable that `fn` names."""
    if not isinstance(fn.__globals__, GuardedGlobals) and not is_library_function(fn):
        _once(session, fn, lambda: _watch_function(session, node, fn, is_method))


def _watch_function(session: Run, node: Node, fn: types.FunctionType, is_method: bool) -> None:
    _asked_for_none(session, fn.__code__)
    questions.expect_function(session, fn, is_method)
    # The owner's item is guarded by identity; the code may still be replaced.
    session.check(node.named(fn).attr("__code__"), "is", fn.__code__)
    session.check(node.named(fn).attr("__defaults__"), "is", fn.__defaults__)
    session.untouched.enter_object(fn.__name__, fn)
    scope = session.scope(fn.__globals__, fn.__module__)
    runs(session, fn.__code__, fn.__code__)
    names = functions.globals_of(fn.__code__)
    session.untouched.enter_names(fn.__module__, fn.__globals__, names)
    for name in names:
        if name in scope.real:
            _watch_value(session, scope.node(name), scope.real[name])
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        session.untouched.enter_cell(name, cell)
        if name != "__class__" and functions.contents(cell) is not functions.EMPTY:
            _watch_value(session, root(cell, "closure variable", name).cell(), cell.cell_contents)


def _watch_value(session: Run, node: Node, value: Any) -> None:
    if type(value) in containers.SCALARS:
        session.check(node, "value", value)
        return
    session.check(node, "is", value)
    if isinstance(value, types.FunctionType):
        watch_function(session, node, value)
    elif isinstance(value, type):
        watch_class(session, value)
    elif not callable(value) and not isinstance(value, _UNCHANGING):
        session.refuse(str(node), value, _REASON)


def _once(session: Run, obj: Any, watch: Callable[[], None]) -> None:
    """`watch()` the first time; again after a refusal, which a branch may have survived by being the one taken."""
    if id(obj) in session.watched:
        return
    session.watched[id(obj)] = obj  # held, so that its id stays taken
    try:
        watch()
    except BaseException:
        session.watched.pop(id(obj), None)
        raise
