"""Large blocks that native code asks for while a program runs: freed ones are kept for the next call.

The C library gives large blocks back to the system at once, and the system clears new ones page by page, which
costs more than a loop that fills them. Arrays whose size is known only while a program runs lie in such blocks, and
large results (`lowering.runtime.results`). Threads share the kept blocks by atomic exchanges.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Any

import numpy as np

from tracejit.lowering.runtime.compile import compile_llvm

_SLOTS = 32
LEAST = 1 << 16  # bytes from which a block is kept
#: Bytes that are kept at most while nobody uses them.
LIMIT = 1 << 28
_WASTE = 4  # how many times larger than asked for a block may be
_HUGE = 1 << 22  # bytes from which the system is asked for large pages, as NumPy asks it
_ADVICE = 14  # MADV_HUGEPAGE
#: Where blocks start: small ones at a cache line, so that vectors lie in one; kept ones in the middle of a page, huge
#: ones of a large page. NumPy's large arrays start 16 bytes after a page does, and a processor that compares the last
#: 12 bits of addresses takes the next vector that is read for the one that was just written if arrays are near
#: each other in their pages: a loop over 32 MB that stores past the cache took 3.7 ms instead of 1.5.
#: Before a block are its size and how far from what the C library gave it starts.
_LINE, _PAGE, _LARGE_PAGE = 64, 1 << 12, 1 << 21

# `entry(block, bytes)`, as C's realloc: without a block a new one, without bytes the release of `block`,
# with both `block` in a larger place. `close` is the same but that a block is at most an eighth too large.
_TEXT = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
@slots = internal global [{slots} x ptr] zeroinitializer
@kept = internal global i64 0
@turn = internal global i64 0
@imports = global [4 x ptr] zeroinitializer

define internal ptr @import(i64 %n) nounwind {{
  %at = getelementptr ptr, ptr @imports, i64 %n
  %function = load ptr, ptr %at
  ret ptr %function
}}

define internal i64 @size(ptr %block) nounwind {{
  %at = getelementptr i8, ptr %block, i64 -16
  %size = load i64, ptr %at
  ret i64 %size
}}

; What the C library gave for a block.
define internal ptr @base(ptr %block) nounwind {{
  %at = getelementptr i8, ptr %block, i64 -8
  %offset = load i64, ptr %at
  %back = sub i64 0, %offset
  %base = getelementptr i8, ptr %block, i64 %back
  ret ptr %base
}}

define internal ptr @block(ptr %base, i64 %offset, i64 %bytes) nounwind {{
  %block = getelementptr i8, ptr %base, i64 %offset
  %size = getelementptr i8, ptr %block, i64 -16
  store i64 %bytes, ptr %size
  %back = getelementptr i8, ptr %block, i64 -8
  store i64 %offset, ptr %back
  ret ptr %block
}}

define internal void @free(ptr %block) nounwind {{
  %some = icmp ne ptr %block, null
  br i1 %some, label %give, label %done
give:
  %base = call ptr @base(ptr %block)
  %free = call ptr @import(i64 1)
  call void %free(ptr %base)
  br label %done
done:
  ret void
}}

; Slot k, given `block` instead of what it holds, which is no longer kept.
define internal ptr @exchange(i64 %k, ptr %block) nounwind {{
  %slot = getelementptr ptr, ptr @slots, i64 %k
  %held = atomicrmw xchg ptr %slot, ptr %block acq_rel
  %some = icmp ne ptr %held, null
  br i1 %some, label %count, label %done
count:
  %size = call i64 @size(ptr %held)
  %before = atomicrmw sub ptr @kept, i64 %size monotonic
  br label %done
done:
  ret ptr %held
}}

define internal void @drop(i64 %k, ptr %block) nounwind {{
  %held = call ptr @exchange(i64 %k, ptr %block)
  call void @free(ptr %held)
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
  %block = call ptr @exchange(i64 %k, ptr null)
  %mine = icmp ne ptr %block, null
  br i1 %mine, label %measure, label %on
measure:
  %held = call i64 @size(ptr %block)
  %enough = icmp uge i64 %held, %bytes
  %sober = icmp ule i64 %held, %limit
  %fits = and i1 %enough, %sober
  br i1 %fits, label %found, label %return
return:
  %sum = atomicrmw add ptr @kept, i64 %held monotonic
  call void @drop(i64 %k, ptr %block)
  br label %on
on:
  %k.next = add i64 %k, 1
  %last = icmp eq i64 %k.next, {slots}
  br i1 %last, label %nothing, label %look
nothing:
  ret ptr null
found:
  ret ptr %block
}}

; Keeps a block, and frees others if they are too many or too large together.
define internal void @keep(ptr %block, i64 %size) nounwind {{
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
  %pair = cmpxchg ptr %slot, ptr null, ptr %block acq_rel monotonic
  %stored = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %stored, label %done, label %next
next:
  %n.next = add i64 %n, 1
  %all = icmp eq i64 %n.next, {slots}
  br i1 %all, label %replace, label %head
replace:
  call void @drop(i64 %k, ptr %block)
  br label %done
done:
  ret void
}}

; New memory that starts at a multiple of `align`; what is kept is freed before there is none.
define internal ptr @system(i64 %align, i64 %room) nounwind {{
  %aligned = call ptr @import(i64 2)
  %more = add i64 %room, {line}
  %over = sub i64 %more, 1
  %lines = and i64 %over, -{line}
  %made = call ptr %aligned(i64 %align, i64 %lines)
  %none = icmp eq ptr %made, null
  br i1 %none, label %again, label %done
again:
  %freed = call i64 @clear()
  %late = call ptr %aligned(i64 %align, i64 %lines)
  br label %done
done:
  %out = phi ptr [ %made, %0 ], [ %late, %again ]
  ret ptr %out
}}

; A new block. The system is asked for large pages for one that is huge.
define internal ptr @new(i64 %bytes) nounwind {{
  %kept = icmp uge i64 %bytes, {least}
  %huge = icmp uge i64 %bytes, {huge}
  %offset = select i1 %kept, i64 {middle}, i64 {line}
  %by.page = select i1 %kept, i64 {page}, i64 {line}
  %align = select i1 %huge, i64 {large_page}, i64 %by.page
  %room = add i64 %bytes, %offset
  %base = call ptr @system(i64 %align, i64 %room)
  %some = icmp ne ptr %base, null
  br i1 %some, label %mark, label %done
mark:
  %advise = call ptr @import(i64 3)
  %can = icmp ne ptr %advise, null
  %ask = and i1 %can, %huge
  br i1 %ask, label %pages, label %write
pages:
  %ignored = call i32 %advise(ptr %base, i64 %room, i32 {advice})
  br label %write
write:
  %block = call ptr @block(ptr %base, i64 %offset, i64 %bytes)
  br label %done
done:
  %out = phi ptr [ null, %0 ], [ %block, %write ]
  ret ptr %out
}}

; A block with what `block` holds, of `bytes`, or null. The C library moves what it has mapped from the system without
; copying it; what it copies need not start at a line.
define internal ptr @larger(ptr %block, i64 %bytes) nounwind {{
  %held = call i64 @size(ptr %block)
  %base = call ptr @base(ptr %block)
  %start = ptrtoint ptr %block to i64
  %begin = ptrtoint ptr %base to i64
  %offset = sub i64 %start, %begin
  %room = add i64 %bytes, %offset
  %realloc = call ptr @import(i64 0)
  %first = call ptr %realloc(ptr %base, i64 %room)
  %failed = icmp eq ptr %first, null
  br i1 %failed, label %again, label %moved
again:
  %freed = call i64 @clear()
  %second = call ptr %realloc(ptr %base, i64 %room)
  %no = icmp eq ptr %second, null
  br i1 %no, label %nothing, label %moved
moved:
  %made = phi ptr [ %first, %0 ], [ %second, %again ]
  %here = call ptr @block(ptr %made, i64 %offset, i64 %bytes)
  %address = ptrtoint ptr %made to i64
  %beyond = and i64 %address, {inside}
  %good = icmp eq i64 %beyond, 0
  br i1 %good, label %done, label %move
move:
  %place = call ptr @new(i64 %bytes)
  %full = icmp eq ptr %place, null
  br i1 %full, label %done, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %here, i64 %held, i1 false)
  call void @free(ptr %here)
  br label %done
nothing:
  br label %done
done:
  %out = phi ptr [ %here, %moved ], [ %here, %move ], [ %place, %copy ], [ null, %nothing ]
  ret ptr %out
}}

define internal void @release(ptr %block) nounwind {{
  %size = call i64 @size(ptr %block)
  %above = icmp uge i64 %size, {least}
  %below = icmp ule i64 %size, {limit}
  %worth = and i1 %above, %below
  %address = ptrtoint ptr %block to i64
  %beyond = and i64 %address, {inside}
  %good = icmp eq i64 %beyond, 0
  %keep = and i1 %worth, %good
  br i1 %keep, label %store, label %free
store:
  call void @keep(ptr %block, i64 %size)
  ret void
free:
  call void @free(ptr %block)
  ret void
}}

define internal ptr @resize(ptr %block, i64 %bytes, i64 %limit) nounwind {{
  %none = icmp eq ptr %block, null
  %asked = icmp ne i64 %bytes, 0
  br i1 %asked, label %get, label %end
end:
  br i1 %none, label %nothing, label %give
give:
  call void @release(ptr %block)
  br label %nothing
nothing:
  ret ptr null
get:
  br i1 %none, label %ask, label %grow
grow:
  %grown = call ptr @larger(ptr %block, i64 %bytes)
  ret ptr %grown
ask:
  %worth = icmp uge i64 %bytes, {least}
  br i1 %worth, label %search, label %make
search:
  %kept = call ptr @find(i64 %bytes, i64 %limit)
  %found = icmp ne ptr %kept, null
  br i1 %found, label %have, label %make
have:
  ret ptr %kept
make:
  %made = call ptr @new(i64 %bytes)
  ret ptr %made
}}

define ptr @entry(ptr %block, i64 %bytes) nounwind {{
  %limit = mul i64 %bytes, {waste}
  %out = call ptr @resize(ptr %block, i64 %bytes, i64 %limit)
  ret ptr %out
}}

define ptr @close(ptr %block, i64 %bytes) nounwind {{
  %eighth = lshr i64 %bytes, 3
  %limit = add i64 %bytes, %eighth
  %out = call ptr @resize(ptr %block, i64 %bytes, i64 %limit)
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
    functions = (libc.realloc, libc.free, libc.aligned_alloc, libc.madvise if huge else None)
    text = _TEXT.format(
        slots=_SLOTS, least=LEAST, limit=LIMIT, waste=_WASTE, huge=_HUGE, advice=_ADVICE, line=_LINE,
        inside=_LINE - 1, page=_PAGE, middle=_PAGE // 2, large_page=_LARGE_PAGE,
    )  # fmt: skip
    return compile_llvm(text, tuple((f and ctypes.cast(f, ctypes.c_void_p).value) or 0 for f in functions))


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
