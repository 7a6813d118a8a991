"""Scratch memory of compiled programs: blocks that calls borrow and give back, shared by all programs.

What is kept for later calls is bounded: the system gives large blocks page by page, which costs more than
many a kernel, but a process with a thousand compiled functions must not keep a thousand arenas.
"""

from __future__ import annotations

import threading
from collections import deque

import numpy as np

#: Bytes that are kept while no call uses them. The last block given back is kept even if it is larger.
LIMIT = 1 << 28
#: A borrowed block is at most this many times larger than asked for.
_WASTE = 2


class Arena:
    """A free-list of blocks. Thread-safe."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.kept = 0
        self._blocks: deque[np.ndarray] = deque()  # the oldest first
        self._lock = threading.Lock()

    def take(self, size: int) -> np.ndarray:
        """A block of at least `size` bytes; its contents are arbitrary. Raises MemoryError."""
        with self._lock:
            for n in range(len(self._blocks) - 1, -1, -1):
                if size <= self._blocks[n].size <= _WASTE * size:
                    block = self._blocks[n]
                    del self._blocks[n]
                    self.kept -= block.size
                    return block
        return np.empty(size, np.uint8)

    def give(self, block: np.ndarray) -> None:
        """Give a block back. The oldest ones are freed where more than the limit is kept."""
        with self._lock:
            self._blocks.append(block)
            self.kept += block.size
            while self.kept > self.limit and len(self._blocks) > 1:
                self.kept -= self._blocks.popleft().size

    def clear(self) -> None:
        """Free what is kept."""
        with self._lock:
            self._blocks.clear()
            self.kept = 0


#: Of this process.
ARENA = Arena()
