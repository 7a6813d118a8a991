"""A plan on a device: the steps of a program, run for arrays that are there.

One block of memory has what a run needs besides its arrays: the arena, small buffers, the frame and the status. All
steps are launched one after another; the host waits only where it reads something: the condition of a loop that is its
own, the arrays of a library's function, and the status of a program that has checks.

What kernels are launched with lies in a table of words, which is written once for a run: the launches have been made
ready for it before (`_Table`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import DeviceAccessError, refusals
from tracejit.ir.avals import Dim, capacity
from tracejit.lowering.cuda import hosting, kernels, on_host
from tracejit.lowering.cuda.graphs import Graph, given, with_graphs
from tracejit.lowering.cuda.inwords import describe
from tracejit.lowering.cuda.nodes import Control, Host, Kernel, Library, Move, every, fragments
from tracejit.lowering.cuda.planner import plan
from tracejit.lowering.cuda.sharing.occupancy import choose
from tracejit.lowering.loops.nodes import Buffer, For, If, SetPointer
from tracejit.lowering.lowered import Lowered

_MOST_SCRATCH = 1 << 28  # bytes of all blocks' own memory
_LOOK = 64  # iterations of a loop of the host's between two looks at the status
_FRAME: Any = ("frame", None)
_STATUS: Any = ("status", None)
_SCRATCH: Any = ("scratch", None)
_ROOM: Any = ("room", None)  # in which libraries work


class DeviceProgram:
    """A lowered program on one device. Call it with arrays of the device in C order; it gives new ones, or those of the
    inputs whose memory they take. Raises Unsupported: only the host can run it."""

    def __init__(self, lowered: Lowered, device: Any) -> None:
        self.lowered, self.device = lowered, device
        self.plan, self.facts = plan(lowered, device.room)
        self.kernels: dict[str, Any] = {}
        if self.plan.kernels:
            self._load()
            inside = [(k, fragments(k.items)) for k in self.plan.kernels]
            if choose(inside, self.plan.fallible, device.room, device.registers(self.kernels)):
                self._load()
        self.every = every(self.plan.steps)
        room = 0
        for step in self.every:
            if isinstance(step, Library):
                step.function = device.function_of(lowered.libraries[step.number])
                room = max(room, step.function.bytes)
        self.steps = with_graphs(self.plan.steps, device)
        hosts = [s for s in self.every if isinstance(s, Host)]
        self.hosts: Any = hosting.HostSteps(lowered, self.facts, self.plan, hosts) if hosts else None
        frame = -(-self.plan.bytes // 256) * 256
        self.offsets = (
            frame,
            frame + -(-len(self.plan.frame) // 2) * 16,
        )  # kernels take both for multiples of 16
        end = self.offsets[1] + 8 * kernels.STATUS_WORDS * self.plan.fallible
        #: Of the block of memory.
        self.room = -(-end // 256) * 256 if room else end
        self.bytes = self.room + room
        self._lay_out()
        self._tables: list[_Table] = []  # that no run uses now
        self._rooms = [self._known_room(n) for n in range(len(lowered.out_avals))]
        self._is_static = all(a.is_static for a in lowered.out_avals)

    def _load(self) -> None:
        """Write the kernels, and load them."""
        self.text, sites = kernels.module_text(self.lowered.program, self.facts, self.plan, self.device.name)
        self.kernels = self.device.load(self.text, [k.name for k in self.plan.kernels], sites)

    def _lay_out(self) -> None:
        """Decide which word of a table is what (`cells`), and which of them a run has to write: addresses of arrays,
        and of what lies in its memory."""
        args = {b: b.slot for b in self.lowered.program.args}
        named = [p for s in (*self.plan.kernels, *self.every) for p in given(s)]
        self.cells = {x: n for n, x in enumerate(dict.fromkeys([*named, _FRAME, _STATUS, _SCRATCH, _ROOM]))}
        self.of_arrays, self.of_memory = list[tuple[int, int]](), list[tuple[int, Any]]()
        for x, n in self.cells.items():
            if x[0] == "buffer" and x[1] in args:
                self.of_arrays.append((n, args[x[1]]))
            elif x[0] == "buffer" and x[1].kind != "pointer":
                self.of_memory.append((n, self.plan.extra.get(x[1], x[1].slot)))
        self.given = {g: [self.cells[p] for p in g.given] for g in _graphs(self.steps)}
        if self.bytes:
            self.of_memory += [(self.cells[_FRAME], self.offsets[0]), (self.cells[_STATUS], self.offsets[1])]
            self.of_memory += [(self.cells[_ROOM], self.room)]

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return self.device.within(self._call, arrays)

    def _call(self, stream: int, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        device = self.device
        outs = [
            arrays[known] if type(known) is int
            else device.empty(*(known or (self._room(n, arrays), self.lowered.out_avals[n].dtype)))
            for n, known in enumerate(self._rooms)
        ]  # fmt: skip
        everything = (*arrays, *outs)
        memory = device.memory(self.bytes) if self.bytes else None
        base = memory.ptr if memory is not None else 0
        try:
            table = self._tables.pop()
        except IndexError:
            table = _Table(self)
        values = table.values
        for cell, n in self.of_arrays:
            values[cell] = device.address(everything[n])
        for cell, offset in self.of_memory:
            values[cell] = base + offset
        try:
            if self.plan.fallible:
                device.clear(base + self.offsets[1], 8 * kernels.STATUS_WORDS, stream)
            if table.straight is not None:
                for run in table.straight:
                    run(stream)
            else:
                _Run(self, table, stream, base, everything).steps(self.steps)
            if self.plan.fallible:
                self.raise_failure(table, stream)
        except (np.linalg.LinAlgError, DeviceAccessError):
            if (
                self.plan.fallible
            ):  # what failed before: a library does not look for that, and reads what is there
                self.raise_failure(table, stream)
            raise
        finally:
            self._tables.append(table)
        if self._is_static:
            return tuple(outs)
        return tuple([self._trimmed(n, x, arrays, outs) for n, x in enumerate(outs)])

    def raise_failure(self, table: _Table, stream: int) -> None:
        """Wait for what was launched, and raise the exception of a check that has failed."""
        status = self.device.fetch(table.values[self.cells[_STATUS]], table.status, stream)
        if status[0]:
            error = self.lowered.failures[int(status[0])]((int(status[1]), int(status[2])))
            refusals.failed(error)
            raise error

    # -- results

    def _known_room(self, n: int) -> Any:
        """The input whose memory output `n` takes; or its shape and dtype if they are known before a run; else None."""
        if n in self.lowered.aliases:
            return self.lowered.aliases[n]
        aval = self.lowered.out_avals[n]
        known = not any(isinstance(d, Dim) and d.bound is None for d in aval.shape)
        return (tuple(capacity(aval.shape)), aval.dtype) if known else None

    def _room(self, n: int, arrays: Sequence[Any]) -> tuple[int, ...]:
        """The shape of output `n` at the bounds of its extents; unbounded ones are integers among the inputs."""
        aval, dims = self.lowered.out_avals[n], self.lowered.out_dims[n]
        known = capacity(aval.shape)
        return tuple(
            int(arrays[dims[k][1]].item()) if isinstance(d, Dim) and d.bound is None else known[k]
            for k, d in enumerate(aval.shape)
        )

    def _trimmed(self, n: int, out: Any, arrays: Sequence[Any], outs: Sequence[Any]) -> Any:
        """Output `n` as large as it is, which the host reads if only the program knows."""
        if self.lowered.out_avals[n].is_static:
            return out
        found = {"input": arrays, "output": outs}
        dims = self.lowered.out_dims[n]
        shape = tuple(d if isinstance(d, int) else int(found[d[0]][d[1]].item()) for d in dims)
        return out if shape == out.shape else self.device.array(out[tuple(map(slice, shape))])

    def describe(self) -> list[str]:
        """The steps in words."""
        return describe(self.steps, self.lowered.libraries)


class _Table:
    """The words that the kernels of a program are launched with, `values`, which one run at a time writes, and the
    launches made ready for them. `straight`: the steps as functions of the stream, where the host has nothing to decide
    or to compute; else None."""

    def __init__(self, of: DeviceProgram) -> None:
        self.of, cells = of, of.cells
        self.values: Any = (ctypes.c_int64 * len(cells))()
        for x, n in cells.items():
            if x[0] == "size":
                self.values[n] = of.lowered.program.params[x[1]]
        self.launches = {k: self._launch(k) for k in of.plan.kernels}
        self.calls = {s: self._call(s) for s in of.every if isinstance(s, Library)}
        self.status = of.device.pinned(kernels.STATUS_WORDS) if of.plan.fallible else None
        self.straight: list[Callable[[int], None]] | None = None
        known: dict[Any, Any] = {**self.launches, **self.calls}
        if all(s in known and not (isinstance(s, Kernel) and s.far) for s in of.steps):
            self.straight = [known[s] for s in of.steps]

    def _launch(self, k: Kernel) -> Callable[[int], None]:
        """The launch of a kernel, as many blocks as its iterations are worth."""
        cells = [self.of.cells[p] for p in (*k.params, _FRAME, _STATUS, _SCRATCH)]
        words, kernel = on_host.words_of_host(k), self.of.kernels[k.name]
        return self.of.device.launcher(kernel, blocks_of(k), k.launched, cells, self.values, words)

    def _call(self, s: Library) -> Callable[[int], None]:
        """The call of a library."""
        values, call, function = self.values, self.of.device.call, s.function
        cells, room = [self.of.cells[p] for p in given(s)], self.of.cells[_ROOM]
        return lambda stream: call(function, stream, values[room], [values[n] for n in cells])


def blocks_of(k: Kernel) -> int:
    """The blocks of a kernel's launch."""
    blocks = {"threads": -(-k.size // (k.threads * k.each)), "rows": -(-k.size // max(k.warps, 1))}.get(
        k.kind, 1
    )
    if own := k.far:
        blocks = min(blocks, _MOST_SCRATCH // own)
    return max(min(blocks, k.most), 1)


class _Run:
    """One run of a program in which the host has something to decide or to compute."""

    def __init__(
        self,
        of: DeviceProgram,
        table: _Table,
        stream: int,
        base: int,
        arrays: Sequence[Any],
    ) -> None:
        self.of, self.device, self.table, self.stream, self.base = of, of.device, table, stream, base
        self.looks = of.plan.fallible  # at the status now and then
        self.frame = base + of.offsets[0]
        self.arrays = arrays
        self.turns: dict[Any, int] = {}  # the variables of the host's loops
        self.pointers: dict[Buffer, int] = {}

    # -- addresses

    def address(self, b: Buffer) -> int:
        """Where a buffer is on the device."""
        if b.kind == "arg":
            return self.device.address(self.arrays[b.slot])
        if b.kind == "pointer":
            return self.pointers[b]
        place: Any = self.of.plan.extra.get(b, b.slot)
        return self.base + place

    def word(self, key: Any) -> int:
        """The address of a word of the frame."""
        return self.frame + 8 * self.of.plan.frame[key]

    def number(self, key: Any, dtype: Any = np.int64) -> int:
        """What a word of the frame has now."""
        return int(self.device.read(self.word(key), np.zeros((), dtype))[()])

    def _tell(self, x: Any, value: int) -> None:
        """Write a word of the table, if there is one."""
        cell = self.of.cells.get(x)
        if cell is not None:
            self.table.values[cell] = value

    # -- steps

    def steps(self, steps: list[Any]) -> None:
        """Run steps, in order."""
        for s in steps:
            if isinstance(s, Kernel):
                self.launch(s)
            elif isinstance(s, Library):
                self.table.calls[s](self.stream)
            elif isinstance(s, Host):
                self.host(s)
            elif isinstance(s, Move):
                self.move(s.stmt)
            elif isinstance(s, Graph):
                self.graph(s)
            else:
                self.control(s)

    def graph(self, g: Graph) -> None:
        """Launch steps as a whole, if they have been recorded with these addresses."""
        values, made = self.table.values, None
        if g.wanted:
            key = (self.base, *[values[n] for n in self.of.given[g]], *self.pointers.values())
            made = g.of(key, lambda on: self._record(g, on))
        if made is None:
            self.steps(g.steps)
            return
        launch, moved = made
        launch(self.stream)
        self._point(moved)

    def _record(self, g: Graph, stream: int) -> dict[Buffer, int]:
        """Run steps that a stream records. Where the pointers are then."""
        was = self.stream, self.looks
        self.stream, self.looks = stream, False
        try:
            self.steps(g.steps)
        finally:
            self.stream, self.looks = was
        return dict(self.pointers)

    def launch(self, k: Kernel) -> None:
        """Launch a kernel, with memory of its own for each block if it needs that."""
        own = k.far
        scratch = self.device.memory(own * blocks_of(k)) if own else None
        if scratch is not None:
            self.table.values[self.of.cells[_SCRATCH]] = scratch.ptr
        self.table.launches[k](self.stream)

    def host(self, s: Host) -> None:
        """Run a step of the host on copies of its arrays. Nothing is done after a check has failed."""
        step, device, plan = s.function, self.device, self.of.plan
        self.raise_failure()
        frame = (
            device.read(self.frame, np.zeros(max(len(plan.frame), 1), np.int64))
            if plan.frame
            else np.zeros(1)
        )
        copies, places = [], []
        for b in step.buffers:
            places.append(self.address(b))
            copies.append(device.read(places[-1], np.empty(step.sizes[b], np.uint8)))
        for x, turn in self.turns.items():
            frame[plan.frame[x]] = turn
        for b in step.pointers:
            n = plan.frame[b]
            places.append(int(frame[n]))
            copies.append(device.read(places[-1], np.empty(step.sizes[b], np.uint8)))
            frame[n] = copies[-1].ctypes.data
        self.of.hosts.run(step, frame, copies)
        for place, copy in zip(places, copies, strict=True):
            device.write(place, copy)
        for n in step.words:  # those that happen to have been what they are now, too
            device.write(self.frame + 8 * n, frame[n : n + 1])

    def move(self, s: Any) -> None:
        """Point pointers at other buffers."""
        if isinstance(s, SetPointer):
            moved = {s.buffer: self.address(s.target)}
        else:
            now = [self.pointers[p] for p in s.pointers]
            moved = dict(zip(s.pointers, (*now[1:], now[0]), strict=True))
        self._point(moved)

    def _point(self, moved: dict[Buffer, int]) -> None:
        self.pointers |= moved
        for b, address in moved.items():
            self._tell(("buffer", b), address)

    def control(self, c: Control) -> None:
        """A loop or branch whose conditions the host reads."""
        node = c.node
        if isinstance(node, If):
            self.steps(c.first if self.number(c.keys[0], np.uint8) else c.second)
        elif isinstance(node, For):
            start, stop = c.span or map(self.number, c.keys)
            turns = range(stop - 1, start - 1, -1) if node.down else range(start, stop)
            for n, i in enumerate(turns):
                if n % _LOOK == _LOOK - 1:
                    self.raise_failure()
                self.turns[node.var] = i
                self._tell(("turn", node.var), i)
                self.steps(c.first)
        else:
            self.steps(c.first)
            while self.number(c.keys[0], np.uint8):
                self.raise_failure()
                self.steps(c.second)
                self.steps(c.first)

    # -- failures

    def raise_failure(self) -> None:
        """Wait for what was launched, and raise the exception of a check that has failed."""
        if self.looks:
            self.of.raise_failure(self.table, self.stream)


def _graphs(steps: Sequence[Any]) -> list[Graph]:
    """The graphs among steps and those inside of them."""
    found: list[Graph] = []
    for s in steps:
        found += (
            [s] if isinstance(s, Graph) else _graphs([*s.first, *s.second]) if isinstance(s, Control) else []
        )
    return found
