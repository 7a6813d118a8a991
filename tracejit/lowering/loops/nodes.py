"""The loop IR: structured loops over scalar code. `builder.Builder` records it.

A `Program` is one native entry: buffers, external calls, and a tree of
statements. Scalars are SSA registers; loop-carried scalars live in slots.
Emitters (LLVM for the CPU, NVPTX for CUDA) translate it node by node; every
decision about fusion, memory and order has been taken before.

Dtypes are NumPy's. Booleans are one bit in registers and a byte in memory.
Complex values are pairs of registers (`Pair`) that only the builder knows.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import Any

import numpy as np

from tracejit.lowering.loops.recorder import Recorder
from tracejit.records import record

I64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)
#: The status of a program that found no memory; those of failed checks are positive.
OUT_OF_MEMORY = -2
#: Instructions that a call is taken for of which nothing is known.
UNKNOWN_COST = 10**6


# ---------------------------------------------------------------- nodes


@record(eq=False)
class Buffer:
    """A block of memory of `size` elements (an int, or an int64 operand for heap buffers).

    kind: 'arg' (pointer number `slot` of the call), 'arena' (byte offset `slot` into the
    arena, set by the memory plan), 'private' (byte offset `slot` into the memory of each thread in the
    one loop that uses it), 'stack', 'heap' (Alloc/Grow/Free statements), 'field' (what starts `slot`
    bytes, an int or an int64 operand, into the heap buffer `block`), 'pointer' (a variable that
    SetPointer points at other buffers).
    """

    name: str
    dtype: np.dtype
    size: Any
    kind: str
    slot: Any = -1
    block: Buffer | None = None


@record(eq=False)
class Slot:
    """A mutable scalar (promoted to a register by the compiler)."""

    name: str
    dtype: np.dtype


@record(eq=False)
class Reg:
    """An SSA scalar. Operators apply to its builder; Python numbers adopt its dtype."""

    id: int
    dtype: np.dtype
    k: Recorder = field(repr=False)

    def __add__(self, o: Any) -> Any:
        return self.k.add(self, o)

    def __radd__(self, o: Any) -> Any:
        return self.k.add(o, self)

    def __sub__(self, o: Any) -> Any:
        return self.k.sub(self, o)

    def __rsub__(self, o: Any) -> Any:
        return self.k.sub(o, self)

    def __mul__(self, o: Any) -> Any:
        return self.k.mul(self, o)

    def __rmul__(self, o: Any) -> Any:
        return self.k.mul(o, self)

    def __truediv__(self, o: Any) -> Any:
        return self.k.div(self, o)

    def __rtruediv__(self, o: Any) -> Any:
        return self.k.div(o, self)

    def __neg__(self) -> Any:
        return self.k.neg(self)

    def __lt__(self, o: Any) -> Any:
        return self.k.lt(self, o)

    def __le__(self, o: Any) -> Any:
        return self.k.le(self, o)

    def __gt__(self, o: Any) -> Any:
        return self.k.gt(self, o)

    def __ge__(self, o: Any) -> Any:
        return self.k.ge(self, o)

    def __and__(self, o: Any) -> Any:
        return self.k.and_(self, o)

    def __or__(self, o: Any) -> Any:
        return self.k.or_(self, o)

    def __xor__(self, o: Any) -> Any:
        return self.k.xor(self, o)

    def __invert__(self) -> Any:
        return self.k.not_(self)


def _operator(name: str) -> Any:
    """A register's operator for constants: of the builder that either operand knows."""
    operator = getattr(Reg, name)

    def apply(x: Const, *others: Any) -> Any:
        return operator(x if x.k is not None or not others else replace(x, k=others[0].k), *others)

    return apply


@record(frozen=True)
class Const:
    """A scalar constant; `value` is a Python number. Those of a builder have a register's operators."""

    value: Any
    dtype: np.dtype
    k: Any = field(default=None, repr=False, compare=False)

    __add__, __radd__, __sub__, __rsub__ = map(_operator, ("__add__", "__radd__", "__sub__", "__rsub__"))
    __mul__, __rmul__, __neg__ = map(_operator, ("__mul__", "__rmul__", "__neg__"))
    __truediv__, __rtruediv__ = map(_operator, ("__truediv__", "__rtruediv__"))
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("__lt__", "__le__", "__gt__", "__ge__"))
    __and__, __or__, __xor__, __invert__ = map(_operator, ("__and__", "__or__", "__xor__", "__invert__"))


@record(frozen=True)
class Size(Const):
    """A constant whose value a program is given at every call: it is `params[index]`, the bits of a double
    for floats (-1: not yet known), plus `more`. Programs that differ in such values only are the same code."""

    index: int = -1
    more: int = 0


@record(eq=False)
class Pair:
    """A complex scalar: two floats. `dtype` is the complex dtype."""

    re: Any
    im: Any
    dtype: np.dtype
    k: Recorder = field(repr=False)

    __add__, __radd__, __sub__, __rsub__ = Reg.__add__, Reg.__radd__, Reg.__sub__, Reg.__rsub__
    __mul__, __rmul__, __neg__ = Reg.__mul__, Reg.__rmul__, Reg.__neg__
    __truediv__, __rtruediv__ = Reg.__truediv__, Reg.__rtruediv__


Operand = Reg | Const


@record(frozen=True)
class IndexCheck:
    """An index outside ends the program with status `code` (> 0), and leaves itself and the size for the message.
    `wraps`: negative ones count from the end. `below`: it is known to be less than the size."""

    code: int
    wraps: bool = True
    below: bool = False


@record(eq=False)
class Inst:
    """out = op(args). `attr`: the predicate of 'cmp', the function name of 'math',
    the Buffer of 'load', the Slot of 'get', the IndexCheck of 'index', 'reassoc' on an accumulating fadd/fmul,
    'nsw' on int64 sums and products that are known not to overflow.

    ops: fadd fsub fmul fdiv fneg fabs sqrt floor ceil trunc rint copysign fma fmaximum
    fminimum; iadd isub imul sdiv srem udiv urem shl ashr lshr smax smin umax umin;
    and or xor not popcount clz ctz; cmp select cast bitcast; math load get param;
    index (i, size): `i` inside of [0, size), or the program ends.
    """

    op: str
    out: Reg
    args: tuple[Operand, ...]
    attr: Any = None


@record(eq=False)
class Store:
    """buffer[index] = value; with `op`, one of LLVM's `atomicrmw`: buffer[index] = op(buffer[index], value), in one
    step for the threads of a device."""

    buffer: Buffer
    index: Operand
    value: Operand
    op: str = ""


@record(eq=False)
class SetSlot:
    slot: Slot
    value: Operand


@record(eq=False)
class SetPointer:
    """Point a 'pointer' buffer at `target` (any buffer)."""

    buffer: Buffer
    target: Buffer


@record(eq=False)
class Rotate:
    """Each of these 'pointer' buffers takes what the next one points at, and the last what the first one did.
    They never share memory."""

    pointers: tuple[Buffer, ...]


@record(eq=False)
class For:
    """for var in range(start, stop): body. `vector` asks for vectorisation (iterations are
    independent but for reassociable accumulators); `down` counts from stop-1 to start.
    `most`: iterations that it has at most, as far as that is known before the program runs.
    `poll`: iterations (a power of two) between looks for Ctrl-C, 0 for none; `ticks`: work that an
    iteration is charged (see `interrupt`).

    `independent`: no iteration reads or writes what another one writes, but for buffers and slots that
    each fills before it reads them. `rare`: few iterations beside those of other loops, so that it is not worth being
    made fast, nor looking for Ctrl-C. `grain`: iterations (a power of two) that are worth a thread's
    attention, 0 where one thread runs all (see `parallel`); `private`: the buffers that each thread has
    of its own, `scratch` bytes in all of those of that kind. `streams`: the results that it fills past the cache
    (see `streams`). `lanes`: threads of a device take its iterations, each with loops of steps (`cuda.lanes`)."""

    var: Reg
    start: Operand
    stop: Operand
    body: Block
    vector: bool = False
    down: bool = False
    independent: bool = False
    rare: bool = False
    most: float = math.inf
    poll: int = 0
    ticks: int = 0
    grain: int = 0
    private: list[Buffer] = field(default_factory=list)
    scratch: int = 0
    streams: list[Buffer] = field(default_factory=list)
    lanes: bool = False


@record(eq=False)
class While:
    """while (run `head`; cond): body. `most`, `poll` and `ticks` as in `For`; `charge`: work that the iterations are
    charged for, each, when the loop has ended."""

    head: Block
    cond: Any
    body: Block
    most: float = math.inf
    poll: int = 0
    ticks: int = 0
    charge: int = 0


@record(eq=False)
class If:
    cond: Operand
    then: Block
    orelse: Block


@record(eq=False)
class Call:
    """Call external `target`. `args`: operands, Buffers (passed as pointers), (Buffer, index)
    for a pointer to an element, or Slots (pointers to scalars). `out`: a Reg or None. Where
    `checked`, a nonzero int32 result ends the program with that status. `work`: about how many instructions
    it takes, if it may be called from several threads at a time and has none of its own; otherwise 0. `cost`:
    about how many instructions loops that look for Ctrl-C take it for, few where it lies in a branch that is seldom
    taken."""

    target: External
    args: tuple[Any, ...]
    out: Reg | None = None
    checked: bool = False
    work: int = 0
    cost: int = UNKNOWN_COST


@record(eq=False)
class Alloc:
    """Allocate a heap buffer; `size` elements, an int64 operand."""

    buffer: Buffer
    size: Operand


@record(eq=False)
class Grow:
    """Make a heap buffer hold at least `size` bytes; what it held stays. Its size doubles each time, so that
    n pushes cost O(n), and the next call starts with the size that this one needed."""

    buffer: Buffer
    size: Operand


@record(eq=False)
class Give:
    """Hand a heap block over to the caller: `buffer` (it, or a field of it) as the addresses of the data and of
    the block, two int64 in `target`. Blocks are given for good after all of `pairs` (buffer, target)."""

    pairs: tuple[tuple[Buffer, Buffer], ...]


@record(eq=False)
class Free:
    buffer: Buffer


@record(eq=False)
class Copy:
    """Copy `count` elements from `source` to `target` (not overlapping)."""

    target: Buffer
    source: Buffer
    count: Operand


@record(eq=False)
class Comment:
    """A line for the reader: the jaxpr equation, and the place in the user's source (an `ir.source.Source`)."""

    text: str
    source: Any = None


@record(eq=False)
class Block:
    stmts: list[Any] = field(default_factory=list)


def blocks_of(stmt: Any) -> tuple[Block, ...]:
    """The blocks nested directly in a statement."""
    kind = type(stmt)
    if kind not in NESTED:
        return ()
    if kind is For:
        return (stmt.body,)
    return (stmt.head, stmt.body) if kind is While else (stmt.then, stmt.orelse)


#: The statements with blocks.
NESTED = frozenset((For, While, If))


@record(frozen=True)
class External:
    """A function reached through the pointer table. `signature`: e.g. 'i32(ptr,i64,f64)'.
    `name` finds its address at bind time (lowering.runtime.executable), e.g. 'blas:dgemm', 'callback:3'."""

    name: str
    signature: str


@record(eq=False)
class Program:
    """One native entry. `args`: the buffers of the call's pointers, in order (inputs, then
    outputs); `externals` in table order; `params` the int64 values passed at every call;
    `may_alias` pairs of different buffers that share memory (an output given an input's);
    `fixed_params`: how many params are known before the emission; where sizes are params, the emitter
    adds those that follow from the memory plan. -1: sizes are constants;
    `fastmath`: a product and a sum may be rounded once; `uniform`: it has vectorised loops with tests that do not
    change in them, which select: there is to be one form of these loops for all outcomes."""

    name: str
    body: Block
    args: list[Buffer] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    externals: list[External] = field(default_factory=list)
    params: list[int] = field(default_factory=list)
    fixed_params: int = -1
    arena_bytes: int = 0
    may_alias: list[tuple[Buffer, Buffer]] = field(default_factory=list)
    fastmath: bool = False
    uniform: bool = False
