"""A plan on a device: the steps of a program, run for arrays that are there.

One block of memory has what a run needs besides its arrays: the arena, small buffers, the frame and the status. All
steps are launched one after another; the host waits only where it reads something: the condition of a loop that is its
own, the arrays of a library's function, and the status of a program that has checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import refusals
from tracejit.ir.avals import Dim, capacity
from tracejit.lowering.cuda import hosting, kernels, on_host
from tracejit.lowering.cuda.libs import operations
from tracejit.lowering.cuda.nodes import Control, Host, Kernel, Library, Move
from tracejit.lowering.cuda.planner import plan
from tracejit.lowering.loops.nodes import Buffer, For, If, SetPointer
from tracejit.lowering.lowered import Lowered

#: Blocks of a grid at most: enough for every card, and each takes several iterations then.
MOST_BLOCKS = 4096
_MOST_SCRATCH = 1 << 28  # bytes of all blocks' own memory
_LOOK = 64  # iterations of a loop of the host's between two looks at the status


class DeviceProgram:
    """A lowered program on one device. Call it with arrays of the device in C order; it gives new ones, or those of the
    inputs whose memory they take. Raises Unsupported: only the host can run it."""

    def __init__(self, lowered: Lowered, device: Any) -> None:
        self.lowered, self.device = lowered, device
        program = lowered.program
        self.plan, self.facts = plan(program)
        self.text, sites = kernels.module_text(program, self.facts, self.plan, device.name)
        names = [k.name for k in self.plan.kernels]
        self.kernels = device.load(self.text, names, sites) if names else {}
        for step in flat(self.plan.steps):
            if isinstance(step, Library):
                step.function = device.library(lowered.libraries[step.number])
        hosts = [s for s in flat(self.plan.steps) if isinstance(s, Host)]
        self.hosts: Any = hosting.HostSteps(lowered, self.facts, self.plan, hosts) if hosts else None
        frame = -(-max(self.plan.bytes, 1) // 256) * 256
        self.offsets = frame, frame + 8 * len(self.plan.frame)
        self.bytes = self.offsets[1] + 8 * kernels.STATUS_WORDS

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        low, device = self.lowered, self.device
        outs = [
            arrays[low.aliases[n]] if n in low.aliases else device.empty(self._room(n, arrays), a.dtype)
            for n, a in enumerate(low.out_avals)
        ]
        run = _Run(self, device.memory(self.bytes), [*arrays, *outs])
        run.steps(self.plan.steps)
        run.raise_failure()
        return tuple([self._trimmed(n, x, arrays, outs) for n, x in enumerate(outs)])

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
        return describe(self.plan.steps, self.lowered)


class _Run:
    """One run of a program."""

    def __init__(self, of: DeviceProgram, memory: Any, arrays: Sequence[Any]) -> None:
        self.of, self.device, self.memory = of, of.device, memory
        self.base = memory.ptr
        self.frame, self.status = (self.base + n for n in of.offsets)
        args = of.lowered.program.args
        self.turns: dict[Any, int] = {}  # the variables of the host's loops
        self.pointers: dict[Buffer, int] = {}
        self.args = {b: self.device.address(arrays[b.slot]) for b in args}
        if of.plan.fallible:
            self.device.write(self.status, np.zeros(kernels.STATUS_WORDS, np.int64))

    # -- addresses

    def address(self, b: Buffer) -> int:
        """Where a buffer is on the device."""
        if b in self.args:
            return self.args[b]
        if b.kind == "pointer":
            return self.pointers[b]
        extra = self.of.plan.extra
        return self.base + extra.get(b, b.slot)

    def word(self, key: Any) -> int:
        """The address of a word of the frame."""
        return self.frame + 8 * self.of.plan.frame[key]

    def number(self, key: Any, dtype: Any = np.int64) -> int:
        """What a word of the frame has now."""
        return int(self.device.read(self.word(key), np.zeros((), dtype))[()])

    # -- steps

    def steps(self, steps: list[Any]) -> None:
        """Run steps, in order."""
        for s in steps:
            if isinstance(s, Kernel):
                self.launch(s)
            elif isinstance(s, Library):
                self.device.call(s.function, [self.address(b) for b in s.stmts[0].args])
            elif isinstance(s, Host):
                self.host(s)
            elif isinstance(s, Move):
                self.move(s.stmt)
            else:
                self.control(s)

    def launch(self, k: Kernel) -> None:
        """Launch a kernel, as many blocks as its iterations are worth."""
        blocks = {"threads": -(-k.size // (k.threads * k.each)), "rows": k.size}.get(k.kind, 1)
        blocks = max(min(blocks, MOST_BLOCKS), 1)
        own = on_host.block_bytes(k)
        if own:
            blocks = max(min(blocks, _MOST_SCRATCH // own), 1)
        scratch = self.device.memory(own * blocks) if own else None
        params = self.of.lowered.program.params
        of = {"buffer": self.address, "size": params.__getitem__, "turn": self.turns.__getitem__}
        args = [of[kind](x) for kind, x in k.params]
        args += [self.frame, self.status, scratch.ptr if scratch is not None else 0]
        self.device.launch(self.of.kernels[k.name], blocks, k.threads, args, on_host.words_of_host(k))

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
        was = frame.copy()
        for b in step.pointers:
            n = plan.frame[b]
            places.append(int(was[n]))
            copies.append(device.read(places[-1], np.empty(step.sizes[b], np.uint8)))
            frame[n] = copies[-1].ctypes.data
        self.of.hosts.run(step, frame, copies)
        for place, copy in zip(places, copies, strict=True):
            device.write(place, copy)
        for b in step.pointers:
            frame[plan.frame[b]] = was[plan.frame[b]]
        for n in np.flatnonzero(frame != was):
            device.write(self.frame + 8 * int(n), frame[n : n + 1])

    def move(self, s: Any) -> None:
        """Point pointers at other buffers."""
        if isinstance(s, SetPointer):
            self.pointers[s.buffer] = self.address(s.target)
        else:
            now = [self.pointers[p] for p in s.pointers]
            self.pointers |= zip(s.pointers, (*now[1:], now[0]), strict=True)

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
        if self.of.plan.fallible:
            status = self.device.read(self.status, np.zeros(kernels.STATUS_WORDS, np.int64))
            if status[0]:
                error = self.of.lowered.failures[int(status[0])]((int(status[1]), int(status[2])))
                refusals.failed(error)
                raise error


def flat(steps: list[Any]) -> list[Any]:
    """The steps but for loops and branches, those inside of them too."""
    found: list[Any] = []
    for s in steps:
        found += flat([*s.first, *s.second]) if isinstance(s, Control) else [s]
    return found


_KINDS = {
    "threads": "a thread for each of {} iterations",
    "lanes": "a thread for each of {} lanes",
    "rows": "a block for each of {} rows",
    "block": "one block",
}


def describe(steps: list[Any], lowered: Lowered, depth: int = 0) -> list[str]:
    """Steps in words, a line each."""
    lines, pad = [], "  " * depth
    for s in steps:
        if isinstance(s, Kernel):
            of_lanes = s.loop is not None and s.loop.lanes
            what = _KINDS["lanes" if of_lanes else s.kind].format(s.size)
            lines.append(f"{pad}kernel {s.name}: {what}, {s.threads} threads a block")
        elif isinstance(s, Library):
            lines.append(f"{pad}library: {operations.describe(lowered.libraries[s.number])}")
        elif isinstance(s, Host):
            lines.append(f"{pad}the host: {s.name}")
        elif isinstance(s, Control):
            what = type(s.node).__name__.lower()
            lines.append(f"{pad}the host's {what}:")
            lines += describe([*s.first, *s.second], lowered, depth + 1)
    return lines
