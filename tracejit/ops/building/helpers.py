"""Builders of op records, and the pieces that rules are made of.

A file of ops states formulas; what follows from "pointwise", "a reduction" or
"a view" is derived here. Rules reach other op families as `ops.shape.…` at
call time, so that every file may use every other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import TypeRuleError
from tracejit.ir.avals import Aval, Shape, aval_of
from tracejit.ir.kernel import Kernel, Pointwise, Pull
from tracejit.ir.primitive import (
    FROM_JVP,
    LINEAR,
    NO_BOUNDS,
    NO_EFFECTS,
    NO_IDENTITIES,
    NO_INPLACE,
    NONLINEAR,
    Op,
    OpFunction,
    Rule,
    Sentinel,
    binds,
    with_linear,
    with_series,
)
from tracejit.ir.values import Zero, is_linear, is_zero
from tracejit.ops.building.values import (
    check_axis,
    check_kind,
    common_dtype,
    common_shape,
    dtype_of,
    kind,
    lift,
    lift_all,
    ndim_of,
    shape_of,
)
from tracejit.tracing import bind

__all__ = [
    "align_pointwise",
    "batch_axes_first",
    "batch_pointwise",
    "broadcast_batch",
    "broadcast_like",
    "check_axis",
    "check_kind",
    "common_dtype",
    "common_shape",
    "dtype_of",
    "each_linear",
    "instantiate",
    "kind",
    "lift",
    "lift_all",
    "linear_in",
    "move_batch_axis",
    "ndim_of",
    "op_function",
    "plain",
    "pointwise",
    "shape_of",
    "shift_axes",
    "sum_jvp",
    "to_batch_axis",
    "unbroadcast",
    "view",
]


def instantiate(x: Any) -> Any:
    """A known zero as an array of zeros; other values unchanged."""
    if not is_zero(x):
        return x
    if x.aval.dtype == dtypes.float0:
        return np.zeros(x.aval.shape, dtypes.float0)
    return ops.shape.broadcast_to(x.aval.dtype.type(0), x.aval.shape)


def broadcast_like(x: Any, shape: Shape) -> Any:
    """A 0-d or full value made full."""
    return x if shape_of(x) == shape else ops.shape.broadcast_to(x, shape)


def unbroadcast(ct: Any, aval: Aval) -> Any:
    """The cotangent of an operand that was read at every element if it was 0-d: summed down."""
    n = ndim_of(ct)
    return ops.reduce.reduce_sum(ct, axes=tuple(range(n))) if n and not aval.ndim else ct


def op_function(op: Op, arity: int | None = None) -> OpFunction[...]:
    """The function that binds `op`: operands by position, params by keyword. `.op` is the record."""

    def unary(x: Any, **params: Any) -> Any:
        return bind(op, *lift_all((x,)), **params)

    def call(*args: Any, **params: Any) -> Any:
        return bind(op, *lift_all(args), **params)

    fn = unary if arity == 1 else call
    fn.__name__ = fn.__qualname__ = op.name
    fn.__doc__ = op.doc
    return binds(op)(fn)


# ---------------------------------------------------------------- batching


def move_batch_axis(x: Any, src: int, dst: int) -> Any:
    """`np.moveaxis(x, src, dst)`."""
    if src == dst:
        return x
    order = [n for n in range(ndim_of(x)) if n != src]
    order.insert(dst, src)
    return ops.shape.transpose(x, permutation=tuple(order))


def batch_axes_first(args: Iterable[Any], dims: Iterable[int | None]) -> list[Any]:
    """Operands with their batch axes at 0, those that have none as they are."""
    return [x if d is None else move_batch_axis(x, d, 0) for x, d in zip(args, dims, strict=True)]


def broadcast_batch(x: Any, dim: int, size: Any) -> Any:
    """An unbatched value with a new axis of `size` equal copies at `dim`."""
    shape = shape_of(x)
    x = ops.shape.expand_dims(x, dimensions=(dim,))
    return ops.shape.broadcast_to(x, (*shape[:dim], size, *shape[dim:]))


def to_batch_axis(x: Any, dim: int | None, dst: int, size: Any) -> Any:
    """`x` with its batch axis at `dst`, broadcast if it is unbatched (`dim` None)."""
    return broadcast_batch(x, dst, size) if dim is None else move_batch_axis(x, dim, dst)


def batch_is_last(args: Sequence[Any], dims: Sequence[int | None]) -> bool:
    """Whether the batched operands (one at least) have their batch axis as the last one, beside others. Rules leave
    it there: `jacfwd` has its directions there, and each move is a transposition."""
    ends = [0 < d == ndim_of(x) - 1 for x, d in zip(args, dims, strict=True) if d is not None]
    return bool(ends) and all(ends)


def shift_axes(axes: Iterable[int], dim: int) -> tuple[int, ...]:
    """Axes of the unbatched value as axes of the value with a batch axis at `dim`."""
    return tuple(a + (a >= dim) for a in axes)


def align_pointwise(size: Any, args: Any, dims: Any) -> tuple[list[Any], int]:
    """Batched operands of a pointwise op made to fit: (operands, their batch axis).

    Unbatched 0-d operands stay; unbatched full ones are broadcast; batched
    scalars are spread over the shape of the full ones.
    """
    ranks = [ndim_of(x) - (d is not None) for x, d in zip(args, dims, strict=True)]
    rank = max(ranks)
    full = {d for d, r in zip(dims, ranks, strict=True) if r == rank and d is not None}
    dim = full.pop() if len(full) == 1 else rank if rank in full else 0
    n = ranks.index(rank)
    shape = [s for i, s in enumerate(shape_of(args[n])) if i != dims[n]]
    shape.insert(dim, size)
    out = []
    for x, d, r in zip(args, dims, ranks, strict=True):
        if r == rank and (d is not None or rank):
            x = to_batch_axis(x, d, dim, size)
        elif d is not None:
            x = ops.shape.expand_dims(x, dimensions=tuple(i for i in range(rank + 1) if i != dim))
            x = ops.shape.broadcast_to(x, tuple(shape))
        out.append(x)
    return out, dim


def batch_pointwise(get_op: Callable[[], Op]) -> Rule:
    """The batch rule of any op that maps element by element."""

    def batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[Any, int]:
        out, dim = align_pointwise(size, args, dims)
        return bind(get_op(), *out, **params), dim

    return batch


# ---------------------------------------------------------------- pointwise ops

Derivative = Callable[..., Any]


def sum_jvp(get_op: Callable[[], Op], derivatives: tuple[Derivative | None, ...]) -> Rule:
    """The jvp rule `sum of d_i(t_i, ans, *primals)`, over the tangents that are not known zeros."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        ans = bind(get_op(), *primals, **params)
        aval = aval_of(ans)
        total = None
        for d, t in zip(derivatives, tangents, strict=True):
            if d is not None and not is_zero(t):
                term = d(t, ans, *primals, **params)
                if is_zero(term):
                    continue
                total = term if total is None else ops.arithmetic.add(total, term)
        return ans, Zero(aval.tangent()) if total is None else broadcast_like(total, aval.shape)

    return jvp


def linear_in(n: int, pullback: Callable[..., Any]) -> Rule:
    """The transpose rule of an op that is linear in operand `n` only: `pullback(ct, *args)`."""

    def transpose(ct: Any, *args: Any, **params: Any) -> list[Any]:
        out: list[Any] = [None] * len(args)
        out[n] = unbroadcast(pullback(ct, *args, **params), args[n].aval)
        return out

    return with_linear(transpose, (n,))


def each_linear(*pullbacks: Callable[..., Any]) -> Rule:
    """The transpose rule of an op linear in each operand, jointly or one at a time:
    `pullbacks[n](ct, *args)` for the operands that are `Linear`."""

    def transpose(ct: Any, *args: Any, **params: Any) -> list[Any]:
        return [
            unbroadcast(p(ct, *args, **params), a.aval) if is_linear(a) else None
            for p, a in zip(pullbacks, args, strict=True)
        ]

    return with_linear(transpose, tuple(range(len(pullbacks))))


def _ufunc_inplace(fn: Callable[..., Any]) -> Rule:
    def inplace(x: Any, *rest: Any) -> Any:
        fits = isinstance(x, np.ndarray) and x.ndim and x.flags.writeable
        return fn(x, *rest, out=x) if fits else fn(x, *rest)

    return inplace


def _first_dtype(*ds: np.dtype) -> np.dtype:
    return ds[0]


def pointwise(
    name: str,
    doc: str,
    fn: Callable[..., Any],
    *,
    kernel: Callable[..., Any] | Kernel,
    derivatives: tuple[Derivative | None, ...] | Sentinel | Rule,
    kinds: str,
    arity: int = 1,
    result: Callable[..., np.dtype] = _first_dtype,
    transpose: Rule | Sentinel = NONLINEAR,
    simplify: tuple[Rule, ...] | Sentinel = NO_IDENTITIES,
    bounds: Rule | Sentinel = NO_BOUNDS,
    cost: int = 1,
    inplace: bool = False,
    series: Rule | Sentinel = FROM_JVP,
) -> OpFunction[...]:
    """Register an op that maps element by element, and return the function that binds it.

    `fn` is NumPy's function, `kernel(k, *xs, **params)` the scalar code (or a
    kernel form). `derivatives` has for every operand `(t, ans, *xs, **params) ->
    tangent`, None for a zero derivative; or it is a sentinel or a whole jvp rule (then give `arity`).
    `kinds` are the dtype kinds taken ('biufc'); `result(dtype) -> dtype`.
    `inplace`: `fn` is a ufunc and may overwrite its first operand. `series`: see `with_series`.
    """
    count = len(derivatives) if isinstance(derivatives, tuple) else arity

    def type_rule(*avals: Aval, **params: Any) -> Aval:
        if len(avals) != count:
            raise TypeRuleError(op=name, problem=f"takes {count} operands, not {len(avals)}")
        check_kind(name, kinds, *avals)
        return Aval(common_shape(name, avals), result(common_dtype(name, avals)))

    def get_op() -> Op:
        return op

    op = Op(
        name=name,
        doc=doc,
        multi=False,
        type=type_rule,
        eval=fn,
        inplace=_ufunc_inplace(fn) if inplace else NO_INPLACE,
        jvp=with_series(sum_jvp(get_op, derivatives), series)
        if isinstance(derivatives, tuple)
        else derivatives,
        linearize=FROM_JVP,
        transpose=transpose,
        batch=batch_pointwise(get_op),
        simplify=simplify,
        effects=NO_EFFECTS,
        bounds=bounds,
        kernel=kernel if isinstance(kernel, Kernel) else Pointwise(kernel, cost),
    )
    return op_function(op, count)


# ---------------------------------------------------------------- others


def plain(
    name: str,
    doc: str,
    *,
    type: Rule,
    eval: Rule,
    jvp: Rule | Sentinel,
    transpose: Rule | Sentinel,
    batch: Rule,
    kernel: Kernel,
    multi: bool = False,
    linearize: Rule | Sentinel = FROM_JVP,
    effects: Rule | Sentinel = NO_EFFECTS,
) -> Op:
    """Register an op that has these rules and no more: no identities, no range of results, no form that overwrites
    an operand. Loops, calls and callbacks are such ops."""
    return Op(
        name=name,
        doc=doc,
        multi=multi,
        type=type,
        eval=eval,
        inplace=NO_INPLACE,
        jvp=jvp,
        linearize=linearize,
        transpose=transpose,
        batch=batch,
        simplify=NO_IDENTITIES,
        effects=effects,
        bounds=NO_BOUNDS,
        kernel=kernel,
    )


# ---------------------------------------------------------------- views


def view(
    name: str,
    doc: str,
    *,
    type: Rule,
    eval: Rule,
    transpose: Rule,
    batch: Rule,
    pull: Rule | Pull,
    simplify: tuple[Rule, ...] | Sentinel = NO_IDENTITIES,
) -> Op:
    """Register an op that moves elements and computes nothing: linear, an index map in kernels (or a whole form)."""
    return Op(
        name=name,
        doc=doc,
        multi=False,
        type=type,
        eval=eval,
        inplace=NO_INPLACE,
        jvp=LINEAR,
        linearize=FROM_JVP,
        transpose=transpose,
        batch=batch,
        simplify=simplify,
        effects=NO_EFFECTS,
        bounds=NO_BOUNDS,
        kernel=pull if isinstance(pull, Pull) else Pull(pull),
    )
