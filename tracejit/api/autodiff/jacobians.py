"""Jacobians, Hessians, Hessian-vector products and transposes of linear functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.api.autodiff.derivatives import (
    Argnums,
    Inputs,
    fix_others,
    grad,
    input_cotangents,
    jvp,
    linearize_user,
    push_forward,
    strip_aux,
)
from tracejit.api.common import argument_names, check_input, check_output, fresh, name_of, normalize_argnums
from tracejit.api.running import run_user
from tracejit.api.tracebacks import door
from tracejit.control.transformed import transformed
from tracejit.errors import CotangentMismatchError, FunctionNeededError, NotLinearError
from tracejit.interpreters.autodiff.transpose import backward_pass
from tracejit.interpreters.stage import stage_fun
from tracejit.interpreters.vmap import batch_flat, batch_to_front
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.values import Zero
from tracejit.ops.building import helpers
from tracejit.ops.creation import create
from tracejit.ops.elementwise import arithmetic, compare
from tracejit.ops.shapes import shape
from tracejit.tracing import is_tracing, to_raw

_ROW = 16  # directions from which they may be the last axis
_WIDTH = 8  # times as many elements the largest array may have then that is computed for each of them


def jacfwd(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Jacobian of `f`, column by column (forward mode): for outputs of shape S and inputs of shape T,
    arrays of shape S + T, in a tree of `f`'s result whose leaves are trees of the chosen arguments.

    With `has_aux`, `f` returns (result, aux) and the function returns (Jacobian, aux).
    """
    made = _jacobian(f, argnums, has_aux, holomorphic, "jacfwd", _columns)
    return transformed(made, jacfwd, f, argnums, has_aux, holomorphic)


def jacrev(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `f`, row by row (reverse mode); result and arguments as `jacfwd`."""
    made = _jacobian(f, argnums, has_aux, holomorphic, "jacrev", _rows, allow_int)
    return transformed(made, jacrev, f, argnums, has_aux, holomorphic, allow_int)


def _jacobian(
    f: Callable[..., Any],
    argnums: Argnums,
    has_aux: bool,
    holomorphic: bool,
    kind: str,
    compute: Callable[..., list[list[Any]]],
    allow_int: bool = False,
) -> Callable[..., Any]:
    FunctionNeededError.check(kind, f)

    @door
    @functools.wraps(f)
    def jacobian_f(*args: Any, **kwargs: Any) -> Any:
        nums = normalize_argnums(kind, f, argnums, len(args))
        names = argument_names(f, len(args))
        for n in nums:
            for path, leaf in tree.flatten_with_paths(args[n])[0]:
                check_input(kind, names[n] + path, to_raw(leaf), holomorphic, allow_int)
        chosen = tuple(args[n] for n in nums)
        flat, trace, outs, tape, ins = linearize_user(fix_others(f, args, nums), chosen, has_aux, kwargs)
        for o in outs if kind == "jacrev" or holomorphic else ():
            check_output(kind, f, o, holomorphic)
        blocks = compute(tape, ins, [aval_of(o) for o in outs])
        single = isinstance(argnums, int)

        def row(cells: list[Any]) -> Any:
            trees = tree.unflatten(ins.structure, [fresh(c) for c in cells])
            return trees[0] if single else trees

        result = tree.unflatten(flat.out_tree, [row(cells) for cells in blocks])
        return (result, strip_aux(flat.aux, trace)) if has_aux else result

    return jacobian_f


def cheaper_mode(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """`jacfwd` if the inputs have no more elements than the outputs, else `jacrev`."""

    def compute(tape: Any, ins: Inputs, out_avals: list[Aval]) -> list[list[Any]]:
        size = sum(aval_of(x).size for x, nz in zip(ins.leaves, ins.nonzero, strict=True) if nz)
        forward = size <= sum(a.size for a in out_avals)
        return (_columns if forward else _rows)(tape, ins, out_avals)

    return _jacobian(f, argnums, has_aux, holomorphic, "jacobian", compute)


def _basis(avals: Sequence[Aval], last: bool) -> tuple[list[Any], int]:
    """The standard basis of the product of spaces: for each, an array of shape (N, *shape), or with N as the last
    axis; and N."""
    sizes = [a.size for a in avals]
    total = sum(sizes)
    out, start = [], 0
    for a, n in zip(avals, sizes, strict=True):
        rows, columns, shift = (n, total, start) if last else (total, n, -start)
        block = _shifted_identity(rows, columns, shift, a.dtype)
        out.append(shape.reshape(block, shape=(*a.shape, total) if last else (total, *a.shape)))
        start += n
    return out, total


def _shifted_identity(rows: int, columns: int, shift: int, dtype: np.dtype) -> Any:
    """`np.eye(rows, columns, shift)`; a formula while tracing, since a program should not hold it."""
    if not is_tracing():
        return np.eye(rows, columns, shift, dtype)
    i, j = (create.iota(shape=(rows, columns), dtype=np.int64, dimension=n) for n in (0, 1))
    return create.convert_element_type(compare.eq(arithmetic.add(i, shift), j), dtype=dtype)


def _columns(tape: Any, ins: Inputs, out_avals: list[Aval]) -> list[list[Any]]:
    """Jacobian blocks [output][input], of shape out + in, by pushing the basis of the inputs forward.

    Directions are the last axis all the way, as they are in the result: it need not be transposed, and what does not
    depend on the direction is the same number along a row. Where there are few of them they are the first, since rows
    would be too short; and where the arrays for one direction are large, which then are the longer rows."""
    in_avals = [aval_of(x) for x in ins.leaves]
    given = [a for a, nz in zip(in_avals, ins.nonzero, strict=True) if nz]
    count = sum(a.size for a in given)
    last = count >= _ROW and _widest(tape) <= _WIDTH * count
    basis, total = _basis(given, last)

    def push(*tangents: Any) -> list[Any]:
        left = iter(tangents)
        ts = [next(left) if nz else Zero(a.tangent()) for a, nz in zip(in_avals, ins.nonzero, strict=True)]
        return push_forward(tape, ins, ts)

    outs, dims = batch_flat(push, total, basis, [a.ndim if last else 0 for a in given], last=last)
    blocks = []
    for o, d, out in zip(outs, dims, out_avals, strict=True):
        axis = out.ndim if last else 0
        parts = _split(helpers.to_batch_axis(o, d, axis, total), in_avals, ins.nonzero, axis)
        blocks.append([_block(part, out, a, axis) for part, a in zip(parts, in_avals, strict=True)])
    return blocks


def _widest(tape: Any) -> int:
    """The elements of the largest array of a linear program; those of unknown size count as none."""
    avals = [v.aval for e in tape.entries for v in e.outvars]
    return max((a.size for a in avals if a.is_static), default=0)


def _block(part: Any, out: Aval, a: Aval, axis: int) -> Any:
    """The shape of `out` with n_in at `axis` -> (*out, *in)."""
    if part is None:
        return helpers.instantiate(Zero(Aval(out.shape + a.shape, a.tangent().dtype)))
    moved = helpers.move_batch_axis(part, axis, out.ndim)
    return shape.reshape(moved, shape=out.shape + a.shape)


def _split(x: Any, avals: list[Aval], nonzero: list[bool], axis: int) -> list[Any]:
    """`x` cut along an axis into the parts that belong to each nonzero input; None for the others."""
    out, start = [], 0
    sizes = aval_of(x).shape
    for a, nz in zip(avals, nonzero, strict=True):
        if not nz:
            out.append(None)
            continue
        stop = start + math.prod(a.shape)
        starts, limits = [0] * len(sizes), list(sizes)
        starts[axis], limits[axis] = start, stop
        strides = (1,) * len(sizes)
        out.append(shape.slice(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=strides))
        start = stop
    return out


def _rows(tape: Any, ins: Inputs, out_avals: list[Aval]) -> list[list[Any]]:
    """Jacobian blocks [output][input], of shape out + in, by pulling the basis of the outputs back."""
    tangents = [a.tangent() for a in out_avals]
    basis, total = _basis(tangents, last=False)

    def pull(*cts: Any) -> list[Any]:
        return [helpers.instantiate(c) for c in input_cotangents(ins, tape, list(cts))]

    outs, dims = batch_flat(pull, total, basis, [0] * len(basis))
    fronts = [batch_to_front(o, d, total) for o, d in zip(outs, dims, strict=True)]
    in_avals = [aval_of(x) for x in ins.leaves]
    blocks: list[list[Any]] = [[] for _ in out_avals]
    for front, a in zip(fronts, in_avals, strict=True):
        for n, part in enumerate(_split(front, tangents, [True] * len(tangents), 0)):
            blocks[n].append(shape.reshape(part, shape=out_avals[n].shape + a.shape))
    return blocks


def hessian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Hessian of a scalar-valued `f`, forward over reverse: a tree of arrays of shape T + T."""
    return jacfwd(jacrev(f, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Hessian-vector product of a scalar-valued `f`, forward over reverse, without forming the Hessian.

    `primals` and `tangents` are tuples as for `jvp`. Gives the structure of the primals: an array for
    one primal, a tuple for several.
    """
    FunctionNeededError.check("hvp", f)
    nums: Argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(f, nums), primals, tangents)[1]


def linear_transpose(f: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
    """The transpose of a linear `f`: `transposed(ct) -> tuple of cotangents of the primals`.

    `primals` give shapes and dtypes only (arrays or `ShapeDtypeStruct`s).

    Raises:
        NotLinearError: `f` is not linear in its arguments.
    """
    FunctionNeededError.check("linear_transpose", f)
    leaves, structure = tree.flatten(primals)
    avals = [Aval(tuple(x.shape), np.dtype(x.dtype)) if hasattr(x, "shape") else aval_of(x) for x in leaves]
    jaxpr, consts, out_tree, _ = stage_fun(lambda *args: run_user(f, args), structure, avals, name_of(f))

    def transposed(ct: Any) -> Any:
        cts = [to_raw(c) for c in tree.flatten_up_to(out_tree, ct, "the cotangent")]
        for c, v, path in zip(cts, jaxpr.outs, tree.paths(out_tree), strict=True):
            if aval_of(c) != v.aval:
                raise CotangentMismatchError(path=path, expected=v.aval, got=aval_of(c))
        linear = [False] * len(consts) + [True] * len(avals)
        try:
            ins = backward_pass(jaxpr, linear, [*consts, *(None for _ in avals)], cts)
        except (AssertionError, AttributeError, TypeError) as e:
            raise NotLinearError(function=name_of(f)) from e
        return tree.unflatten(
            structure, [fresh(helpers.instantiate(c), set(map(id, cts))) for c in ins[len(consts) :]]
        )

    return transposed
