"""Identities of ops that move elements: views of views, reads of what was just written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.jaxpr import Literal
from tracejit.ops.building.identities import if_type, unchanged

#: f(x) -> x where the types agree: for ops that keep the order of elements.
same_type = unchanged(lambda e: True)

_RELABELS = ("reshape", "squeeze", "expand_dims")


def _made_by(eqn: Any, n: int, *names: str) -> Any:
    made = eqn.maker(n)
    return made if made is not None and made.op.name in names else None


def relabel_twice(eqn: Any) -> Any:
    """Two changes of shape are one, or none."""
    made = _made_by(eqn, 0, *_RELABELS)
    if made is None:
        return None
    x = made.invars[0]
    if x.aval == eqn.aval:
        return x
    static = x.aval.is_static and eqn.aval.is_static and "reshape" in (eqn.op.name, made.op.name)
    params = {"shape": eqn.aval.shape, "bounds": ()}
    return ("op", ops.shape.reshape_op, (x,), params) if static else None


def no_permutation(eqn: Any) -> Any:
    """transpose with nothing to move."""
    order = eqn.params["permutation"]
    return eqn.invars[0] if order == tuple(range(len(order))) else None


def permute_twice(eqn: Any) -> Any:
    """transpose(transpose(x)) in one step."""
    made = _made_by(eqn, 0, "transpose")
    if made is None:
        return None
    order = tuple(made.params["permutation"][p] for p in eqn.params["permutation"])
    return ("op", eqn.op, made.invars, {"permutation": order})


def reverse_twice(eqn: Any) -> Any:
    """rev(rev(x)) along the same axes."""
    made = _made_by(eqn, 0, "rev")
    return made.invars[0] if made is not None and made.params == eqn.params else None


def broadcast_of_expanded(eqn: Any) -> Any:
    """The new axes of expand_dims are new axes of the broadcast."""
    made = _made_by(eqn, 0, "expand_dims")
    if made is None:
        return None
    axes = [a for n, a in enumerate(eqn.params["broadcast_dimensions"]) if n not in made.params["dimensions"]]
    params = {**eqn.params, "broadcast_dimensions": tuple(axes)}
    return ("op", eqn.op, (made.invars[0], *eqn.invars[1:]), params)


def broadcast_twice(eqn: Any) -> Any:
    """broadcast(broadcast(x)) in one step, where nothing but `x` decides the inner sizes."""
    made = _made_by(eqn, 0, "broadcast_in_dim")
    if made is None:
        return None
    axes = eqn.params["broadcast_dimensions"]
    inner = tuple(axes[a] for a in made.params["broadcast_dimensions"])
    return ("op", eqn.op, (made.invars[0], *eqn.invars[1:]), {**eqn.params, "broadcast_dimensions": inner})


# ---------------------------------------------------------------- reads and writes


def same_atoms(a: Any, b: Any) -> bool:
    """Are these the same variables and literals, one by one?"""
    return len(a) == len(b) and all(
        x is y or (isinstance(x, Literal) and isinstance(y, Literal) and x.value == y.value)
        for x, y in zip(a, b, strict=True)
    )


def constant_window(eqn: Any) -> Any:
    """A dynamic_slice at constant starts is a slice."""
    x, rest = eqn.invars[0], eqn.invars[1:]
    sizes = eqn.params["sizes"]
    if len(rest) != len(sizes) or not x.aval.is_static or not all(isinstance(s, Literal) for s in rest):
        return None
    starts = [min(max(int(s.value), 0), d - n) for s, d, n in zip(rest, x.aval.shape, sizes, strict=True)]
    limits = tuple(b + n for b, n in zip(starts, sizes, strict=True))
    params = {"start_indices": tuple(starts), "limit_indices": limits, "strides": (1,) * len(starts)}
    return ("op", ops.slices.slice_op, (x,), params)


def constant_update(eqn: Any) -> Any:
    """A dynamic_update_slice (or _add) at constant starts is a slice_update (slice_add)."""
    x, u, *rest = eqn.invars
    static = x.aval.is_static and u.aval.is_static
    if not static or not all(isinstance(s, Literal) for s in rest):
        return None
    starts = [
        min(max(int(s.value), 0), d - n) for s, d, n in zip(rest, x.aval.shape, u.aval.shape, strict=True)
    ]
    limits = tuple(b + n for b, n in zip(starts, u.aval.shape, strict=True))
    params = {"start_indices": tuple(starts), "limit_indices": limits, "strides": (1,) * len(starts)}
    add = eqn.op is ops.index.dynamic_slice_add_op
    return ("op", ops.slices.slice_add_op if add else ops.slices.slice_update_op, (x, u), params)


def read_what_was_written(eqn: Any) -> Any:
    """dynamic_slice(dynamic_update_slice(x, u, *i), *i) -> u, and the same with constant slices."""
    made = _made_by(eqn, 0, "dynamic_update_slice", "slice_update")
    if made is None:
        return None
    if made.op.name == "slice_update":
        return made.invars[1] if eqn.op.name == "slice" and _same_slices(made.params, eqn.params) else None
    starts = eqn.invars[1 : 1 + eqn.invars[0].aval.ndim]
    return if_type(eqn, made.invars[1]) if same_atoms(starts, made.invars[2:]) else None


def write_back(eqn: Any) -> Any:
    """Writing what was read in the same place changes nothing."""
    x, made = eqn.invars[0], _made_by(eqn, 1, "dynamic_slice", "slice")
    if made is None or made.invars[0] is not x:
        return None
    if eqn.op.name == "slice_update":
        return x if made.op.name == "slice" and _same_slices(made.params, eqn.params) else None
    starts = made.invars[1 : 1 + x.aval.ndim]
    return x if made.op.name == "dynamic_slice" and same_atoms(starts, eqn.invars[2:]) else None


def write_twice(eqn: Any) -> Any:
    """Of two writes to the same place the first is not needed. (Where it is read in between, both are in place.)"""
    made = _made_by(eqn, 0, eqn.op.name)
    if made is None or eqn.is_read(0) or made.invars[1].aval != eqn.invars[1].aval:
        return None
    same = same_atoms(made.invars[2:], eqn.invars[2:]) and _same_slices(made.params, eqn.params)
    return ("op", eqn.op, (made.invars[0], *eqn.invars[1:]), eqn.params) if same else None


def _same_slices(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return all(
        a[key] == b[key] for key in ("start_indices", "limit_indices", "strides") if key in a or key in b
    )


def write_everything(eqn: Any) -> Any:
    """An update of the whole array is the new value."""
    u = eqn.invars[1]
    if eqn.op.name == "slice_update":
        return if_type(eqn, u) if all(s == 1 for s in eqn.params["strides"]) else None
    return if_type(eqn, u)


def index_known_inside(eqn: Any) -> Any:
    """A check that cannot fail: the index itself, as int64."""
    i, size, r = eqn.invars[0], eqn.params["size"], None
    if not i.aval.shape:
        r = (int(i.value), int(i.value)) if isinstance(i, Literal) else i.bounds
    if r is None:  # pixels that choose from a table of 256
        cast = _made_by(eqn, 0, "convert_element_type")
        dtype = (i if cast is None else cast.invars[0]).aval.dtype
        fits = dtype.kind == "u" and np.can_cast(dtype, i.aval.dtype)
        r = (0, int(np.iinfo(dtype).max)) if fits else None
    if size is None or r is None or not 0 <= r[0] <= r[1] < size:
        return None
    return (
        i
        if i.aval == eqn.aval
        else ("op", ops.create.convert_element_type.op, (i,), {"dtype": eqn.aval.dtype})
    )


# ---------------------------------------------------------------- products


def product_of_transposed(eqn: Any) -> Any:
    """dot_general reads a transposed operand as it is stored, where the result's axes allow it."""
    for n in (0, 1):
        made = _made_by(eqn, n, "transpose")
        if made is None:
            continue
        contracted, batched = eqn.params["dimension_numbers"]
        order = made.params["permutation"]
        moved = tuple(order[a] for a in contracted[n]), tuple(order[a] for a in batched[n])
        free = [order[a] for a in ops.linalg.free_axes(len(order), contracted[n], batched[n])]
        if free != sorted(free):
            continue
        numbers = tuple(
            tuple(new if m == n else old for m, old in enumerate(pair))
            for pair, new in zip((contracted, batched), moved, strict=True)
        )
        invars = tuple(made.invars[0] if m == n else a for m, a in enumerate(eqn.invars))
        return ("op", eqn.op, invars, {"dimension_numbers": numbers})
    return None


#: Multiplications from which a sum of products is one matrix product, and the least size of its sides.
_WORTH_BLAS, _SIDE = 1 << 18, 8


def sum_of_products(eqn: Any) -> Any:
    """`(x[:, None, :] * y[None, :, :]).sum(-1)` is a matrix product: arrays that are repeated along axes of
    their own are multiplied, and axes that both have are summed."""
    product = _made_by(eqn, 0, "mul")
    if product is None or product.aval.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        return None
    first, second = _spread(product, 0), _spread(product, 1)
    if first is None or second is None:
        return None
    summed = eqn.params["axes"]
    for (x, xs), (y, ys) in ((first, second), (second, first)):
        both = [a for a in xs if a in ys]
        contracted, batched = [a for a in both if a in summed], [a for a in both if a not in summed]
        free = [a for a in xs if a not in ys], [a for a in ys if a not in xs]
        kept = [*batched, *free[0], *free[1]]
        if (
            len(contracted) < len(summed)
            or kept != sorted(kept)
            or len(kept) + len(summed) < product.aval.ndim
        ):
            continue
        sizes = [math.prod(product.aval.shape[a] for a in axes) for axes in (*free, contracted)]
        if min(sizes) < _SIDE or product.aval.size < _WORTH_BLAS:
            return None
        numbers = tuple(
            tuple(tuple(have.index(a) for a in axes) for have in (xs, ys)) for axes in (contracted, batched)
        )
        return ("op", ops.linalg.dot_general_op, (x, y), {"dimension_numbers": numbers})
    return None


def _spread(eqn: Any, n: int) -> tuple[Any, tuple[int, ...]] | None:
    """(array, the axes of operand `n` along which it lies), if the operand repeats it along the others."""
    made = _made_by(eqn, n, "broadcast_in_dim")
    if made is None or len(made.invars) > 1 or not made.aval.is_static:
        return None
    (x,), axes = made.invars, made.params["broadcast_dimensions"]
    whole = x.aval.shape == tuple(made.aval.shape[a] for a in axes)
    return (x, axes) if whole and x.aval.shape else None
