"""Reductions of windows under JAX's names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import ops, tree
from tracejit.control.regions.staging import Staged, stage_user
from tracejit.control.structured.loops import scan
from tracejit.errors import ShapeError, WindowComputationError
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.vmap import batch_flat, batch_to_front
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.values import Value
from tracejit.ops.building.values import dtype_of, lift, shape_of
from tracejit.ops.convolution import pooling
from tracejit.ops.convolution.conv_shapes import dilated, padding_of
from tracejit.ops.convolution.pooling import Pool
from tracejit.ops.kernels import scalar_order
from tracejit.tracing import to_raw, wrap

_LEAF = tree.structure(0)

#: op of the computation -> (reduction of windows, its identity, the op itself)
_MONOIDS: dict[str, tuple[Callable[..., Any], Callable[[np.dtype], Any], Callable[..., Any]]] = {
    "add": (pooling.reduce_window_sum, lambda d: 0, ops.arithmetic.add),
    "mul": (pooling.reduce_window_prod, lambda d: 1, ops.arithmetic.mul),
    "maximum": (pooling.reduce_window_max, scalar_order.lowest, ops.arithmetic.maximum),
    "minimum": (pooling.reduce_window_min, scalar_order.highest, ops.arithmetic.minimum),
    "and_": (
        pooling.reduce_window_and,
        lambda d: -1 if d.kind == "i" else scalar_order.highest(d),
        ops.compare.and_,
    ),
    "or_": (pooling.reduce_window_or, lambda d: 0, ops.compare.or_),
}


def padtype_to_pads(
    in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: str
) -> list[tuple[int, int]]:
    """'SAME', 'SAME_LOWER' or 'VALID' padding as pairs, for windows of these (dilated) sizes."""
    return list(padding_of("padtype_to_pads", padding, in_shape, window_shape, window_strides))


def _pool(
    shape: Sequence[Any], dimensions: Any, strides: Any, padding: Any, base: Any = None, window: Any = None
) -> Pool:
    ones = (1,) * len(dimensions)
    strides, base, window = (ones if p is None else tuple(map(int, p)) for p in (strides, base, window))
    sizes = [dilated(n, d) for n, d in zip(dimensions, window, strict=False)]
    if isinstance(padding, str) and len(sizes) != len(shape):
        raise ShapeError(
            op="reduce_window", problem=f"windows {tuple(dimensions)} do not fit the shape {tuple(shape)}"
        )
    pads = padding_of("reduce_window", padding, shape, sizes, strides)
    return Pool(tuple(map(int, dimensions)), strides, pads, base, window)


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of a reduction of windows."""
    pool = _pool(operand_shape, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    return pool.result("reduce_window", Aval(tuple(operand_shape), np.dtype(np.float64)))


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Each window of `operand` reduced by `computation`, starting from `init_value`, with which it is padded.

    Every axis has a window size, a stride, and padding: 'SAME', 'SAME_LOWER', 'VALID' or pairs (before,
    after). `computation(a, b)` of two numbers is addition, multiplication, max, min, `and`, `or`, or any
    other (slower: a loop over the elements of a window). Of trees of operands it gets and gives two trees.

    Raises:
        WindowComputationError: `computation` gives other types than it takes.
        ShapeError: the parameters do not fit the operand.
    """
    leaves, treedef = tree.flatten(operand)
    xs = [to_raw(x, "an operand of reduce_window") for x in leaves]
    inits = [
        lift(i, x) if not isinstance(i, Value) else i
        for i, x in zip(_inits(init_value, treedef), xs, strict=True)
    ]
    pool = _pool(shape_of(xs[0]), window_dimensions, window_strides, padding, base_dilation, window_dilation)
    staged = _staged(computation, treedef, xs)
    monoid = _monoid(staged) if len(xs) == 1 else None
    if monoid is not None:
        return tree.unflatten(treedef, [wrap(_reduced(xs[0], inits[0], _MONOIDS[monoid], pool))])
    return _folded(xs, inits, staged, treedef, pool)


def _inits(init_value: Any, treedef: Any) -> list[Any]:
    inits, given = tree.flatten(init_value)
    if len(inits) != treedef.num_leaves:
        raise ShapeError(
            op="reduce_window", problem=f"initial values {given} do not fit the operands {treedef}"
        )
    return [x if type(x) in (bool, int, float, complex) else to_raw(x) for x in inits]


def _staged(computation: Callable[..., Any], treedef: Any, xs: list[Any]) -> Staged:
    """The computation as a jaxpr of numbers."""
    avals = [Aval((), dtype_of(x)) for x in xs]
    staged = stage_user(computation, [treedef, treedef], avals * 2, [False] * (2 * len(xs)), "reduce_window")
    if staged.out_avals != avals:
        found = ", ".join(map(str, staged.out_avals)) or "nothing"
        raise WindowComputationError(wanted=", ".join(map(str, avals)), found=found)
    return staged


def _monoid(staged: Staged) -> str | None:
    """The op that the computation consists of, if we reduce by it."""
    jaxpr = staged.jaxpr
    if len(jaxpr.eqns) != 1 or staged.consts:
        return None
    (eqn,) = jaxpr.eqns
    plain = set(eqn.invars) == set(jaxpr.invars) and len(eqn.invars) == 2 and jaxpr.outs[0] is eqn.outvars[0]
    (dtype,) = {v.aval.dtype for v in jaxpr.invars}
    logical = dtype.kind == "b" and eqn.op.name in ("add", "mul")
    complex_order = dtype.kind == "c" and eqn.op.name in ("maximum", "minimum")
    return eqn.op.name if plain and eqn.op.name in _MONOIDS and not (logical or complex_order) else None


def _reduced(x: Any, init: Any, monoid: Any, pool: Pool) -> Any:
    """The reduction of windows; an initial value that is not the identity takes part in each."""
    reduction, identity, combine = monoid
    neutral = dtype_of(x).type(identity(dtype_of(x)))
    init = ops.create.convert(init, dtype_of(x))
    if not isinstance(init, Value) and np.array_equal(init, neutral):
        return reduction(x, pool)
    x = ops.concat.pad(x, init, padding_config=pool.config)
    ndim = len(shape_of(x))
    rest = Pool(pool.dimensions, pool.strides, ((0, 0),) * ndim, (1,) * ndim, pool.window_dilation)
    out = reduction(x, rest)
    return combine(out, init)


def _folded(xs: list[Any], inits: list[Any], staged: Staged, treedef: Any, pool: Pool) -> Any:
    """A loop over the elements of the windows, all windows at a time."""
    out_shape = pool.result("reduce_window", aval_of(xs[0]))
    places = math.prod(out_shape)
    rows, starts = [], []
    for x, init in zip(xs, inits, strict=True):
        init = ops.create.convert(init, dtype_of(x))
        w = ops.concat.pad(x, init, padding_config=pool.config)
        w = ops.sliding.sliding_windows(w, pool.windows)
        w = ops.shape.reshape(w, shape=(places, pool.size))
        rows.append(wrap(ops.shape.transpose(w, permutation=(1, 0))))
        starts.append(wrap(ops.shape.broadcast_to(init, (places,))))

    def step(carry: Any, x: Any) -> tuple[Any, None]:
        args = [to_raw(a) for a in (*carry, *x)]
        outs, dims = batch_flat(
            lambda *ys: eval_jaxpr(staged.jaxpr, [*staged.consts, *ys]), places, args, [0] * len(args)
        )
        return [wrap(batch_to_front(o, d, places)) for o, d in zip(outs, dims, strict=True)], None

    final, _ = scan(step, starts, rows)
    return tree.unflatten(treedef, [wrap(ops.shape.reshape(to_raw(o), shape=out_shape)) for o in final])
