"""How residuals were made, so that a linear program keeps few of them and makes the others again.

What a derivative rule computes from primals happens at once, and its results would be kept until the
linear program runs: `2 * x` for the square of `x`, `1 - y * y` for a tanh whose result is kept anyway. Here
such cheap results are noted with their operands. What can be made again in a few passes over values that
are kept anyway (inputs, outputs, other residuals) is not kept.

Arrays are held weakly, so that noting them does not prolong their lives.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Eqn, Literal, Var
from tracejit.ir.kernel import Pointwise, Pull
from tracejit.ir.primitive import LINEAR, NO_EFFECTS, Op
from tracejit.ir.source import Source, replay
from tracejit.ir.values import Value

#: Values smaller than this many bytes are kept: making them again would cost more than it saves.
SMALL = 512
#: The same for arrays, where nothing is compiled: noting what one was made of, and a call of NumPy to make it again,
#: take longer than some arithmetic on 64 KB. Eager gradients of 16 x 16 matrices take less than half the time.
SMALL_ARRAY = 1 << 16
#: A pointwise operation of more flops than this is not done again.
CHEAP = 5
#: Operations it may take to make one residual again.
MAX_OPS = 4


class Node:
    """An application of a cheap operation: `args` are Nodes, values, or weak references to arrays."""

    __slots__ = ("args", "aval", "op", "params", "source")

    def __init__(self, op: Op, args: list[Any], params: dict[str, Any], aval: Aval) -> None:
        self.op = op
        self.args = args
        self.params = params
        self.aval = aval
        self.source: Source | None = replay.source


def is_cheap(op: Op) -> bool:
    """Whether a result of `op` may be made again: a few flops an element, or a view."""
    kernel = op.kernel
    pure = op.effects is NO_EFFECTS and not op.multi
    return pure and (
        (type(kernel) is Pointwise and kernel.cost <= CHEAP)
        or (isinstance(kernel, Pull) and op.jvp is LINEAR)
    )


def footprint(x: Any) -> int:
    """The bytes that keeping `x` costs: of a broadcast view, those of what it repeats."""
    if isinstance(x, np.ndarray):
        if 0 in x.strides:
            return x.itemsize * int(
                np.prod([n for n, s in zip(x.shape, x.strides, strict=True) if s], dtype=int)
            )
        return x.nbytes
    aval = aval_of(x)
    return aval.size * aval.dtype.itemsize


class Made:
    """What was made of what, in one linearization."""

    def __init__(self) -> None:
        self._nodes: dict[int, tuple[Any, Node]] = {}
        self._cheap: dict[Op, bool] = {}
        self._changed: set[int] = set()

    def __bool__(self) -> bool:
        """Whether anything can be made again."""
        return bool(self._nodes)

    def forget(self, x: Any) -> None:
        """`x` may be overwritten now: nothing can be made from it later, nor is it what it was made as."""
        if type(x) is np.ndarray:
            self._changed.add(id(x))
            self._nodes.pop(id(x), None)

    def alive(self, arg: Any) -> Any:
        """The value of an argument of a Node, or None if it is gone or was overwritten."""
        value = arg() if type(arg) is weakref.ref else arg
        return None if value is not None and id(value) in self._changed else value

    def note(self, op: Op, args: Sequence[Any], params: dict[str, Any], out: Any) -> None:
        """`out = op(*args)`, if that is cheap and `out` is large."""
        cheap = self._cheap.get(op)
        if cheap is None:
            cheap = self._cheap[op] = is_cheap(op)
        if not cheap:
            return
        if type(out) is np.ndarray:
            if out.nbytes < SMALL_ARRAY or any(isinstance(a, Value) for a in args):
                return
            held: Any = weakref.ref(out)
        elif type(out) is Var and out.aval.is_static and footprint(out) >= SMALL:
            if any(not aval_of(a).is_static for a in args):
                return
            held = out
        else:
            return
        self._nodes[id(out)] = held, Node(op, [self._arg(a) for a in args], params, aval_of(out))

    def _arg(self, a: Any) -> Any:
        node = self.node(a)
        if type(a) is np.ndarray:
            return (weakref.ref(a), node) if a.nbytes >= SMALL else (a, None)
        return a, node

    def node(self, value: Any) -> Node | None:
        """How `value` was made, if it was noted."""
        entry = self._nodes.get(id(value))
        if entry is None:
            return None
        held = entry[0]() if type(entry[0]) is weakref.ref else entry[0]
        return entry[1] if held is value else None


class Chooser:
    """Which residuals to keep. `free` values cost nothing; `residuals` are all that are needed."""

    def __init__(self, made: Made, free: Iterable[Any], residuals: Sequence[Any]) -> None:
        self.made = made
        self.keep = {id(x) for x in free}
        self.free = set(self.keep)
        nodes = {id(r): made.node(r) for r in residuals if id(r) not in self.keep}
        self.open = {id(r) for r in residuals if nodes.get(id(r)) is not None}
        self.keep |= {id(r) for r in residuals} - self.open
        self.again: dict[int, Node] = {}
        for r in residuals:
            node = nodes.get(id(r))
            if node is not None and id(r) in self.open:
                self._decide(r, node)

    def _decide(self, r: Any, node: Node) -> None:
        leaves: list[Any] = []
        self.open.discard(id(r))
        count = self._plan(node, leaves, MAX_OPS if dtypes.is_inexact(aval_of(r).dtype) else 0)
        new = {id(x): footprint(x) for x in leaves if id(x) not in self.keep and id(x) not in self.open}
        if count is None or sum(new.values()) >= footprint(r):
            self.keep.add(id(r))
            return
        self.again[id(r)] = node
        pinned = {id(x) for x in leaves}
        self.keep |= pinned
        self.open -= pinned

    def _plan(self, node: Node, leaves: list[Any], budget: int) -> int | None:
        """How many operations make `node` from values that exist, which are added to `leaves`."""
        count = 0 if isinstance(node.op.kernel, Pull) else 1
        for arg, inner in node.args:
            value = self.made.alive(arg)
            kept = value is not None and (id(value) in self.keep or id(value) in self.open)
            if value is not None and (kept or _is_small(value)):
                leaves.append(value)
            elif inner is not None and count < budget:
                more = self._plan(inner, leaves, budget - count)
                if more is None:
                    return None
                count += more
            elif value is not None:
                leaves.append(value)
            else:
                return None
        return count if count <= budget else None


def _is_small(x: Any) -> bool:
    least = SMALL_ARRAY if isinstance(x, np.ndarray) else SMALL
    return not isinstance(x, (np.ndarray, Value)) or footprint(x) < least


class Remaker:
    """The equations that make residuals again; `lift` turns a kept value into an atom."""

    def __init__(self, chooser: Chooser, trace: Any, lift: Any) -> None:
        self.chooser = chooser
        self.trace = trace
        self.lift = lift
        self.eqns: list[Eqn] = []
        self._vars: dict[int, Any] = {}

    def var(self, node: Node) -> Var:
        """The variable for what `node` makes."""
        found = self._vars.get(id(node))
        if found is None:
            atoms = tuple([self._atom(arg, inner) for arg, inner in node.args])
            found = self._vars[id(node)] = Var(self.trace, node.aval)
            self.eqns.append(Eqn(node.op, atoms, (found,), node.params, node.source))
        return found

    def _atom(self, arg: Any, inner: Node | None) -> Any:
        value = self.chooser.made.alive(arg)
        keep = self.chooser.keep
        if value is not None and (id(value) in keep or inner is None or _is_small(value)):
            return value if type(value) is Literal else self.lift(value)
        assert inner is not None
        return self.var(inner)
