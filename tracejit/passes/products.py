"""products: matrix products of a loop's rows that no step waits for are one product before or after the loop.

A step that multiplies its row of the input by a constant matrix needs nothing from the steps before it: all
rows are multiplied at once before the loop. One whose product is only an output gives its factor, and all are
multiplied after the loop. One product of two matrices is several times faster than as many of a matrix and a
vector, which have to read the matrix again in every step.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tracejit.ir.kernel import Contract, ScanRegion
from tracejit.passes.hoist import invariant, with_ancestors
from tracejit.passes.rewrite import Env, Pass, everywhere, rebuild, with_params

_SMALL = 64  # elements of a matrix below which a product is best done where its row is
_COLUMNS = 4  # of a step's row that has to change its axes' order with the product
_ROOM = 1 << 26  # bytes that the rows may take before the loop


def _products(jaxpr: Jaxpr) -> Jaxpr:
    eqns: list[Eqn] = []
    for eqn in jaxpr.eqns:
        length = eqn.params["length"] if isinstance(eqn.op.kernel, ScanRegion) else None
        if length is None or length < 2:
            eqns.append(eqn)
            continue
        after: list[Eqn] = []
        eqns += [_sink(_lift(eqn, eqns), eqns, after), *after]
    return rebuild(jaxpr, eqns, jaxpr.outs)


class _Scan:
    """A scan equation, taken apart."""

    def __init__(self, eqn: Eqn) -> None:
        p = eqn.params
        self.body: Jaxpr = p["jaxpr"]
        self.length: int = p["length"]
        a, b = p["consts"], p["consts"] + p["carry"]
        self.consts, self.xs = eqn.invars[:a], eqn.invars[b:]
        self.body_consts = self.body.invars[1 : 1 + a]
        self.body_xs = self.body.invars[1 + b :]
        self.invariant = invariant(self.body, set(self.body_consts))
        self.known = {*self.body_consts, *(v for e in self.invariant for v in e.outvars)}

    def matrix(self, eqn: Eqn) -> int | None:
        """Which operand of a product is an invariant matrix worth a product of all rows, the other not being."""
        if not isinstance(eqn.op.kernel, Contract):
            return None
        fixed = [a in self.known for a in eqn.invars]
        atoms = (*eqn.invars, *eqn.outvars)
        if sum(fixed) != 1 or not all(type(a) is Var and a.aval.is_static for a in atoms):
            return None
        n = fixed.index(True)
        return n if _size(eqn.invars[n]) >= _SMALL and _pays(eqn, n) else None

    def outside(self, atom: Atom, env: Env, before: list[Eqn]) -> Atom:
        """The invariant `atom` as the loop's surroundings have it."""
        if atom in env.map:
            return env.map[atom]
        for e in with_ancestors(self.invariant, {e for e in self.invariant if atom in e.outvars}):
            if not all(v in env.map for v in e.outvars):
                invars = env.atoms(e.invars)
                before.append(
                    Eqn(e.op, invars, tuple(map(env.fresh, e.outvars)), e.params, e.source, e.effects)
                )
        return env.map[atom]

    def environment(self) -> Env:
        env = Env()
        env.map.update(zip(self.body_consts, self.consts, strict=True))
        return env


def _size(a: Any) -> int:
    return math.prod(a.aval.shape)


def _pays(eqn: Eqn, matrix: int) -> bool:
    """Whether the product of all rows is worth the order of axes it has: the steps' own, or rows of few columns
    (measured: 1.0 to 5 times as fast up to 4 columns, 0.4 to 1.0 times from 8 on, where a step's product is one
    of two matrices already)."""
    contracted, batch = eqn.params["dimension_numbers"]
    row = eqn.invars[1 - matrix].aval.shape
    columns = math.prod(
        d for a, d in enumerate(row) if a not in contracted[1 - matrix] and a not in batch[1 - matrix]
    )
    in_order = not batch[0] and (matrix == 1 or columns == 1)
    return in_order or columns <= _COLUMNS


def _write(eqn: Eqn, matrix: int, rows: Atom, fixed: Atom, out: Var, eqns: list[Eqn]) -> None:
    """Append the product `eqn` of all `rows`, stacked along a new leading axis: `out`.

    The rows are on the left, so that it is one product of two matrices (for each index of batch axes): it has the
    axes (batch, steps, free ones of the rows, free ones of the matrix), which are then put in order.
    """
    contracted, batch = eqn.params["dimension_numbers"]
    numbers = tuple((tuple(a + 1 for a in axes[1 - matrix]), axes[matrix]) for axes in (contracted, batch))
    b = len(batch[0])
    of_row = len(eqn.invars[1 - matrix].aval.shape) - len(contracted[0]) - b
    n = len(out.aval.shape)
    row, other = tuple(range(b + 1, b + 1 + of_row)), tuple(range(b + 1 + of_row, n))
    order = (b, *range(b), *((*row, *other) if matrix == 1 else (*other, *row)))
    in_order = order == tuple(range(n))
    shape = [0] * n
    for a, size in zip(order, out.aval.shape, strict=True):
        shape[a] = size
    product = out if in_order else Var(None, out.aval.with_shape(tuple(shape)))
    params = {**eqn.params, "dimension_numbers": numbers}
    eqns.append(Eqn(eqn.op, (rows, fixed), (product,), params, eqn.source, eqn.effects))
    if not in_order:
        permute = eqn.op.kernel.permute  # type: ignore[attr-defined]
        eqns.append(Eqn(permute, (product,), (out,), {"permutation": order}, eqn.source, eqn.effects))


def _stacked(v: Var, length: int) -> Var:
    return Var(None, v.aval.with_shape((length, *v.aval.shape)))


# ---------------------------------------------------------------- before the loop


def _lift(eqn: Eqn, before: list[Eqn]) -> Eqn:
    """Products of a row of xs and a constant become further xs."""
    scan = _Scan(eqn)
    rows: dict[Any, Atom] = {
        v: x
        for v, x in zip(scan.body_xs, scan.xs, strict=True)
        if type(x) is Var and x.aval.is_static and x.aval.shape[0] == scan.length
    }
    lifted: dict[Eqn, int] = {}
    for e in scan.body.eqns:
        n = scan.matrix(e)
        if n is not None and e.invars[1 - n] in rows and _fits(e.outvars[0], scan.length):
            lifted[e] = n
    if not lifted:
        return eqn
    env, new = scan.environment(), []
    for e, n in lifted.items():
        fixed = scan.outside(e.invars[n], env, before)
        new.append(_stacked(e.outvars[0], scan.length))
        _write(e, n, rows[e.invars[1 - n]], fixed, new[-1], before)
    body = scan.body
    invars = body.invars + tuple(e.outvars[0] for e in lifted)
    eqns = tuple(e for e in body.eqns if e not in lifted)
    params = {**eqn.params, "jaxpr": Jaxpr(invars, eqns, body.outs, body.name)}
    return with_params(eqn, params).replace(invars=eqn.invars + tuple(new))


def _fits(row: Var, length: int) -> bool:
    return length * _size(row) * row.aval.dtype.itemsize <= _ROOM


# ---------------------------------------------------------------- after the loop


def _sink(eqn: Eqn, before: list[Eqn], after: list[Eqn]) -> Eqn:
    """Outputs that are products by a constant give way to their factors."""
    scan = _Scan(eqn)
    carry = eqn.params["carry"]
    uses = Counter(a for e in scan.body.eqns for a in e.invars if type(a) is not Literal)
    uses.update(a for a in scan.body.outs if type(a) is not Literal)
    producer: dict[Any, Eqn] = {v: e for e in scan.body.eqns for v in e.outvars}
    outs, outvars, env = list(scan.body.outs), list(eqn.outvars), scan.environment()
    place = {a: k for k, a in enumerate(outs) if k >= carry and type(a) is Var}
    gone: list[int] = []
    for k in range(carry, len(outs)):
        e = producer.get(outs[k])
        n = None if e is None or uses[outs[k]] != 1 else scan.matrix(e)
        if e is None or n is None:
            continue
        factor: Any = e.invars[1 - n]
        if factor not in place and _size(factor) > _size(outs[k]):
            continue
        fixed, result = scan.outside(e.invars[n], env, before), outvars[k]
        if factor in place:
            gone.append(k)
        else:
            place[factor], outs[k], outvars[k] = k, factor, _stacked(factor, scan.length)
        _write(e, n, outvars[place[factor]], fixed, result, after)
    if not after:
        return eqn
    kept = [k for k in range(len(outs)) if k not in gone]
    body = Jaxpr(scan.body.invars, scan.body.eqns, tuple(outs[k] for k in kept), scan.body.name)
    return with_params(eqn, {**eqn.params, "jaxpr": body}).replace(outvars=tuple(outvars[k] for k in kept))


products = Pass("products", everywhere(_products))
