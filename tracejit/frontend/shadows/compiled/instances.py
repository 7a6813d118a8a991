"""Objects of classes that Numba compiled (`jitclass`).

Behind the shadow of such an object is its mirror: an object of a plain class that has the same methods and properties,
and whose attributes are the fields of the object, read and written there. So it is followed as any object of the user's
is, and its methods as functions of `njit` are. An object that traced code makes is one of that class, and can't leave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.frontend.origins import is_library_function
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows import behind, objects
from tracejit.frontend.shadows.behind import Kept
from tracejit.frontend.shadows.compiled.items import array_of, number, number_of
from tracejit.numpy.operands import dtype_of, shape_of
from tracejit.tracing import Box

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_BOX, _TYPE = "_tj_box", "_tj_numba_type"
#: The plain class of each type of Numba's; None: it can't be followed.
_made: dict[Any, type | None] = {}


class Field(Kept):
    """A field: it is in the original, or in the `__dict__` of an object that traced code has made."""

    def __init__(self, name: str, type_: Any) -> None:
        self.name = name
        self.type = type_

    def __get__(self, obj: Any, cls: Any = None) -> Any:
        if obj is None:
            return self
        held = vars(obj)
        if _BOX in held:
            return getattr(held[_BOX], self.name)
        if self.name not in held:
            raise UnfollowedError(what=f"field `{self.name}`", reason="it is read before it is assigned")
        return held[self.name]

    def __set__(self, obj: Any, value: Any) -> None:
        held = vars(obj)
        if _BOX in held:
            setattr(held[_BOX], self.name, value)
        else:
            held[self.name] = self.cast(value)

    def cast(self, value: Any) -> Any:
        """What the field holds when `value` is assigned. Raises UnfollowedError where that is for Numba to say."""
        dtype, array = number_of(self.type), array_of(self.type)
        made = number(value, dtype) if dtype is not None else None
        if made is not None:
            return made
        if array is not None and isinstance(value, (Box, np.ndarray)):
            if (dtype_of(value), len(shape_of(value))) == array:
                return value
        raise UnfollowedError(what=f"field `{self.name}` of {self.type}", reason="it is given another type")


def plain_class(type_: Any) -> type | None:
    """The plain class with the methods of a `jitclass`, of which this is Numba's type of objects; None if they are of a
    library, or a field is no array and no number of 64 bits."""
    if type_ not in _made:
        _made[type_] = _plain(type_)
    return _made[type_]


def _plain(type_: Any) -> type | None:
    if any(number_of(t) is None and array_of(t) is None for t in type_.struct.values()):
        return None
    init = type_.jit_methods["__init__"].py_func
    if is_library_function(init):
        return None
    body: dict[str, Any] = {name: Field(name, t) for name, t in type_.struct.items()}
    body.update(type_.jit_methods)
    for name, accessors in type_.jit_props.items():
        body[name] = property(accessors.get("get"), accessors.get("set"))
    body.update((name, staticmethod(f)) for name, f in type_.jit_static_methods.items())
    body.update(__module__=init.__module__, __qualname__=type_.classname, __doc__=type_.class_type.class_doc)
    return type(type_.classname, (), {**body, _TYPE: type_, "_tj_stays": True})


def kind_of(value: Any) -> Any:
    """The class of an object of a `jitclass` that can be followed; None for everything else."""
    cls = type(value)
    type_ = vars(cls).get("_numba_type_") if cls.__module__.startswith("numba.") else None
    return cls if hasattr(type_, "class_type") and plain_class(type_) is not None else None


def class_of(cls: type) -> type | None:
    """The plain class by which a `jitclass` is followed; None for other classes."""
    if type(cls).__name__ != "JitClassType" or not type(cls).__module__.startswith("numba."):
        return None
    return plain_class(cls.class_type.instance_type)  # type: ignore[attr-defined]


def numba_type(x: Any) -> Any:
    """Numba's type of a stand-in of such an object; None for everything else."""
    if isinstance(vars(x) if hasattr(x, "__dict__") else None, dict) and "_tj_type" in vars(x):
        return vars(x)["_tj_type"]
    owner, found = behind.find(type(x).__mro__, _TYPE)
    return None if owner is None else found


def mirror(value: Any) -> Any:
    """The object of the plain class behind which `value` is."""
    cls = plain_class(type(value)._numba_type_)
    made = object.__new__(cls)  # type: ignore[arg-type]
    vars(made)[_BOX] = value
    return made


def wrap_instance(session: Run, node: Node, value: Any) -> Any:
    """The shadow of an object of a `jitclass`."""
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    here = session.hold(node, value)
    session.differs(node, value)
    inner = mirror(value)
    shadow = objects.shadow(type(inner), behind.State(session, here.applied(mirror), inner))
    return session.remember(value, shadow, node)
