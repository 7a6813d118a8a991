"""Residuals of a linearized region: what leaves the forward region for the linear one.

A region's outputs cannot have extents that are computed inside of it. Residuals
that do are padded to their bound and sliced back in the linear region; if
nothing bounds them, the linear region recomputes them from the region's inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.regions.effects import stripped
from tracejit.control.regions.rules import Typed, build, pick, prune, rename_dims, with_outputs
from tracejit.errors import DynamicExtentError
from tracejit.interpreters.core import eval_jaxpr
from tracejit.ir.avals import Aval, Dim, aval_of, capacity
from tracejit.ir.jaxpr import Jaxpr, Literal, Var, has_side_effects
from tracejit.tracing import bind

_BROADCAST = ops.broadcast.broadcast_in_dim_op


def local_axes(aval: Aval, fixed: Collection[Any]) -> tuple[int, ...]:
    """The axes whose extents are not among the variables `fixed`."""
    return tuple(
        n
        for n, d in enumerate(aval.shape)
        if isinstance(d, Dim) and type(d.var) is not Literal and d.var not in fixed
    )


def unbounded(atoms: Sequence[Any], fixed: Collection[Any]) -> bool:
    """Whether some atom has a local extent without a bound."""
    return any(a.aval.shape[n].bound is None for a in atoms for n in local_axes(a.aval, fixed))


def rematerialize(
    forward: Jaxpr,
    linear: Jaxpr,
    num_outs: int,
    nonzero: Sequence[bool],
    guard: Callable[[Any], Any] = lambda x: x,
) -> tuple[Jaxpr, Jaxpr, int]:
    """(forward, linear, number of residuals) with the inputs of `forward` as the only residuals, and the
    results of its callbacks, which are not called again.

    `guard` is applied to the inputs before residuals are computed again.
    """
    tangents = [Typed(v.aval.tangent()) for v in pick(forward.invars, nonzero)]
    kept, eqns = once_only(forward, forward.outs[num_outs:])
    inputs = (*forward.invars, *kept)
    again = Jaxpr(inputs, eqns, forward.outs[num_outs:], forward.name)
    m, n = len(forward.invars), len(inputs)

    def fn(*args: Any) -> list[Any]:
        values = [*(guard(x) for x in args[:m]), *args[m:n]]
        return eval_jaxpr(linear, [*eval_jaxpr(again, values), *args[n:]])

    new = Jaxpr(forward.invars, forward.eqns, (*forward.outs[:num_outs], *inputs), forward.name)
    return prune(new, [True] * len(new.outs)), build(fn, [*inputs, *tangents], linear.name), n


def narrow(forward: Jaxpr, linear: Jaxpr, num_outs: int) -> tuple[Jaxpr, Jaxpr]:
    """(forward, linear) where a residual that is a broadcast of something smaller is kept as that, and broadcast
    again in the linear region."""
    residuals = forward.outs[num_outs:]
    producer = {v: e for e in forward.eqns for v in e.outvars if e.op is _BROADCAST}
    wide = {a: producer[a] for a in residuals if type(a) is not Literal and a in producer}
    wide = {a: e for a, e in wide.items() if 2 * _room(e.invars[0]) <= _room(a)}
    if not wide:
        return forward, linear
    kept = [n for n, a in enumerate(residuals) if type(a) is Literal or a not in wide]
    atoms, inputs = [residuals[n] for n in kept], [linear.invars[n] for n in kept]
    env: dict[Any, Any] = {a: v for a, v in zip(atoms, inputs, strict=True) if type(a) is not Literal}

    def keep(a: Any) -> None:
        if type(a) is Literal or a in env:
            return
        for d in a.aval.shape:
            if isinstance(d, Dim):
                keep(d.var)
        env[a] = Var(None, rename_dims(a.aval, env), a.bounds)
        atoms.append(a)
        inputs.append(env[a])

    for e in wide.values():
        for a in reversed(e.invars):  # extents before what has them
            keep(a)
    count = len(atoms)

    def fn(*args: Any) -> list[Any]:
        values = {a: x for a, x in zip(atoms, args, strict=False) if type(a) is not Literal}
        given = iter(args)
        full = []
        for a in residuals:
            if type(a) is Literal or a not in wide:
                full.append(next(given))
                continue
            operands = [b.value if type(b) is Literal else values[b] for b in wide[a].invars]
            full.append(bind(_BROADCAST, *operands, **wide[a].params))
        return eval_jaxpr(linear, [*full, *args[count:]])

    new = Jaxpr(forward.invars, forward.eqns, (*forward.outs[:num_outs], *atoms), forward.name)
    rest = linear.invars[len(residuals) :]
    return prune(new, [True] * len(new.outs)), build(fn, [*inputs, *rest], linear.name)


def _room(a: Any) -> int:
    return math.prod(capacity(a.aval.shape))


def once_only(jaxpr: Jaxpr, atoms: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """What has to be kept to compute `atoms` again without the equations that have side effects: (their
    results that are needed, the equations that compute the atoms from the inputs and these).

    A loop whose rows can't be kept runs again without its effects.
    """
    live = {a for a in atoms if type(a) is not Literal}
    kept: list[Any] = []
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        needed = [v for v in eqn.outvars if v in live]
        if not needed:
            continue
        if has_side_effects(eqn.effects):
            if not unbounded(needed, jaxpr.invars):
                kept.extend(needed)
                continue
            eqn = stripped(eqn, eqn.op.name)
        eqns.append(eqn)
        for a in (*eqn.invars, *eqn.outvars):
            if type(a) is not Literal:
                live.add(a)
                live.update(d.var for d in a.aval.shape if isinstance(d, Dim))
    return kept, tuple(reversed(eqns))


def pad_residuals(
    forward: Jaxpr, linear: Jaxpr, num_outs: int, fixed: Collection[Any], which: Sequence[bool]
) -> tuple[Jaxpr, Jaxpr]:
    """(forward, linear) where the residuals marked by `which` have no local extents any more."""
    residuals = forward.outs[num_outs:]
    axes = [local_axes(a.aval, fixed) if w else () for a, w in zip(residuals, which, strict=True)]
    if not any(axes):
        return forward, linear

    def pad_outs(env: dict[Any, Any], outs: list[Any]) -> list[Any]:
        return [*outs[:num_outs], *(pad_axes(x, a) for x, a in zip(outs[num_outs:], axes, strict=True))]

    inputs: list[Any] = list(linear.invars)
    for n, a in enumerate(axes):
        if a:
            inputs[n] = Typed(_padded_aval(inputs[n].aval, a))

    def sliced(*args: Any) -> list[Any]:
        env = dict(zip(linear.invars, args, strict=True))
        values = list(args)
        for n, a in enumerate(axes):
            if a:
                values[n] = slice_to(args[n], rename_dims(linear.invars[n].aval, env))
        return eval_jaxpr(linear, values)

    return with_outputs(forward, pad_outs), build(sliced, inputs, linear.name)


def _padded_aval(aval: Aval, axes: Sequence[int]) -> Aval:
    return aval.with_shape(tuple(d.bound if n in axes else d for n, d in enumerate(aval.shape)))  # type: ignore[union-attr]


def pad_axes(x: Any, axes: Sequence[int]) -> Any:
    """`x` in an array whose `axes` are as large as their bounds, zeros behind it."""
    if not axes:
        return x
    full = ops.shape.broadcast_to(aval_of(x).dtype.type(0), _padded_aval(aval_of(x), axes).shape)
    return ops.index.dynamic_update_slice(full, x, *_origin(x))


def slice_to(x: Any, aval: Aval) -> Any:
    """The leading part of `x` that has the (dynamic) shape of `aval`."""
    dyn, sizes, bounds = ops.dims.split_dynamic(aval.shape)
    return ops.index.dynamic_slice(x, *_origin(x), *dyn, sizes=sizes, bounds=bounds)


def _origin(x: Any) -> list[Any]:
    return [np.int64(0)] * len(aval_of(x).shape)


def close(
    forward: Jaxpr, linear: Jaxpr, num_outs: int, nonzero: Sequence[bool], own: bool = False
) -> tuple[Jaxpr, Jaxpr, int]:
    """(forward, linear, number of residuals) without extents computed inside among the residuals; with `own`
    they may be outputs."""
    residuals = forward.outs[num_outs:]
    fixed = {*forward.invars, *(forward.outs if own else ())}
    if unbounded(residuals, fixed):
        return rematerialize(forward, linear, num_outs, nonzero)
    new = pad_residuals(forward, linear, num_outs, fixed, [True] * len(residuals))
    return *new, len(residuals)


def refuse_dynamic(op: str, avals: Sequence[Aval]) -> None:
    """Raises DynamicExtentError if one of `avals` has a dynamic dimension."""
    for a in avals:
        if not a.is_static:
            raise DynamicExtentError(op=op, problem=f"{a} has a traced size, which its rules can't take")
