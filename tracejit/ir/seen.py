"""Arrays seen as a subclass of NumPy's, with which NumPy computes as with the arrays themselves."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from tracejit.errors import ArraySubclassError


def plain_of(x: np.ndarray, what: str) -> np.ndarray:
    """An instance of a subclass as a plain array, if its operations are ndarray's (as memmap's are)."""
    plain = (np.memmap, np.recarray)  # they compute as arrays do
    for name in ("__array_ufunc__", "__array_function__", "__mul__", "__getitem__"):
        if getattr(type(x), name) is not getattr(np.ndarray, name) and type(x) not in plain:
            raise ArraySubclassError(what=what, type=type(x).__name__)
    return np.asarray(x)


def _real(x: Any) -> Any:
    """The class behind what traced code has for one; anything else as it is."""
    return vars(x).get("_tj_class", x) if isinstance(x, type) else x


_base_of: Callable[[np.ndarray], Any] = np.ndarray.base.__get__  # type: ignore[attr-defined]

#: What may be assigned of an array that says how it lies in memory.
_LYING = ("shape", "strides", "dtype")


class _Asked:
    """Who asks a stand-in for its class: `is_told` says of a frame whether its code is told the class of the value;
    where it gives a class, that. `stand_in`: what the run has for an array of outside. `frontend` installs both."""

    def __init__(self) -> None:
        self.is_told: Callable[..., bool | type] = lambda frame, x=None: False
        self.stand_in: Callable[[Any], Any] = lambda x: x


asked = _Asked()


class SeenArray(np.ndarray):
    """The memory of an array that is looked at as something more. New arrays that NumPy makes of it are plain,
    views are seen as it is itself."""

    original: np.ndarray | None = None

    @property
    def __class__(self) -> type:
        return np.ndarray if asked.is_told(sys._getframe(1)) else type(self)

    @classmethod
    def of(cls, array: np.ndarray) -> Self:
        """`array` seen so."""
        view = array.view(cls)
        view.original = array
        return view

    @property
    def plain(self) -> np.ndarray:
        """The array itself, the same object every time."""
        if self.original is None:
            self.original = np.ndarray.view(self, np.ndarray)
        return self.original

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """A view of the memory, seen as it is itself; `np.ndarray` may be what traced code has for it."""
        given = {n: _real(x) for n, x in kwargs.items()}
        result = super().view(*map(_real, args), **given)
        return type(self).of(result) if type(result) is np.ndarray else result

    def __setattr__(self, name: str, value: Any) -> None:
        ours = getattr(type(self), name, None)
        if name == "original" or (isinstance(ours, property) and ours.fset is not None):
            super().__setattr__(name, value)
            return
        setattr(self.expose(), name, value)  # raises what NumPy raises; a shape is the array's, too
        if name in _LYING:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.plain, name)

    def setflags(self, *args: Any, **kwargs: Any) -> None:
        self.plain.setflags(*args, **kwargs)

    @property
    def flags(self) -> Any:  # type: ignore[override]
        """The array's own: whether it may be written is its state."""
        return self.plain.flags

    @property
    def base(self) -> Any:  # type: ignore[override]
        """What the user's array, or a view of it, says; other code is told what NumPy knows of this view."""
        held = _base_of(self)
        if not asked.is_told(sys._getframe(1)):
            return held
        is_view = isinstance(held, SeenArray)
        while isinstance(held, SeenArray):
            held = _base_of(held)
        owner = held if held is None or (is_view and held.base is None) else held.base
        return asked.stand_in(owner)

    def raw(self) -> Any:
        """Its raw value."""
        return self.plain

    def is_traced(self) -> bool:
        """Whether it has elements that are traced."""
        return False

    def expose(self) -> Any:
        """The array itself, for those who may write into it unseen."""
        return self.plain

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else array

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's own Python code works on plain arrays."""
        if not all(issubclass(t, np.ndarray) for t in types):
            return NotImplemented
        seen: list[SeenArray] = []
        result = func(*_plainly(args, seen), **{k: _plainly(v, seen) for k, v in kwargs.items()})
        return _as_seen(type(self), result, seen)

    def __reduce__(self) -> Any:
        return self.plain.__reduce__()

    def __repr__(self) -> str:
        return repr(self.plain)

    def copied(self, array: np.ndarray) -> Any:
        """What a method gives that copies instead of giving a view."""
        return array


def _method(name: str) -> Any:
    """One of NumPy's methods that give a view or a copy."""
    method = getattr(np.ndarray, name)

    @functools.wraps(method)
    def call(self: SeenArray, *args: Any, **kwargs: Any) -> Any:
        result = method(self, *args, **kwargs)
        if not isinstance(result, SeenArray) or not result.size or np.may_share_memory(self, result):
            return result  # a view; one of nothing shares no memory
        return self.copied(result.plain)

    return call


for _name in ("__copy__", "__deepcopy__", "__getitem__", "astype", "copy", "flatten", "ravel", "reshape"):
    setattr(SeenArray, _name, _method(_name))


def _plainly(x: Any, seen: list[SeenArray]) -> Any:
    """An argument of a NumPy function with plain arrays in place of those seen otherwise, which are noted."""
    if isinstance(x, SeenArray):
        seen.append(x)
        return x.plain
    if type(x) is list or type(x) is tuple:
        return type(x)(_plainly(e, seen) for e in x)
    return x


def _as_seen(cls: type[SeenArray], x: Any, seen: list[SeenArray]) -> Any:
    """A result: an array that was seen as `cls` is what it was, and views of it are seen so too."""
    if type(x) is np.ndarray and (same := next((a for a in seen if a.plain is x), None)) is not None:
        return same
    if type(x) is np.ndarray and any(np.may_share_memory(x, a.plain) for a in seen):
        return cls.of(x)
    if type(x) is list or type(x) is tuple:
        return type(x)(_as_seen(cls, e, seen) for e in x)
    return x
