"""The emulated device that looks at each access of its kernels, for what would go wrong on a card.

It reports accesses outside of a buffer; two accesses of one address by two threads of a block without a barrier between
them, or by two blocks of a launch, one of them a write; and reads of memory that nothing has set: shared memory of the
block, and memory of the device. What a thread has of its own, and the trees of sums, which are other code on a card
(`trees`), are not looked at; nor is the word that says that a check has failed, which threads may set at once.
"""

from __future__ import annotations

import bisect
import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tracejit.errors import DeviceAccessError
from tracejit.lowering.cuda import looking
from tracejit.lowering.cuda.emulated import Array, Emulated, Memory

#: Accesses of a launch that are looked at.
CAPACITY = 1 << 20
_RED = 4096  # bytes before and behind each block of memory, which belong to nobody
_MOST = 5  # findings that are told


class _Guarded(Memory):
    """Memory between two zones that nothing may touch; `known` says which bytes have been set."""

    def __init__(self, device: Sanitized, size: int) -> None:
        super().__init__(device, size + 2 * _RED)
        self.low = self.ptr
        self.bytes = self.bytes[_RED : _RED + size]
        self.ptr = self.low + _RED
        self.known = np.zeros(size, bool)


class Sanitized(Emulated):
    """As `Emulated`; kernels raise DeviceAccessError after what a card must not be asked to do."""

    name = "sanitized"

    def __init__(self, number: int = 0) -> None:
        super().__init__(number)
        self.blocks: dict[int, weakref.ref[_Guarded]] = {}
        self.accesses = 0  # that were looked at
        self.log: Any = None

    def memory(self, size: int) -> Memory:
        """A block of memory between two zones that nothing may touch. Raises DeviceMemoryError."""
        self.check_room(size)
        made = _Guarded(self, max(size, 1))
        low = made.low
        self.blocks[low] = weakref.ref(made, lambda _: self.blocks.pop(low, None))
        return made

    def write(self, address: int, host: np.ndarray) -> None:
        super().write(address, host)
        if (block := self._block(address)) is not None:
            block.known[address - block.ptr :][: host.nbytes] = True

    def array(self, host: Any) -> Array:
        out = super().array(host)
        if isinstance(out._memory, _Guarded):
            out._memory.known[:] = True
        return out

    def _block(self, address: int) -> _Guarded | None:
        """The block of memory that an address lies in or beside."""
        lows = sorted(self.blocks)
        n = bisect.bisect_right(lows, address) - 1
        block = self.blocks[lows[n]]() if n >= 0 else None
        return block if block is not None and address < block.ptr + len(block.known) + _RED else None

    def load(self, text: str, names: Sequence[str], sites: Sequence[str] = ()) -> dict[str, Any]:
        return {n: (*k, sites) for n, k in super().load(text, names).items()}

    def launch(self, kernel: Any, blocks: int, threads: int, args: Sequence[int], words: int) -> None:
        """Run a kernel, and raise DeviceAccessError if it did what a card must not be asked to do."""
        if self.log is None:
            self.log = np.empty(looking.HEADER + CAPACITY * looking.RECORD, np.int64)
        self.log[: looking.HEADER] = [0, CAPACITY, 0, 0, 0, 0, 0, 0]
        ctypes.c_int64.from_address(kernel[0].symbols["tj.log"]).value = self.log.ctypes.data
        self.shared = 0, 0
        super().launch(kernel, blocks, threads, args, words)
        found = self.findings(kernel[2])
        if found:
            told = "; ".join(found[:_MOST])
            raise DeviceAccessError(device=str(self), findings=told)

    def run(self, kernel: Any, packed: Any, blocks: int, threads: int, block: np.ndarray) -> None:
        """Call a kernel's function."""
        self.shared = block.ctypes.data, block.ctypes.data + block.nbytes
        super().run(kernel, packed, blocks, threads, block)

    def function_of(self, library: Any) -> Any:
        """A call made ready, which looks whether its operands are set, and sets its results."""
        function = super().function_of(library)
        count = len(library.ins)

        def run(stream: int, room: int, *addresses: int) -> None:
            for v, a in zip(library.ins, addresses[:count], strict=True):
                if (known := self._known(v, a)) is not None and not known.all():
                    raise DeviceAccessError(
                        device=str(self), findings=f"{library.name}: it reads what nothing has set"
                    )
            function.run(stream, room, *addresses)
            for v, a in zip(library.outs, addresses[count:], strict=True):
                if (known := self._known(v, a)) is not None:
                    known[...] = True

        return replace(function, run=run)

    def _known(self, v: Any, address: int) -> np.ndarray | None:
        """What is known of the bytes of a view; None if they are not this device's."""
        block = self._block(address)
        if block is None:
            return None
        size = v.dtype.itemsize
        strides = (*(s * size for s in v.strides), 1)
        return np.ndarray(
            (*v.shape, size), bool, block.known.data, address - block.ptr + v.offset * size, strides
        )

    # -- what was found

    def findings(self, sites: Sequence[str]) -> list[str]:
        """What the kernel that was just run did that it must not, each once for a name of an access."""
        count = min(int(self.log[0]), CAPACITY)
        self.accesses += count
        end = looking.HEADER + count * looking.RECORD
        r = self.log[looking.HEADER : end].reshape(count, looking.RECORD)
        outside = (r[:, 1] & looking.OUTSIDE) != 0
        found = [_told(sites, x, "outside of it") for x in r[outside]]
        r = r[((r[:, 1] & looking.OWN) == 0) & ~outside]
        if len(r):
            found += self._shared_findings(sites, r)
        return list(dict.fromkeys(found))

    def _shared_findings(self, sites: Sequence[str], r: np.ndarray) -> list[str]:
        """Races, and reads of what nothing has set."""
        sizes = r[:, 1] & 63
        grain = int(np.gcd.reduce(np.concatenate([sizes, r[:, 0] & 7])) or 8)
        times = sizes // grain
        n = np.repeat(np.arange(len(r)), times)
        part = np.arange(len(n)) - np.repeat(np.cumsum(times) - times, times)
        where = r[n, 0] + part * grain
        thread, block, epoch = r[n, 2], r[n, 3], r[n, 4]
        writes = (r[n, 1] & looking.WRITES) != 0
        at_once = (r[n, 1] & looking.ATOMIC) != 0
        shared = (where >= self.shared[0]) & (where < self.shared[1])
        space = np.where(shared, block + 1, 0)
        found = [
            _told(sites, r[n[k]], "what another thread touches without a barrier between them")
            for k in _races((where, epoch), thread, writes, at_once)
        ]
        g = ~shared
        found += [
            _told(sites, r[n[g][k]], "what another block touches")
            for k in _races((where[g],), block[g], writes[g], at_once[g])
        ]
        for k in _first_of((space, where)):
            if (not writes[k] or at_once[k]) and not (
                self._is_set(int(where[k]), grain) if not shared[k] else False
            ):
                found.append(_told(sites, r[n[k]], "what nothing has set"))
        self._note(where[g & writes], grain)
        return found

    def _is_set(self, address: int, grain: int) -> bool:
        """Whether memory of the device has been set; True for memory that is not this device's."""
        block = self._block(address)
        if block is None:
            return True
        at = address - block.ptr
        return at >= 0 and bool(block.known[at : at + grain].all()) and at < len(block.known)

    def _note(self, where: np.ndarray, grain: int) -> None:
        """Note that memory of the device has been set."""
        for ref in list(self.blocks.values()):
            if (block := ref()) is not None:
                at = where - block.ptr
                at = at[(at >= 0) & (at < len(block.known))]
                for n in range(grain):
                    block.known[at + n] = True


def _sorted(keys: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """An order in which equal keys lie together and stay in order, and where each group begins."""
    order = np.lexsort(keys[::-1])
    new = np.ones(len(order), bool)
    new[1:] = False
    for k in keys:
        new[1:] |= k[order][1:] != k[order][:-1]
    return order, np.flatnonzero(new)


def _first_of(keys: tuple[np.ndarray, ...]) -> np.ndarray:
    """The first access of each group."""
    if not len(keys[0]):
        return np.zeros(0, int)
    order, starts = _sorted(keys)
    return order[starts]


def _races(
    keys: tuple[np.ndarray, ...], who: np.ndarray, writes: np.ndarray, at_once: np.ndarray
) -> list[int]:
    """An access of each group in which one writes and another one is there; a write if possible. Those that are done in
    one step do not disturb each other."""
    if not len(who):
        return []
    order, starts = _sorted(keys)
    least, most = (f.reduceat(who[order], starts) for f in (np.minimum, np.maximum))
    any_write = np.maximum.reduceat(writes[order], starts)
    ends = np.append(starts[1:], len(order))
    found = []
    apart = ~np.minimum.reduceat(at_once[order], starts)
    for g in np.flatnonzero(any_write & apart & (least != most)):
        inside = order[starts[g] : ends[g]]
        found.append(int(inside[np.argmax(writes[inside])]))
    return found


def _told(sites: Sequence[str], record: np.ndarray, what: str) -> str:
    """A record in words; the thread and the address are left out, so that each access is told once."""
    verb = "writes" if record[1] & looking.WRITES else "reads"
    return f"{sites[int(record[1]) >> looking.SITE]}: a thread {verb} {what}"


#: The emulated devices that look.
SANITIZED = (Sanitized(0), Sanitized(1))
