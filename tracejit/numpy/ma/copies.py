"""Copies of NumPy's Python code in which arrays are boxes: `numpy.ma`, and what it calls.

A copy of a function has the same code and globals that are looked up in the original ones: functions and classes as
copies, ufuncs and compiled functions as those of `tracejit.numpy`. Copies are made when they are asked for.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from typing import Any

import numpy as np

from tracejit.errors import UnsupportedFunctionError
from tracejit.numpy.dispatch import NAMES, NUMPY_TO_TRACEJIT
from tracejit.numpy.ma import calls, own
from tracejit.numpy.ma.array import Array, ArrayMeta

_CORE, _EXTRAS = "numpy.ma.core", "numpy.ma.extras"
#: What writes or shows something, or gives what lies outside of the program's arrays: not in traced code.
_REFUSED = frozenset(
    [
        "ids",
        "apply_over_axes",
        "tofile",
        "toflex",
        "torecords",
        "fromflex",
        "frombuffer",
        "fromfile",
        "tobytes",
        "tolist",
        "dump",
        "dumps",
        "__getstate__",
        "__setstate__",
        "__reduce__",
        "__deepcopy__",
        "flatten_structured_array",
        "masked_print_option",
        "mr_",
        "iscontiguous",
    ]
)
_COMPILED = (types.BuiltinFunctionType, type(np.sum), np.ufunc)


class Scope(dict[str, Any]):
    """The globals of copied functions of a module."""

    def __init__(self, real: dict[str, Any]) -> None:
        super().__init__(_OWN)
        self["__name__"] = real.get("__name__")
        self["__builtins__"] = real.get("__builtins__", builtins)
        self.real = real

    def __missing__(self, name: str) -> Any:
        found = self[name] = copy_of(self.real[name])
        return found


class Library:
    """A module of NumPy's as copied code sees it."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = calls.OWN.get(name) if self._module in _ARRAYS_FROM else None
        if found is None:
            found = copy_of(getattr(self._module, name))
        setattr(self, name, found)
        return found


_OWN: dict[str, Any] = {"type": own.type_of, "isinstance": own.is_instance}
_memo: dict[int, tuple[Any, Any]] = {id(np.ndarray): (np.ndarray, Array)}
_scopes: dict[int, Scope] = {}
#: Modules whose functions `array` and the like take arrays of subclasses.
_ARRAYS_FROM: list[Any] = [np]


def copy_of(x: Any) -> Any:
    """What copied code has for `x` of NumPy's."""
    known = _memo.get(id(x))
    if known is None:
        known = _memo[id(x)] = x, _made(x)
    return known[1]


def _made(x: Any) -> Any:
    if isinstance(x, types.ModuleType):
        return Library(x) if x.__name__.partition(".")[0] == "numpy" else x
    if isinstance(x, _COMPILED):
        return calls.OWN_FUNCTIONS.get(x) or _ours(x)
    if type(x) is types.FunctionType:
        module = x.__globals__.get("__name__") or ""
        if module in (_CORE, _EXTRAS) or module.startswith(("numpy.lib.", "numpy._core.")):
            return _ours(x, None) or function(x)
        return x
    if isinstance(x, type):
        return _class(x) if _is_copied(x) else x
    if type(x) is types.MethodType and _is_copied(type(x.__self__)):
        return types.MethodType(copy_of(x.__func__), copy_of(x.__self__))
    if type(x) is dict and any(isinstance(key, np.ufunc) for key in x):  # of domains, by ufunc
        return {copy_of(key): copy_of(value) for key, value in x.items()}
    if _is_copied(type(x)) and not isinstance(x, np.ndarray):
        new = object.__new__(copy_of(type(x)))
        vars(new).update({name: copy_of(value) for name, value in vars(x).items()})
        return new
    return x


def _ours(x: Any, default: Any = NotImplemented) -> Any:
    """Our function for one of NumPy's."""
    found = dict.get(NUMPY_TO_TRACEJIT, x)  # libraries are not asked, of which this is one
    if found is None and getattr(x, "__name__", None) in NAMES and getattr(np, x.__name__, None) is x:
        found = NAMES[x.__name__]
    return (x if default is NotImplemented else default) if found is None else found


def _is_copied(cls: type) -> bool:
    """Whether a class is one of `numpy.ma` that works on arrays, and no exception or constant."""
    if cls.__module__ not in ("numpy.ma", _CORE, _EXTRAS) or issubclass(cls, Exception):
        return False
    return cls.__name__ not in (
        "MaskedConstant",
        "mvoid",
        "_MaskedPrintOption",
        "MAxisConcatenator",
        "mr_class",
    )


def function(x: types.FunctionType, cls: types.CellType | None = None) -> Any:
    """The copy of a function. `cls`: holds the class that it is a method of."""
    inner = getattr(x, "__wrapped__", None)  # a method in which warnings are off
    x = inner if type(inner) is types.FunctionType and inner.__module__ == _CORE else x
    if x.__name__ in _REFUSED:
        return _refusing(x.__name__)
    scope = _scopes.get(id(x.__globals__))
    if scope is None:
        scope = _scopes[id(x.__globals__)] = Scope(x.__globals__)
    if x.__module__ in (_CORE, "numpy.ma") and (ours := own.FUNCTIONS.get(x.__qualname__)) is not None:
        return functools.wraps(x)(lambda *args, **kwargs: ours(scope, *args, **kwargs))
    cells = zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)
    closure = tuple(
        cls if name == "__class__" and cls is not None else types.CellType(copy_of(cell.cell_contents))
        for name, cell in cells
    )
    defaults = None if x.__defaults__ is None else tuple(map(copy_of, x.__defaults__))
    new = types.FunctionType(x.__code__, scope, x.__name__, defaults, closure)
    new.__kwdefaults__ = x.__kwdefaults__
    new.__qualname__, new.__module__, new.__doc__ = x.__qualname__, x.__module__, x.__doc__
    return own.with_known_mask(new) if x.__qualname__ in own.TAKING_MASKS else new


def _refusing(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise UnsupportedFunctionError(name=f"numpy.ma's {name}")

    return refuse


def _class(cls: type) -> Any:
    """The copy of a class of `numpy.ma`."""
    cell = types.CellType()
    body: dict[str, Any] = {"_tj_class": cls, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    for name, value in vars(cls).items():
        if name not in ("__dict__", "__weakref__", "__repr__", "__str__", *body):
            body[name] = _member(value, cell)
    bases = tuple(map(copy_of, cls.__bases__))
    meta = ArrayMeta if issubclass(cls, np.ndarray) else type
    if meta is ArrayMeta:
        body["_tj_call"] = staticmethod(calls.call)
    made = meta(cls.__name__, bases, body)
    cell.cell_contents = made
    return made


def _member(value: Any, cell: types.CellType) -> Any:
    if type(value) is types.FunctionType:
        return function(value, cell)
    if type(value) is property:
        parts = (value.fget, value.fset, value.fdel)
        return property(*(None if f is None else function(f, cell) for f in parts), value.__doc__)  # type: ignore[arg-type]
    if type(value) in (staticmethod, classmethod):
        return type(value)(function(value.__func__, cell))
    return copy_of(value)


def public(name: str) -> Any:
    """What traced code gets for `numpy.ma.NAME`."""
    return copy_of(getattr(sys.modules["numpy.ma"], name))


def entries(module: Any) -> dict[Any, Any]:
    """What enters the table of NumPy's functions once `numpy.ma` is loaded."""
    found = {}
    for name in module.__all__:
        value = getattr(module, name, None)
        if callable(value) and not isinstance(value, np.ndarray) and (ours := copy_of(value)) is not value:
            if value not in NUMPY_TO_TRACEJIT:
                found[value] = ours
    return found


calls.copies.update(function=function, copy_of=copy_of)
