"""Kernels that tell of each access of memory that threads share, in LLVM text: the sanitiser of the emulated device.

`tj.look` is called before each load and store. It writes a record of five words into a log (`sanitized` reads it after
the launch), and gives the address back, or that of words that nobody uses if the access lies outside of its buffer.

    the log: count, capacity, epoch, 0, four words that nobody uses, then the records
    a record: address, kind, thread (-1: all of them), block, epoch

The epoch is a number that grows at each barrier and with each block.
"""

from __future__ import annotations

WRITES, OWN, OUTSIDE, ATOMIC = 64, 128, 256, 512
#: Where the number of an access's name begins in its kind; what is below are bytes and the bits above.
SITE = 16
HEADER, RECORD = 8, 5
BYTES = {
    "i1": 1,
    "i8": 1,
    "i16": 2,
    "half": 2,
    "bfloat": 2,
    "i32": 4,
    "float": 4,
    "i64": 8,
    "double": 8,
    "ptr": 8,
}

LOOK = f"""@tj.log = global ptr null
define internal ptr @tj.look(ptr %where, i64 %size, i64 %kind, i64 %tid, i64 %cta, ptr %low, i64 %bytes) noinline {{
start:
  %log = load ptr, ptr @tj.log
  %a = ptrtoint ptr %where to i64
  %l = ptrtoint ptr %low to i64
  %off = sub i64 %a, %l
  %room = sub i64 %bytes, %size
  %above = icmp sge i64 %off, 0
  %below = icmp sle i64 %off, %room
  %inside = and i1 %above, %below
  %marked = or i64 %kind, {OUTSIDE}
  %k = select i1 %inside, i64 %kind, i64 %marked
  %n = load i64, ptr %log
  %more = add i64 %n, 1
  store i64 %more, ptr %log
  %limit = getelementptr inbounds i64, ptr %log, i64 1
  %most = load i64, ptr %limit
  %fits = icmp slt i64 %n, %most
  br i1 %fits, label %write, label %done
write:
  %times = mul i64 %n, {RECORD}
  %at = add i64 %times, {HEADER}
  %r0 = getelementptr inbounds i64, ptr %log, i64 %at
  store i64 %a, ptr %r0
  %r1 = getelementptr inbounds i64, ptr %r0, i64 1
  store i64 %k, ptr %r1
  %r2 = getelementptr inbounds i64, ptr %r0, i64 2
  store i64 %tid, ptr %r2
  %r3 = getelementptr inbounds i64, ptr %r0, i64 3
  store i64 %cta, ptr %r3
  %place = getelementptr inbounds i64, ptr %log, i64 2
  %epoch = load i64, ptr %place
  %r4 = getelementptr inbounds i64, ptr %r0, i64 4
  store i64 %epoch, ptr %r4
  br label %done
done:
  %nobodys = getelementptr inbounds i64, ptr %log, i64 4
  %result = select i1 %inside, ptr %where, ptr %nobodys
  ret ptr %result
}}
define internal void @tj.epoch() {{
start:
  %log = load ptr, ptr @tj.log
  %place = getelementptr inbounds i64, ptr %log, i64 2
  %epoch = load i64, ptr %place
  %next = add i64 %epoch, 1
  store i64 %next, ptr %place
  ret void
}}"""


def kind(
    sites: list[str], name: str, size: int, writes: bool, own: bool = False, atomic: bool = False
) -> int:
    """The kind of an access; its name joins `sites`."""
    if name not in sites:
        sites.append(name)
    return size | WRITES * writes | OWN * own | ATOMIC * atomic | sites.index(name) << SITE


def call(where: str, size: int, kind: int, tid: str, cta: str, low: str, room: int) -> str:
    """The call that tells of an access and gives its address."""
    thread = f"i64 {tid}, i64 {cta}"
    return f"call ptr @tj.look(ptr {where}, i64 {size}, i64 {kind}, {thread}, ptr {low}, i64 {room})"
