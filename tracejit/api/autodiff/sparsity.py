"""Which outputs of a program depend on which inputs: index sets propagated through its equations.

Equations are known by their kernel forms. What moves elements is run on arrays of element numbers, so
that the rows of its result are found whatever it does; what has no form that says more counts as
depending on all of its operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.api.autodiff._lazy import scipy_sparse
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.expand import expand
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal
from tracejit.ir.kernel import (
    CallRegion,
    CondRegion,
    Contract,
    Pointwise,
    Pull,
    Reduce,
    ScanRegion,
    Update,
    WhileRegion,
)
from tracejit.ir.primitive import LINEAR, ZERO_TANGENT
from tracejit.tracing import use_trace

Deps = Any  # a sparse boolean matrix (elements of the value, inputs), or None where nothing depends
Known = tuple[Any, Deps]  # a value and what it depends on


def dependencies(jaxpr: Jaxpr, args: Sequence[Any], input_number: int) -> Any:
    """A sparse boolean matrix: which elements of the (only) output depend on which of input `input_number`,
    at the values `args`: indices and branches are those of this example."""
    n = aval_of(args[input_number]).size
    eye = scipy_sparse().eye_array(n, dtype=bool, format="csr")
    known = [(x, eye if k == input_number else None) for k, x in enumerate(args)]
    with use_trace(ROOT):
        ((out, deps),) = _run(expand(jaxpr), known)
    size = aval_of(out).size
    return scipy_sparse().csr_array((size, n), dtype=bool) if deps is None else deps


def _run(jaxpr: Jaxpr, args: Sequence[Known]) -> list[Known]:
    env: dict[Any, Known] = dict(zip(jaxpr.invars, args, strict=True))

    def read(a: Any) -> Known:
        return (a.value, None) if type(a) is Literal else env[a]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, _apply(eqn, [read(a) for a in eqn.invars]), strict=True))
    return [read(a) for a in jaxpr.outs]


def _apply(eqn: Eqn, args: list[Known]) -> list[Known]:
    region = _REGIONS.get(type(eqn.op.kernel))
    if region is not None and any(d is not None for _, d in args):
        return region(eqn.params, args)
    values = [x for x, _ in args]
    got = eqn.op.eval(*values, **eqn.params)
    outs = list(got) if eqn.op.multi else [got]
    if eqn.op.jvp is ZERO_TANGENT or all(d is None for _, d in args):
        return [(o, None) for o in outs]
    deps = [d if dtypes.is_inexact(aval_of(x).dtype) else None for x, d in args]
    return [(o, _of_output(eqn, values, deps, aval_of(o), n)) for n, o in enumerate(outs)]


def _of_output(eqn: Eqn, values: list[Any], deps: list[Deps], out: Aval, n: int) -> Deps:
    if not dtypes.is_inexact(out.dtype) or all(d is None for d in deps):
        return None
    kernel = eqn.op.kernel
    if isinstance(kernel, Pointwise):
        return _union([_spread(d, out) for d in deps if d is not None])
    if isinstance(kernel, Reduce):
        return _groups(eqn.params["axes"], aval_of(values[0]), deps[0], out)
    if isinstance(kernel, Contract):
        return _contracted(eqn.params["dimension_numbers"], values, deps, out)
    found: Any = NotImplemented
    if isinstance(kernel, Pull) or (isinstance(kernel, Update) and _overwrites(kernel, eqn, values, out)):
        found = _moved(eqn, values, deps, out)
    elif isinstance(kernel, Update) and eqn.op.jvp is LINEAR:
        found = _added(kernel, eqn, values, deps, out)
    return _all_of(deps, out) if found is NotImplemented else found


def _union(parts: Sequence[Deps]) -> Deps:
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    return total


def _spread(d: Deps, out: Aval) -> Deps:
    """Of a 0-d operand: the same for every element."""
    return d[np.zeros(out.size, np.int64)] if d.shape[0] != out.size else d


def _all_of(deps: Sequence[Deps], out: Aval) -> Deps:
    """Every element depends on everything."""
    rows = _union([_any_row(d) for d in deps if d is not None])
    return rows[np.zeros(out.size, np.int64)]


def _any_row(d: Deps) -> Deps:
    return scipy_sparse().csr_array(np.asarray(d.sum(axis=0), bool).reshape(1, -1))


def _group_matrix(group: np.ndarray, count: int) -> Any:
    """(groups, elements): which elements belong to which group."""
    ones = np.ones(group.size, bool)
    return scipy_sparse().csr_array((ones, (group, np.arange(group.size))), shape=(count, group.size))


def _groups(axes: tuple[int, ...], x: Aval, d: Deps, out: Aval) -> Deps:
    kept = np.arange(out.size).reshape([1 if n in axes else s for n, s in enumerate(x.shape)])
    return _group_matrix(np.broadcast_to(kept, x.shape).ravel(), out.size) @ d


def _contracted(numbers: Any, values: list[Any], deps: list[Deps], out: Aval) -> Deps:
    """An element depends on a row of the one and a column of the other operand."""
    contracted, batch = numbers
    numbered = np.arange(out.size).reshape(out.shape)
    nb, total, parts = len(batch[0]), out.ndim, []
    for side in (0, 1):
        d, x = deps[side], aval_of(values[side])
        if d is None:
            continue
        free = [a for a in range(x.ndim) if a not in contracted[side] and a not in batch[side]]
        other = aval_of(values[1 - side]).ndim - len(contracted[side]) - nb
        mine = list(range(nb + other, total)) if side else list(range(nb, nb + len(free)))
        rest = [a for a in range(total) if a >= nb and a not in mine]
        grid = numbered.transpose([*range(nb), *mine, *rest]).reshape(
            *out.shape[:nb], *(x.shape[a] for a in free), -1
        )
        order = np.arange(x.size).reshape(x.shape).transpose([*batch[side], *free, *contracted[side]])
        lines = order.reshape(-1, int(np.prod([x.shape[a] for a in contracted[side]], dtype=int)))
        group = np.repeat(np.arange(len(lines)), lines.shape[1])
        ones = np.ones(lines.size, bool)
        gather = scipy_sparse().csr_array((ones, (group, lines.ravel())), shape=(len(lines), x.size))
        line_of = np.empty(out.size, np.int64)
        line_of[grid.reshape(len(lines), -1)] = np.arange(len(lines))[:, None]
        parts.append((gather @ d)[line_of])
    return _union(parts)


def _overwrites(kernel: Update, eqn: Eqn, values: list[Any], out: Aval) -> bool:
    """Whether the op only places elements, and adds nothing up."""
    return all(s.combine is None for s in kernel.segments(eqn.params, [aval_of(v) for v in values], out))


def _moved(eqn: Eqn, values: list[Any], deps: list[Deps], out: Aval) -> Deps:
    """The op on element numbers: 1 and up for elements that something depends on, 0 for others."""
    numbered, stacked, start = [], [], 1
    for x, d in zip(values, deps, strict=True):
        if d is not None:
            numbered.append((np.arange(d.shape[0]) + start).reshape(aval_of(x).shape)[()])
            stacked.append(d)
            start += d.shape[0]
        else:
            floats = dtypes.is_inexact(aval_of(x).dtype)
            numbered.append(np.zeros(aval_of(x).shape, np.int64)[()] if floats else x)
    try:
        with np.errstate(all="ignore"):
            number = np.asarray(eqn.op.eval(*numbered, **eqn.params))
    except Exception:
        return NotImplemented
    if (
        number.dtype.kind not in "iu"
        or number.size != out.size
        or number.min(initial=0) < 0
        or number.max(initial=0) >= start
    ):
        return NotImplemented
    nothing = scipy_sparse().csr_array((1, stacked[0].shape[1]), dtype=bool)
    return scipy_sparse().vstack([nothing, *stacked], format="csr")[number.ravel()]


def _added(kernel: Update, eqn: Eqn, values: list[Any], deps: list[Deps], out: Aval) -> Deps:
    """Operands added into parts of a base: where one element comes, its row; where several come, all rows."""
    base = kernel.base(eqn.params)
    if not isinstance(base, int):
        return NotImplemented
    parts = [] if deps[base] is None else [deps[base]]
    zeros = [
        np.zeros(aval_of(x).shape, np.int64)[()] if dtypes.is_inexact(aval_of(x).dtype) else x for x in values
    ]
    for n, d in enumerate(deps):
        if d is None or n == base:
            continue

        def placed(new: np.ndarray, n: int = n) -> np.ndarray:
            operands = [*zeros[:n], new.reshape(aval_of(values[n]).shape)[()], *zeros[n + 1 :]]
            return np.asarray(eqn.op.eval(*operands, **eqn.params)).ravel()

        count = placed(np.ones(d.shape[0], np.int64))
        number = np.where(count == 1, placed(np.arange(d.shape[0]) + 1), 0)
        number[count > 1] = d.shape[0] + 1
        nothing = scipy_sparse().csr_array((1, d.shape[1]), dtype=bool)
        parts.append(scipy_sparse().vstack([nothing, d, _any_row(d)], format="csr")[number])
    return _union(parts)


# ---------------------------------------------------------------- regions


def _call(params: dict[str, Any], args: list[Known]) -> list[Known]:
    return _run(params["jaxpr"], args)


def _cond(params: dict[str, Any], args: list[Known]) -> list[Known]:
    """What any branch depends on, with the values of the one that is taken."""
    branches = params["branches"]
    taken = min(max(int(args[0][0]), 0), len(branches) - 1)
    results = [_run(b, args[1:]) for b in branches]
    return [(results[taken][n][0], _maybe_union([r[n][1] for r in results])) for n in range(len(results[0]))]


def _maybe_union(parts: Sequence[Deps]) -> Deps:
    some = [p for p in parts if p is not None]
    return _union(some) if some else None


def _while(params: dict[str, Any], args: list[Known]) -> list[Known]:
    nc, nb = params["cond_consts"], params["body_consts"]
    cond, body, carry = args[:nc], args[nc : nc + nb], args[nc + nb :]
    rows: list[list[Known]] = []
    while _run(params["cond"], [*cond, *carry])[0][0]:
        outs = _run(params["body"], [*body, *carry])
        carry = outs[: len(carry)]
        rows.append(outs[len(carry) :])
    avals = [v.aval for v in params["body"].outs[len(carry) :]]
    return [*carry, *(_stacked([r[n] for r in rows], a) for n, a in enumerate(avals))]


def _scan(params: dict[str, Any], args: list[Known]) -> list[Known]:
    length = params["length"]
    if length is None:
        length, args = int(args[0][0]), args[1:]
    nc, nk = params["consts"], params["carry"]
    consts, carry, xs = args[:nc], args[nc : nc + nk], args[nc + nk :]
    rows: list[list[Known]] = []
    steps = range(length)
    for i in reversed(steps) if params["reverse"] else steps:
        slices = [_row(x, d, i) for x, d in xs]
        outs = _run(params["jaxpr"], [(np.int64(i), None), *consts, *carry, *slices])
        carry = outs[:nk]
        rows.append(outs[nk:])
    rows = rows[::-1] if params["reverse"] else rows
    avals = [v.aval for v in params["jaxpr"].outs[nk:]]
    return [*carry, *(_stacked([r[n] for r in rows], a) for n, a in enumerate(avals))]


def _row(x: Any, d: Deps, i: int) -> Known:
    size = int(np.prod(x.shape[1:], dtype=int))
    return x[i], None if d is None else d[i * size : (i + 1) * size]


def _stacked(rows: list[Known], aval: Aval) -> Known:
    if not rows:
        return np.zeros((0, *aval.shape), aval.dtype), None
    values = np.stack([np.asarray(x) for x, _ in rows])
    width = next((d.shape[1] for _, d in rows if d is not None), None)
    if width is None:
        return values, None
    empty = scipy_sparse().csr_array((aval.size, width), dtype=bool)
    return values, scipy_sparse().vstack([empty if d is None else d for _, d in rows], format="csr")


_REGIONS: dict[type, Any] = {CallRegion: _call, CondRegion: _cond, WhileRegion: _while, ScanRegion: _scan}
