"""Cotangents of a scan's constants that are sums of matrix products over the steps.

A weight matrix that every step multiplies by gets an outer product from each. Adding it up in the loop
reads and writes the whole matrix every time; one product of the stacked factors after the loop is the
same sum, and the factors are much smaller (and often stacked already).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tracejit import ops
from tracejit.control.regions.rules import prune
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal
from tracejit.ops.reductions.linalg import dot_general_op
from tracejit.ops.shapes.shape import transpose_op
from tracejit.records import record

_ADD = ops.arithmetic.add.op
_SMALL = 64  # elements of a product below which adding up in the loop is fast
_PAYS = 2  # how many times larger a product is than what has to be stacked for it


@record(frozen=True)
class Product:
    """One term of a sum: its factors' numbers among all (*xs, *ys) of the new scan, the axes contracted in a
    step, and the transpositions that follow."""

    left: int
    right: int
    contracted: tuple[tuple[int, ...], tuple[int, ...]]
    permutations: tuple[tuple[int, ...], ...]


@record(frozen=True)
class Deferred:
    """A body without the accumulators not marked by `kept`, with `factors` further ys; for each accumulator
    that is gone, the products whose sum it was."""

    jaxpr: Jaxpr
    kept: tuple[bool, ...]
    factors: int
    sums: tuple[tuple[Product, ...], ...]


@memoize_by_jaxpr
def defer_products(jaxpr: Jaxpr, head: int, accumulators: int, carry: int) -> Deferred | None:
    """What of the body `jaxpr` over (`head` index and constants, accumulators, carry, *xs) can be done after
    the loop; None if nothing."""
    invars, end = jaxpr.invars, head + accumulators
    uses = Counter(a for e in jaxpr.eqns for a in e.invars if type(a) is not Literal)
    uses.update(a for a in jaxpr.outs if type(a) is not Literal)
    producer = {v: e for e in jaxpr.eqns for v in e.outvars}
    invariant = set(invars[:head])
    xs = invars[end + carry :]
    place: dict[Any, int] = {v: n for n, v in enumerate(xs)}  # of a factor among (*xs, *old ys, *new ys)
    old = len(xs) + len(jaxpr.outs) - accumulators - carry
    new: list[Any] = []
    kept, sums = [], []
    for acc, out in zip(invars[head:end], jaxpr.outs, strict=False):
        terms = _terms(acc, out, producer, uses)
        found = [_product(t, producer, uses, invariant, place) for t in terms or ()]
        kept.append(not terms or None in found)
        if kept[-1]:
            continue
        sums.append([])
        for eqn, permutations in found:  # type: ignore[misc]
            for a in eqn.invars:
                if a not in place:
                    place[a] = old + len(new)
                    new.append(a)
            left, right = (place[a] for a in eqn.invars)
            sums[-1].append(Product(left, right, eqn.params["dimension_numbers"][0], permutations))
    if all(kept):
        return None
    ins = [*invars[:head], *(v for v, k in zip(invars[head:end], kept, strict=True) if k), *invars[end:]]
    outs = [a for a, k in zip(jaxpr.outs, kept, strict=False) if k]
    body = Jaxpr(tuple(ins), jaxpr.eqns, (*outs, *jaxpr.outs[accumulators:], *new), jaxpr.name)
    body = prune(body, [True] * len(body.outs))
    return Deferred(body, tuple(kept), len(new), tuple(map(tuple, sums)))


def _terms(acc: Any, out: Any, producer: dict[Any, Eqn], uses: Counter[Any]) -> list[Any] | None:
    """The terms that a step adds to `acc` to get `out`; None if it does anything else with it."""
    terms: list[Any] = []
    while out is not acc:
        eqn = producer.get(out)
        if eqn is None or eqn.op is not _ADD or uses[out] != 1:
            return None
        a, b = eqn.invars
        out, term = (b, a) if b is acc else (a, b)
        terms.append(term)
    return terms if uses[acc] == 1 else None


def _product(
    term: Any, producer: dict[Any, Eqn], uses: Counter[Any], invariant: set[Any], stacked: dict[Any, int]
) -> tuple[Eqn, tuple[tuple[int, ...], ...]] | None:
    """(product, transpositions of it) that a term is, if it pays to do it later."""
    permutations: list[tuple[int, ...]] = []
    eqn = producer.get(term) if uses[term] == 1 else None
    while eqn is not None and eqn.op is transpose_op:
        permutations.insert(0, eqn.params["permutation"])
        (source,) = eqn.invars
        eqn = producer.get(source) if uses[source] == 1 else None
    if eqn is None or eqn.op is not dot_general_op or eqn.params["dimension_numbers"][1] != ((), ()):
        return None
    atoms = (*eqn.invars, *eqn.outvars)
    if any(type(a) is Literal or a in invariant or not a.aval.is_static for a in atoms):
        return None
    needed = sum(_size(a) for a in set(eqn.invars) if a not in stacked)
    size = _size(eqn.outvars[0])
    return (eqn, tuple(permutations)) if size >= _SMALL and needed * _PAYS <= size else None


def _size(a: Any) -> int:
    return math.prod(a.aval.shape)


def total(products: Sequence[Product], stacked: Sequence[Any]) -> Any:
    """The sum over all steps of `products` of the stacked factors."""
    out = None
    for p in products:
        term = _all_steps(stacked[p.left], stacked[p.right], p.contracted)
        for permutation in p.permutations:
            term = ops.shape.transpose(term, permutation=permutation)
        out = term if out is None else ops.arithmetic.add(out, term)
    return out


def _all_steps(x: Any, y: Any, contracted: tuple[tuple[int, ...], tuple[int, ...]]) -> Any:
    xc, yc = contracted
    lead = tuple(range(len(xc)))
    if xc == lead and yc == lead:  # one axis of all steps' rows: what BLAS takes
        x, y, axes = _rows(x, len(xc)), _rows(y, len(yc)), ((0,), (0,))
    else:
        axes = ((0, *(a + 1 for a in xc)), (0, *(a + 1 for a in yc)))
    return ops.linalg.dot_general(x, y, dimension_numbers=(axes, ((), ())))


def _rows(x: Any, count: int) -> Any:
    """The leading axis and the next `count` as one."""
    shape = aval_of(x).shape
    if not count:
        return x
    return ops.shape.reshape(x, shape=(math.prod(shape[: count + 1]), *shape[count + 1 :]))  # type: ignore[arg-type]
