"""Functions of Numba's without a Python function to follow, and functions of C: a program calls them by address.

That is done where all they can do is compute: what they call is known (`wrappers.acts`), and whether they write into an
argument, which they are given copies of, is found when they are called. Python runs everything else.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import opcode
import types
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit import ops
from tracejit.control.callbacks.natives import STATUS, NativeCall
from tracejit.control.callbacks.routines import native_call
from tracejit.errors import CapturedWriteError, LibraryResultError, UnfollowedError
from tracejit.errors.refusals import attempt
from tracejit.frontend import rewrite
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows.compiled import dispatchers, wrappers
from tracejit.frontend.shadows.compiled.dispatchers import type_of
from tracejit.frontend.shadows.functions import codes_in, contents
from tracejit.interpreters.autodiff.jet import SeriesTrace
from tracejit.interpreters.autodiff.jvp import JVPTrace
from tracejit.interpreters.autodiff.linearize import LinearizeTrace
from tracejit.ir.avals import Aval, aval_of
from tracejit.lazily import LazyModule
from tracejit.numpy.assumed import value_now
from tracejit.numpy.boxes.layouts import orders_of
from tracejit.numpy.boxes.numbers import is_python
from tracejit.numpy.boxes.unsure import is_unsure
from tracejit.numpy.captured.array import CapturedArray
from tracejit.numpy.operands import has_box, kind_of, raw
from tracejit.ops.indexing.index_check import fail_where
from tracejit.records import record
from tracejit.tracing import STATE, Box, box, current_trace, new_array

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

#: Dtypes that Numba has.
_DTYPES = frozenset(map(np.dtype, ["?", "b", "B", "h", "H", "i", "I", "l", "L", "f", "d", "F", "D"]))
_LARGEST = {"b": np.dtype(bool), "i": np.dtype(np.int64), "f": np.dtype(np.float64), "c": np.dtype(complex)}
_numba: Any = LazyModule("numba")
_finding: Any = LazyModule("ctypes.util")  # which imports much
POINTER: Any = ctypes._CFuncPtr  # type: ignore[attr-defined]
LIBRARY = ctypes.CDLL
_PYTHONS = 4 | 8 | 16  # flags of ctypes: functions that need Python's lock, or whose errors are kept
#: Numbers of C, and the kinds of numbers that ctypes takes for them.
_C_NUMBERS: dict[Any, str] = {
    ctypes.c_double: "bif",
    ctypes.c_float: "bif",
    ctypes.c_int: "bi",
    ctypes.c_long: "bi",
}
_JUMPS = frozenset(n for name, n in opcode.opmap.items() if "JUMP" in name or name == "FOR_ITER")
#: The types of operands for which a function is known to do nothing but compute.
_compute: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()
#: The C functions around each function, by the types of operands and results; they live as long as programs of them.
_made: weakref.WeakKeyDictionary[Any, weakref.WeakValueDictionary[Any, Any]] = weakref.WeakKeyDictionary()


@record(frozen=True)
class Failed:
    """Makes the exception of a call that did not work."""

    function: str

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        problem = wrappers.PROBLEMS.get(details[0], "failed")
        return LibraryResultError(function=self.function, problem=problem)


class Called:
    """The call of a function of Numba's by address. `name`: how messages call it; `pointers`: it calls functions of C
    that are known to compute only."""

    def __init__(self, function: Any, name: str, pointers: bool) -> None:
        self.function = function
        self.name = name
        self.pointers = pointers

    def refused(self, reason: str) -> UnfollowedError:
        return UnfollowedError(what=f"{self.name}, which is called by its address,", reason=reason)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self._given(args, kwargs)
        operands = [raw(x) for x in given]
        avals = [aval_of(x) for x in operands]
        if not all(a.is_static and a.dtype in _DTYPES for a in avals):
            raise self.refused(
                "arguments have sizes that only the program knows, or dtypes that Numba does not have"
            )
        returned = self._returned(given)
        kinds = list(_leaves(returned))
        types_ = tuple(map(str, map(type_of, given)))
        results = [self._aval(t, (1,) * getattr(t, "ndim", 0)) for t in kinds]
        key, known = (types_, *avals), _compute.setdefault(self.function, set())
        if key not in known:
            self._native(types_, avals, results, returned)  # which is refused if it does more than compute
            known.add(key)
        if any(a.shape for a in results):
            shapes = self._shapes(operands)
            results = [self._aval(t, s) for t, s in zip(kinds, shapes, strict=True)]
        native = self._native(types_, avals, results, returned)
        call = NativeCall(native, self.name, [*results, STATUS], frozenset())
        *outs, status = native_call(call, *operands)
        failed = ops.compare.ne(status, np.int32(0))
        fail_where(failed, Failed(self.name), ops.create.convert(status, np.dtype(np.int64)))
        return _rebuilt(returned, iter([self._result(o, t) for o, t in zip(outs, kinds, strict=True)]))

    def _given(self, args: Any, kwargs: Any) -> list[Any]:
        """The arguments one after another. Raises UnfollowedError for what can't be handed over by a pointer."""
        try:
            bound = inspect.signature(self.function.py_func).bind(*args, **kwargs)
        except (TypeError, ValueError) as e:
            raise self.refused(f"it raises {e!r}") from e
        bound.apply_defaults()
        if bound.kwargs or len(bound.args) != len(bound.arguments):
            raise self.refused("it takes any number of arguments")
        for x in bound.args:
            if not _is_plain(x):
                raise self.refused(
                    f"it is given a {type(x).__name__} that is no number and no array in C order"
                )
        return list(bound.args)

    def _returned(self, given: list[Any]) -> Any:
        """Numba's type of the result."""
        try:
            _, _, folded, _ = self.function.get_call_template([type_of(x) for x in given], {})
            return self.function.overloads[tuple(folded)].signature.return_type
        except Exception as e:
            raise self.refused(f"it raises {e!r}") from e

    def _shapes(self, operands: list[Any]) -> list[tuple[int, ...]]:
        """The shapes of the results: those that the function gives for the arguments of this call."""
        now = [value_now(x) for x in operands]
        if any(x is None for x in now):
            raise self.refused("the shape of its result is not known before it is called")
        try:
            copies = [np.array(x, order="C")[()] for x in now]
            found = self.function(*copies)
        except Exception as e:
            raise self.refused(f"it raises {e!r}") from e
        if any(x.tobytes() != y.tobytes() for x, y in zip(copies, now, strict=True)):
            raise self.refused("it writes into an argument")
        return [np.shape(x) for x in _values(found)]

    def _aval(self, type_: Any, shape: tuple[int, ...]) -> Aval:
        if hasattr(type_, "ndim"):
            if type_.layout != "C" or not type_.mutable or not type_.ndim:
                raise self.refused("it gives an array that is not in C order, or can't be written")
            type_ = type_.dtype
        try:
            dtype = np.dtype(str(type_) if str(type_) != "bool" else bool)
        except TypeError:
            dtype = np.dtype(object)
        if dtype not in _DTYPES or dtype == np.uint64:
            raise self.refused(f"it gives {type_}")
        return Aval(tuple(shape), dtype)

    def _native(self, types_: Any, avals: list[Aval], results: list[Aval], returned: Any) -> Any:
        known = _made.setdefault(self.function, weakref.WeakValueDictionary())
        key = types_, tuple(avals), tuple(results)
        native = known.get(key)
        if native is None:
            try:
                native, text = wrappers.wrapper(self.function, avals, results, _expression(returned))
            except Exception as e:
                raise self.refused(f"it raises {e!r}") from e
            acting = wrappers.acts(text, self.pointers)
            if acting is not None:
                raise self.refused(f"it calls {acting}, which may do more than compute")
            known[key] = native
        return native

    def _result(self, out: Any, type_: Any) -> Any:
        """A result as Numba gives it to Python, or to another function of Numba's: numbers are Python's."""
        if hasattr(type_, "ndim"):
            return new_array(out)
        if STATE.numbers is not None and aval_of(out).dtype not in _LARGEST.values():
            raise self.refused(f"it gives {type_}, for which Numba has promotions of its own")
        return box(
            ops.create.convert(out, _LARGEST[{"u": "i"}.get(kind := aval_of(out).dtype.kind, kind)]),
            weak=True,
        )


def of(value: Any) -> Called | None:
    """The call by address of a dispatcher whose Python function names what has none; None for others."""
    fn = getattr(value, "py_func", None)
    if not isinstance(fn, types.FunctionType):
        return None
    foreign = [x for x in _named(fn) if type(x).__name__ == "_Intrinsic" or isinstance(x, POINTER)]
    if not foreign:
        return None
    pointers = [x for x in foreign if isinstance(x, POINTER)]
    return Called(value, f"`{fn.__name__}`", bool(pointers) and all(map(_computes, pointers)))


def without_source(value: Any) -> Called | None:
    """The call by address of a dispatcher whose Python function has loops or branches, but no source by which they
    could be native: made by `exec`, or of a file that is gone. None for others."""
    code = value.py_func.__code__
    if not any(code.co_code[n] in _JUMPS for n in range(0, len(code.co_code), 2)):
        return None
    return Called(value, f"`{value.py_func.__name__}`", False) if rewrite.rewritten_code(code)[1] else None


def is_differentiated() -> bool:
    """Whether a derivative is taken of what is traced now."""
    trace = current_trace()
    while trace is not None and not isinstance(trace, (JVPTrace, LinearizeTrace, SeriesTrace)):
        trace = trace.parent
    return trace is not None


def stand_in(session: Run, value: Any, called: Called) -> Callable[..., Any]:
    """What stands for such a dispatcher: where nothing is traced it is called as it is."""

    @functools.wraps(value.py_func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not session.guarded and not has_box(args) and not has_box(kwargs.values()):
            return value(*args, **kwargs)
        return called(*args, **kwargs)

    return call


def wrap_sourceless(session: Run, node: Node, value: Any, called: Called) -> Any:
    """The stand-in of a dispatcher that `without_source` has found: it is followed where a derivative is taken, and
    where it can't be called by address."""
    followed = dispatchers.wrap_compiled(session, node, value)

    @functools.wraps(value.py_func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if session.guarded and (has_box(args) or has_box(kwargs.values())) and not is_differentiated():
            try:
                with attempt(UnfollowedError):
                    return called(*args, **kwargs)
            except UnfollowedError:
                pass
        return followed(*args, **kwargs)

    return session.remember(value, call)


class Pointer:
    """What stands for a function of ctypes. Its types, by which it was compiled, can't be set while tracing."""

    __slots__ = ("__name__", "called", "function", "kinds")
    called: Called
    function: Any
    kinds: tuple[Any, ...]

    def __init__(self, function: Any, called: Called, kinds: tuple[Any, ...]) -> None:
        for name, x in (("function", function), ("called", called), ("kinds", kinds)):
            object.__setattr__(self, name, x)
        object.__setattr__(self, "__name__", function.__name__)

    def __setattr__(self, name: str, value: Any) -> None:
        raise CapturedWriteError(what=f"attribute `{name}` of {self.called.name}")

    def __call__(self, *args: Any) -> Any:
        if not has_box(args):
            return self.function(*args)
        for x, kind in zip(args, self.kinds, strict=False):
            allowed = _C_NUMBERS[kind]
            if not (is_python(x) or (kind_of(x) == np.float64 and not np.shape(x))) or (
                np.dtype(kind_of(x)).kind not in allowed
            ):
                raise self.called.refused(f"it is given a number that is no {kind.__name__}")
        return self.called(*args)


def of_c(value: Any) -> Pointer | None:
    """The call by address of a function of ctypes that takes and gives numbers, if it is known to compute only."""
    kinds = (*(value.argtypes or ()), value.restype)
    if value.argtypes is None or any(k not in _C_NUMBERS for k in kinds):
        return None
    if getattr(value, "errcheck", None) is not None or value._flags_ & _PYTHONS or not _computes(value):
        return None
    names = ", ".join(f"a{n}" for n in range(len(kinds) - 1))
    scope: dict[str, Any] = {"function": value}
    exec(f"def call({names}):\n    return function({names})\n", scope)
    called = Called(_numba.njit(scope["call"]), f"`{value.__name__}`", True)

    return Pointer(value, called, kinds)


def _computes(pointer: Any) -> bool:
    """Whether a function of ctypes is one of C's mathematics: what the library of these has by its name."""
    name = getattr(pointer, "__name__", "")
    if not wrappers.MATHEMATICS.fullmatch(name):
        return False
    try:
        found = ctypes.CDLL(_finding.find_library("m"))[name]
    except (AttributeError, OSError, TypeError):
        return False
    return _address(found) == _address(pointer)


def _address(pointer: Any) -> int:
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


def _named(fn: types.FunctionType) -> Iterator[Any]:
    """What a function's code names: globals, closure variables, and what it asks modules among these for."""
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    held = {name: contents(cell) for name, cell in cells}
    for code in codes_in(fn.__code__):
        for name in (*code.co_names, *code.co_freevars):
            x = held.get(name, fn.__globals__.get(name))
            yield x
            if isinstance(x, types.ModuleType):
                yield from (vars(x).get(n) for n in code.co_names)


def _is_plain(x: Any) -> bool:
    if type(x) is Box:
        return not is_unsure(x) and orders_of(x) == [None] and (x.scalar or bool(x.aval.shape))
    if type(x) in (np.ndarray, CapturedArray):
        return bool(x.ndim) and x.flags.c_contiguous
    return isinstance(x, (bool, int, float, complex, np.generic))


def _leaves(type_: Any) -> Any:
    """The types of the numbers and arrays in a result."""
    if type(type_).__name__ == "NoneType":
        return
    if hasattr(type_, "types"):
        for t in type_.types:
            yield from _leaves(t)
        return
    yield type_


def _values(x: Any) -> Any:
    if isinstance(x, tuple):
        for part in x:
            yield from _values(part)
    elif x is not None:
        yield x


def _expression(type_: Any, start: int = 0) -> str:
    """Names for the parts of a result, as Python takes them apart."""
    count = iter(range(start, 10**6))

    def names(t: Any) -> str:
        if type(t).__name__ == "NoneType":
            return "_"  # Numba gives None
        if hasattr(t, "types"):
            return f"({''.join(names(p) + ', ' for p in t.types)})"
        return f"r{next(count)}"

    return names(type_)


def _rebuilt(type_: Any, outs: Any) -> Any:
    if type(type_).__name__ == "NoneType":
        return None
    if hasattr(type_, "types"):
        parts = [_rebuilt(t, outs) for t in type_.types]
        made: Callable[..., Any] | None = getattr(type_, "instance_class", None)
        return made(*parts) if made is not None and hasattr(made, "_fields") else tuple(parts)
    return next(outs)
