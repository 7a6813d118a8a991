"""Draws from Python's own generators, `random.Random`, as machine code on their state.

CPython keeps the state of the Mersenne twister in the object: the position, then 624 words. What `random()` and
`getrandbits` make of it (Modules/_randommodule.c) is written here once more. Python draws with the GIL held, and so
must who calls this.
"""

from __future__ import annotations

import functools

from tracejit.lowering.runtime.compile import Code, compile_llvm

_TEXT = """
define internal void @refill(ptr %p) nounwind noinline {
  %words = getelementptr i8, ptr %p, i64 4
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %next, %loop ]
  %next = add i64 %k, 1
  %wraps = icmp eq i64 %next, 624
  %after = select i1 %wraps, i64 0, i64 %next
  %far = add i64 %k, 397
  %beyond = icmp uge i64 %far, 624
  %near = sub i64 %far, 624
  %other = select i1 %beyond, i64 %near, i64 %far
  %at = getelementptr i32, ptr %words, i64 %k
  %at.after = getelementptr i32, ptr %words, i64 %after
  %at.other = getelementptr i32, ptr %words, i64 %other
  %x = load i32, ptr %at
  %y = load i32, ptr %at.after
  %z = load i32, ptr %at.other
  %high = and i32 %x, -2147483648
  %low = and i32 %y, 2147483647
  %both = or i32 %high, %low
  %half = lshr i32 %both, 1
  %bit = and i32 %both, 1
  %all = sub i32 0, %bit
  %mask = and i32 %all, -1727483681
  %mixed = xor i32 %z, %half
  %new = xor i32 %mixed, %mask
  store i32 %new, ptr %at
  br i1 %wraps, label %done, label %loop
done:
  store i32 0, ptr %p
  ret void
}

define internal i32 @word(ptr %p) nounwind {
  %place = load i32, ptr %p
  %empty = icmp sge i32 %place, 624
  br i1 %empty, label %fill, label %draw
fill:
  call void @refill(ptr %p)
  br label %draw
draw:
  %n = phi i32 [ %place, %0 ], [ 0, %fill ]
  %next = add i32 %n, 1
  store i32 %next, ptr %p
  %words = getelementptr i8, ptr %p, i64 4
  %wide = zext i32 %n to i64
  %at = getelementptr i32, ptr %words, i64 %wide
  %a = load i32, ptr %at
  %a1 = lshr i32 %a, 11
  %b = xor i32 %a, %a1
  %b1 = shl i32 %b, 7
  %b2 = and i32 %b1, -1658038656
  %c = xor i32 %b, %b2
  %c1 = shl i32 %c, 15
  %c2 = and i32 %c1, -272236544
  %d = xor i32 %c, %c2
  %d1 = lshr i32 %d, 18
  %e = xor i32 %d, %d1
  ret i32 %e
}

define double @python_random(i64 %address) nounwind {
  %p = inttoptr i64 %address to ptr
  %a = call i32 @word(ptr %p)
  %b = call i32 @word(ptr %p)
  %high = lshr i32 %a, 5
  %low = lshr i32 %b, 6
  %x = uitofp i32 %high to double
  %y = uitofp i32 %low to double
  %scaled = fmul double %x, 67108864.0
  %sum = fadd double %scaled, %y
  %out = fmul double %sum, 0x3CA0000000000000
  ret double %out
}

declare i64 @llvm.ctlz.i64(i64, i1)

; A number below %n, which is at least 1 and less than 2**32: of as many bits as %n has, until one is.
define i64 @python_below(i64 %address, i64 %n) nounwind {
  %p = inttoptr i64 %address to ptr
  %zeros = call i64 @llvm.ctlz.i64(i64 %n, i1 false)
  %wide = sub i64 %zeros, 32
  %shift = trunc i64 %wide to i32
  br label %loop
loop:
  %word = call i32 @word(ptr %p)
  %bits = lshr i32 %word, %shift
  %r = zext i32 %bits to i64
  %fits = icmp ult i64 %r, %n
  br i1 %fits, label %done, label %loop
done:
  ret i64 %r
}
"""


def address(name: str) -> int:
    """The address of one of the functions here, 0 if there is none of this name."""
    return _symbols().get(name, 0)


@functools.cache
def _symbols() -> dict[str, int]:
    return _code().symbols


@functools.cache
def _code() -> Code:
    """It lives as long as the process, as do the programs that call it."""
    return compile_llvm(_TEXT)
