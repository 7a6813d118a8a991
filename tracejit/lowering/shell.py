"""The native shell: a built-in function that takes ndarrays and calls a program's entry.

One generic shell is compiled per process. Each executable gets a METH_FASTCALL function object whose
`self` is a bytes object with a `Frame`: the addresses the shell needs. It reads the data pointers out of
the array structs, releases the GIL where asked, and returns None, or for a nonzero status a bytes object
of int64: the status and its details. Where the interpreter's layout is not the expected one, `make`
returns a Python function that does the same through ctypes.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from tracejit.lowering.compile import compile_llvm
from tracejit.lowering.llvmmemory import STATUS_WORDS

WRONG_COUNT = -3
INTERRUPTED = -4  # a Python exception is set
_FASTCALL = 0x80
_ARRAY_DATA = object.__basicsize__  # PyArrayObject: the object header, then `char *data`
_BYTES_DATA = bytes.__basicsize__ - 1  # PyBytesObject ends with `char ob_sval[1]`
_ENTRY_WITH_GIL = ctypes.PYFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 5)

_TEXT = """
define ptr @entry(ptr %self, ptr %args, i64 %nargs) nounwind {{
  %frame = getelementptr inbounds i8, ptr %self, i64 {bytes_data}
  %entry = load ptr, ptr %frame, align 1
  %params.at = getelementptr inbounds i8, ptr %frame, i64 8
  %params = load ptr, ptr %params.at, align 1
  %table.at = getelementptr inbounds i8, ptr %frame, i64 16
  %table = load ptr, ptr %table.at, align 1
  %count.at = getelementptr inbounds i8, ptr %frame, i64 24
  %count = load i64, ptr %count.at, align 1
  %scratch.at = getelementptr inbounds i8, ptr %frame, i64 32
  %scratch = load i64, ptr %scratch.at, align 1
  %save.at = getelementptr inbounds i8, ptr %frame, i64 40
  %save = load ptr, ptr %save.at, align 1
  %restore.at = getelementptr inbounds i8, ptr %frame, i64 48
  %restore = load ptr, ptr %restore.at, align 1
  %none.at = getelementptr inbounds i8, ptr %frame, i64 56
  %none = load ptr, ptr %none.at, align 1
  %incref.at = getelementptr inbounds i8, ptr %frame, i64 64
  %incref = load ptr, ptr %incref.at, align 1
  %make.at = getelementptr inbounds i8, ptr %frame, i64 72
  %make = load ptr, ptr %make.at, align 1
  %out = alloca [{words} x i64], align 16
  %status = getelementptr inbounds i64, ptr %out, i64 1
  %stack = alloca i8, i64 %scratch, align 64
  %pointers = alloca ptr, i64 %nargs, align 16
  %right = icmp eq i64 %nargs, %count
  br i1 %right, label %head, label %failed
head:
  %i = phi i64 [ 0, %0 ], [ %next, %body ]
  %more = icmp slt i64 %i, %nargs
  br i1 %more, label %body, label %ready
body:
  %from = getelementptr inbounds ptr, ptr %args, i64 %i
  %object = load ptr, ptr %from
  %data.at = getelementptr inbounds i8, ptr %object, i64 {array_data}
  %data = load ptr, ptr %data.at
  %to = getelementptr inbounds ptr, ptr %pointers, i64 %i
  store ptr %data, ptr %to
  %next = add i64 %i, 1
  br label %head
ready:
  %on.stack = icmp sgt i64 %scratch, 0
  br i1 %on.stack, label %run, label %block
block:
  %index = sub i64 %count, 1
  %last.at = getelementptr ptr, ptr %pointers, i64 %index
  %last = load ptr, ptr %last.at
  %address = ptrtoint ptr %last to i64
  %over = add i64 %address, 63
  %aligned = and i64 %over, -64
  %arena.block = inttoptr i64 %aligned to ptr
  br label %run
run:
  %arena = phi ptr [ %stack, %ready ], [ %arena.block, %block ]
  %release = icmp ne ptr %save, null
  br i1 %release, label %free, label %held
held:
  %code.held = call i32 %entry(ptr %pointers, ptr %params, ptr %table, ptr %arena, ptr %status)
  br label %done
free:
  %state = call ptr %save()
  %code.free = call i32 %entry(ptr %pointers, ptr %params, ptr %table, ptr %arena, ptr %status)
  call void %restore(ptr %state)
  br label %done
done:
  %code = phi i32 [ %code.held, %held ], [ %code.free, %free ]
  %good = icmp eq i32 %code, 0
  br i1 %good, label %success, label %failed
success:
  call void %incref(ptr %none)
  ret ptr %none
failed:
  %why = phi i32 [ {wrong_count}, %0 ], [ %code, %done ]
  %raised = icmp eq i32 %why, {interrupted}
  br i1 %raised, label %raise, label %report
raise:
  ret ptr null
report:
  %why.wide = sext i32 %why to i64
  store i64 %why.wide, ptr %out
  %result = call ptr %make(ptr %out, i64 {out_bytes})
  ret ptr %result
}}
"""


# Signals are handled in the thread's own state: after the entry has left, the shell returns null and the
# exception that a handler raised goes on from there.
_CHECK = """
define i32 @entry() nounwind {{
  %state = call i32 inttoptr (i64 {ensure} to ptr)()
  %result = call i32 inttoptr (i64 {check} to ptr)()
  call void inttoptr (i64 {release} to ptr)(i32 %state)
  %raised = icmp ne i32 %result, 0
  %code = select i1 %raised, i32 {interrupted}, i32 0
  ret i32 %code
}}
"""


@dataclass
class Frame:
    """What the shell reads, in order: addresses and counts, 8 bytes each.

    `count` pointers are expected. With `scratch` > 0 the arena is that many bytes of the C stack,
    otherwise the last array given (aligned up to 64 bytes). `save` 0 keeps the GIL.
    """

    entry: int
    params: int
    table: int
    count: int
    scratch: int
    save: int
    restore: int
    none: int
    incref: int
    make: int


def _symbol(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def layout_is_known() -> bool:
    """True if arrays and bytes objects lie in memory as the shell expects."""
    probe, marker = np.arange(3.0), b"tracejit layout probe"
    try:
        data = ctypes.c_void_p.from_address(id(probe) + _ARRAY_DATA).value
        inside = ctypes.string_at(id(marker) + _BYTES_DATA, len(marker))
    except (TypeError, ValueError, AttributeError):
        return False
    return data == probe.ctypes.data and inside == marker and hasattr(ctypes.pythonapi, "PyCFunction_NewEx")


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("meth", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@functools.cache
def _native() -> tuple[Any, Any, Any]:
    """(constructor, method definition, code): made once, kept for the life of the process."""
    code = compile_llvm(_TEXT.format(
        bytes_data=_BYTES_DATA, array_data=_ARRAY_DATA, words=STATUS_WORDS + 1,
        out_bytes=8 * (STATUS_WORDS + 1), wrong_count=WRONG_COUNT, interrupted=INTERRUPTED,
    ))  # fmt: skip
    definition = _MethodDef(b"tracejit_program", code.address, _FASTCALL, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new, definition, code


@functools.cache
def _signal_code() -> Any:
    return compile_llvm(_CHECK.format(
        ensure=_symbol("PyGILState_Ensure"), check=_symbol("PyErr_CheckSignals"),
        release=_symbol("PyGILState_Release"), interrupted=INTERRUPTED,
    ))  # fmt: skip


def signal_check() -> int:
    """The address of an `i32()` that lets Python handle its signals, with or without the GIL held: 0, or
    INTERRUPTED with an exception set."""
    return _signal_code().address


def make(
    entry: int, params: int, table: int, count: int, scratch: int, release: bool
) -> Callable[..., bytes | None]:
    """A function of `count` ndarrays that calls `entry` (see `Frame`)."""
    if not _KNOWN:
        return _through_ctypes(entry, params, table, count, scratch)
    gil = (_symbol("PyEval_SaveThread"), _symbol("PyEval_RestoreThread")) if release else (0, 0)
    frame = Frame(entry, params, table, count, scratch, *gil, id(None), _symbol("Py_IncRef"),
                  _symbol("PyBytes_FromStringAndSize"))  # fmt: skip
    new, definition, _ = _native()
    return new(ctypes.addressof(definition), struct.pack("<10q", *astuple(frame)), None)


def _through_ctypes(
    entry: int, params: int, table: int, count: int, scratch: int
) -> Callable[..., bytes | None]:
    """The shell in Python, for interpreters of another layout. It keeps the GIL: ctypes then raises the
    exception that an interruption has set."""
    native = _ENTRY_WITH_GIL(entry)

    def shell(*arrays: np.ndarray) -> bytes | None:
        if len(arrays) != count:
            return struct.pack(f"<{STATUS_WORDS + 1}q", WRONG_COUNT, *[0] * STATUS_WORDS)
        pointers = (ctypes.c_void_p * max(count, 1))(*[a.ctypes.data for a in arrays])
        block = np.empty(scratch + 64, np.uint8) if scratch else arrays[-1]
        status = (ctypes.c_int64 * STATUS_WORDS)()
        code = native(pointers, params, table, (block.ctypes.data + 63) & -64, status)
        return struct.pack(f"<{STATUS_WORDS + 1}q", code, *status) if code else None

    return shell


_KNOWN = layout_is_known()
