"""The programs that the process keeps, over all jitted functions: as many as `config.cache_size` says."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from tracejit.api.common import name_of
from tracejit.api.regions import copies
from tracejit.config import config
from tracejit.interpreters import jit as native
from tracejit.interpreters import messages


class Bounded:
    """Evicts the programs that were made first when there are more than `config.cache_size` in the process."""

    def __init__(self) -> None:
        self._order: dict[tuple[int, Any], Any] = {}
        self._lock = threading.Lock()

    def add(self, owner: Any, key: Any) -> None:
        with self._lock:
            self._order[(id(owner), key)] = weakref.ref(owner)
            while len(self._order) > config.cache_size:
                (_, old), jitted = self._oldest()
                if jitted is not None:
                    jitted.forget(old)
                    messages.debug(
                        1, f"tracejit: dropped a program of {name_of(jitted.fun)}: the cache is full"
                    )

    def _oldest(self) -> tuple[tuple[int, Any], Any]:
        """The program that was made first, which is taken out: its key, and its function, or None."""
        key, ref = next(iter(self._order.items()))
        if (
            self._order.pop(key, None) is None
        ):  # the names of a dtype in it were changed: it has another hash now
            self._order = dict([*self._order.items()][1:])
        return key, ref()

    def clear(self) -> None:
        """Evict everything."""
        owners = self.owners()
        with self._lock:
            self._order.clear()
        for jitted in owners:
            jitted.clear_cache()

    def owners(self) -> set[Any]:
        """The jitted functions that have programs."""
        with self._lock:
            return {owner for ref in self._order.values() if (owner := ref()) is not None}


BOUNDED = Bounded()


def clear_caches() -> None:
    """Drop everything that was traced and compiled in this process, as JAX's function of that name does.

    What is used next is traced and compiled again, or loaded from the disk cache, which stays
    (`python -m tracejit cache clear` empties it).
    """
    BOUNDED.clear()
    copies.forget()
    native.forget()
