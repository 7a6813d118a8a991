"""Kernel forms: what an op looks like to the code generator.

A record's `kernel` slot holds one of these. The lowering knows forms, never an
op by name. Scalar code is written against the loop IR's builder `k`
(`lowering.loops.builder.Builder`): its values carry a `.dtype`, and the same function
serves the CPU, CUDA and the tests.

Index arguments are int64 builder values; `idx` has one per output dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from tracejit.records import record


class Unsupported(Exception):
    """Scalar code has no native form for these dtypes; the op then runs opaquely."""


class Kernel:
    """Base of all kernel forms."""


@record(frozen=True)
class Pointwise(Kernel):
    """out[i] = fn(k, x0[i], x1[i], ..., **params). 0-d operands are read at ().

    `fn` returns one scalar, or a tuple for an op with several outputs.
    `cost` is a rough number of flops an element; `cheap` values may be recomputed.
    """

    fn: Callable[..., Any]
    cost: int = 1


@record(frozen=True)
class Barrier(Pointwise):
    """The operand. It keeps what is computed from it from being merged with what is computed from the operand, and is
    taken out when the passes are done."""


@record(frozen=True)
class Pull(Kernel):
    """out[idx] = fn(k, idx, operands, out, **params): views, broadcasts, gathers, iota.

    `operands[n]` has `.aval`, `.extent(axis)` (an int or an int64 builder value)
    and is read with `operands[n][i0, i1, ...]`, which inlines the producer.
    `out` is the output aval with `.extent(axis)`.
    `alias`: out is operand 0's elements in the same C order (reshape), so that
    it needs no code where operand 0 is stored contiguously.
    """

    fn: Callable[..., Any]
    alias: bool = False


@record(frozen=True)
class Repeat(Pull):
    """Operand 0 repeated to params['shape'] (static where it is the only operand), its axis n being axis
    params['broadcast_dimensions'][n] of the result: new axes, and those of size 1."""


@record(frozen=True)
class Permute(Pull):
    """The axes of operand 0 in another order: axis n of the result is its axis params['permutation'][n]."""


@record(frozen=True)
class Reduce(Kernel):
    """Reduce operand 0 over `params['axes']` (a tuple of ints).

    `init(k, dtype)` gives the state (tuple of scalars) before the first element
    (`dtype`: the operand's), `step(k, state, x, index)` the next one, where
    `index` is the int64 position in the flattened reduced axes in C order, and
    `finish(k, state, dtype)` the output scalar (`dtype`: the output's).
    `tree='sum'` asks for the blocked, vectorised, compensated summation tree;
    'reassoc' says the step may be reordered freely (max, any, integer sum), so that it also takes a
    state of one scalar in the place of x; 'ordered' that it may not. `extreme(k, x, y)` (or None) says
    that the state of floats is (extreme element, its first index): the one of two that it keeps, NaN if
    either is.
    """

    init: Callable[..., tuple]
    step: Callable[..., tuple]
    finish: Callable[..., Any]
    tree: str
    extreme: Callable[..., Any] | None = None


@record(frozen=True)
class Cumulative(Kernel):
    """Running reduction of operand 0 along `params['axis']`, backwards if `params['reverse']`.

    `init(k, dtype)` -> scalar, `step(k, acc, x)` -> scalar.
    """

    init: Callable[..., Any]
    step: Callable[..., Any]


@record(frozen=True)
class Update(Kernel):
    """Write (parts of) operands into a base: update-slice, scatter, concatenate, pad.

    `base(params)` -> the operand number whose value the output starts from (it
    is updated in place when it is dead), ('fill', n) to start from 0-d operand
    n everywhere, or None when the segments cover the output.
    `segments(params, avals, out)` -> a list of `Segment`s, applied in order.
    """

    base: Callable[[dict[str, Any]], Any]
    segments: Callable[..., list[Segment]]


@record(frozen=True)
class Segment:
    """For every idx of operand `source`'s shape: out[place(...)] (combine)= source[idx].

    `place(k, idx, operands, out)` -> (out_idx, predicate or None); where the
    predicate is false nothing is written. `combine`: None to overwrite, or a
    function (k, old, new) -> scalar. Segments with a `combine`, or whose places
    may repeat (`repeats`), run in order.
    """

    source: int
    place: Callable[..., Any]
    combine: Callable[..., Any] | None = None
    repeats: bool = False


@record(frozen=True)
class Contract(Kernel):
    """A matrix product: params['dimension_numbers'] = ((lhs_c, rhs_c), (lhs_b, rhs_b)) as in JAX.

    `permute`: the op that gives an array's axes the order of its param `permutation`.
    """

    permute: Any


@record(frozen=True)
class Opaque(Kernel):
    """Runs the record's `eval` from native code, holding the GIL, on views of the buffers.

    Works anywhere (loops too); costs microseconds a call. `spelled(**params)`: the same as an expression of NumPy's for
    files that need no tracejit, with `{0}`, `{1}` for operands; None, as where there is no such function, for params
    with which it would be another thing. `on_device`: what it is called among the operations of a device's libraries
    (`lowering.cuda.libs.operations`), if it is one of them.
    """

    spelled: Callable[..., str | None] | None = field(default=None, kw_only=True)
    on_device: str = field(default="", kw_only=True)


@record(frozen=True)
class Filling(Opaque):
    """`into(*results, *operands, **params)` fills arrays that are there, so that nothing is copied; it says False
    where it can't, and `eval` runs."""

    into: Callable[..., bool]


@record(frozen=True)
class Routine(Opaque):
    """A library's routine that native code calls by its address, without Python.

    `routine(k, operands, results, avals, **params)` writes the calls. Operands and results are buffers, whole arrays in
    C order of static shapes; `avals` are those of the operands. It says False, before it has written anything, where
    it can't, and `eval` runs.
    """

    routine: Callable[..., bool]


@record(frozen=True)
class Entering(Routine):
    """Names the random generators, inputs of the program, that its run has to hold: who runs the program does it
    before, and `routine` writes nothing."""


@record(frozen=True)
class Composite(Opaque):
    """A formula of other ops: `fn(*operands, **params) -> output`, a list for an op with several.

    `fn` is given and gives raw values of the staging trace. The jit interpreter puts what it binds in
    the equation's place before the passes run, so it fuses like everything else. Where `fn` gives None
    (for these shapes or dtypes), the op runs by `routine` as a `Routine` does, or opaquely, by `into` as a
    `Filling` does, if there are such.
    """

    fn: Callable[..., Any]
    into: Callable[..., bool] | None = None
    routine: Callable[..., bool] | None = None


@record(frozen=True)
class Constant(Opaque):
    """The array `params['value'].array`, no operands; params['value'] is equal where the array is the same.

    The jit interpreter makes it an operand of the program; where it can't, it runs opaquely.
    """


@record(frozen=True)
class UserCode(Opaque):
    """Runs a function of the user's, which may raise: never moved to where it might not have run."""


@record(frozen=True)
class CallRegion(Kernel):
    """Inlines `params['jaxpr']` over the operands.

    `leading`: the params that count the jaxpr's leading inputs, where it may be given more of these and the
    op as many operands more; None where the op could not say what they are.
    """

    leading: tuple[str, ...] | None = None


@record(frozen=True)
class CondRegion(Kernel):
    """`params['branches']` (jaxprs over operands[1:]); operand 0 is the int32/int64/bool branch index."""


@record(frozen=True)
class WhileRegion(Kernel):
    """operands = cond_consts + body_consts + carry; outputs carry + rows.

    params: `cond` and `body` (jaxprs over their consts + carry), `cond_consts`,
    `body_consts` (counts). What `body` gives beyond the carry are rows: the output has those of all
    steps, on a tape that grows. The first carry then is an int64 that starts at 0 and counts the
    steps, and as an output is the leading dimension of the rows.
    """


@record(frozen=True)
class ScanRegion(Kernel):
    """operands = [length if params['length'] is None] + consts + carry + xs; outputs carry + ys.

    params: `jaxpr` takes (i, *consts, *carry, *x_slices) and gives (*carry, *y_slices),
    where i is the int64 position 0..length-1 of the slices (counted down when
    `reverse`); `length` an int, or None when it is operand 0 (then the leading
    dimension of ys is `Dim(operand 0, params['bound'])`); `consts`, `carry` counts; `reverse`.
    """


@record(frozen=True)
class NoKernel(Kernel):
    """Never reaches the lowering; `reason` says which pass or interpreter removes it."""

    reason: str
