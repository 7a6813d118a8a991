"""`lax.reduce`: reduction by any monoid, of several operands at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tracejit import ops, tree
from tracejit.control.regions.staging import Staged, stage_user
from tracejit.control.structured import loops
from tracejit.errors import CarryStructureError, CarryTypeError, DynamicExtentError, ShapeError
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.vmap import batch_flat, batch_to_front
from tracejit.ir.avals import Aval, aval_of
from tracejit.ops.building.dims import normalize_axis
from tracejit.ops.reductions import reduce as red
from tracejit.tracing import to_raw, wrap

#: Computations that are one equation of the two operands: the reduction that does the same.
_KNOWN: dict[str, Callable[..., Any]] = {
    "add": red.reduce_sum, "mul": red.reduce_prod, "maximum": red.reduce_max, "minimum": red.reduce_min,
    "and_": red.reduce_and, "or_": red.reduce_or, "xor": red.reduce_xor,
}  # fmt: skip


def reduce(
    operands: Any, init_values: Any, computation: Callable[[Any, Any], Any], dimensions: Sequence[int]
) -> Any:
    """Reduce arrays over `dimensions` by `computation`, a function of two (trees of) scalars that gives one.

    `operands` is an array or a tree of arrays of one shape, `init_values` a tree alike of scalars: the identity
    of the computation, which must be associative. Then `computation(accumulated, elements)` takes trees too,
    so that for example pairs of (value, index) reduce to a maximum and its place. The elements are taken in
    C order. Sums, products, extrema and bitwise operations are recognised and take their own reductions.

    Raises:
        ShapeError: operands of different shapes, or initial values that are no scalars.
        CarryTypeError, CarryStructureError: the computation does not give what it is given.
    """
    leaves, structure = tree.flatten(operands)
    inits, init_structure = tree.flatten(init_values)
    if structure != init_structure:
        raise CarryStructureError(op="reduce", before=str(structure), after=str(init_structure))
    xs = [to_raw(x) for x in leaves]
    starts = [
        ops.create.convert(i, aval_of(x).dtype) if aval_of(i).dtype != aval_of(x).dtype else i
        for x, i in zip(xs, map(to_raw, inits), strict=True)
    ]
    axes = _check(xs, starts, dimensions)
    if not axes:
        return operands
    staged = _stage(computation, structure, xs)
    known = _known(staged, xs, starts, axes) if len(xs) == 1 else None
    outs = [known] if known is not None else _fold(staged, xs, starts, axes)
    return tree.unflatten(structure, [wrap(o) for o in outs])


def _check(xs: list[Any], starts: list[Any], dimensions: Sequence[int]) -> tuple[int, ...]:
    if not xs:
        raise ShapeError(op="reduce", problem="there is nothing to reduce")
    shape = aval_of(xs[0]).shape
    if any(aval_of(x).shape != shape for x in xs):
        raise ShapeError(op="reduce", problem="operands of different shapes")
    if any(aval_of(s).shape for s in starts):
        raise ShapeError(op="reduce", problem="the initial values are scalars")
    axes = tuple(sorted(normalize_axis("reduce", d, len(shape)) for d in dimensions))
    if len(set(axes)) != len(axes):
        raise ShapeError(op="reduce", problem=f"dimensions {tuple(dimensions)} are not distinct")
    if not all(type(d) is int for d in shape):
        raise DynamicExtentError(
            op="reduce", problem=f"the shape {shape} has a size that is a traced integer"
        )
    return axes


def _stage(computation: Callable[..., Any], structure: Any, xs: list[Any]) -> Staged:
    scalars = [Aval((), aval_of(x).dtype) for x in xs]
    staged = stage_user(
        computation, [structure, structure], [*scalars, *scalars], [False] * (2 * len(xs)), "reduce"
    )
    if staged.out_tree != structure:
        raise CarryStructureError(op="reduce", before=tree.show(structure), after=tree.show(staged.out_tree))
    for path, want, got in zip(staged.paths, scalars, staged.out_avals, strict=True):
        if want != got:
            raise CarryTypeError(op="reduce", path=path, before=str(want), after=str(got))
    return staged


def _known(staged: Staged, xs: list[Any], starts: list[Any], axes: tuple[int, ...]) -> Any:
    """The reduction that the computation is, combined with the initial value; None if it is another one."""
    eqns = staged.jaxpr.eqns
    if staged.consts or len(eqns) != 1 or eqns[0].op.name not in _KNOWN:
        return None
    (eqn,) = eqns
    if list(staged.jaxpr.outs) != list(eqn.outvars) or {*map(id, eqn.invars)} != {
        *map(id, staged.jaxpr.invars)
    }:
        return None
    (x,), (start,) = xs, starts
    if 0 in (aval_of(x).shape[a] for a in axes):
        kept = tuple(d for n, d in enumerate(aval_of(x).shape) if n not in axes)
        return ops.shape.broadcast_to(start, kept)
    total = _KNOWN[eqn.op.name](x, axes=axes)
    return eval_jaxpr(staged.jaxpr, [ops.shape.broadcast_to(start, aval_of(total).shape), total])[0]


def _fold(staged: Staged, xs: list[Any], starts: list[Any], axes: tuple[int, ...]) -> list[Any]:
    """One step an element of the reduced axes; the kept axes are a batch."""
    shape = aval_of(xs[0]).shape
    kept = tuple(n for n in range(len(shape)) if n not in axes)
    lanes = tuple(int(shape[n]) for n in kept)  # type: ignore[arg-type]
    length, size = math.prod(int(shape[n]) for n in axes), math.prod(lanes)  # type: ignore[arg-type]
    rows = [
        ops.shape.reshape(ops.shape.transpose(x, permutation=(*axes, *kept)), shape=(length, size))
        for x in xs
    ]
    carry = tuple(wrap(ops.shape.broadcast_to(s, (size,))) for s in starts)
    if size:
        carry, _ = loops.scan(_step(staged, size), carry, tuple(map(wrap, rows)), length=length)
    return [ops.shape.reshape(to_raw(c), shape=lanes) for c in carry]


def _step(staged: Staged, size: int) -> Callable[..., Any]:
    def step(carry: Any, row: Any) -> tuple[Any, None]:
        args = [*staged.consts, *map(to_raw, carry), *map(to_raw, row)]
        dims = [None] * len(staged.consts) + [0] * (2 * len(carry))
        outs, out_dims = batch_flat(lambda *raw: eval_jaxpr(staged.jaxpr, raw), size, args, dims)
        full = [batch_to_front(o, d, size) for o, d in zip(outs, out_dims, strict=True)]
        return tuple(map(wrap, full)), None

    return step
