"""The native shell: a built-in function that takes Python's objects and calls a program's entry.

One generic shell (`shell_text`) is compiled per process. Each `make` gives a METH_FASTCALL function whose `self`
holds a frame: what the arguments must be, what the outputs are, and the addresses that the shell needs. A call

    checks each argument against its `Input`: another type, dtype, shape or layout gives MISS at once;
    makes the outputs: new arrays, or where they have no dimensions NumPy scalars or Python's numbers;
    calls the entry, with the GIL released where asked;
    returns the tuple of the outputs, or the only one, or raises what `fail(status words)` raises.

Where the interpreter's layout is not the expected one, `make` returns a Python function that does the same.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.lowering.llvm.memory import STATUS_WORDS
from tracejit.lowering.runtime import floating, results, shell_numbers
from tracejit.lowering.runtime.compile import Code, compile_llvm
from tracejit.lowering.runtime.shell_text import TEXT
from tracejit.records import record

WRONG_COUNT = -3
INTERRUPTED = -4  # a Python exception is set
_FASTCALL = 0x80
_ENTRY_WITH_GIL = ctypes.PYFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 5)


class _Miss:
    """What a call with other arguments gives."""

    def __repr__(self) -> str:
        return "MISS"


MISS: Any = _Miss()

# ---------------------------------------------------------------- layouts

_HEAD = object.__basicsize__
# PyArrayObject: the object's header, then data, nd, dimensions, strides, base, descr, flags.
_ARRAY = {"data": _HEAD, "rank": _HEAD + 8, "shape": _HEAD + 16, "strides": _HEAD + 24, "descr": _HEAD + 40,
          "flags": _HEAD + 48}  # fmt: skip
_LAYOUT = {
    **_ARRAY,
    "type": _HEAD - 8,  # the header ends with the type
    "value": _HEAD,  # floats, complex numbers and NumPy's scalars: the header, then the value
    "bytes_data": bytes.__basicsize__ - 1,  # PyBytesObject ends with `char ob_sval[1]`
    "items": tuple.__basicsize__,
}
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400  # NPY_ARRAY_ flags
_SPEC_WORDS = 8
#: Programs for Python integers up to this size know that they are.
NEAR = 2**31
_ANY, _CHECKED, _INSIDE, _INTEGER, _BOOLEAN = range(5)  # kinds of arguments
_FRESH, _GIVEN, _SCALAR, _BOOL, _INT, _FLOAT, _COMPLEX = range(7)  # kinds of outputs
_PYTHON = {
    "b": _BOOL,
    "i": _INT,
    "f": _FLOAT,
    "c": _COMPLEX,
}  # those of Python's numbers, by the dtype's kind

#: Functions of Python's and NumPy's C interfaces, in the order of the shell's table.
_API = ("incref", "decref", "as_long", "true", "bytes", "call", "tuple", "save", "restore", "false", "long", "float",
        "complex", "context", "setting", "empty", "scalar", "current", "set", "usual")  # fmt: skip
_SYMBOLS = ("Py_IncRef", "Py_DecRef", "PyLong_AsLongLongAndOverflow", "", "PyBytes_FromStringAndSize",
            "PyObject_CallOneArg", "PyTuple_New", "PyEval_SaveThread", "PyEval_RestoreThread", "",
            "PyLong_FromLongLong", "PyFloat_FromDouble", "PyComplex_FromDoubles",
            "PyContextVar_Get", "")  # fmt: skip
#: PyArray_Empty, PyArray_Scalar, and what handles memory: places in NumPy's table.
_NUMPY = (184, 60, *results.HANDLERS)

#: Scalars whose value lies right behind the header.
INSIDE_TYPES: frozenset[type] = frozenset((float, complex, *(np.dtype(c).type for c in "?bhilqBHILQefdFD")))


def _symbol(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def layout_is_known() -> bool:
    """True if objects lie in memory as the shell expects."""
    probe, marker = np.arange(6.0).reshape(2, 3)[:, ::2], b"tracejit layout probe"
    pointers = {k: ctypes.c_void_p.from_address(id(probe) + at).value for k, at in _ARRAY.items()}
    try:
        rank, flags = (ctypes.c_int.from_address(id(probe) + _ARRAY[k]).value for k in ("rank", "flags"))
        shape = tuple((ctypes.c_int64 * 2).from_address(pointers["shape"] or 0))
        strides = tuple((ctypes.c_int64 * 2).from_address(pointers["strides"] or 0))
        number, pair = np.float64(2.5), (marker, None)
        known = (
            pointers["data"] == probe.ctypes.data and pointers["descr"] == id(probe.dtype) and rank == 2,
            flags == probe.flags.num and shape == probe.shape and strides == probe.strides,
            ctypes.c_void_p.from_address(id(probe) + _LAYOUT["type"]).value == id(np.ndarray),
            ctypes.c_double.from_address(id(number) + _LAYOUT["value"]).value == 2.5,
            ctypes.c_void_p.from_address(id(pair) + _LAYOUT["items"]).value == id(marker),
            ctypes.string_at(id(marker) + _LAYOUT["bytes_data"], len(marker)) == marker,
            all(hasattr(ctypes.pythonapi, name) for name in (*filter(None, _SYMBOLS), "PyCFunction_NewEx")),
        )
    except (TypeError, ValueError, AttributeError):
        return False
    return all(known)


# ---------------------------------------------------------------- specifications


@record(frozen=True)
class Input:
    """What an argument must be: an object of exactly `type`; an array of this dtype and shape, in C order or with
    these strides (in bytes). The default is any array, unchecked: the caller vouches for it. A Python integer is at
    most NEAR in size, unless it is `wide`."""

    type: builtins.type | None = None
    dtype: np.dtype | None = None
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] | None = None
    writeable: bool = False
    wide: bool = False

    @staticmethod
    def of(x: Any, writeable: bool = False) -> Input | None:
        """The specification of arguments like `x`, if that is an array which native code can read, or a number."""
        if type(x) in INSIDE_TYPES or type(x) is int or type(x) is bool:
            return Input(type(x), wide=type(x) is int and abs(x) > NEAR)
        if type(x) is not np.ndarray or not x.flags.aligned or not x.dtype.isnative:
            return None
        strides = None if x.flags.c_contiguous else x.strides
        if strides and any(s % x.itemsize for s in strides):
            return None
        return Input(np.ndarray, x.dtype, x.shape, strides, writeable)

    def words(self, keep: list[Any]) -> list[int]:
        if self.type is not np.ndarray:
            kinds = {None: _ANY, int: _INTEGER, bool: _BOOLEAN}
            least, count = (-(2**63), -1) if self.wide else (-NEAR, 2 * NEAR)
            return [kinds.get(self.type, _INSIDE), id(self.type), least, count, *[0] * 4]
        flags = _ALIGNED | (_CONTIGUOUS if self.strides is None else 0) | _WRITEABLE * self.writeable
        strides = 0 if self.strides is None else _numbers(self.strides, keep)
        keep.append(self.dtype)
        shape = _numbers(self.shape, keep)
        return [_CHECKED, id(np.ndarray), id(self.dtype), flags, len(self.shape), shape, strides, 0]

    def accepts(self, x: Any) -> bool:
        """The same check in Python."""
        if self.type is None or type(x) is not self.type:
            return self.type is None
        if self.type is not np.ndarray:
            return self.type is not int or (-(2**63) <= x < 2**63 if self.wide else abs(x) <= NEAR)
        layout = x.flags.c_contiguous if self.strides is None else x.strides == self.strides
        given = x.dtype is self.dtype and x.shape == self.shape and x.flags.aligned
        return given and layout and (x.flags.writeable or not self.writeable)


@record(frozen=True)
class Output:
    """A new array of this dtype and shape (where it has no dimensions a NumPy scalar, or with `python` Python's
    number), or argument `given`."""

    dtype: np.dtype
    shape: tuple[int, ...]
    given: int | None = None
    python: bool = False

    def words(self, keep: list[Any]) -> list[int]:
        number = _PYTHON[self.dtype.kind] if self.python else _SCALAR
        kind = _GIVEN if self.given is not None else _FRESH if self.shape else number
        keep.append(self.dtype)
        shape = _numbers(self.shape, keep)
        large = kind == _FRESH and self.dtype.itemsize * math.prod(self.shape) >= results.LEAST
        handler = id(results.handler()) if large else 0
        return [kind, id(self.dtype), len(self.shape), shape, self.given or 0, handler, 0, 0]


def _numbers(values: Sequence[int], keep: list[Any]) -> int:
    """The address of these int64s, which live as long as `keep`."""
    block = (ctypes.c_int64 * max(len(values), 1))(*values)
    keep.append(block)
    return ctypes.addressof(block)


# ---------------------------------------------------------------- making shells


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("meth", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@functools.cache
def _native() -> tuple[Any, Any, Any, Any]:
    """(constructor, method definition, code, table of functions): made once, kept for the life of the process."""
    numbers = {name: n for n, name in enumerate(_API)}
    code = compile_llvm((TEXT + shell_numbers.TEXT).format(
        **_LAYOUT, **numbers, any=_ANY, checked=_CHECKED, inside=_INSIDE, integer=_INTEGER, boolean=_BOOLEAN,
        fresh=_FRESH, given=_GIVEN, of_bool=_BOOL, of_int=_INT, of_float=_FLOAT, of_complex=_COMPLEX,
        spec_words=_SPEC_WORDS, words=STATUS_WORDS + 1,
        report_bytes=8 * (STATUS_WORDS + 1), wrong_count=WRONG_COUNT, interrupted=INTERRUPTED,
    ))  # fmt: skip
    definition = _MethodDef(b"tracejit_program", code.address, _FASTCALL, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new, definition, code, (ctypes.c_void_p * len(_API))(*_addresses())


def _addresses() -> list[int]:
    """The table of functions."""
    *functions, usual = results.of_numpy(*_NUMPY)
    objects = iter((id(True), id(False), id(floating.VARIABLE)))
    known = [_symbol(s) if s else next(objects) for s in _SYMBOLS]
    return [*known, *functions, ctypes.c_void_p.from_address(usual).value or 0]


@record(frozen=True)
class Entry:
    """A program to call: `entry(pointers, params, table, arena, status)`. `fail` holds what the addresses belong to.

    `scratch` > 0 puts an arena of that many bytes on the C stack; with 0 it is the last argument (aligned up to 64
    bytes). `fail(bytes)` takes the int64 status and its details, and raises.
    """

    address: int
    params: int
    table: int
    scratch: int
    release: bool
    fail: Callable[[bytes], Any]


def make(
    entry: Entry,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    extra: int = 0,
    single: bool = False,
    asks: bool = False,
) -> Callable[..., Any]:
    """A function of the inputs and `extra` more arrays (given outputs, the arena's block) that calls `entry` and
    returns the outputs: a tuple, or with `single` the only one; MISS if the inputs are not as specified, or, if it
    `asks`, NumPy was told something about floating-point errors since this was looked at (`floating`)."""
    if not _KNOWN or (asks and floating.VARIABLE is None):
        return _in_python(entry, inputs, outputs, extra, single, asks)
    keep: list[Any] = [entry, MISS]
    specs = [_numbers([w for x in xs for w in x.words(keep)], keep) for xs in (inputs, outputs)]
    new, definition, _, api = _native()
    counts = (len(inputs) + extra, len(inputs), len(outputs))
    frame = struct.pack(
        "<15q", entry.address, entry.params, entry.table, *counts, *specs, entry.scratch, entry.release, single,
        id(MISS), id(entry.fail), ctypes.addressof(api),
        ctypes.addressof(floating.LAST) if asks else 0,
    )  # fmt: skip
    return new(ctypes.addressof(definition), (frame, *keep), None)


def _in_python(
    entry: Entry, inputs: Sequence[Input], outputs: Sequence[Output], extra: int, single: bool, asks: bool
) -> Callable[..., Any]:
    """The shell for interpreters of another layout. It keeps the GIL: ctypes then raises the exception that an
    interruption has set."""
    native = _ENTRY_WITH_GIL(entry.address)

    def shell(*args: Any) -> Any:
        if len(args) != len(inputs) + extra:
            return entry.fail(struct.pack(f"<{STATUS_WORDS + 1}q", WRONG_COUNT, *[0] * STATUS_WORDS))
        if asks and floating.errors_are_seen():
            return MISS
        if not all(spec.accepts(x) for spec, x in zip(inputs, args, strict=False)):
            return MISS
        arrays = [np.asarray(x) for x in args]
        outs = [np.empty(o.shape, o.dtype) if o.given is None else arrays[o.given] for o in outputs]
        data = [a.ctypes.data for a in (*arrays[: len(inputs)], *outs)]
        block = np.empty(entry.scratch + 64, np.uint8) if entry.scratch else arrays[-1]
        status = (ctypes.c_int64 * STATUS_WORDS)()
        pointers = (ctypes.c_void_p * max(len(data), 1))(*data)
        code = native(pointers, entry.params, entry.table, (block.ctypes.data + 63) & -64, status)
        if code:
            return entry.fail(struct.pack(f"<{STATUS_WORDS + 1}q", code, *status))
        found = [
            a if a.shape or o.given is not None else a.item() if o.python else a[()]
            for a, o in zip(outs, outputs, strict=True)
        ]
        return found[0] if single else tuple(found)

    return shell


# ---------------------------------------------------------------- signals

# Signals are handled in the thread's own state: after the entry has left, the shell returns null and the
# exception that a handler raised goes on from there.
_CHECK = """
@imports = global [3 x ptr] zeroinitializer

define i32 @entry() nounwind {{
  %ensure = load ptr, ptr @imports
  %check.at = getelementptr ptr, ptr @imports, i64 1
  %check = load ptr, ptr %check.at
  %release.at = getelementptr ptr, ptr @imports, i64 2
  %release = load ptr, ptr %release.at
  %state = call i32 %ensure()
  %result = call i32 %check()
  call void %release(i32 %state)
  %raised = icmp ne i32 %result, 0
  %code = select i1 %raised, i32 {interrupted}, i32 0
  ret i32 %code
}}
"""


def code() -> Any:
    """The generic shell's module."""
    return _native()[2]


@functools.cache
def signal_code() -> Any:
    """The module of `signal_check`."""
    names = ("PyGILState_Ensure", "PyErr_CheckSignals", "PyGILState_Release")
    return compile_llvm(_CHECK.format(interrupted=INTERRUPTED), tuple(map(_symbol, names)))


def signal_check() -> int:
    """The address of an `i32()` that lets Python handle its signals, with or without the GIL held: 0, or
    INTERRUPTED with an exception set."""
    return signal_code().address


_KNOWN = layout_is_known()


def caller_of_numbers(function: Callable[..., Any], dtypes: Sequence[str], raised: int) -> Code | None:
    """The code of an `i32(pointers)` that calls `function` with the numbers of these dtypes there, as Python's:
    `raised` unless it gives None. It takes the GIL itself. None where a number is of another dtype."""
    if not all(d in shell_numbers.MADE for d in dtypes):
        return None
    text, names = shell_numbers.call_text(dtypes, INTERRUPTED, raised)
    nothing = {"_Py_NoneStruct": id(None)}
    return compile_llvm(text, (*(nothing.get(n) or _symbol(n) for n in names), id(function)))
