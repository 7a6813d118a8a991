"""Objects that traced code makes past what follows classes: copies of shadows (see objects.py), which hold the
stand-ins, and dataclasses, of which code of the user's looks at the fields."""

from __future__ import annotations

import contextlib
import copy
import copyreg
import dataclasses
import enum
import inspect
import types
from collections.abc import Iterator
from typing import Any

from tracejit.frontend import active, members
from tracejit.frontend.journal import GONE
from tracejit.frontend.origins import is_generated, is_library_class, is_library_function
from tracejit.frontend.shadows import attributes
from tracejit.frontend.shadows.attributes import read
from tracejit.frontend.shadows.behind import (
    State,
    class_node,
    find,
    instance_dict,
    is_shadow,
    making,
    slots,
    state_of,
)
from tracejit.frontend.shadows.scopes import GuardedGlobals


def copy_of(self: Any) -> Any:
    """`copy.copy`: an object as traced code makes it, which holds the stand-ins."""
    return _copy(self, None)


def _copy(self: Any, memo: dict[int, Any] | None) -> Any:
    """A copy, a deep one with a `memo`: as the class says, or else of all attributes."""
    state = state_of(self)
    cls = type(state.original)
    if cls in copyreg.dispatch_table:
        state.session.refuse_always(
            f"a copy of {state.node}", state.original, "`copyreg` says how its class is copied"
        )
    for name, given in (("__reduce_ex__", (4,)), ("__reduce__", ())):
        if (reduce := _own(self, name)) is not None:
            return _remade(self, memo, *_known(state, reduce(*given)))
    ours: Any = making.stand_in(cls) or cls
    if _own(self, "__new__") is not None:
        args, kwargs = _arguments(self)
        new = ours.__new__(ours, *args, **kwargs)
    else:
        new = object.__new__(ours)
    held = _own(self, "__getstate__")
    if held is None and _own(self, "__setstate__") is None:
        return _filled(new, {name: read(self, name) for name in _attributes(self)}, self, memo)
    kept = {name: read(self, name) for name in _attributes(self)} or None
    return _with_state(new, kept if held is None else held(), self, memo)


def _own(self: Any, name: str) -> Any:
    """A method of the class's own that has a part in copies, as traced code calls it; None if there is none."""
    state = state_of(self)
    owner, method = find(type(state.original).__mro__, name)
    if owner in (object, None) or getattr(method, "__module__", None) == "dataclasses":
        return None
    return attributes.bind(self, state, owner, method, name)


def _known(state: State, parts: Any) -> tuple[Any, ...]:
    """What `__reduce_ex__` gives, without items of lists and dicts."""
    if type(parts) is not tuple or any(x is not None for x in parts[3:]):
        state.session.refuse_always(
            f"a copy of {state.node}", state.original, "its class gives more than its state"
        )
    return (*parts, None)[:3]


def _arguments(self: Any) -> tuple[Any, dict[str, Any]]:
    """What `__new__` is given for a copy."""
    if (given := _own(self, "__getnewargs_ex__")) is not None:
        return given()
    given = _own(self, "__getnewargs__")
    return (() if given is None else given()), {}


def _remade(self: Any, memo: dict[int, Any] | None, make: Any, args: Any, held: Any) -> Any:
    return _with_state(make(*(args if memo is None else copy.deepcopy(args, memo))), held, self, memo)


def _with_state(new: Any, held: Any, self: Any, memo: dict[int, Any] | None) -> Any:
    """`new` with the state `held`, by its class's `__setstate__` if it has one."""
    if held is None:
        return new
    if not hasattr(new, "__setstate__"):
        if type(held) is not dict:
            state = state_of(self)
            state.session.refuse_always(f"a copy of {state.node}", state.original, "its state is no dict")
        return _filled(new, held, self, memo)
    if memo is not None:
        memo[id(self)] = new
        held = copy.deepcopy(held, memo)
    new.__setstate__(held)
    return new


def _filled(new: Any, held: dict[str, Any], self: Any, memo: dict[int, Any] | None) -> Any:
    """`new` with the attributes `held`."""
    if memo is not None:
        memo[id(self)] = new
    for name, value in held.items():
        object.__setattr__(new, name, value if memo is None else copy.deepcopy(value, memo))
    return new


def _attributes(self: Any) -> list[str]:
    """The names of all that the object itself has now."""
    state = state_of(self)
    held = instance_dict(state.original) if state.names is None else state.names
    filled = []
    for name in slots(type(state.original)):
        if hasattr(state.original, name):
            filled.append(name)
        else:
            state.session.check(state.node, "missing", name)
    names = dict.fromkeys([*held, *filled, *state.writes])
    return [n for n in names if state.writes.get(n) is not GONE]


def deep_copy_of(self: Any, memo: dict[int, Any]) -> Any:
    """`copy.deepcopy`."""
    return _copy(self, memo)


# ---------------------------------------------------------------- classes that are used as they are


def member_of(x: Any, name: str) -> tuple[Any] | None:
    """The copy of a method, what the copy of a property gives, or the stand-in of what the class holds; None if
    Python's own look-up serves."""
    session = active.session()
    if session is None or not session.guarded:
        return None
    cls = x if isinstance(x, type) else type(x)
    if isinstance(x, enum.Enum) and name not in _OF_MEMBERS:
        members.keep(session, x)
    if is_library_class(cls) or is_shadow(x) or "_tj_class" in vars(cls):
        return None
    owner, raw = find(cls.__mro__, name)
    if is_users(owner, raw):
        found = _is_found(x, cls, name, raw)
        return (
            (attributes.bind_member(session, owner, name, raw, None if cls is x else x, cls),)
            if found
            else None
        )
    if (
        owner is None
        or hasattr(type(raw), "__get__")
        or is_library_class(owner)
        or not _is_held(x, cls, name)
    ):
        return None
    if session.untouched.has_changed(owner, name, raw):
        return (raw,)  # what the run has written
    return (members.read(session, owner, name, raw),)


def _is_found(x: Any, cls: type, name: str, raw: Any) -> bool:
    """Whether Python finds it, and not an attribute of the object's own, of a metaclass, or by rules of the class."""
    if cls is x:
        return type(raw) is not property and _looks_into(cls, name)
    if not looks_plainly(cls):
        return False
    return type(raw) is property or name not in instance_dict(x)


def _is_held(x: Any, cls: type, name: str) -> bool:
    """Whether Python finds what is no method in the class, of which the run does not make another at each call."""
    if (
        isinstance(cls, enum.EnumMeta)
        or name[:2] == "__"
        or name[:4] in ("_tj_", "_abc")
        or is_made_within(cls)
    ):
        return False
    if cls is x:
        return _looks_into(cls, name)
    return looks_plainly(cls) and name not in instance_dict(x)


def is_made_within(cls: type) -> bool:
    """Whether traced code has defined a class."""
    session = active.session()
    own = session is not None and session.own.get(id(cls)) is cls
    return own or any(isinstance(getattr(f, "__globals__", None), GuardedGlobals) for f in vars(cls).values())


#: What is the same of members of enumerations.
_OF_MEMBERS = frozenset({"value", "name", "_value_", "_name_", "__class__", "__module__", "__doc__"})


def looks_plainly(cls: Any) -> bool:
    """Whether Python looks for attributes of objects as their classes say, and not a method of the user's."""
    return isinstance(cls.__getattribute__, types.WrapperDescriptorType)


def _looks_into(cls: Any, name: str) -> bool:
    """Whether Python finds a name in a class, and not in its metaclass."""
    meta: Any = type(cls)
    in_meta = name[:2] != "__" and find(meta.__mro__, name)[0] is not None
    return not in_meta and meta.__getattribute__ in (type.__getattribute__, enum.EnumType.__getattribute__)


# ---------------------------------------------------------------- dataclasses


def is_users(owner: Any, raw: Any) -> bool:
    """Whether a member of a class is the user's code."""
    fn = raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw
    fn = raw.fget if type(raw) is property else fn
    return (
        isinstance(fn, types.FunctionType)
        and not is_library_class(owner)
        and not is_generated(fn)
        and not is_library_function(fn)
    )


def making_of(cls: type) -> Any:
    """How an object of a dataclass is made where the user's code has a part in it; None: as Python makes it."""
    if (
        cls.__new__ is not object.__new__
        or "_tj_class" in vars(cls)
        or type(cls).__call__ is not type.__call__
    ):
        return None
    if is_users(*find(cls.__mro__, "__init__")):
        return _object
    owner, init = find(cls.__mro__, "__init__")
    if not is_dataclass(owner) or not isinstance(init, types.FunctionType) or not is_generated(init):
        return None
    users = is_users(*find(cls.__mro__, "__post_init__")) or any(map(_is_followed, _factories(owner)))
    return _dataclass if users else None


def is_dataclass(cls: Any) -> bool:
    """Whether a class is a dataclass itself."""
    return "__dataclass_fields__" in vars(cls)


def derives(cls: type) -> bool:
    """Whether a class is a dataclass or derives from one."""
    return any(map(is_dataclass, cls.__mro__))


def _factories(cls: type) -> Iterator[Any]:
    """What makes the values of the fields of a dataclass that are not given."""
    fields: Any = cls.__dataclass_fields__  # type: ignore[attr-defined]
    return (f.default_factory for f in fields.values() if f.default_factory is not dataclasses.MISSING)


def _is_followed(factory: Any) -> bool:
    """Whether it may be the user's code: not a class of Python's or a library's."""
    if isinstance(factory, type):
        return not is_library_class(factory)
    return type(factory) is not types.BuiltinFunctionType


def _object(cls: type, *args: Any, **kwargs: Any) -> Any:
    """An object of a dataclass with an `__init__` of the user's, by its copy."""
    made: Any = object.__new__(cls)
    init = _followed(made, "__init__")
    (made.__init__ if init is None else init[0])(*args, **kwargs)
    return made


def _dataclass(cls: type, *args: Any, **kwargs: Any) -> Any:
    """An object of a dataclass: the fields as its `__init__` sets them, by copies of what makes their values, and the
    copy of `__post_init__`."""
    made: Any = object.__new__(cls)
    session, owner = active.session(), find(cls.__mro__, "__init__")[0]
    given = _given(owner, made, args, kwargs) if session is not None and session.guarded else None
    if given is None:
        return cls(*args, **kwargs)
    after = _followed(made, "__post_init__")
    _fill(made, owner, given, None if after is None else after[0])
    return made


def _given(cls: type, made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments by name; None where Python says what is wrong with them."""
    with contextlib.suppress(TypeError):
        return inspect.signature(cls.__init__).bind(made, *args, **kwargs).arguments
    return None


def _fill(made: Any, cls: type, given: dict[str, Any], after: Any) -> None:
    """What the generated `__init__` of a dataclass does; `after` is the `__post_init__`, if there is one."""
    put = object.__setattr__ if cls.__dataclass_params__.frozen else setattr  # type: ignore[attr-defined]
    handed = []
    for name, f in cls.__dataclass_fields__.items():  # type: ignore[attr-defined]
        kind = f._field_type.name
        if kind == "_FIELD_CLASSVAR":
            continue
        if name in given:
            value = given[name]
        elif f.default_factory is not dataclasses.MISSING:
            value = _by_factory(cls, name, f.default_factory)
        elif f.default is dataclasses.MISSING:
            continue
        else:
            value = f.default
            if not f.init and kind == "_FIELD" and "__slots__" not in vars(cls):
                continue  # the class has it
        if kind == "_FIELD_INITVAR":
            handed.append(value)
        else:
            put(made, name, value)
    if after is not None:
        after(*handed)


def _init_of(owner: type, raw: Any) -> Any:
    """What does as the generated `__init__` of the dataclass `owner` does where that calls the user's code past what
    follows it; None for others."""
    if not isinstance(raw, types.FunctionType) or not is_generated(raw) or not is_dataclass(owner):
        return None
    ends = hasattr(owner, "__post_init__")  # a subclass's own is not called by this `__init__`
    if not ends and not any(map(_is_followed, _factories(owner))):
        return None

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        given = _given(owner, self, args, kwargs)
        if given is None:
            raw(self, *args, **kwargs)
        else:
            followed = _followed(self, "__post_init__") if ends else None
            after = getattr(self, "__post_init__", None) if followed is None and ends else followed
            _fill(self, owner, given, after[0] if type(after) is tuple else after)

    return init


making.init_of = _init_of


def _by_factory(cls: type, name: str, factory: Any) -> Any:
    """The value of a field that is not given."""
    session = active.session()
    if session is None or not _is_followed(factory):
        return factory()
    fields = class_node(cls, "__dataclass_fields__")
    own = session.wrap(fields.item(name).attr("default_factory"), factory)
    making = making_of(own) if isinstance(own, type) and derives(own) else None
    return own() if making is None else making(own)


def _followed(x: Any, name: str) -> tuple[Any] | None:
    """The copy of a method of the user's; None where methods are not followed."""
    session = active.session()
    owner, raw = find(type(x).__mro__, name)
    if session is None or not session.guarded or not is_users(owner, raw):
        return None
    return (attributes.bind_member(session, owner, name, raw, x, type(x)),)
