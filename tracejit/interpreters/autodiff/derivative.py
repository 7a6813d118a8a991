"""What derivatives' traces share: how what the user's code has left in arrays goes on when they end.

    model.loss = loss      # in a function that `grad` runs inside of `jit`, or of another derivative

The array holds a tracer of the derivative, which nobody can use afterwards. Outside it is the value at which the
derivative was taken, as if the function had run without it.
"""

from __future__ import annotations

import weakref
from typing import Any

from tracejit.ir.values import Value
from tracejit.tracing import Storage, Trace


class DerivativeTrace(Trace):
    """A trace whose tracers have a `primal`, which is their value in the parent.

    `taken`: the storages of outside that it writes into, and the traces that they belong to. Outside of other traces
    nobody goes on with arrays: what the user keeps becomes NumPy's (`frontend.outside.lasting`)."""

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.taken: list[tuple[Storage, Trace]] = []
        self.storages = None if parent.parent is None else []

    def outside(self, raw: Any) -> Any:
        return raw.primal if isinstance(raw, Value) and raw.trace is self else raw  # type: ignore[attr-defined]

    def claim(self, storage: Storage) -> bool:  # type: ignore[override]
        """Take over a storage of an outer trace until the end, after the traces between."""
        parent = self.parent
        if self.storages is None or parent is None or storage.trace.level >= self.level:
            return False
        if storage.trace is not parent and (parent.claim is None or not parent.claim(storage)):
            return False
        self.taken.append((storage, storage.trace))
        storage.trace, storage.cache = self, {}
        return True

    def end(self) -> None:
        super().end()
        if self.storages is None or self.parent is None:
            return
        for storage in [ref() for ref in self.storages]:
            if storage is not None and storage.trace is self:
                storage.leave(self, self.parent)
                if self.parent.storages is not None:
                    self.parent.storages.append(weakref.ref(storage))
        for storage, owner in self.taken:
            storage.leave(self, owner)
        self.storages.clear()
        self.taken.clear()
