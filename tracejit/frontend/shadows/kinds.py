"""`type`, `isinstance`, `issubclass`, `hasattr` and `getattr` as traced code calls them: they answer for the values
that traced ones stand for.

Where a class answers for itself (`abc`, `typing.Protocol`, a metaclass), it is asked about an example of such a value,
or about the user's object behind a stand-in; a metaclass of the user's is followed as any function is.

Objects of pytree classes (dataclasses, named tuples, what users register) keep their class, since pytrees know them by
it; so do members of enumerations and objects whose class derives from one of C. Their methods and properties run as
copies where the source has `x.name` or `x(...)`, which are calls of hooks. What stands for other objects hands out
copies of their methods itself (`objects`, `classes`).
"""

from __future__ import annotations

import builtins
import enum
import fractions
import functools
import operator
import types
import typing
from typing import Any

import numpy as np

from tracejit.errors import UnfollowedError, UnknownMemberError
from tracejit.frontend import active, members
from tracejit.frontend.drawing import sources
from tracejit.frontend.drawing.states import Bits
from tracejit.frontend.journal import GONE
from tracejit.frontend.lists import buffers
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.origins import is_library_class, is_library_function
from tracejit.frontend.rewrite.source.texts import OF_CLASSES
from tracejit.frontend.shadows import acting, attributes, behind, classes, growing, modules, objects
from tracejit.frontend.shadows.copied import derives, making_of, member_of
from tracejit.frontend.shadows.modules import ndarray
from tracejit.frontend.shadows.refusing import Refusing, held, refusal
from tracejit.frontend.text.deferred import Text, known
from tracejit.frontend.text.sinks import StandIn
from tracejit.frontend.variants.conversions import conversion
from tracejit.frontend.variants.enumerations import of_enumeration
from tracejit.frontend.variants.node import Variant, use
from tracejit.numpy.boxes.conversions import class_of, no_attribute
from tracejit.numpy.boxes.methods import REFUSED
from tracejit.numpy.boxes.pythons import BINARY, has_numbers, in_file, judge_type, lacks
from tracejit.numpy.captured.array import CapturedArray
from tracejit.numpy.operands import is_subclassed
from tracejit.tracing import Box

_UNIONS = (types.UnionType, type(typing.Union[int, str]))


def example(x: Any) -> Any:
    """The user's value behind `x`; for a traced one another of its class, dtype and shape.

    Raises UnfollowedError for what acts, of which the class may be another at the next call."""
    if type(x) is Text:
        return ""
    if isinstance(x, StandIn):
        raise UnfollowedError(
            what="the class of a stream or logger", reason="it may be another at the next call"
        )
    if type(x) is not Box:
        if (stands_for := getattr(type(x), "tj_example", None)) is not None:
            return stands_for(x)
        return real_class(_list_of(behind.original(held(x))))
    judge_type(x)
    cls, dtype = class_of(x), x.aval.dtype
    if cls is not np.ndarray:
        return cls() if cls.__module__ == "builtins" else np.zeros((), dtype)[()]
    return np.broadcast_to(np.zeros((), dtype), [d if type(d) is int else 1 for d in x.aval.shape])


def _list_of(x: Any) -> Any:
    """For what stands for a list another list, anything else as it is."""
    return buffers.example(growing.example(x))


def real_class(cls: Any) -> Any:
    """The class that a stand-in in traced code is for; anything else as it is."""
    cls = held(cls)
    if type(cls) is acting.Seeded:
        return cls.make
    if type(cls) is types.FunctionType:
        return modules.class_behind(cls)
    return classes.users_class(cls)


def _type_of(x: Any) -> Any:
    if type(x) is Variant:
        return use.each(x, _type_of)
    if type(x) is Box:
        judge_type(x)
        cls = class_of(x)
        return ndarray if cls is np.ndarray else cls
    if type(x) is CapturedArray or type(x) is np.ndarray:
        return ndarray
    if is_subclassed(x):
        made = "_tj_class" in vars(type(x))  # a class that traced code knows by another name
        return type(x) if made else ndarray if type(example(x)) is np.ndarray else type(example(x))
    if type(x) is Refusing:  # its class has a stand-in like it, which is another object
        raise refusal(object.__getattribute__(x, "_tj_thing"))
    stands = type(x) is Text or isinstance(x, StandIn) or hasattr(type(x), "tj_example")
    x = example(x) if stands else held(x)
    cls = x.__class__ if sources.is_drawing(x) else type(_list_of(behind.original(x)))
    if cls is type or classes.users_class(x) is not x:
        return TracedType
    session = active.session()
    ours = (classes.traced_class(cls) or acting.seeded(cls, session)) if session is not None else None
    return ours or (modules.stand_in_for(cls) if cls.__module__ == "itertools" else None) or cls


class _TypeMeta(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is TracedType and len(args) == 1 and not kwargs:
            return _type_of(args[0])
        return type.__call__(type if cls is TracedType else cls, *args, **kwargs)

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, type) if cls is TracedType else type.__instancecheck__(cls, x)

    def __subclasscheck__(cls, c: type) -> bool:
        return issubclass(c, type) if cls is TracedType else type.__subclasscheck__(cls, c)

    def __eq__(cls, other: object) -> bool:
        return other is cls or (cls is TracedType and other is type)

    def __hash__(cls) -> int:
        return hash(type) if cls is TracedType else type.__hash__(cls)


class TracedType(type, metaclass=_TypeMeta):
    """`type`, which tells the user's class of a shadow and `np.ndarray` of a traced array."""

    _tj_class = type

    def __setattr__(cls, name: str, value: Any) -> None:
        _of_class(type.__setattr__, cls, name, value)

    def __delattr__(cls, name: str) -> None:
        _of_class(type.__delattr__, cls, name)


TracedType.__name__ = TracedType.__qualname__ = "type"
TracedType.__module__ = "builtins"


def traced_isinstance(x: Any, cls: Any, /) -> bool:
    """`isinstance`."""
    if type(x) is Variant:
        return use.each(x, lambda v: traced_isinstance(v, cls))
    if isinstance(cls, tuple):
        return any(traced_isinstance(x, c) for c in cls)
    if isinstance(cls, _UNIONS):
        return any(traced_isinstance(x, real_class(c)) for c in typing.get_args(cls))
    cls, own = real_class(cls), example(x)
    if type(own) is cls:
        return True
    check = _followed(cls, "__instancecheck__")
    return isinstance(own, cls) if check is None else bool(check(x))


def traced_issubclass(c: Any, cls: Any, /) -> bool:
    """`issubclass`."""
    if isinstance(cls, tuple):
        return any(traced_issubclass(c, k) for k in cls)
    if isinstance(cls, _UNIONS):
        return any(traced_issubclass(c, real_class(k)) for k in typing.get_args(cls))
    cls = real_class(cls)
    check = _followed(cls, "__subclasscheck__")
    return issubclass(real_class(c), cls) if check is None else bool(check(c))


def _followed(cls: Any, name: str) -> Any:
    """The method `name` of a metaclass of the user's, as a copy that is followed; None for Python's own."""
    owner, raw = behind.find(type(cls).__mro__, name)
    session = active.session()
    if session is None or not isinstance(raw, types.FunctionType) or is_library_function(raw):
        return None
    return types.MethodType(session.wrap(behind.class_node(owner, name), raw), cls)


def traced_hasattr(x: Any, name: str, /) -> bool:
    """`hasattr`: what a traced array can't do, an array still has."""
    if type(x) is Variant:
        return use.each(x, lambda v: traced_hasattr(v, name))
    stands = type(x) in (Box, Text, growing.Growing) or isinstance(x, (Columns, StandIn))
    stands = stands or hasattr(type(x), "tj_example")
    if type(x) is Box:
        in_file(x, name)
    elif isinstance(x, enum.Enum):
        member_of(x, name)
    return builtins.hasattr(example(x) if stands else held(x), name)


#: What is looked at most, and has no members of the user's.
_NO_MEMBERS = frozenset(  # by identity: a metaclass may not let its classes be hashed
    map(id, (Box, np.ndarray, int, float, bool, str, tuple, list, dict, types.ModuleType, types.FunctionType))
)
_CALLED = frozenset(map(id, (types.FunctionType, types.MethodType, types.BuiltinFunctionType, type)))


def _member(x: Any, name: str, *default: Any) -> Any:
    """`x.name`, or `getattr(x, name, *default)`."""
    if id(type(x)) not in _NO_MEMBERS and (found := member_of(x, name)) is not None:
        return found[0]
    try:
        return getattr(x, name, *default)
    except AttributeError as e:
        at = e.__traceback__
        if at is not None and at.tb_next is None:
            raise e.with_traceback(None) from e.__cause__  # Python says it, and it is no error of ours
        raise


def callee(f: Any) -> Any:
    """What is called by `f(...)`: the copy of such an object's `__call__`, a conversion for a NumPy scalar type."""
    if isinstance(f, type) and issubclass(f, np.generic):
        return conversion(f)
    if f is object.__setattr__ or f is object.__delattr__ or f is object.__getattribute__:
        return functools.partial(_of_object, f)
    if (stand_in := _TAKING.get(f) if isinstance(f, type) and is_library_class(f) else None) is not None:
        return stand_in
    if isinstance(f, type) and issubclass(f, BaseException) and isinstance(f.__init__, types.FunctionType):
        return functools.partial(_exception, f)
    if isinstance(f, enum.EnumMeta) and type(f).__call__ is enum.EnumMeta.__call__:
        return functools.partial(of_enumeration, f)
    if isinstance(f, type) and derives(f) and (making := making_of(f)) is not None:
        return functools.partial(making, f)
    if id(type(f)) in _CALLED or isinstance(f, type) or (found := member_of(f, "__call__")) is None:
        return f
    return found[0]


def _of_object(method: Any, x: Any, *args: Any) -> Any:
    """`object.__setattr__(x, name, value)` and its kin: past what the class of `x` would do."""
    if method is object.__getattribute__:
        if type(x) is Box:
            return traced_getattr(x, *args)
        return _past_class(x, *args) if behind.is_shadow(x) else method(x, *args)
    if not behind.is_shadow(x) or not behind.state_of(x).session.capture.journaled:
        method(x, *args)
        return None
    objects.tell_apart(behind.state_of(x))
    (attributes.assign if method is object.__setattr__ else attributes.delete)(x, *args)
    return None


def _past_class(x: Any, name: str) -> Any:
    """`object.__getattribute__` of a shadow, which asks no `__getattr__`."""
    state = behind.state_of(x)
    cls, here = type(state.original), behind.written(state, name)
    known = here is not behind.MISSING or behind.owns(state.original, name) or name == "__dict__"
    if here is GONE or not (known or behind.find(cls.__mro__, name)[0]):
        if not known:
            state.session.check(state.node.attr("__dict__"), "absent", name)
            behind.not_overridden(state.session, cls, object, name)
        raise behind.no_attribute(state.original, name)
    return attributes.read(x, name)


def _of_class(method: Any, cls: Any, name: str, *value: Any) -> None:
    """`type.__setattr__(cls, name, value)`, and `type.__delattr__`: past what a metaclass would do."""
    if classes.users_class(cls) is cls:
        method(cls, name, *value)
    else:  # whose class is one of ours, and does it for the user's
        (setattr if value else delattr)(cls, name, *value)


def _whole(x: Any, of: tuple[Any, ...]) -> Any:
    """A traced number of one of the classes `of`, as the integer that the program takes it to be."""
    index: Any = operator.index
    return index(x) if type(x) is Box and class_of(x) in of else x


def os_error(*args: Any, **kwargs: Any) -> OSError:
    """`OSError`, of which the class depends on a number."""
    return OSError(
        *(_whole(x, (int, bool)) if n == 0 < len(args) - 1 else x for n, x in enumerate(args)), **kwargs
    )


def _dtype(*args: Any, **kwargs: Any) -> Any:
    """`np.dtype`, which takes no array."""
    given = args[0] if args else None
    if type(given) is not Box:
        return np.dtype(*args, **kwargs)
    if class_of(given) is np.ndarray:
        raise TypeError("Cannot construct a dtype from an array")
    if len(args) > 1 or kwargs:
        raise UnfollowedError(what="`np.dtype` of a number", reason="its flags may be warned of at each call")
    return np.dtype(example(given))


def _fraction(*args: Any, **kwargs: Any) -> Any:
    """`fractions.Fraction`, of integers that are known."""
    if any(type(x) is Box and class_of(x) is float for x in args):
        raise UnfollowedError(what="a fraction", reason="the number that it is made of is traced")
    return fractions.Fraction(*(_whole(x, (int, bool, np.int64)) for x in args), **kwargs)


#: Classes that are written in C, or look at the classes of what they are given, and what makes their objects.
_TAKING: dict[type, Any] = {OSError: os_error, np.dtype: _dtype, fractions.Fraction: _fraction}


def _exception(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """An exception of a class of the user's, by the copy of its `__init__`, which may make its text."""
    error = cls.__new__(cls, *args, **kwargs)
    init = member_of(error, "__init__")
    (error.__init__ if init is None else init[0])(*args, **kwargs)
    return error


#: Special members that are the same for all values of a class.
_OF_CLASS = frozenset({"__doc__", "__array_priority__", "__module__"})
#: Operators of arrays by name: they do what the operators do.
_OPERATORS = frozenset(
    (*BINARY, *("r" + n for n in BINARY), *("i" + n for n in BINARY), "matmul", "rmatmul", "imatmul")
    + ("neg", "pos", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge", "getitem", "setitem", "len", "iter")
)


def traced_getattr(x: Any, name: str, /, *default: Any) -> Any:
    """`getattr`, and `x.name` in the source. What a traced value has for Python's and NumPy's own use is
    not what the value has: the user's code is told of the value's and may not have the special ones."""
    if type(name) is Text:
        name = known(name, "the attribute of this name")
    if type(x) is Variant:
        return use.each(
            x, lambda v: traced_getattr(v, name, *default), probe=lambda v: _probe(v, name, *default)
        )
    if type(x) is not Box:
        if name == "__dict__" and classes.users_class(x) is not x:
            classes.refuse_names(x)
        if name in OF_CLASSES and isinstance(x, type):
            return _kin(x, name)
        if name == "__class__" and (sources.is_drawing(x) or type(x) is Bits):
            return _type_of(x)
        if name in members.NAMES and callable(x):
            members.keep_name(x := real_class(x), name)
        found = _member(x, name, *default)
        if name == "dtype" and isinstance(found, np.dtype) and (session := active.session()) is not None:
            session.untouched.enter_dtype("dtype", found)
        return found
    special = type(name) is str and name[:2] == "__"
    if name in REFUSED and not has_numbers():  # lanes are arrays
        return builtins.getattr(x, name)
    if special and builtins.hasattr(example(x), name):
        if name == "__class__":
            return _type_of(x)
        if name in _OF_CLASS:
            return builtins.getattr(example(x), name)
        ours = name in REFUSED or (class_of(x) is np.ndarray and name[2:-2] in _OPERATORS)
        if not ours:
            raise UnknownMemberError(name=name, aval=str(x.aval))
    elif special or lacks(x, name) or (default and not builtins.hasattr(class_of(x), name)):
        if default:
            return default[0]
        raise no_attribute(x, name)
    elif name not in vars(Box) and class_of(x) is np.ndarray and builtins.hasattr(np.ndarray, name):
        raise UnknownMemberError(name=name, aval=str(x.aval))
    return builtins.getattr(x, name, *default)


def _probe(x: Any, name: str, *default: Any) -> None:
    """Raises what `x.name` raises if there is none; a property of the user's is not asked."""
    if not (isinstance(x, enum.Enum) and any(name in vars(c) for c in type(x).__mro__)):
        traced_getattr(x, name, *default)


def _kin(cls: Any, name: str) -> Any:
    """The classes around the class for which `cls` stands, as traced code has them."""
    real = real_class(cls)
    if active.session() is None or (real is cls and name != "__subclasses__"):
        return builtins.getattr(cls, name)
    if name == "__subclasses__":  # among which are stand-ins
        raise UnfollowedError(what=f"`{real.__name__}.{name}`", reason="later calls may find other classes")
    found = builtins.getattr(real, name)
    if name == "mro":
        return lambda: [classes.stand_in(c) for c in found()]
    return classes.stand_in(found) if name == "__base__" else tuple(map(classes.stand_in, found))


def traced_setattr(x: Any, name: Any, value: Any, /) -> None:
    """`setattr`."""
    setattr(x, known(name, "the attribute of this name"), value)


def of_object(name: str) -> Any:
    """`object.name`, which would look at what stands for a value."""
    method = builtins.getattr(object, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is Box:
            raise UnknownMemberError(name=f"object.{name}", aval=str(args[0].aval))
        return method(*args, **kwargs)

    return call if callable(method) else method
