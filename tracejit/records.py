"""Dataclasses that cost nothing until the first object is made.

`dataclasses.dataclass` writes and compiles six methods where a class is defined: for a hundred classes a fourth of the
time of `import tracejit`, and most processes use few of them. `record` makes a dataclass in all that can be seen
(`fields`, `replace`, patterns, frozen ones), but prepares it when it is first used, and compiles `__init__` only:
the other methods are closures over the fields' values.
"""

from __future__ import annotations

import dataclasses
import operator
import threading
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

_C = TypeVar("_C", bound=type)
_Method = Callable[..., Any]

_LOCK = threading.RLock()
#: Records of which no object was made yet, and what prepares them.
_PENDING: dict[type, Callable[[], None]] = {}


@dataclass_transform(field_specifiers=(dataclasses.field,))
def record(
    *, frozen: bool = False, eq: bool = True, repr: bool = True, kw_only: bool = False
) -> Callable[[_C], _C]:
    """A decorator of classes, which takes the options of `dataclasses.dataclass` and gives what that gives.

    Not checked, and no use here: `__init__` is always made; records and other dataclasses don't inherit from each
    other; a record that compares is hashable if it is frozen, and only then.
    """

    def decorate(cls: _C) -> _C:
        own = {name for name, made in vars(cls).items() if made is not None}
        compared = ("__eq__", "__hash__") if frozen else ("__eq__",)
        wanted = {"__init__", *(compared if eq else ()), *(("__repr__",) if repr else ())} - own
        made: dict[str, Any] = {name: _stub(cls, name) for name in wanted}
        if frozen:
            made |= {"__setattr__": _no_assignment, "__delattr__": _no_deletion}
        elif eq:
            made["__hash__"] = None
        for name, method in made.items():
            setattr(cls, name, method)
        _PENDING[cls] = lambda: _prepare(cls, wanted, frozen, kw_only)
        return cls

    return decorate


def _stub(cls: type, name: str) -> _Method:
    """Prepares the class at the first call of one of its methods, which is not always `__init__`: objects are also
    unpickled."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        _complete(cls)
        return getattr(cls, name)(self, *args, **kwargs)

    return method


def _complete(cls: type) -> None:
    with _LOCK:  # another thread may be at it
        prepare = _PENDING.get(cls)
        if prepare is not None:
            prepare()
            del _PENDING[cls]


def _prepare(cls: type, wanted: set[str], frozen: bool, kw_only: bool) -> None:
    for base in cls.__mro__[:0:-1]:
        _complete(base)
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    fields = dataclasses.fields(made)
    values = _values([f.name for f in fields if f.compare])
    makers: dict[str, Callable[[], _Method]] = {
        "__init__": lambda: _init(made, fields, frozen),
        "__eq__": lambda: _eq(values),
        "__hash__": lambda: lambda self: hash(values(self)),
        "__repr__": lambda: _repr([f.name for f in fields if f.repr]),
    }
    for name in wanted:
        method = makers[name]()
        method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)


def _values(names: list[str]) -> Callable[[Any], tuple]:
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _init(cls: Any, fields: tuple[dataclasses.Field, ...], frozen: bool) -> _Method:
    missing = dataclasses.MISSING
    scope: dict[str, Any] = {"_missing": missing, "_assign": object.__setattr__}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines = []
    for f in fields:
        value = f.name
        if f.default_factory is not missing:
            scope[f"_make_{f.name}"] = f.default_factory
            value = f"_make_{f.name}()"
            value = f"{value} if {f.name} is _missing else {f.name}" if f.init else value
        if f.init:
            scope[f"_default_{f.name}"] = f.default
            default = f"=_default_{f.name}" if f.default is not missing else "=_missing"
            optional = f.default is not missing or f.default_factory is not missing
            parameters[bool(f.kw_only)].append(f.name + default * optional)
        elif f.default_factory is missing:
            continue  # the class has the default
        lines.append(f"_assign(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    names = ["self", *parameters[False], *(["*", *parameters[True]] if parameters[True] else [])]
    body = "\n    ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(names)}):\n    {body}", scope)
    return scope["__init__"]


def _eq(values: Callable[[Any], tuple]) -> _Method:
    def eq(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return eq


def _repr(names: list[str]) -> _Method:
    def representation(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return representation


def _no_assignment(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_deletion(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
