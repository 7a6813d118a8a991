"""What Python's conversions make of a box: bool, float, int, index, hash, text; only of values that are known."""

from __future__ import annotations

import linecache
import opcode
import operator
import sys
from math import prod
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import (
    ArgumentTypeError,
    LostDerivativeError,
    TracedTextError,
    TracerArrayError,
    TracerBoolError,
    TracerFloatError,
    TracerIntegerError,
    TruthValueError,
    UnfollowedError,
    UnknownMemberError,
    UnknownSourceError,
    is_library,
)
from tracejit.ir.values import Value
from tracejit.numpy.assumed import assumed
from tracejit.numpy.boxes import extents, unsure
from tracejit.numpy.boxes.members import attribute, iterate, member
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.fitting import judge_shape
from tracejit.tracing import Box, box, new_array

_NUMBERS: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def class_of(x: Box) -> type:
    """The class that a traced value has without tracing: NumPy's array or scalar, or a Python number."""
    if x.weak and not x.aval.shape:
        return _NUMBERS.get(x.aval.dtype.kind, np.ndarray)
    return x.aval.dtype.type if x.scalar else np.ndarray


def class_name(x: Box) -> str:
    """The name of that class in Python's and NumPy's messages."""
    cls = class_of(x)
    return cls.__name__ if cls.__module__ == "builtins" else f"numpy.{cls.__name__}"


def no_attribute(x: Box, name: str) -> AttributeError:
    """What Python raises where a value has no attribute `name`."""
    return AttributeError(f"{class_name(x)!r} object has no attribute {name!r}", name=name, obj=x)


@member("__delitem__")
def _delete(x: Box, index: Any) -> None:
    if class_of(x) is np.ndarray:
        raise ValueError("cannot delete array elements")
    raise TypeError(f"{class_name(x)!r} object does not support item deletion")


@member("__dir__")
def _dir(x: Box) -> list[str]:
    return dir(class_of(x))


@member("__sizeof__")
def _sizeof(x: Box) -> int:
    raise UnknownMemberError(name="__sizeof__", aval=str(x.aval))


@member("__getattr__")
def _missing(x: Box, name: str) -> Any:
    """What numbers have and arrays have not, such as `x.bit_length`: that of the number, if it is known.
    And `x.weak`, which unsure numbers have not."""
    if name == "weak":
        return unsure.settle(x)
    refused = getattr(Box, name, None)
    if isinstance(refused, property) and refused.fget is not None:  # it raised an AttributeError of its own
        return refused.fget(x)
    cls = class_of(x)
    if cls is np.ndarray or name[:2] == "__" or not hasattr(cls, name):
        raise no_attribute(x, name)
    as_python: Any = operator.index if x.aval.dtype.kind in "iu" else _NUMBERS[x.aval.dtype.kind]
    return getattr(cls(as_python(x)), name)


@attribute("_numba_type_")
def _numbas(x: Box) -> Any:
    """What Numba asks an object for that it does not know: a part of Numba's that is no traced function gets a traced
    value. Raises UnfollowedError."""
    raise UnfollowedError(what=f"a traced {x.aval}", reason="Numba's compiled code would need its values")


def known_value(x: Box, error: Any, may_assume: bool = True) -> Any:
    """The NumPy array behind a box if it is known while tracing, or may be taken for known; else raises `error`."""
    value = extents.known(x.read())
    if value is None and may_assume:
        value = assumed(x.read(), lambda: error(aval=str(x.aval)))
    if value is None:
        unknown = error(aval=str(x.aval))
        unknown.traced = (x.read(),)
        raise unknown
    return value


def known_number(x: Box) -> Any:
    """The value for a conversion to Python numbers; they carry no derivative, so none may be lost."""
    value = known_value(x, TracerFloatError)
    if isinstance(x.read(), Value) and dtypes.is_inexact(x.aval.dtype):
        raise LostDerivativeError(aval=str(x.aval))
    return value


@member("__bool__")
def _bool(x: Box) -> bool:
    if x.aval.is_static and x.aval.size > 1:
        raise TruthValueError()
    return bool(known_value(x, _branch_error))


def _branch_error(aval: str) -> TracerBoolError:
    """What a branch on a traced value raises that was not captured: the source of its function may be unknown."""
    frame = sys._getframe(1)
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or linecache.getline(frame.f_code.co_filename, frame.f_lineno):
        return TracerBoolError(aval=aval)
    return UnknownSourceError(aval=aval, function=frame.f_code.co_name)


_STORES = {opcode.opmap[n] for n in ("STORE_SUBSCR", "STORE_SLICE") if n in opcode.opmap}


def _refuse_store(x: Box) -> None:
    """`ndarray[i] = x` converts x to a number silently, losing its derivative: found by the opcode at work."""
    frame = sys._getframe(2)
    if frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] in _STORES and isinstance(x.read(), Value):
        raise TracerArrayError(aval=str(x.aval))


#: `%`, by which Python's code makes text of numbers.
_REMAINDERS = (6, 19)


def _makes_text() -> bool:
    """Whether a number is asked for by `"%f" % x`, as `logging` does it: found by the operation at work."""
    frame = sys._getframe(2)
    code, at = frame.f_code.co_code, frame.f_lasti
    return at >= 0 and code[at] == opcode.opmap["BINARY_OP"] and code[at + 1] in _REMAINDERS


@member("__float__")
def _float(x: Box) -> float:
    _refuse_store(x)
    judge_shape(float, x)
    return float(known_value(x, TracerFloatError) if _makes_text() else known_number(x))


@member("__complex__")
def _complex(x: Box) -> complex:
    _refuse_store(x)
    judge_shape(complex, x)
    return complex(known_number(x))


@member("__int__")
def _int(x: Box) -> int:
    _refuse_store(x)
    judge_shape(int, x)
    return int(known_value(x, TracerIntegerError))


@member("__index__")
def _index(x: Box) -> int:
    if x.aval.dtype.kind not in ("iub" if x.weak else "iu") or x.aval.shape:  # np.True_ is no integer
        raise ArgumentTypeError(
            name="index", problem=f"a traced {x.aval} cannot be interpreted as an integer"
        )
    return int(known_value(x, TracerIntegerError))


@member("__bytes__")
def _bytes(x: Box) -> bytes:
    """Python's numbers have none of their own; the bytes of others are those in memory."""
    if class_of(x).__module__ == "builtins":
        return bytes(_index(x) if x.aval.dtype.kind in "bi" else class_of(x)())
    raise UnknownMemberError(name="the bytes", aval=str(x.aval))


@member("__contains__")
def contains(x: Box, value: Any) -> bool:
    if not hasattr(class_of(x), "__contains__"):
        raise TypeError(f"argument of type {class_name(x)!r} is not iterable")
    return bool(NUMPY_TO_TRACEJIT[np.any](NUMPY_TO_TRACEJIT[np.equal](x, value)))


@member("item")
def item(x: Box, *index: Any) -> Any:
    """The one element (or the one at `index`) as a Python number."""
    judge_shape(lambda zeros: zeros.item(*index), x)
    if not (_is_recorded(x) or is_differentiated(x)):
        return known_number(x).item(*index)
    if len(index) == 1 and type(index[0]) is not tuple:
        return _as_python(NUMPY_TO_TRACEJIT[np.ravel](x)[index[0]])
    return _as_python(x[index[0] if len(index) == 1 else index] if index else x.reshape(()))


@member("tolist")
def tolist(x: Box) -> Any:
    """Nested Python lists of numbers."""
    if not (_is_recorded(x) or (is_differentiated(x) and x.aval.size <= MOST_NUMBERS)):
        return known_number(x).tolist()
    return [tolist(row) for row in iterate(x)] if x.aval.shape else _as_python(x)


def is_differentiated(x: Box) -> bool:
    """Whether the numbers are known, and have derivatives: outside of jit."""
    return (
        isinstance(x.read(), Value)
        and dtypes.is_inexact(x.aval.dtype)
        and extents.known(x.read()) is not None
    )


def _is_recorded(x: Box) -> bool:
    """Whether the numbers are ones of a program, and not too many to be Python's one by one."""
    sizes = [d for d in x.aval.shape if type(d) is int]
    return extents.known(x.read()) is None and prod(sizes) <= MOST_NUMBERS and x.aval.dtype.kind in "bifc"


#: Numbers that a traced array is taken apart into.
MOST_NUMBERS = 1024
_PYTHONS = {"b": np.dtype(bool), "i": np.dtype(np.int64), "f": np.dtype(float), "c": np.dtype(complex)}


def _as_python(x: Box) -> Box:
    """A traced number as one of Python's."""
    raw = x.read()
    wide = _PYTHONS[x.aval.dtype.kind]
    return box(raw if x.aval.dtype == wide else ops.create.convert(raw, wide), weak=True)


@member("__hash__")
def _hash(x: Box) -> int:
    if class_of(x) is not np.ndarray:
        error = TracerIntegerError if x.aval.dtype.kind in "bi" else TracerFloatError
        return hash(known_value(x, error, may_assume=False)[()])  # a container would have the box as its key
    raise TypeError("unhashable type: 'numpy.ndarray'")


@member("__repr__")
def _repr(x: Box) -> str:
    """The text of the value, where that is no traced one; else what stands for it."""
    plain = _plain(x)
    return _stands_for(x) if plain is None else repr(plain)


@member("__str__")
def _str(x: Box) -> str:
    plain = _plain(x)
    return _stands_for(x) if plain is None else str(plain)


@member("__format__")
def _format(x: Box, spec: str) -> str:
    plain = _plain(x)
    return _stands_for(x) if plain is None else format(plain, spec)


def _plain(x: Box) -> Any:
    """The array or number that a box stands for, where that is known, as in eager transformations; else None."""
    value = extents.known(x.read())
    if value is None:
        return None
    value = np.asarray(value)
    return value[()].item() if x.weak else value[()] if x.scalar else value


def _stands_for(x: Box) -> str:
    """What stands for an unknown value in a text that C code makes: it is refused."""
    TracedTextError(aval=str(x.aval), use="its characters")  # it is written down, and ends the trace
    return f"Traced<{x.aval}>"


@member("__copy__")
def _copy(x: Box) -> Box:
    if class_of(x) is not np.ndarray:  # numbers can't be changed, and are no copies
        return x
    return new_array(x.read())


Box.__deepcopy__ = lambda x, memo: _copy(x)  # type: ignore[attr-defined]
