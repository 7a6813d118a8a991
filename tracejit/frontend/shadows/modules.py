"""Modules as traced code sees them: NumPy rebound to tracejit.numpy. The user's are in `guarded`."""

from __future__ import annotations

import functools
import sys
import types
import weakref
from typing import Any

import numpy as np

from tracejit.errors import CapturedWriteError, RandomStateError, UnsupportedFunctionError
from tracejit.frontend import active
from tracejit.frontend.drawing import sources
from tracejit.frontend.impure import impure_origin, is_acting_of_numpy
from tracejit.frontend.origins import (
    is_library_class,
    is_library_function,
    is_library_module,
    is_of_library,
)
from tracejit.frontend.outside import settings
from tracejit.frontend.shadows import acting
from tracejit.frontend.shadows.behind import noted
from tracejit.numpy.captured.array import CapturedArray
from tracejit.numpy.operands import has_box
from tracejit.tracing import Box

#: Module name -> the namespace that traced code gets for it: {'numpy': tracejit.numpy, ...}.
REBIND: dict[str, Any] = {
    name: types.SimpleNamespace()
    for name in ("numpy.random", "numpy.random.mtrand", "numpy.lib", "numpy.lib.stride_tricks")
}
#: Callables of NumPy and others -> those of tracejit, for `from numpy import sin`.
CALLABLES: dict[Any, Any] = {}
#: Modules of `REBIND` whose callables are found by their names once the module is loaded: importing it to
#: enter them in `CALLABLES` would take too long.
BY_NAME: list[str] = []
#: Classes of arrays that are captured by reference.
ARRAYS: set[type] = {np.ndarray, np.memmap, CapturedArray, Box}

#: The classes of objects that have counterparts: where these are made -> the module that such objects are parts of.
_OBJECTS = {
    "numpy.lib._index_tricks_impl": "numpy",
    "numpy.lib.index_tricks": "numpy",
    "scipy.stats": "scipy.stats",
}

_stand_ins: dict[str, RebindModule] = {}
_missing = object()
_C_METHODS = (types.BuiltinMethodType, types.MethodType)


@functools.cache
def _method(name: str) -> Any:
    """A method of arrays that the class is asked for, such as `np.ndarray.flatten`: that of traced arrays too."""
    real = getattr(np.ndarray, name)

    def method(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        is_array = type(x) is Box and not (x.scalar or x.weak)
        return getattr(x, name)(*args, **kwargs) if is_array else real(x, *args, **kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, real.__qualname__, real.__doc__
    return method


class _ArrayMeta(type):
    """`isinstance(x, np.ndarray)` holds for traced arrays too; all else is ndarray's."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, np.ndarray) or (type(x) is Box and not (x.scalar or x.weak))

    def __subclasscheck__(cls, c: type) -> bool:
        return issubclass(c, (np.ndarray, Box))

    def __call__(
        cls,
        shape: Any,
        dtype: Any = float,
        buffer: Any = None,
        offset: int = 0,
        strides: Any = None,
        order: Any = None,
    ) -> Any:
        """A new array that takes traced values; of a buffer, NumPy's."""
        if buffer is None and strides is None and not offset:
            return CALLABLES.get(np.empty, np.empty)(shape, dtype, order or "C")
        if has_box((shape, buffer, offset, strides)):
            raise UnsupportedFunctionError(name="numpy.ndarray of a buffer")
        return np.ndarray(shape, dtype, buffer, offset, strides, order)

    def __getattr__(cls, name: str) -> Any:
        found = getattr(np.ndarray, name)
        return _method(name) if type(found) is types.MethodDescriptorType else found

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is np.ndarray or other is Box

    def __hash__(cls) -> int:
        return hash(np.ndarray)


class ndarray(metaclass=_ArrayMeta):
    """What `np.ndarray` is to traced code."""

    __module__ = "numpy"
    _tj_class = np.ndarray


class GlobalRandom:
    """A function of NumPy's global random state, such as `np.random.normal`."""

    def __init__(self, function: Any, name: str) -> None:
        self.function = self.tj_own = function
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        session = active.session()
        if session is None or not session.guarded:
            if (
                self.__name__ == "shuffle"
                and len(args) == 1
                and type(x := args[0]) is Box
                and len(x.aval.shape)
            ):
                # NumPy would take it for a sequence of the user's, and warn of that.
                x[...] = x[self.function.__self__.permutation(len(x))]
                return None
            return self.function(*args, **kwargs)
        if not session.draws:
            problem = "its numbers would be drawn once, and kept"
            raise RandomStateError(function=f"np.random.{self.__name__}", problem=problem)
        return getattr(sources.of_module(_global_state(), "np.random"), self.__name__)(*args, **kwargs)


def _global_state() -> Any:
    """The random state that `np.random.seed` seeds."""
    return np.random.normal.__self__


#: Classes of `np.random` that others are asked whether they are of.
_CLASSES = ("Generator", "BitGenerator")
#: Functions of `np.random` that are no methods of the global state, and the methods which they call.
_ALIASES = {"seed": "seed", "ranf": "random_sample", "sample": "random_sample"}


def _global_function(value: Any) -> GlobalRandom | None:
    """The stand-in for a function of NumPy's global random state; None for others."""
    if type(value) in _C_METHODS and uses_global_random_state(value):
        return GlobalRandom(value, value.__name__)
    random = sys.modules.get("numpy.random")
    name = getattr(value, "__name__", None) if type(value).__module__.startswith("_cython_") else None
    if random is not None and name in _ALIASES and getattr(random, name) is value:
        return GlobalRandom(value, _ALIASES[name])
    return None


def uses_global_random_state(value: Any) -> bool:
    """Whether `value` is a method of the random state that `np.random.seed` seeds."""
    owner = getattr(value, "__self__", None)
    return type(owner) is np.random.RandomState and owner is _global_state()


def stand_in_for(value: Any) -> Any:
    """The tracejit callable that replaces `value`, or None."""
    return noted(_stand_in_for(value), value)


def _stand_in_for(value: Any) -> Any:
    if type(value) is types.FunctionType and not is_library_function(value):  # most are the user's
        return CALLABLES.get(value) if is_of_library(value) else None
    if value is np.ndarray:
        return ndarray
    if is_acting_of_numpy(value):
        return settings.stand_in_for(value)
    ours = _global_function(value)
    if ours is not None:
        return ours
    ours = acting.stand_in_for(value)
    if ours is not None:
        return ours
    # Only what a library made: a user's object may do anything when it is hashed.
    if type(value).__hash__ is None or not is_library_class(type(value)):
        return None
    if isinstance(value, weakref.ref):  # hashed by what it refers to, which may be the user's, or gone
        return None
    if not callable(value):
        return _part(value)
    if type(value) is types.MethodType:
        owner = _part(value.__self__)
        return None if owner is None else getattr(owner, value.__name__, None)
    try:
        known = CALLABLES.get(value)
    except TypeError:  # what can't be hashed: a function of ctypes
        return None
    return known or _named(value) or _part(value)


def _part(value: Any) -> Any:
    """The counterpart of an object that is a part of a module, such as `np.r_` or `scipy.stats.norm`, or None."""
    cls = type(value)
    name = next((n for n in _OBJECTS if cls.__module__.startswith(n)), None)
    if name is None or not is_library_class(cls):
        return None
    module, ours = sys.modules.get(_OBJECTS[name]), REBIND.get(_OBJECTS[name])
    found = next((n for n, x in vars(module).items() if x is value), None) if module is not None else None
    return None if found is None else getattr(ours, found, None)


def _named(value: Any) -> Any:
    """The counterpart of a callable of one of the modules in `BY_NAME`, or None."""
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        return None
    for module_name in BY_NAME:
        if getattr(sys.modules.get(module_name), name, None) is value:
            return getattr(REBIND[module_name], name, None)
    return None


def class_behind(function: Any) -> Any:
    """The class of one of the modules in `BY_NAME` that the function is a counterpart of; anything else itself."""
    name = function.__name__
    for module_name in BY_NAME:
        if getattr(REBIND[module_name], name, None) is function:
            found = getattr(sys.modules.get(module_name), name, None)
            return found if isinstance(found, type) else function
    return function


class RebindModule(types.ModuleType):
    """NumPy (or a part of it) as traced code sees it: first the namespace in `REBIND`, then
    `CALLABLES`, then the module itself."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__, module.__doc__)
        self.__dict__["_tj_module"] = module
        self.__dict__["_tj_known"] = {}  # name -> what the module has there, what traced code gets

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.__dict__["_tj_module"], name, _missing)
        table = self.__dict__["_tj_known"]
        known = table.get(name)
        if known is not None and known[0] is real:
            return known[1]
        found = noted(self._find(name, real), real)
        if type(real) is np.ufunc:
            table[name] = real, found
        return found

    def _find(self, name: str, real: Any) -> Any:
        module = self.__dict__["_tj_module"]
        if isinstance(real, types.ModuleType):
            return rebound(real) or _library_module(self, name, real)
        if real is np.ndarray:
            return ndarray
        if type(real) is np.random.RandomState and (session := active.session()) is not None:
            return session.stand_in(
                real, f"{module.__name__}.{name}"
            )  # the one that `np.random.normal` draws from
        if is_acting_of_numpy(real):
            return settings.stand_in_for(real) or _library_value(self, name, real)
        ours = getattr(REBIND.get(module.__name__), name, _missing)
        if ours is _missing or ours is real:
            ours = _missing if real is _missing else stand_in_for(real)
        if ours is _missing or ours is None:
            return _library_value(self, name, getattr(module, name))
        return ours

    def __setattr__(self, name: str, value: Any) -> None:
        raise CapturedWriteError(what=f"attribute `{self.__name__}.{name}`")

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_tj_module"])

    def __repr__(self) -> str:
        return repr(self.__dict__["_tj_module"])


def _library_module(owner: RebindModule, name: str, module: types.ModuleType) -> Any:
    """A part of NumPy without a counterpart, such as `np.random`, used as it is, or one whose code is followed."""
    session = active.session()
    if session is not None and not is_library_module(module):
        return session.stand_in(module, f"{owner.__name__}.{name}")
    return _library_value(owner, name, module)


def _library_value(owner: RebindModule, name: str, value: Any) -> Any:
    if impure_origin(value) and not (owner.__name__ == "numpy.random" and name in _CLASSES):
        acting.tell(f"{owner.__name__}.{name}", value)
    session = active.session()
    if isinstance(value, types.ModuleType) and session is not None and session.guarded:
        return acting.as_it_acts(value)
    if isinstance(value, type) and session is not None and not is_library_class(value):
        return session.stand_in(value, f"{owner.__name__}.{name}")  # a class that is followed
    return value


def rebound(module: types.ModuleType) -> RebindModule | None:
    """The stand-in of a module named in `REBIND`, or None."""
    name = getattr(module, "__name__", None)
    if name not in REBIND:
        return None
    if name not in _stand_ins:
        _stand_ins[name] = RebindModule(module)
    return _stand_ins[name]


def loaded(name: str) -> types.ModuleType | None:
    """The module `name` if it has been imported."""
    return sys.modules.get(name)
