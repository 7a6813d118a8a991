"""Builtins that traced code gets instead of Python's: `type` and its kin, `super`, `max`, `min`, `__import__`."""

from __future__ import annotations

import functools
import operator
import sys
import types
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit import control, ops
from tracejit.errors import TracerIntegerError, UnfollowedError
from tracejit.frontend import active, members
from tracejit.frontend.lists import seen, wholes
from tracejit.frontend.lists.buffers import Buffer
from tracejit.frontend.lists.orders import extremum_by
from tracejit.frontend.origins import is_library_class
from tracejit.frontend.rewrite.hooks import conditions
from tracejit.frontend.rewrite.hooks.calls import is_array_of_none, is_long, over_rows
from tracejit.frontend.rewrite.hooks.predicates import need_select
from tracejit.frontend.shadows import attributes, behind, classes, kinds
from tracejit.frontend.shadows.copied import is_users
from tracejit.frontend.shadows.scopes import names_of_caller
from tracejit.frontend.variants.node import Variant, use
from tracejit.ir.seen import SeenArray
from tracejit.ir.values import Value
from tracejit.numpy.boxes.conversions import class_name, class_of, is_differentiated
from tracejit.numpy.boxes.extents import of_dim
from tracejit.numpy.boxes.masking.calls import require_some
from tracejit.numpy.boxes.numbers import is_far, is_python
from tracejit.numpy.boxes.pythons import has_numbers
from tracejit.numpy.boxes.rows import run
from tracejit.numpy.boxes.unsure import is_unsure, python_of, taken, unsure
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.fitting import judge_shape
from tracejit.numpy.operands import dtype_of
from tracejit.tracing import Box, box, to_raw

if TYPE_CHECKING:
    from tracejit.frontend.run import Run
    from tracejit.frontend.shadows.scopes import GuardedGlobals


class _Next:
    """`super()` of an object in traced code. Every attribute is the next classes': `super().__init__` too."""

    def __init__(self, cls: type, obj: Any) -> None:
        object.__setattr__(self, "_tj", (classes.users_class(cls), obj))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(super(*object.__getattribute__(self, "_tj")), name, value)


def _next(session: Any, cls: type, of: type, name: str) -> tuple[Any, Any, Any]:
    """Which class after `cls`, of those of `of`, has `name`, what it has, and what the run has written there (MISSING
    if nothing). That none between gets one is guarded."""
    owner, raw = behind.find(of.__mro__[of.__mro__.index(cls) + 1 :], name)
    if session is None or not session.guarded:
        return owner, raw, behind.MISSING
    behind.not_overridden(session, of, owner, name, cls)
    return owner, raw, members.written(session, of, name, cls)


class _OfShadow(_Next):
    """That of a shadow: the next classes' methods, as copies bound to the shadow."""

    def __getattribute__(self, name: str) -> Any:
        cls, shadow = object.__getattribute__(self, "_tj")
        state = behind.state_of(shadow)
        owner, raw, changed = _next(state.session, cls, type(state.original), name)
        if changed is not behind.MISSING:
            return changed
        if owner is object and name in _OF_OBJECT and state.session.capture.journaled:
            return functools.partial(_OF_OBJECT[name], shadow)
        if owner is None or owner is object:
            return getattr(super(cls, shadow), name)
        rule = attributes.data_descriptor if isinstance(raw, property) else attributes.bind
        return rule(shadow, state, owner, raw, name)


#: What assigns and deletes attributes where no class of the user's does.
_OF_OBJECT: dict[str, Any] = {"__setattr__": attributes.assign, "__delattr__": attributes.delete}


class _OfMade(_Next):
    """That of an object made in traced code, or of its class: Python's order has the stand-ins of all classes before
    the user's classes, so that the user's own order decides."""

    def __getattribute__(self, name: str) -> Any:
        cls, obj = object.__getattribute__(self, "_tj")
        session, made = active.session(), obj if isinstance(obj, type) else type(obj)
        owner, raw, changed = _next(session, cls, classes.users_class(made), name)
        if changed is not behind.MISSING:
            return changed
        if owner is None or session is None or is_library_class(owner) or name in _OF_MAKING:
            return getattr(super(cls, obj), name)
        return attributes.bind_member(session, owner, name, raw, None if made is obj else obj, made)


class _OfOwn(_Next):
    """That of an object that is used as it is, or of its class (a dataclass, or one that derives from a class in C):
    the next classes' methods and properties, as copies."""

    def __getattribute__(self, name: str) -> Any:
        cls, obj = object.__getattribute__(self, "_tj")
        session, made = active.session(), obj if isinstance(obj, type) else type(obj)
        owner, raw, changed = _next(session, cls, made, name)
        if changed is not behind.MISSING:
            return changed
        init = behind.making.init_of(owner, raw) if name == "__init__" else None
        if init is not None:
            return functools.partial(init, obj)
        if session is None or not session.guarded or name in _OF_MAKING or not is_users(owner, raw):
            return getattr(super(cls, obj), name)
        return attributes.bind_member(session, owner, name, raw, None if made is obj else obj, made)


#: What Python calls with a class that is no instance of its own.
_OF_MAKING = ("__new__", "__init_subclass__")


def traced_super(*args: Any) -> Any:
    """`super` with zero or two arguments, called from a method's frame."""
    if not args:
        frame = sys._getframe(1)
        names = frame.f_locals
        args = (names["__class__"], names[frame.f_code.co_varnames[0]])
    if len(args) != 2:
        return super(*args)
    cls, obj = args
    if behind.is_shadow(obj):
        return _OfShadow(cls, obj)
    made = obj if isinstance(obj, type) else type(obj)
    real = classes.users_class(made)
    if real is not made and classes.users_class(cls) in real.__mro__:
        return _OfMade(cls, obj)
    if not any(base is cls for base in made.__mro__):  # an object of the user's own class
        cls = classes.users_class(cls)
    return _OfOwn(cls, obj) if any(base is cls for base in made.__mro__) else super(cls, obj)


def _extremum(name: str, builtin: Callable[..., Any], beats: str) -> Callable[..., Any]:
    def extremum(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], types.GeneratorType):
            args = (tuple(args[0]),)
        args = (seen.as_list(args[0], ordered=False),) if len(args) == 1 else args
        if len(args) == 1 and not kwargs and type(args[0]) is Buffer:
            return wholes.extremum(args[0], better)
        if len(args) == 1 and kwargs.get("key") is not None:
            rest = dict(kwargs)
            return extremum_by(builtin, args[0], rest.pop("key"), rest)
        whole = run(args[0]) if len(args) == 1 and not kwargs else None
        if whole is not None and whole.aval.ndim == 1:
            return over_rows(lambda c, v: better(v, c), args[0][0], whole)
        if len(args) == 1 and not kwargs and is_long(args[0]):
            size = of_dim(args[0].aval.shape[0])
            if type(size) is not int:
                require_some(f"{name}()", size, problem="iterable argument is empty")
            first, rest = args[0][0], args[0][1:]
            return control.structured.loops.scan(lambda c, v: (better(v, c), None), first, rest)[0]
        xs = args if len(args) > 1 else tuple(args[0]) if args and type(args[0]) in (Box, list, tuple) else ()
        if not kwargs and any(type(x) is Variant for x in xs):
            return _one_of(xs, beats)
        if kwargs or not need_select([taken(x) for x in xs]):
            return builtin(*args, **kwargs) if kwargs or not _of_types(xs) else _one_of(xs, beats)
        if any(map(is_array_of_none, xs)) and has_numbers():  # the result is one of the objects themselves
            return builtin(*args, **kwargs)
        best: Any = xs[0]  # type: ignore[misc]
        for x in xs[1:]:
            best = better(x, best)
        numbers = not any(map(is_unsure, xs)) and all(map(is_python, xs))
        return box(to_raw(best), weak=True) if numbers and not is_far(best) else best

    def better(x: Any, best: Any) -> Any:
        kinds = python_of(x), python_of(best)
        x, best = taken(x), taken(best)
        python = is_python(x) and is_python(best)
        if is_far(x) or is_far(best):  # a number of the run is not, so that the comparison is known
            return x if getattr(operator, beats)(x, best) else best
        if python and dtype_of(x).kind == "i":  # whose range is known where those of `x` and `best` are
            chosen = NUMPY_TO_TRACEJIT[getattr(np, name + "imum")](x, best)
        else:
            wins = getattr(operator, beats)(x, best)
            chosen = NUMPY_TO_TRACEJIT[np.where](wins, x, best)
            if (
                not python
                and not chosen.aval.shape
                and (any(isinstance(k, Value) for k in kinds) or any(kinds))
            ):
                return unsure(chosen.read(), ops.compare.select(to_raw(wins), *kinds))
        if type(chosen) is not Box:  # both are known
            return chosen.item() if python else chosen
        if python:
            return box(chosen.read(), weak=True)
        if type(chosen) is not Box:  # both are known
            return chosen
        chosen.scalar = not any(
            isinstance(a, np.ndarray) or (type(a) is Box and not a.scalar) for a in (x, best)
        )
        return chosen

    extremum.__name__ = extremum.__qualname__ = name
    return extremum


def _of_types(xs: Sequence[Any]) -> bool:
    """Whether these are numbers of Python's of several types, some of which are traced."""
    traced = any(type(x) is Variant or (type(x) is Box and isinstance(x.read(), Value)) for x in xs)
    return traced and all(type(x) is Variant or (not is_unsure(x) and is_python(x)) for x in xs)


def _one_of(xs: Sequence[Any], beats: str) -> Any:
    """The first of the numbers `xs` that no other one `beats`."""
    best = xs[0]
    for x in xs[1:]:
        wins = getattr(operator, beats)(x, best)
        best = use.either(wins, x, best) if type(wins) in (Box, Variant) else x if wins else best
    return best


def _callable(x: Any, /) -> Any:
    """`callable`: what stands for several types has `__call__`, which says that it can't be followed."""
    return use.each(x, callable) if type(x) is Variant else callable(x)


#: Name -> what traced code gets for the builtin.
STAND_INS: dict[str, Any] = {
    "type": kinds.TracedType,
    "__build_class__": classes.build_class,
    "isinstance": kinds.traced_isinstance,
    "issubclass": kinds.traced_issubclass,
    "hasattr": kinds.traced_hasattr,
    "callable": _callable,
    "globals": names_of_caller,
    "getattr": kinds.traced_getattr,
    "setattr": kinds.traced_setattr,
    "super": traced_super,
    "max": _extremum("max", max, "gt"),
    "min": _extremum("min", min, "lt"),
}


def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    """`pow`. Modulo a number it is of Python's integers, which don't overflow on the way."""
    if mod is None:
        return pow(base, exp)
    parts = base, exp, mod
    if any(map(is_unsure, parts)):  # whether there is such a power depends on the run
        raise TracerIntegerError(aval=next(str(x.aval) for x in parts if is_unsure(x)))
    if any(type(x) is Box and not is_python(x) for x in parts):
        if all(isinstance(x, (Box, int, float, complex, np.generic, np.ndarray)) for x in parts):
            parts = tuple(kinds.example(x) for x in parts)  # NumPy has no such power, and says so
        return pow(*parts)
    index: Any = operator.index
    return pow(*[index(x) if type(x) is Box else x for x in parts])


def _float(*args: Any) -> Any:
    """`float`, where an eager run calls it: a number that is differentiated keeps its derivative."""
    if (
        len(args) == 1
        and type(args[0]) is Box
        and is_differentiated(args[0])
        and args[0].aval.dtype.kind == "f"
    ):
        judge_shape(float, args[0])
        return args[0].item()
    return float(*args)


def _id(x: Any, /) -> int:
    """`id`, in an eager run: of an object of outside its own."""
    session = active.session()
    own = x if session is None else session.original_of(x)
    if own is x and isinstance(x, SeenArray):
        own = x.plain
    return id(behind.of_library(classes.users_class(own)))


STAND_INS["pow"], STAND_INS["float()"], STAND_INS["id"] = _pow, _float, _id


def concat(a: Any, b: Any, /) -> Any:
    """`operator.concat`, which takes numbers for sequences, as what stands for them has members of arrays."""
    for x in (a, b):
        if type(x) is Box and class_of(x) is not np.ndarray:
            raise TypeError(f"{class_name(x)!r} object can't be concatenated")
        if type(x) is Box:
            raise UnfollowedError(
                what="`operator.concat` of an array", reason="it is a sequence to some versions"
            )
    return operator.concat(a, b)


def _is(a: Any, b: Any, /) -> Any:
    """`operator.is_`."""
    return conditions.is_(a, b, negated=False)


def _is_not(a: Any, b: Any, /) -> Any:
    """`operator.is_not`."""
    return conditions.is_(a, b, negated=True)


#: Functions of `operator` that compare objects, of which traced values have others than Python's.
IDENTITY = {operator.is_: _is, operator.is_not: _is_not}


def weak_reference(x: Any, *callback: Any) -> Any:
    """`weakref.ref`. Numbers have none."""
    if type(x) is Box and class_of(x) is not np.ndarray:
        raise TypeError(f"cannot create weak reference to {class_name(x)!r} object")
    return weakref.ref(x, *callback)


def importer(session: Run, scope: GuardedGlobals) -> Callable[..., Any]:
    """`__import__` for one module's functions: imports as usual, gives stand-ins."""
    names, real = scope.builtins, scope.real  # not the scope, which holds this function

    def guarded_import(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        find_module = names["__import__"]
        module = find_module(name, real, None, fromlist, level)
        return session.stand_in(module, name) if isinstance(module, types.ModuleType) else module

    return guarded_import
