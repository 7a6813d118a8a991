"""What a program is on a device: steps, kernels, and what the threads of a kernel do between two barriers.

    Plan.steps: Kernel | Library | Host | Move | Control of steps    run by the host, one after another
    Kernel.items: Fragment | Control of items             run by the threads of a block

A value that is made in one piece and read in another lies in a *word*: eight bytes of the frame, which is memory of
the device that lives as long as a call, or of a block's shared memory, if one kernel only knows the value.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from tracejit.lowering.loops.nodes import Buffer, Const, For, Operand, Slot
from tracejit.records import record

#: Threads that exchange values by shuffles.
WARP = 32
#: Bytes of a block's own memory up to which it is shared memory: as much as leaves room for many blocks.
NEAR = 32 << 10
#: Bytes of shared memory that a block has without asking for more.
SHARED = 48 << 10
#: How functions are defined that a barrier or a shuffle lies in, or is called next to. Without `convergent` LLVM copies
#: the barrier in front of a call into both branches before it, and threads would wait at different barriers.
CONVERGENT = "convergent alwaysinline"


@record(eq=False)
class Keep:
    """A statement: leave `value` in a word, where who controls a loop or branch reads it. `key` names the word."""

    value: Operand
    key: Any


@record(eq=False)
class Total:
    """A slot that the threads of a block accumulate: each on its own, from the identity of `op`, then as a tree.
    `start`: the constant that the slot has before; None: what is in its word."""

    slot: Slot
    op: str
    dtype: np.dtype
    identity: Any
    start: Const | None = None


@record(eq=False)
class Taking:
    """How a thread takes iterations of a loop: `groups` at a time of `adjacent` ones. `aligned`: accesses to adjacent
    elements, and the bytes that those of a group lie at a multiple of, at most 16. `trips`: the iterations of the loop,
    where the threads of a block take all of them at once."""

    adjacent: int = 1
    groups: int = 1
    aligned: dict[Any, int] = field(default_factory=dict)
    trips: int = 0

    @property
    def together(self) -> int:
        """The iterations that a thread takes at a time."""
        return self.adjacent * self.groups


@record(eq=False)
class Fragment:
    """Statements without a barrier. `shared`: the loop that is the last of them, whose iterations the threads take in
    turn, and before which each computes the same scalars; None: one thread runs them all. `totals`: the slots that this
    loop accumulates. `kept`: the loads and stores of it by which threads keep values, and in which of their words."""

    stmts: list[Any]
    shared: For | None = None
    totals: list[Total] = field(default_factory=list)
    name: str = ""
    checks: bool = False
    own: set[Any] = field(default_factory=set)  # what each thread has of its own
    kept: dict[Any, int] = field(default_factory=dict)
    fresh: set[Any] = field(default_factory=set)  # the loads of these that read memory
    taking: Taking = field(default_factory=Taking)


@record(eq=False)
class Control:
    """A loop or branch (`node`) around items of a kernel or steps of a plan. `keys`: the words of start and stop of a
    For, or of the condition. `first`, `second`: the items of the body, of a while's head and body, or of the two
    branches. `by_blocks`: the blocks of the grid take the iterations in turn. `span`: start and stop of a For of the
    host's, where they are known; it has no keys then."""

    node: Any
    keys: tuple[Any, ...]
    first: list[Any]
    second: list[Any] = field(default_factory=list)
    by_blocks: bool = False
    span: tuple[int, int] | None = None


@record(eq=False)
class Kernel:
    """One launch. `kind`: 'threads' (each takes iterations of one loop), 'rows' (each block does) or 'block' (there is
    one). The first of the `items` of threads is that loop; one thread runs the others. `size`: the iterations that
    there are, an operand that the host knows, else None; `threads` of a block.

    `warps`: so many blocks of one warp each are launched together, as one block of the card's. Each is a block on its
    own to what it runs: it has its number in the grid, its words and own memory, and its barriers are the warp's."""

    name: str
    kind: str
    items: list[Any]
    loop: For | None = None
    size: int = 1
    threads: int = 32
    warps: int = 0
    most: int = 4096  # blocks of a grid
    each: int = 1  # iterations that a thread takes at a time
    scratch: int = 0  # bytes of each thread's, row's or block's own memory
    kept: int = 0  # words of each thread, of what it keeps from loop to loop (`sharing.keeping`)
    user: str = ""  # the equations that it computes
    params: list[tuple[str, Any]] = field(default_factory=list)  # what it is launched with, in order
    local: dict[Any, int] = field(default_factory=dict)  # the words of the block's memory
    places: dict[Buffer, int] = field(default_factory=dict)  # of buffers in the block's own memory

    @property
    def accumulated(self) -> int:
        """Words of each thread, of what it accumulates, before which it keeps."""
        return max((len(f.totals) for f in fragments(self.items)), default=0)

    @property
    def own(self) -> int:
        """Bytes of memory that each block has of its own, besides words."""
        return 0 if self.kind == "threads" else -(-self.scratch // 64) * 64

    @property
    def is_near(self) -> bool:
        """Whether that memory is shared memory of the block."""
        return 0 < self.own <= NEAR

    @property
    def launched(self) -> int:
        """The threads of a block of the card's."""
        return self.threads * max(self.warps, 1)

    @property
    def far(self) -> int:
        """Bytes of that memory if it is the device's."""
        return 0 if self.is_near else self.own


@record(eq=False)
class Host:
    """Statements that the host runs on copies of the buffers that they name."""

    stmts: list[Any]
    name: str = ""
    function: Any = None  # what runs it (`hosting`)


@record(eq=False)
class Library:
    """A call of the device's library: `stmts` has the Call, `number` says which of `Lowered.libraries` it is."""

    stmts: list[Any]
    number: int
    function: Any = None  # of addresses


@record(eq=False)
class Move:
    """The host points pointers at other buffers: those of `Facts.hosted`, which kernels are launched with."""

    stmt: Any


@record(eq=False)
class Plan:
    """A program as steps. `frame`: the words of the frame; `extra`: where small buffers lie that several pieces use,
    after the arena's bytes; `bytes` of both. `fallible`: it has checks."""

    steps: list[Any]
    kernels: list[Kernel]
    frame: dict[Any, int]
    extra: dict[Buffer, int]
    bytes: int
    fallible: bool


def every(steps: list[Any]) -> list[Any]:
    """The steps but for loops and branches, those inside of them too."""
    found: list[Any] = []
    for s in steps:
        found += every([*s.first, *s.second]) if isinstance(s, Control) else [s]
    return found


def fragments(items: list[Any]) -> list[Fragment]:
    """The fragments of items, in order."""
    found: list[Fragment] = []
    for x in items:
        found += [x] if isinstance(x, Fragment) else fragments([*x.first, *x.second])
    return found
