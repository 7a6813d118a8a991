"""`numpy.ndarray` as the base class of masked arrays: an array of a subclass that holds a box.

An object has its memory in `_tj_box`, and attributes as objects of Python have. `_tj_memory` tells which objects begin
at the same place of memory, which `numpy.ma` asks arrays for by their addresses.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.errors import UnfollowedError, UnsupportedFunctionError
from tracejit.numpy.boxes.conversions import class_of
from tracejit.numpy.boxes.sharing.either import Either
from tracejit.numpy.captured.array import CapturedArray
from tracejit.numpy.operands import SUBCLASSES, nested, raw
from tracejit.tracing import Box, new_array


def box_of(x: Any) -> Any:
    """The memory of an array of a subclass as a plain array; anything else as it is."""
    if type(x) in SUBCLASSES:
        return x._tj_box
    return x


def held(x: Any) -> Box:
    """An array as a box: the same memory, or, of an array that is known, its values."""
    x = box_of(x)
    if type(x) is Box:
        return x if not x.scalar and x.weak is False else new_array(x.read())
    if isinstance(x, CapturedArray):
        return x.frozen()
    return new_array(nested(x) if type(x) in (list, tuple) else raw(np.asarray(x)))


def is_array_class(x: Any) -> bool:
    """Whether `x` is NumPy's class of arrays, what stands for it, or one that derives from it."""
    return isinstance(x, type) and x is not object and (x is Box or issubclass(x, (np.ndarray, Array)))


class ArrayMeta(type):
    """Plain arrays, boxes and NumPy's own arrays are arrays, too; NumPy's own masked arrays are masked arrays."""

    def __instancecheck__(cls, x: Any) -> bool:
        if type.__instancecheck__(cls, x):
            return True
        if type(x) is Box:
            return cls is Array and class_of(x) is np.ndarray
        return isinstance(x, cls._tj_class)  # type: ignore[attr-defined]

    def __subclasscheck__(cls, c: type) -> bool:
        if type.__subclasscheck__(cls, c) or (cls is Array and c is Box):
            return True
        return issubclass(c, cls._tj_class)  # type: ignore[attr-defined]


class Array(metaclass=ArrayMeta):
    """NumPy's arrays as the base of classes that derive from them. Its methods take plain arrays as well, as those of
    `numpy.ndarray` do."""

    _tj_class: Any = np.ndarray
    _tj_box: Box
    _tj_memory: Any
    #: Whether it is no view of an array of another class.
    _tj_owns: bool
    __array_priority__ = 0.0
    __hash__ = None  # type: ignore[assignment]

    def __init_subclass__(cls) -> None:
        SUBCLASSES[cls] = cls._tj_call

    @staticmethod
    def _tj_call(function: Any, ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What NumPy's `function` gives for arguments with objects of this class."""
        raise UnsupportedFunctionError(name=f"{function.__name__} of an array of a subclass")

    def tj_parts(self) -> list[tuple[tuple[bool, Any], Any]]:
        """The data and the mask, with the steps to them."""
        return [((True, n), x) for n, x in zip(("data", "mask"), tree.one_level(self)[0], strict=True)]

    def tj_is_chosen(self) -> bool:
        """Whether a condition decides which of several arrays it is."""
        return isinstance(self._tj_box.storage, Either)

    def tj_rows(self) -> Box | None:
        """None: loops run over the list of its items."""
        return None

    def tj_example(self) -> Any:
        """An array like this without tracing, for whoever asks of which class it is."""
        box = self._tj_box
        sizes = [d if type(d) is int else 1 for d in box.aval.shape]
        return np.broadcast_to(np.zeros((), box.aval.dtype), sizes).view(self._tj_class)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("shape", "flat") and vars(self).get("_tj_outside"):
            raise UnfollowedError(what=f"`{name}` of a masked array of outside", reason="it would be set")
        object.__setattr__(self, name, value)

    # ---- memory

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """The same memory as an array of another dtype or class."""
        kind = builtins.type
        if dtype is not None and is_array_class(dtype):
            dtype, type = None, dtype
        box: Any = held(self)
        box = box[...] if dtype is None else box.view(dtype)
        cls = kind(self) if type is None else type
        if cls is Array or not isinstance(cls, ArrayMeta):
            return box
        new: Any = object.__new__(cls)  # type: ignore[arg-type]
        new._tj_box, new._tj_owns = box, False
        new._tj_memory = self._tj_memory if kind(self) in SUBCLASSES else object()
        new.__array_finalize__(self)
        return new

    def _tj_like(self, box: Any) -> Any:
        """New memory as an array of this class."""
        new = object.__new__(type(self))
        new._tj_box, new._tj_memory, new._tj_owns = held(box), object(), True
        new.__array_finalize__(self)
        return new

    def __array_finalize__(self, obj: Any) -> None:
        return None

    @property
    def __array_interface__(self) -> Any:
        """Where the memory begins, for whoever compares it. NumPy, which would read there, gets none of it.

        Raises:
            UnfollowedError: NumPy's C code asks."""
        if sys._getframe(1).f_code.co_name != "__array_finalize__":
            raise UnfollowedError(what="a masked array of traced values", reason="C code needs its values")
        return {"data": (self._tj_memory, False)}

    @property
    def dtype(self) -> Any:
        return self._tj_box.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        raise UnsupportedFunctionError(name="the attribute `dtype` of an array, set,")

    @property
    def shape(self) -> Any:
        return self._tj_box.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._tj_box.shape = shape  # type: ignore[attr-defined]

    ndim = property(lambda self: self._tj_box.ndim)
    size = property(lambda self: self._tj_box.size)
    flags = property(lambda self: self._tj_box.flags)
    itemsize = property(lambda self: self._tj_box.itemsize)
    nbytes = property(lambda self: self._tj_box.nbytes)
    strides = property(lambda self: self._tj_box.strides)

    # ---- methods that `numpy.ndarray` has

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        return self._tj_like(held(self).astype(*args, **kwargs))

    def item(self, *args: Any) -> Any:
        return held(self).item(*args)

    def conj(self) -> Any:
        """The complex conjugate; of real numbers the array itself."""
        if held(self).dtype.kind != "c":
            return self
        return type(self)._tj_call(np.conjugate, None, (self,), {})

    conjugate = conj

    def ravel(self, *args: Any, **kwargs: Any) -> Any:
        return held(self).ravel(*args, **kwargs)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        held(self).sort(*args, **kwargs)

    def __getitem__(self, index: Any) -> Any:
        raise UnsupportedFunctionError(name="an index of an array of a subclass")

    def __len__(self) -> int:
        return len(self._tj_box)

    def __iter__(self) -> Any:
        return iter([self[n] for n in range(len(self))])

    def __bool__(self) -> bool:
        return bool(self._tj_box)

    def __getattr__(self, name: str) -> Any:
        known = self._tj_class
        if name[:2] == "__" or name[:4] == "_tj_" or not hasattr(known, name):
            raise AttributeError(f"{known.__name__!r} object has no attribute {name!r}", name=name, obj=self)
        raise UnsupportedFunctionError(name=f"{known.__name__}.{name}")

    def _tj_refuse(self, *_: Any, **__: Any) -> Any:
        raise UnfollowedError(
            what=f"a {self._tj_class.__name__} of traced values", reason="its text is needed"
        )

    __repr__ = __str__ = __format__ = __reduce_ex__ = _tj_refuse


def _reduction(name: str) -> Any:
    """A reduction of `numpy.ndarray`: of the elements, whatever else the object knows of them. A result that is an
    array is one of this class."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = getattr(held(self), name)(*args, **kwargs)
        is_array = type(self) in SUBCLASSES and type(result) is Box and result.aval.shape
        return self._tj_like(result) if is_array else result

    method.__name__ = name
    return method


def _operator(name: str, function: Any, swapped: bool = False) -> Any:
    """An operator as the ufunc that it is."""

    def operator(self: Any, *others: Any) -> Any:
        args = (*others, self) if swapped else (self, *others)
        return type(self)._tj_call(function, None, args, {})

    operator.__name__ = name
    return operator


def _in_place(name: str, function: Any) -> Any:
    def operator(self: Any, other: Any) -> Any:
        return type(self)._tj_call(function, None, (self, other), {"out": self})

    operator.__name__ = name
    return operator


for _name in ("mean", "var", "std", "trace", "ptp"):
    setattr(Array, _name, _reduction(_name))
for _name, _ufunc in {
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
    "invert": np.invert,
}.items():
    setattr(Array, f"__{_name}__", _operator(f"__{_name}__", _ufunc))
for _name, _ufunc in {
    "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift, "divmod": np.divmod, "matmul": np.matmul,
}.items():  # fmt: skip
    setattr(Array, f"__{_name}__", _operator(f"__{_name}__", _ufunc))
    setattr(Array, f"__r{_name}__", _operator(f"__r{_name}__", _ufunc, swapped=True))
    setattr(Array, f"__i{_name}__", _in_place(f"__i{_name}__", _ufunc))
