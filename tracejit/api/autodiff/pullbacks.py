"""What `vjp` returns to be called with cotangents, and what it and `linearize` keep until then."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.interpreters.autodiff.tangents import Residual
from tracejit.interpreters.autodiff.tape import Tape
from tracejit.interpreters.stage import is_staging
from tracejit.ir.references import ONLY_LOCAL
from tracejit.tracing import to_raw, wrap


def detached(tape: Tape) -> Tape:
    """The program with copies of the arrays that somebody else may write into before it runs: arguments,
    results and captured arrays. What they hold now is what counts.

    An array is the program's own if nothing else refers to it or to the arrays that it is a view of.
    """
    if is_staging():  # the values of a program do not change
        return tape
    values = tape.residuals()
    ours = _our_references(tape, values)
    shared = [n for n in range(len(values)) if _is_shared(values, n, ours)]
    for n in shared:
        values[n] = _copy(values[n])
    return tape.with_residuals(values) if shared else tape


def _our_references(tape: Tape, values: list[Any]) -> Counter[int]:
    """How often `values`, the program and the residuals' views refer to each array, by its id."""
    ours = Counter(map(id, values))
    atoms = {id(a): a for e in (*tape.prologue, *tape.eqns) for a in e.invars if type(a) is Residual}
    atoms |= {id(o): o for o in tape.outs if type(o) is Residual}
    ours.update(id(a.value) for a in atoms.values())
    views: set[int] = set()
    for x in values:
        while isinstance(x, np.ndarray) and id(x) not in views:
            views.add(id(x))
            x = x.base
            ours[id(x)] += 1
    return ours


def _is_shared(values: list[Any], n: int, ours: Counter[int]) -> bool:
    """Whether anybody else may write into the memory of `values[n]`."""
    if not isinstance(values[n], np.ndarray):
        return False
    length, root = 1, values[n]
    while isinstance(root.base, np.ndarray):
        length, root = length + 1, root.base
    fixed = not root.flags.writeable
    # See lowering.runtime.pool.
    foreign = root.base is not None and not getattr(root.base, "of_one_run", False)
    del root  # not to be counted
    return not fixed and (foreign or any(_has_others(values, n, depth, ours) for depth in range(length)))


def _has_others(values: list[Any], n: int, depth: int, ours: Counter[int]) -> bool:
    """Whether anything else refers to `values[n]`, or with a depth to what it is a view of."""
    x = values[n]
    for _ in range(depth):
        x = x.base
    return sys.getrefcount(x) - ONLY_LOCAL > ours[id(x)]


def _copy(x: np.ndarray) -> np.ndarray:
    """A copy that repeats what `x` repeats: a broadcast view's memory is small."""
    once = x[tuple([slice(1) if s == 0 else slice(None) for s in x.strides])]
    return np.broadcast_to(once.copy("K"), x.shape) if once.shape != x.shape else once.copy("K")


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
