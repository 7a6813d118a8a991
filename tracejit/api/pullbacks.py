"""What `vjp` returns to be called with cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit import tree
from tracejit.interpreters.linearize import Tape
from tracejit.tracing import to_raw, wrap


class Pullback:
    """`pullback(ct) -> cotangents of primals`: a pytree whose leaves are the values that it has kept.

    So it may be what a transformed function takes or returns: a residual of a `custom_vjp`, a result of
    `jit`. Two are of one structure only if they come from the same call of `vjp`.
    """

    def __init__(
        self, run: Callable[[Tape, Any], Any], tape: Tape, leaves: Sequence[Any] | None = None
    ) -> None:
        self._run = run
        self._tape = tape
        self._leaves = leaves  # None: those of the tape

    def __call__(self, ct: Any) -> tuple[Any, ...]:
        tape = self._tape
        if self._leaves is not None:
            tape = tape.with_residuals([to_raw(x, "a value of a pullback") for x in self._leaves])
        return self._run(tape, ct)

    def _flatten(self) -> tuple[Sequence[Any], Any]:
        leaves = [wrap(x) for x in self._tape.residuals()] if self._leaves is None else self._leaves
        return leaves, (self._run, self._tape)


tree.register(Pullback, Pullback._flatten, lambda about, leaves: Pullback(about[0], about[1], list(leaves)))
