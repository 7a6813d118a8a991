"""Large blocks that native code asks for while a program runs: freed ones are kept for the next call.

The C library gives large blocks back to the system at once, and the system clears new ones page by page, which
costs more than a loop that fills them. Arrays whose size is known only while a program runs lie in such blocks, and
large results (`lowering.results`). Threads share the kept blocks by atomic exchanges.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Any

import numpy as np

from tracejit.lowering.compile import compile_llvm

_SLOTS = 16
_LEAST = 1 << 16  # bytes from which a block is kept
#: Bytes that are kept at most while nobody uses them.
LIMIT = 1 << 28
_WASTE = 4  # how many times larger than asked for a block may be
_HUGE = 1 << 22  # bytes from which the system is asked for large pages, as NumPy asks it
_ADVICE = 14  # MADV_HUGEPAGE
#: Bytes before a block, of which the first 8 hold its size. What the C library maps from the system starts 16 bytes
#: after a page does, and the block so at a cache line.
_HEADER = 48

# `entry(block, bytes)`, as C's realloc: without a block a new one, without bytes the release of `block`,
# with both `block` in a larger place. `close` is the same but that a block is at most an eighth too large.
_TEXT = """
@slots = internal global [{slots} x ptr] zeroinitializer
@kept = internal global i64 0
@turn = internal global i64 0
@imports = global [3 x ptr] zeroinitializer

define internal ptr @import(i64 %n) nounwind {{
  %at = getelementptr ptr, ptr @imports, i64 %n
  %function = load ptr, ptr %at
  ret ptr %function
}}

; Slot k, given `base` instead of what it holds, which is no longer kept.
define internal ptr @exchange(i64 %k, ptr %base) nounwind {{
  %slot = getelementptr ptr, ptr @slots, i64 %k
  %held = atomicrmw xchg ptr %slot, ptr %base acq_rel
  %some = icmp ne ptr %held, null
  br i1 %some, label %count, label %done
count:
  %size = load i64, ptr %held
  %before = atomicrmw sub ptr @kept, i64 %size monotonic
  br label %done
done:
  ret ptr %held
}}

define internal void @drop(i64 %k, ptr %base) nounwind {{
  %held = call ptr @exchange(i64 %k, ptr %base)
  %free = call ptr @import(i64 1)
  call void %free(ptr %held)
  ret void
}}

; A kept block of at least `bytes` and at most `limit`, or null.
define internal ptr @find(i64 %bytes, i64 %limit) nounwind {{
  br label %look
look:
  %k = phi i64 [ 0, %0 ], [ %k.next, %on ]
  %slot = getelementptr ptr, ptr @slots, i64 %k
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %some = icmp ne ptr %seen, null
  br i1 %some, label %take, label %on
take:
  %base = call ptr @exchange(i64 %k, ptr null)
  %mine = icmp ne ptr %base, null
  br i1 %mine, label %measure, label %on
measure:
  %held = load i64, ptr %base
  %enough = icmp uge i64 %held, %bytes
  %sober = icmp ule i64 %held, %limit
  %fits = and i1 %enough, %sober
  br i1 %fits, label %found, label %return
return:
  %sum = atomicrmw add ptr @kept, i64 %held monotonic
  call void @drop(i64 %k, ptr %base)
  br label %on
on:
  %k.next = add i64 %k, 1
  %last = icmp eq i64 %k.next, {slots}
  br i1 %last, label %nothing, label %look
nothing:
  ret ptr null
found:
  ret ptr %base
}}

; Keeps a block, and frees others if they are too many or too large together.
define internal void @keep(ptr %base, i64 %size) nounwind {{
  %first = atomicrmw add ptr @turn, i64 1 monotonic
  %sum = atomicrmw add ptr @kept, i64 %size monotonic
  br label %head
head:
  %n = phi i64 [ 0, %0 ], [ %n.next, %next ]
  %place = add i64 %first, %n
  %k = urem i64 %place, {slots}
  %total = load atomic i64, ptr @kept monotonic, align 8
  %over = icmp ugt i64 %total, {limit}
  br i1 %over, label %evict, label %try
evict:
  call void @drop(i64 %k, ptr null)
  br label %next
try:
  %slot = getelementptr ptr, ptr @slots, i64 %k
  %pair = cmpxchg ptr %slot, ptr null, ptr %base acq_rel monotonic
  %stored = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %stored, label %done, label %next
next:
  %n.next = add i64 %n, 1
  %all = icmp eq i64 %n.next, {slots}
  br i1 %all, label %replace, label %head
replace:
  call void @drop(i64 %k, ptr %base)
  br label %done
done:
  ret void
}}

; Memory as `base` holds, or new memory without one; what is kept is freed before there is none.
define internal ptr @system(ptr %base, i64 %room) nounwind {{
  %realloc = call ptr @import(i64 0)
  %made = call ptr %realloc(ptr %base, i64 %room)
  %none = icmp eq ptr %made, null
  br i1 %none, label %again, label %done
again:
  %freed = call i64 @clear()
  %late = call ptr %realloc(ptr %base, i64 %room)
  br label %done
done:
  %out = phi ptr [ %made, %0 ], [ %late, %again ]
  ret ptr %out
}}

define internal void @advise(ptr %base, i64 %room) nounwind {{
  %advise = call ptr @import(i64 2)
  %can = icmp ne ptr %advise, null
  %some = icmp ne ptr %base, null
  %large = icmp uge i64 %room, {huge}
  %both = and i1 %can, %large
  %ask = and i1 %both, %some
  br i1 %ask, label %pages, label %done
pages:
  %address = ptrtoint ptr %base to i64
  %up = add i64 %address, 4095
  %start = and i64 %up, -4096
  %page = inttoptr i64 %start to ptr
  %skipped = sub i64 %start, %address
  %length = sub i64 %room, %skipped
  %ignored = call i32 %advise(ptr %page, i64 %length, i32 {advice})
  br label %done
done:
  ret void
}}

define internal ptr @block(ptr %block, i64 %bytes, i64 %limit) nounwind {{
  %base.old = getelementptr i8, ptr %block, i64 -{header}
  %room = add i64 %bytes, {header}
  %none = icmp eq ptr %block, null
  %asked = icmp ne i64 %bytes, 0
  br i1 %asked, label %get, label %release
get:
  br i1 %none, label %ask, label %grow
grow:
  %moved = call ptr @system(ptr %base.old, i64 %room)
  br label %mark
ask:
  %worth = icmp uge i64 %bytes, {least}
  br i1 %worth, label %search, label %new
search:
  %kept = call ptr @find(i64 %bytes, i64 %limit)
  %found = icmp ne ptr %kept, null
  br i1 %found, label %have, label %new
new:
  %made = call ptr @system(ptr null, i64 %room)
  call void @advise(ptr %made, i64 %room)
  br label %mark
mark:
  %fresh = phi ptr [ %moved, %grow ], [ %made, %new ]
  %some = icmp ne ptr %fresh, null
  br i1 %some, label %write, label %nothing
write:
  store i64 %bytes, ptr %fresh
  br label %have
have:
  %base = phi ptr [ %kept, %search ], [ %fresh, %write ]
  %out = getelementptr i8, ptr %base, i64 {header}
  ret ptr %out
release:
  br i1 %none, label %nothing, label %weigh
weigh:
  %size = load i64, ptr %base.old
  %above = icmp uge i64 %size, {least}
  %below = icmp ule i64 %size, {limit}
  %keep = and i1 %above, %below
  br i1 %keep, label %store, label %free
store:
  call void @keep(ptr %base.old, i64 %size)
  br label %nothing
free:
  %give = call ptr @import(i64 1)
  call void %give(ptr %base.old)
  br label %nothing
nothing:
  ret ptr null
}}

define ptr @entry(ptr %block, i64 %bytes) nounwind {{
  %limit = mul i64 %bytes, {waste}
  %out = call ptr @block(ptr %block, i64 %bytes, i64 %limit)
  ret ptr %out
}}

define ptr @close(ptr %block, i64 %bytes) nounwind {{
  %eighth = lshr i64 %bytes, 3
  %limit = add i64 %bytes, %eighth
  %out = call ptr @block(ptr %block, i64 %bytes, i64 %limit)
  ret ptr %out
}}

; Frees what is kept, and gives the number of its bytes.
define i64 @clear() nounwind {{
  %before = load atomic i64, ptr @kept monotonic, align 8
  br label %head
head:
  %k = phi i64 [ 0, %0 ], [ %k.next, %head ]
  call void @drop(i64 %k, ptr null)
  %k.next = add i64 %k, 1
  %all = icmp eq i64 %k.next, {slots}
  br i1 %all, label %done, label %head
done:
  ret i64 %before
}}
"""


@functools.cache
def _code() -> Any:
    libc = ctypes.CDLL(None)
    huge = sys.platform == "linux" and os.environ.get("NUMPY_MADVISE_HUGEPAGE", "1") != "0"
    functions = (libc.realloc, libc.free, *([libc.madvise] if huge else []))
    imports = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in functions]
    return compile_llvm(
        _TEXT.format(
            slots=_SLOTS, least=_LEAST, limit=LIMIT, waste=_WASTE, header=_HEADER, huge=_HUGE, advice=_ADVICE
        ),
        (*imports, *[0] * (3 - len(imports))),
    )


def address() -> int:
    """The address of `ptr(ptr block, i64 bytes)`: `bytes` of memory that start with what `block` holds (null if
    there is not so much, `block` is then as it was), or, with 0 bytes, the release of `block`. It may be null."""
    return _code().address


def close() -> int:
    """The address of the same function for blocks that live long: no block is more than an eighth too large."""
    return _code().symbols["close"]


def code() -> Any:
    """What these addresses belong to."""
    return _code()


def clear() -> int:
    """Free what is kept for later calls; the bytes that it was."""
    return ctypes.CFUNCTYPE(ctypes.c_int64)(_code().symbols["clear"])()


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
