"""Builtins that traced code gets instead of Python's: `type`, `super`, `max`, `min`, `__import__`."""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit import control
from tracejit.frontend import active, classes, shadows
from tracejit.frontend.modules import ndarray
from tracejit.frontend.rewrite.calls import is_long, over_rows
from tracejit.frontend.rewrite.predicates import need_select
from tracejit.numpy.boxes.extents import of_dim
from tracejit.numpy.boxes.rows import run
from tracejit.numpy.boxes.selected_calls import require_some
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.tracing import Box

if TYPE_CHECKING:
    from tracejit.frontend.scopes import GuardedGlobals
    from tracejit.frontend.session import Session


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


def _type_of(x: Any) -> Any:
    if type(x) is Box:
        return x.aval.dtype.type if x.scalar else ndarray
    cls = type(shadows.original(x))
    if cls is type or classes.users_class(x) is not x:
        return TracedType
    session = active.session()
    ours = classes.traced_class(cls) if session is not None else None
    return ours or cls


class _Super:
    """`super()` of a shadow: the next classes' methods, as copies bound to the shadow."""

    def __init__(self, cls: type, shadow: Any) -> None:
        self._tj = (classes.users_class(cls), shadow)

    def __getattr__(self, name: str) -> Any:
        cls, shadow = self._tj
        state = shadows.state_of(shadow)
        mro = type(state.original).__mro__
        owner, raw = shadows.find(mro[mro.index(cls) + 1 :], name)
        if owner is None or owner is object:
            return getattr(super(cls, shadow), name)
        rule = shadows.data_descriptor if isinstance(raw, property) else shadows.bind
        return rule(shadow, state, owner, raw, name)


def traced_super(*args: Any) -> Any:
    """`super` with zero or two arguments, called from a method's frame."""
    if not args:
        frame = sys._getframe(1)
        names = frame.f_locals
        args = (names["__class__"], names[frame.f_code.co_varnames[0]])
    if len(args) == 2 and shadows.is_shadow(args[1]):
        return _Super(*args)
    if len(args) == 2:
        cls, obj = args
        mro = (obj if isinstance(obj, type) else type(obj)).__mro__
        if not any(base is cls for base in mro):  # an object of the user's own class
            cls = classes.users_class(cls)
        return super(cls, obj)
    return super(*args)  # type: ignore[misc]


def _extremum(name: str, builtin: Callable[..., Any], beats: str) -> Callable[..., Any]:
    def extremum(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], types.GeneratorType):
            args = (tuple(args[0]),)
        whole = run(args[0]) if len(args) == 1 and not kwargs else None
        if whole is not None and whole.aval.ndim == 1:
            return over_rows(lambda c, v: better(v, c), args[0][0], whole)
        if len(args) == 1 and not kwargs and is_long(args[0]):
            size = of_dim(args[0].aval.shape[0])
            if type(size) is not int:
                require_some(f"{name}()", size, problem="iterable argument is empty")
            first, rest = args[0][0], args[0][1:]
            return control.loops.scan(lambda c, v: (better(v, c), None), first, rest)[0]
        xs = args if len(args) > 1 else tuple(args[0]) if args and type(args[0]) in (Box, list, tuple) else ()
        if kwargs or not need_select(xs):
            return builtin(*args, **kwargs)
        best: Any = xs[0]  # type: ignore[misc]
        for x in xs[1:]:
            best = better(x, best)
        return best

    def better(x: Any, best: Any) -> Any:
        chosen = NUMPY_TO_TRACEJIT[np.where](getattr(operator, beats)(x, best), x, best)
        chosen.scalar = not any(
            isinstance(a, np.ndarray) or (type(a) is Box and not a.scalar) for a in (x, best)
        )
        return chosen

    extremum.__name__ = extremum.__qualname__ = name
    return extremum


#: Name -> what traced code gets for the builtin.
STAND_INS: dict[str, Any] = {
    "type": TracedType,
    "super": traced_super,
    "max": _extremum("max", max, "gt"),
    "min": _extremum("min", min, "lt"),
}


def importer(session: Session, scope: GuardedGlobals) -> Callable[..., Any]:
    """`__import__` for one module's functions: imports as usual, gives stand-ins."""
    names, real = scope.builtins, scope.real  # not the scope, which holds this function

    def guarded_import(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        find_module = names["__import__"]
        module = find_module(name, real, None, fromlist, level)
        return session.stand_in(module, name) if isinstance(module, types.ModuleType) else module

    return guarded_import
