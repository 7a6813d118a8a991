"""What Python's and NumPy's numbers have not: attributes of arrays, and an index. And what traced values have not.

A box that stands for one of Python's numbers is given to our own code as an array of no dimensions. To the user's it is
a `float` or an `int`: `x.shape` raises AttributeError, `hasattr(x, "ndim")` is False, and `x[()]` raises TypeError. So
these members ask who looks. Inside of derivatives and lanes, and in functions that are given to `lax`, numbers are
arrays, as in JAX.
"""

from __future__ import annotations

import functools
import opcode
import sys
import types
from typing import Any

import numpy as np

from tracejit.errors import NumberError, UnfollowedError, UnknownMemberError, is_internal
from tracejit.interpreters.stage import StageTrace
from tracejit.interpreters.vmap import BatchTrace
from tracejit.ir.values import Value
from tracejit.numpy.boxes.conversions import class_name, class_of, no_attribute
from tracejit.numpy.boxes.members import member
from tracejit.numpy.boxes.unsure import may_have_begun
from tracejit.tracing import Box, caller, current_trace

_missing = Box.__getattr__
#: What arrays in files (`np.memmap`) have, which are traced as any other array.
_OF_FILES = frozenset(("filename", "flush", "mode", "offset"))
_CALLS = {opcode.opmap[n] for n in ("PRECALL", "CALL") if n in opcode.opmap}
_weak: Any = Box.__dict__["weak"]
_internal = functools.lru_cache(maxsize=4096)(is_internal)


def _may_be_python(x: Box) -> bool:
    try:
        return _weak.__get__(x) is True
    except AttributeError:  # an unsure number
        return True


def _is_number_to(x: Box, frame: Any) -> bool:
    """Whether the code of `frame` has one of Python's numbers in `x`. A number that may be NumPy's as well is settled
    by the question."""
    if not _may_be_python(x) or (frame is not None and _internal(frame.f_code.co_filename)):
        return False
    return (
        (has_numbers() or _calls(frame))
        and x.weak is True
        and not x.aval.shape
        and not _is_array_of(x.read())
    )


def _calls(frame: Any) -> bool:
    """Whether the code of `frame` asks by a call, `hasattr` or `getattr`, and has another way to go."""
    return frame is not None and frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] in _CALLS


def has_numbers() -> bool:
    """Whether the function is traced for itself, and not for derivatives or lanes, where numbers are arrays."""
    trace = current_trace()
    while trace.parent is not None:
        if not isinstance(trace, StageTrace) and not (isinstance(trace, BatchTrace) and trace.numbers):
            return False
        trace = trace.parent
    return True


def _is_array_of(value: Any) -> bool:
    """Whether a raw value was computed in a function that `lax` was given."""
    trace = value.trace if isinstance(value, Value) else current_trace()
    while isinstance(trace, StageTrace) and not trace.arrays:
        trace = trace.parent
    return isinstance(trace, StageTrace)


def lacks(x: Box, name: str) -> bool:
    """Whether the user's code is told that `x` has no attribute `name`, which arrays may have."""
    own = vars(Box).get(name)
    return isinstance(own, OfArrays) and own.is_absent(x, None)


def require(x: Any, name: str) -> None:
    """Raise as Python does where the value that a function of NumPy's asks for an attribute has none."""
    if type(x) is not Box:
        getattr(x, name)
    elif lacks(x, name):
        raise no_attribute(x, name)


class OfArrays:
    """A member of `Box` that Python's numbers have not, or even NumPy's; `inner` is the property or the method."""

    __slots__ = ("inner", "name", "only_arrays")

    def __init__(self, name: str, inner: Any) -> None:
        self.name, self.inner = name, inner
        self.only_arrays = not hasattr(np.float64, name)

    def is_absent(self, x: Box, frame: Any) -> bool:
        """Whether `x` has it not, for the code of `frame` (None: the user's)."""
        if self.only_arrays and x.scalar:
            internal = frame is not None and _internal(frame.f_code.co_filename)
            return not internal and has_numbers() and class_of(x) is not np.ndarray
        return _is_number_to(x, frame) and not hasattr(class_of(x), self.name)

    def __get__(self, x: Box | None, owner: type | None = None) -> Any:
        if x is None:
            return self.inner
        if self.is_absent(x, sys._getframe(1)):
            raise AttributeError(name=self.name, obj=x)
        return self.inner.__get__(x, owner)

    def __set__(self, x: Box, value: Any) -> None:
        if class_of(x) is not np.ndarray and not _internal(sys._getframe(1).f_code.co_filename):
            raise no_attribute(x, self.name)
        if not hasattr(self.inner, "__set__"):
            raise AttributeError(f"object attribute {self.name!r} is read-only", name=self.name, obj=x)
        if self.inner.fset is None:
            raise UnknownMemberError(name=f"{self.name} = ...", aval=str(x.aval))
        self.inner.__set__(x, value)

    def __delete__(self, x: Box) -> None:
        value = np.zeros(0) if class_of(x) is np.ndarray else class_of(x)(0)
        delattr(value, self.name)  # Python says why not


@member("__getattr__")
def _of_number(x: Box, name: str) -> Any:
    """What no member gives. Python asks this too where a member itself has raised AttributeError."""
    frame = sys._getframe(1)
    own = vars(Box).get(name)
    if isinstance(own, OfArrays) and own.is_absent(x, frame):
        raise no_attribute(x, name)
    if name in _OF_FILES and class_of(x) is np.ndarray and caller.does_over():
        raise UnfollowedError(
            what=f"`{name}` of an array", reason="arrays in files have it, and are arrays here"
        )
    if (
        name not in vars(Box)
        and not _internal(frame.f_code.co_filename)
        and _is_refused(x, name, frame.f_code)
    ):
        raise UnknownMemberError(name=name, aval=str(x.aval))
    return _missing(x, name)


def in_file(x: Box, name: str) -> None:
    """Leave an attribute to Python that an array has if it is in a file."""
    if name in _OF_FILES and class_of(x) is np.ndarray and caller.does_over():
        raise UnfollowedError(
            what=f"`{name}` of an array", reason="arrays in files have it, and are arrays here"
        )


def _is_refused(x: Box, name: str, code: types.CodeType) -> bool:
    """Whether the value without tracing has what a box has not. Special names are asked for by Python and NumPy, too,
    which go another way without them: only those count that the user's code names."""
    if name[:2] == "__":
        return (name in code.co_names or name in code.co_consts) and hasattr(class_of(x), name)
    return class_of(x) is np.ndarray and hasattr(np.ndarray, name)


def judge_type(x: Box) -> None:
    """Raises NumberError where it depends on values which of Python's types a number has."""
    if may_have_begun(x):
        raise NumberError(message="the type of a number that a loop may have changed to another, or not yet")


def _class(x: Box) -> type:
    """The class of the value that `x` stands for, which `isinstance`, `case float():` and `singledispatch` go by in
    code that runs as it is."""
    judge_type(x)
    return class_of(x)


Box.tj_class = property(_class)  # type: ignore[attr-defined]


def _subscript(inner: Any, verb: str) -> Any:
    @functools.wraps(inner)
    def subscript(x: Box, *args: Any) -> Any:
        if _is_number_to(x, sys._getframe(1)):
            raise TypeError(f"{class_name(x)!r} object {verb}")
        return inner(x, *args)

    return subscript


for _name, _inner in list(vars(Box).items()):
    if not _name.startswith("_") and hasattr(np.ndarray, _name):
        setattr(Box, _name, OfArrays(_name, _inner))
Box.__getitem__ = _subscript(Box.__getitem__, "is not subscriptable")  # type: ignore[attr-defined]
Box.__setitem__ = _subscript(Box.__setitem__, "does not support item assignment")  # type: ignore[attr-defined]


# ---------------------------------------------------------------- numbers of the user's classes beside Python's

_NUMBERS = (int, float, complex)
_PLAIN = frozenset((bool, *_NUMBERS))
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def _beside_derived(inner: Any, asks: str) -> Any:
    """An operator of a number of Python's beside one of a class that derives from Python's (a member of an `IntEnum`):
    as such a one, unless its class has a method `asks` of its own, which Python asks first."""

    @functools.wraps(inner)
    def operate(x: Box, y: Any, *rest: Any) -> Any:
        if type(y) not in _PLAIN and type(y) is not Box and isinstance(y, _NUMBERS) and x.weak is True:
            base: Any = next(c for c in _NUMBERS if isinstance(y, c))
            if not isinstance(y, np.generic):
                if asks and getattr(type(y), asks, None) is not getattr(base, asks, None):
                    return NotImplemented
                y = base.__pos__(y)
        return inner(x, y, *rest)

    return operate


#: Operators of two operands, by the names of their methods.
BINARY = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "divmod",
    "pow",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)
for _name, _asks in [
    *((f"__{n}__", f"__r{n}__") for n in BINARY),
    *((f"__i{n}__", f"__r{n}__") for n in BINARY),
    *((f"__r{n}__", "") for n in BINARY),  # it was asked already
    *((f"__{n}__", f"__{mirrored}__") for n, mirrored in _MIRRORED.items()),
]:
    if _name in vars(Box):
        setattr(Box, _name, _beside_derived(vars(Box)[_name], _asks))
