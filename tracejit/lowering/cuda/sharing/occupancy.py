"""How many threads a block of a kernel has, and how many blocks a grid, by what a processor of the card has room for.

A processor runs as many blocks at a time as it has registers, shared memory and warps for: that is counted here as
NVIDIA's occupancy calculator does, from the registers of a thread, which the driver's assembler tells, and the table
of compute capabilities. The more warps are there, the less a processor waits for memory; so a kernel has the number of
threads a block with which most are, and a grid has as many blocks as all processors have room for, a few times over.

Only what does not change results is chosen: the threads of loops that accumulate nothing, and how many warps that take
rows on their own are launched as one block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.lowering.cuda.nodes import SHARED, WARP, Fragment, Kernel
from tracejit.lowering.cuda.words import RESERVED
from tracejit.records import record

#: Registers of a processor, and how they are given out: to each of its parts, to a warp by so many.
_REGISTERS, _PARTS, _UNIT = 65536, 4, 256
#: Registers of a thread before the assembler has told: those of most kernels that warps, and that threads share.
_OF_WARPS, _OF_THREADS = 80, 40
#: Threads of a block that there may be, and warps that take rows.
_THREADS, _WARPS = (64, 128, 256), range(2, 9)
#: How often a grid fills the card at most: each thread takes several iterations then.
_TIMES = 4
#: Another number of threads has to be better than what a kernel has by a tenth, and in how even the work is by a
#: twentieth.
_AS_GOOD, _AS_EVEN = 0.9, 1.05


@record(frozen=True)
class Room:
    """What a processor has room for at a time: warps, blocks, and bytes of shared memory, which are given out by `unit`
    and of which each block takes `reserved` more. `processors` of the card."""

    warps: int
    blocks: int
    shared: int
    reserved: int = 1024
    unit: int = 128
    processors: int = 132


_KIB = 1 << 10
#: Compute capability -> room, as in the CUDA programming guide.
_ROOMS = {
    (7, 5): Room(32, 16, 64 * _KIB, 0, 256),
    (8, 0): Room(64, 32, 164 * _KIB),
    (8, 6): Room(48, 16, 100 * _KIB),
    (8, 7): Room(48, 16, 164 * _KIB),
    (8, 9): Room(48, 24, 100 * _KIB),
    (9, 0): Room(64, 32, 228 * _KIB),
    (10, 0): Room(64, 32, 228 * _KIB),
    (11, 0): Room(48, 24, 228 * _KIB),
    (12, 0): Room(48, 24, 100 * _KIB),
}


def room_of(cc: tuple[int, int], processors: int = 132) -> Room:
    """What a card of a compute capability has room for; of one that is not in the table as the one before it."""
    known = max(k for k in _ROOMS if k <= max(cc, min(_ROOMS)))
    r = _ROOMS[known]
    return Room(r.warps, r.blocks, r.shared, r.reserved, r.unit, processors)


def resident(room: Room, registers: int, shared: int, threads: int) -> int:
    """The blocks of so many threads that a processor runs at a time, each with bytes of shared memory of its own."""
    warps = -(-threads // WARP)
    of_warp = -(-max(registers, 1) * WARP // _UNIT) * _UNIT
    by_registers = _REGISTERS // _PARTS // of_warp * _PARTS // warps
    by_shared = room.shared // max(-(-(shared + room.reserved) // room.unit) * room.unit, 1)
    return min(by_registers, by_shared, room.warps // warps, room.blocks)


def occupancy(room: Room, registers: int, shared: int, threads: int) -> int:
    """Of the warps that a processor has room for those that are there, in percent."""
    return resident(room, registers, shared, threads) * -(-threads // WARP) * 100 // room.warps


def shared_bytes(kernel: Kernel, inside: Sequence[Fragment], fallible: bool, warps: int = 0) -> int:
    """The shared memory of a block of the card's: words, what sums need, and rows of its own."""
    warps = warps or kernel.warps
    words = RESERVED + len(kernel.local)
    near = kernel.own if kernel.is_near else 0
    if warps:
        return warps * (8 * (words + words % 2) + near)
    totals = max((len(f.totals) for f in inside), default=0)
    return 8 * (words + WARP * totals) * (kernel.kind != "threads" or fallible) + near


def choose(
    kernels: Sequence[tuple[Kernel, Sequence[Fragment]]],
    fallible: bool,
    room: Room,
    registers: Mapping[str, int],
) -> bool:
    """Choose the threads of blocks, and the blocks of grids. `registers` of a thread of each kernel, as far as they are
    known. Whether a kernel is another one now."""
    changed = False
    for k, inside in kernels:
        needed = registers.get(k.name, _OF_WARPS if k.warps else _OF_THREADS)
        before = k.threads, k.warps
        if k.warps:
            k.warps = _warps(k, inside, room, needed)
        elif k.kind == "threads":
            k.threads = _threads(k, shared_bytes(k, inside, fallible), room, needed)
        changed |= before != (k.threads, k.warps)
        there = resident(room, needed, shared_bytes(k, inside, fallible), k.launched)
        k.most = k.size if k.kept else max(there, 1) * room.processors * _TIMES
    return changed


def _warps(k: Kernel, inside: Sequence[Fragment], room: Room, registers: int) -> int:
    """How many warps with rows of their own are one block."""
    fits = [n for n in _WARPS if shared_bytes(k, inside, False, n) <= SHARED]
    there = {n: n * resident(room, registers, shared_bytes(k, inside, False, n), n * WARP) for n in fits}
    good = [n for n in there if there[n] >= _AS_GOOD * max(there.values())]
    return k.warps if k.warps in good else max(good, key=lambda n: (there[n], n), default=k.warps)


def _threads(k: Kernel, shared: int, room: Room, registers: int) -> int:
    """How many threads of a loop are one block: those of which most are there at a time, and of these the number with
    which the processor that has most to do has least."""
    there = {t: t * resident(room, registers, shared, t) for t in _THREADS}
    good = [t for t in _THREADS if there[t] and there[t] >= _AS_GOOD * max(there.values())]
    work = {t: t * -(-_blocks(k, t) // room.processors) for t in good}
    even = [t for t in good if work[t] <= _AS_EVEN * min(work.values())]
    return k.threads if k.threads in even or not even else max(even)


def _blocks(k: Kernel, threads: int) -> int:
    """The blocks of so many threads that have an iteration each."""
    return -(-k.size // (threads * k.each))
