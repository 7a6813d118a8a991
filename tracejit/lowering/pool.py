"""Blocks for arrays whose size is known only while a program runs: a few freed ones are kept for the next call.

The C library gives large blocks back to the system at once, and the system gives new ones page by page, which
costs more than a loop that fills them. Threads share the kept blocks by atomic exchanges.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from tracejit.lowering.compile import compile_llvm

_SLOTS = 8
_LEAST = 1 << 16  # bytes from which a block is kept
_MOST = 1 << 24  # bytes up to which it is
_WASTE = 4  # how many times larger than asked for a block may be

# `entry(block, bytes)`, as C's realloc: without a block a new one, without bytes the release of `block`,
# with both `block` in a larger place. A block's size lies in the 64 bytes before it.
_TEXT = """
@slots = internal global [{slots} x ptr] zeroinitializer
@imports = global [3 x ptr] zeroinitializer

define ptr @entry(ptr %block, i64 %bytes) nounwind {{
  %malloc = load ptr, ptr @imports
  %free.at = getelementptr ptr, ptr @imports, i64 1
  %free = load ptr, ptr %free.at
  %realloc.at = getelementptr ptr, ptr @imports, i64 2
  %realloc = load ptr, ptr %realloc.at
  %asked = icmp ne i64 %bytes, 0
  br i1 %asked, label %held.or.not, label %give
held.or.not:
  %first = icmp eq ptr %block, null
  br i1 %first, label %ask, label %grow
grow:
  %before = getelementptr i8, ptr %block, i64 -64
  %more = add i64 %bytes, 64
  %moved = call ptr %realloc(ptr %before, i64 %more)
  %stuck = icmp eq ptr %moved, null
  br i1 %stuck, label %fail, label %mark
ask:
  %worth = icmp uge i64 %bytes, {least}
  %limit = mul i64 %bytes, {waste}
  br i1 %worth, label %look, label %new
look:
  %k = phi i64 [ 0, %ask ], [ %k.next, %on ]
  %slot = getelementptr ptr, ptr @slots, i64 %k
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %some = icmp ne ptr %seen, null
  br i1 %some, label %take, label %on
take:
  %base = atomicrmw xchg ptr %slot, ptr null acq_rel
  %mine = icmp ne ptr %base, null
  br i1 %mine, label %measure, label %on
measure:
  %held = load i64, ptr %base
  %enough = icmp uge i64 %held, %bytes
  %sober = icmp ule i64 %held, %limit
  %fits = and i1 %enough, %sober
  br i1 %fits, label %found, label %return
return:
  %other = atomicrmw xchg ptr %slot, ptr %base acq_rel
  call void %free(ptr %other)
  br label %on
on:
  %k.next = add i64 %k, 1
  %last = icmp eq i64 %k.next, {slots}
  br i1 %last, label %new, label %look
new:
  %room = add i64 %bytes, 64
  %made = call ptr %malloc(i64 %room)
  %none = icmp eq ptr %made, null
  br i1 %none, label %fail, label %mark
mark:
  %fresh = phi ptr [ %moved, %grow ], [ %made, %new ]
  store i64 %bytes, ptr %fresh
  br label %found
fail:
  ret ptr null
found:
  %got = phi ptr [ %base, %measure ], [ %fresh, %mark ]
  %out = getelementptr i8, ptr %got, i64 64
  ret ptr %out
give:
  %empty = icmp eq ptr %block, null
  br i1 %empty, label %fail, label %weigh
weigh:
  %start = getelementptr i8, ptr %block, i64 -64
  %size = load i64, ptr %start
  %above = icmp uge i64 %size, {least}
  %below = icmp ule i64 %size, {most}
  %kept = and i1 %above, %below
  br i1 %kept, label %store, label %drop
store:
  %j = phi i64 [ 0, %weigh ], [ %j.next, %taken ]
  %place = getelementptr ptr, ptr @slots, i64 %j
  %pair = cmpxchg ptr %place, ptr null, ptr %start acq_rel monotonic
  %done = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %done, label %fail, label %taken
taken:
  %j.next = add i64 %j, 1
  %full = icmp eq i64 %j.next, {slots}
  br i1 %full, label %swap, label %store
swap:
  %old = atomicrmw xchg ptr @slots, ptr %start acq_rel
  br label %drop
drop:
  %gone = phi ptr [ %start, %weigh ], [ %old, %swap ]
  call void %free(ptr %gone)
  ret ptr null
}}
"""


@functools.cache
def _code() -> Any:
    libc = ctypes.CDLL(None)
    imports = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (libc.malloc, libc.free, libc.realloc)]
    return compile_llvm(_TEXT.format(slots=_SLOTS, least=_LEAST, most=_MOST, waste=_WASTE), tuple(imports))


def address() -> int:
    """The address of `ptr(ptr block, i64 bytes)`: `bytes` of memory that start with what `block` holds (null if
    there is not so much, `block` is then as it was), or, with 0 bytes, the release of `block`. It may be null."""
    return _code().address


class Block:
    """A block that a program has handed over, released with the last array in it."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer

    def __del__(self) -> None:
        _release()(self.pointer, 0)

    def array(
        self, data: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype
    ) -> np.ndarray:
        """The array at `data`, an address in the block; `strides` are in elements."""
        return np.asarray(_Part(self, data, shape, strides, dtype)).view(dtype)


class _Part:
    """A part of a block as NumPy reads it: the array holds this, and so the block."""

    of_one_run = True  # the memory is no one's but the arrays' that were made of it

    def __init__(
        self, block: Block, data: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype
    ) -> None:
        self.block = block
        steps = tuple(s * dtype.itemsize for s in strides)
        raw = f"V{dtype.itemsize}"  # not every dtype has a code that the protocol knows
        self.__array_interface__ = {
            "version": 3, "data": (data, False), "shape": shape, "strides": steps, "typestr": f"|{raw}",
        }  # fmt: skip


@functools.cache
def _release() -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address())
